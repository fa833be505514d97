/* SPDX-License-Identifier: Apache-2.0 */
#include "context.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"
#include "base/variables.h"
#include "lock.h"
#include "system/limits.h"

/* The public numbers are the numbers on the wire. */
#define SAME(a, b) _Static_assert((int)(a) == (int)(b), "torus.h and the daemon agree")
SAME(TORUS_ERR_INVALID, TD_ERR_INVALID);
SAME(TORUS_ERR_NO_MEMORY, TD_ERR_NO_MEMORY);
SAME(TORUS_ERR_NO_DAEMON, TD_ERR_NO_DAEMON);
SAME(TORUS_ERR_PROTOCOL, TD_ERR_PROTOCOL);
SAME(TORUS_ERR_VERSION, TD_ERR_VERSION);
SAME(TORUS_ERR_TIMEOUT, TD_ERR_TIMEOUT);
SAME(TORUS_ERR_MISMATCH, TD_ERR_MISMATCH);
SAME(TORUS_ERR_RANK_FAILED, TD_ERR_RANK_FAILED);
SAME(TORUS_ERR_NODE_FAILED, TD_ERR_NODE_FAILED);
SAME(TORUS_ERR_CANCELLED, TD_ERR_CANCELLED);
SAME(TORUS_ERR_BUSY, TD_ERR_BUSY);
SAME(TORUS_ERR_RANK_TAKEN, TD_ERR_RANK_TAKEN);
SAME(TORUS_ERR_FORKED, TD_ERR_FORKED);
SAME(TORUS_ERR_INTERNAL, TD_ERR_INTERNAL);
SAME(TORUS_ERR_SHUTDOWN, TD_ERR_SHUTDOWN);
SAME(TORUS_ERR_SYSTEM, TD_ERR_SYSTEM);
SAME(TORUS_ERR_PARTITIONED, TD_ERR_PARTITIONED);
SAME(TORUS_ERR_PERMISSION, TD_ERR_PERMISSION);
SAME(TORUS_OPAQUE, TD_TYPE_NONE);
SAME(TORUS_BYTE, TD_TYPE_BYTE);
SAME(TORUS_INT32, TD_TYPE_INT32);
SAME(TORUS_INT64, TD_TYPE_INT64);
SAME(TORUS_FLOAT, TD_TYPE_FLOAT);
SAME(TORUS_DOUBLE, TD_TYPE_DOUBLE);
SAME(TORUS_COMPLEX_FLOAT, TD_TYPE_COMPLEX_FLOAT);
SAME(TORUS_COMPLEX_DOUBLE, TD_TYPE_COMPLEX_DOUBLE);
SAME(TORUS_INT8, TD_TYPE_INT8);
SAME(TORUS_INT16, TD_TYPE_INT16);
SAME(TORUS_UINT8, TD_TYPE_UINT8);
SAME(TORUS_UINT16, TD_TYPE_UINT16);
SAME(TORUS_UINT32, TD_TYPE_UINT32);
SAME(TORUS_UINT64, TD_TYPE_UINT64);
SAME(TORUS_LONG_DOUBLE, TD_TYPE_LONG_DOUBLE);
SAME(TORUS_HALF, TD_TYPE_HALF);
SAME(TORUS_BFLOAT16, TD_TYPE_BFLOAT16);
SAME(TORUS_INT32_INT, TD_TYPE_INT32_INT);
SAME(TORUS_INT64_INT, TD_TYPE_INT64_INT);
SAME(TORUS_FLOAT_INT, TD_TYPE_FLOAT_INT);
SAME(TORUS_DOUBLE_INT, TD_TYPE_DOUBLE_INT);
SAME(TORUS_INT16_INT, TD_TYPE_INT16_INT);
SAME(TORUS_LONG_DOUBLE_INT, TD_TYPE_LONG_DOUBLE_INT);
SAME(TORUS_BOOL, TD_TYPE_BOOL);
_Static_assert(sizeof(struct torus_int32_int) == 8 && sizeof(struct torus_float_int) == 8 &&
                   sizeof(struct torus_int64_int) == 16 && sizeof(struct torus_double_int) == 16 &&
                   sizeof(struct torus_int16_int) == 8 &&
                   sizeof(struct torus_long_double_int) == 32,
               "layout of values with places");
SAME(TORUS_SUM, TD_OP_SUM);
SAME(TORUS_MIN, TD_OP_MIN);
SAME(TORUS_MAX, TD_OP_MAX);
SAME(TORUS_PROD, TD_OP_PROD);
SAME(TORUS_BAND, TD_OP_BAND);
SAME(TORUS_BOR, TD_OP_BOR);
SAME(TORUS_BXOR, TD_OP_BXOR);
SAME(TORUS_LAND, TD_OP_LAND);
SAME(TORUS_LOR, TD_OP_LOR);
SAME(TORUS_LXOR, TD_OP_LXOR);
SAME(TORUS_MINLOC, TD_OP_MINLOC);
SAME(TORUS_MAXLOC, TD_OP_MAXLOC);
SAME(TORUS_REPRODUCIBLE_OFF, TD_REPRODUCIBLE_OFF);
SAME(TORUS_REPRODUCIBLE_SAME_PLACEMENT, TD_REPRODUCIBLE_SAME);
SAME(TORUS_REPRODUCIBLE_ANY_PLACEMENT, TD_REPRODUCIBLE_ANY);
SAME(TORUS_SCALE_ORTHO, TD_SCALE_ORTHO);
SAME(TORUS_SCALE_FULL, TD_SCALE_FULL);
SAME(TORUS_DIMENSIONS_MAX, TD_DIMENSIONS_MAX);

char *tl_error_text(const torus_context *c)
{
    return c && !c->use.lock ? (char *)(uintptr_t)c->error : tl_lock_text();
}

/* Sentences of this process that has no memory begin so; those of the daemon are its own. */
static const char own_memory[] = "no memory for ";

int tl_fail(torus_context *c, int error, const char *format, ...)
{
    int saved = errno;
    va_list arguments;
    char sentence[TD_TEXT_MAX], *text = tl_error_text(c);
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    if (error == TORUS_ERR_NO_MEMORY && strncmp(sentence, own_memory, sizeof own_memory - 1) == 0)
        snprintf(text, TD_TEXT_MAX, "%s", td_limit_no_memory(sentence + sizeof own_memory - 1));
    else
        td_text_show(sentence, text, TD_TEXT_MAX);
    *tl_lock_bare() = !c;
    if (c && c->log)
        c->log(error, text, c->log_user);
    errno = saved;
    return error;
}

const char *tl_sentence(const char *format, ...)
{
    static _Thread_local char sentence[TD_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return sentence;
}

int tl_no_group(const char *function)
{
    return tl_fail(NULL, TORUS_ERR_INVALID,
                   "%s: the group is NULL (torus_split gives NULL for TORUS_UNDEFINED)", function);
}

int tl_null(torus_context *c, const char *function, const char *what)
{
    return tl_fail(c, TORUS_ERR_INVALID, "%s: %s is NULL", function, what);
}

int tl_wrong_size(torus_context *c, const char *name, size_t given, size_t size)
{
    return given ? tl_fail(c, TORUS_ERR_INVALID,
                           "%s.size is %zu, not %zu: set it to sizeof the structure", name, given,
                           size)
                 : tl_fail(c, TORUS_ERR_INVALID, "%s.size is 0: set it to sizeof the structure",
                           name);
}

int tl_intruder(const torus_context *c)
{
    if (!tl_is_own(c)) /* a thread of the parent was inside at the fork */
        return tl_ready((torus_context *)(uintptr_t)c);
    /* the context's room for a sentence belongs to the other thread now */
    return tl_fail(NULL, TORUS_ERR_INVALID,
                   "two threads use this context at once: set torus_open_options.threads");
}

enum { PAGE = 4096 };

void tl_context_watch_fork(torus_context *c)
{
    int saved = errno;
    uint8_t *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED && madvise(page, PAGE, MADV_WIPEONFORK) == 0) {
        *page = 1;
        c->own_page = page;
    } else if (page != MAP_FAILED) {
        munmap(page, PAGE);
    }
    errno = saved;
}

void tl_context_unwatch_fork(torus_context *c)
{
    if (c->own_page)
        munmap((void *)(uintptr_t)c->own_page, PAGE);
    c->own_page = NULL;
}

bool tl_is_own(const torus_context *c)
{
    return c->own_page ? *c->own_page != 0 : c->pid == getpid();
}

int tl_ready(torus_context *c)
{
    if (!tl_is_own(c))
        return tl_fail(c, TORUS_ERR_FORKED,
                       "this process was forked from process %d, which owns the context: call "
                       "torus_open in this process",
                       (int)c->pid);
    if (c->fd < 0)
        return tl_fail(c, TORUS_ERR_NO_DAEMON,
                       "the context is not connected to torusd: torus_open failed");
    if (c->lost && c->lost_by == TORUS_ERR_PROTOCOL)
        return tl_fail(
            c, TORUS_ERR_SHUTDOWN,
            "this process has ended the connection to torusd, which had sent a malformed reply: "
            "call torus_open again");
    if (c->lost && c->lost_by == TORUS_ERR_TIMEOUT)
        return tl_fail(
            c, TORUS_ERR_SHUTDOWN,
            "this process has given up the connection to torusd, which had not answered in "
            "time: call torus_open again when it does (torusctl status)");
    if (c->lost)
        return tl_fail(c, TORUS_ERR_SHUTDOWN, TL_CONNECTION_LOST);
    return TORUS_OK;
}

int tl_lost(torus_context *c, int error, const char *text)
{
    if (!c->lost) {
        c->lost = true;
        c->lost_by = error;
        c->upcalls->lost(c, error, text);
    }
    return tl_fail(c, error, "%s", text);
}

int tl_malformed(torus_context *c, const char *format, ...)
{
    char what[TD_TEXT_MAX / 2], text[TD_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    snprintf(text, sizeof text,
             "malformed reply of torusd: %s. This process has ended the connection, and its ranks "
             "are lost",
             what);
    if (c->fd >= 0)
        shutdown(c->fd, SHUT_RDWR); /* the daemon sees it */
    return tl_lost(c, TORUS_ERR_PROTOCOL, text);
}

void tl_hold(torus_context *c)
{
    c->holds++;
}

void tl_unhold(torus_context *c)
{
    if (--c->holds == 0 && c->closing)
        c->upcalls->close(c);
}

static void make_readable(const torus_context *c)
{
    uint64_t one = 1;
    int saved = errno;
    if (write(c->event, &one, sizeof one) < 0)
        errno = saved; /* the counter is full, so it is readable anyway */
}

void tl_event_watch(torus_context *c)
{
    if (!c->watched && tl_is_own(c) && (c->kept || c->finished))
        make_readable(c);
    c->watched = true;
}

void tl_event_set(torus_context *c)
{
    if (c->watched)
        make_readable(c);
    if (c->use.lock)
        tl_lock_wake(c->use.lock);
}

void tl_event_clear(torus_context *c)
{
    uint64_t count = 0;
    int saved = errno;
    if (c->watched && !c->kept && !c->finished && read(c->event, &count, sizeof count) < 0)
        errno = saved; /* the counter was 0 already */
}

/* ---- public queries ---- */

int torus_version(void)
{
    return TORUS_VERSION_NUMBER;
}

const char *torus_last_error(const torus_context *c)
{
    if (c && !*tl_lock_bare())
        return tl_error_text(c);
    return tl_lock_text()[0] ? tl_lock_text()
                             : "no call without a context has failed in this thread";
}

int torus_set_idle(torus_context *c, torus_idle_function *idle, void *user)
{
    TL_GUARD(c);
    if (!c)
        return tl_null(NULL, "torus_set_idle", "context");
    if (!c->use.lock)
        return tl_fail(c, TORUS_ERR_INVALID,
                       "torus_set_idle needs a context that was opened with threads");
    c->idle = idle;
    c->idle_user = user;
    return TORUS_OK;
}

void torus_set_log(torus_context *c, torus_log_function *log, void *user)
{
    TL_GUARD_ELSE(c, );
    char strays[TD_STRAYS_MAX], text[TD_STRAY_TEXT_MAX];
    if (!c)
        return;
    c->log = log;
    c->log_user = user;
    const char *at = log ? td_variables_strays(environ, strays) : NULL;
    while (at && td_variables_warning(&at, text))
        log(TORUS_OK, text, user);
}

int torus_statistics(const torus_context *c, struct torus_statistics *s)
{
    TL_GUARD(c);
    torus_context *told = (torus_context *)(uintptr_t)c; /* of a wrong argument */
    if (!c || !s)
        return tl_null(told, "torus_statistics", c ? "statistics" : "context");
    if (s->size != sizeof *s)
        return tl_wrong_size(told, "torus_statistics", s->size, sizeof *s);
    s->operations = c->operations;
    s->staged_bytes = c->staged_bytes;
    s->region_bytes = c->region_bytes;
    return TORUS_OK;
}

int torus_shape(const torus_context *c, uint32_t size[TORUS_DIMENSIONS_MAX],
                int wrap[TORUS_DIMENSIONS_MAX])
{
    if (!c)
        return tl_null(NULL, "torus_shape", "context");
    for (uint32_t d = 0; d < c->topology.dimensions; d++) {
        if (size)
            size[d] = c->topology.size[d];
        if (wrap)
            wrap[d] = c->topology.wrap[d];
    }
    return (int)c->topology.dimensions;
}

int torus_coords(const torus_context *c, uint32_t coordinates[TORUS_DIMENSIONS_MAX])
{
    if (!c)
        return tl_null(NULL, "torus_coords", "context");
    if (coordinates)
        td_topology_coordinates(&c->topology, c->node, coordinates);
    return (int)c->topology.dimensions;
}

uint32_t torus_node(const torus_context *c)
{
    return c ? c->node : 0;
}

int torus_authenticated(const torus_context *c)
{
    return c && c->peers_known;
}

uint64_t torus_incarnation(const torus_context *c)
{
    return c ? c->incarnation : 0;
}

const char *torus_strerror(int error)
{
    static const char *const texts[] = {
        "success",
        "invalid argument",
        "no memory",
        "cannot connect to the daemon",
        "protocol error",
        "different protocol version",
        "timeout",
        "ranks called different operations",
        "a rank died or left",
        "a node died or does not respond",
        "cancelled",
        "busy",
        "rank already taken",
        "the context belongs to the parent process",
        "internal error of torusd: please report it as a bug",
        "the daemon is stopping or has stopped",
        "operating system error",
        "nodes of the group do not hear each other",
        "permission denied",
    };
    if (error == TORUS_PENDING)
        return "not complete yet";
    if (error > 0 || -error >= (int)(sizeof texts / sizeof texts[0]))
        return "unknown error";
    return texts[-error];
}
