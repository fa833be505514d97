/* SPDX-License-Identifier: Apache-2.0 */
/* The library with a daemon that does not reply. The daemon is a script of this test: it answers
 * what the case says, and then nothing. Each case runs in a process of its own, all at the same
 * time, because each waits for the library's patience to end. A call that does not end fails the
 * test by a limit that is far above that patience. */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "libtorus/patience.h"
#include "torus/torus.h"
#include "wire/client.h"

enum {
    LIMIT_S = 20 * TL_PATIENCE_S,   /* of a case */
    LATE_S = 5 * TL_PATIENCE_S / 2, /* a daemon that is late replies after the library's patience */
    RANK = 0,
    SIZE = 2,
    GROUP = 7,
    CANCELS = 20000, /* more than a socket holds */
    ROUNDS = 13,     /* waits of a daemon that is late */
};
#define SECOND ((int64_t)1000000000)

static char folder[] = "/tmp/torus.hung.XXXXXX";

/* struct script: what the daemon of a case does. */
struct script {
    int listener;
    bool accepts, reads;         /* connections; requests after JOIN */
    bool welcomes, joins, pings; /* replies to HELLO; to JOIN; to cancellations */
    bool ends;                   /* closes the connection after JOIN, and says why */
    int late_s;                  /* replies to operations after so long; 0: never */
};
static pthread_t daemon_thread;
static const char REASON[] = "this daemon has no room for the process";

/* ---- the daemon ---- */

static void send_reply(int fd, const struct td_reply *r)
{
    uint8_t bytes[TD_DATAGRAM_MAX];
    size_t size = td_wire_encode_reply(r, bytes, sizeof bytes);
    if (size == 0 || send(fd, bytes, size, MSG_NOSIGNAL) < 0)
        _exit(3);
}

static void welcome(int fd, uint64_t id)
{
    struct td_reply r = {.kind = TD_REPLY_WELCOME, .id = id, .text = ""};
    r.u.welcome.topology.dimensions = 1;
    r.u.welcome.topology.size[0] = 2;
    r.u.welcome.topology.nodes = 2;
    r.u.welcome.region_bytes_max = 1 << 30;
    send_reply(fd, &r);
}

static void join(int fd, uint64_t id)
{
    struct td_reply r = {.kind = TD_REPLY_JOINED, .id = id, .text = ""};
    r.u.joined.group = GROUP;
    r.u.joined.rank = RANK;
    r.u.joined.size = SIZE;
    send_reply(fd, &r);
}

/* handle answers a request as the script says. *due: the operation that is answered late. */
static void handle(const struct script *s, int fd, const struct td_request *q, uint64_t *due)
{
    if (q->kind == TD_REQUEST_HELLO && s->welcomes)
        welcome(fd, q->id);
    else if (q->kind == TD_REQUEST_JOIN && s->joins)
        join(fd, q->id);
    else if (q->kind == TD_REQUEST_CANCEL && s->pings)
        send_reply(fd, &(struct td_reply){.kind = TD_REPLY_DONE, .id = q->id, .text = ""});
    else if (q->kind == TD_REQUEST_OPERATION && s->late_s)
        *due = q->id;
}

static void serve(const struct script *s, int fd)
{
    static struct td_wire_memory memory;
    static uint8_t bytes[TD_DATAGRAM_MAX];
    uint64_t due = 0;
    bool joined = false;
    for (;;) {
        struct pollfd p = {.fd = fd, .events = joined && !s->reads ? 0 : POLLIN};
        struct td_request q;
        const char *why = NULL;
        int ready = poll(&p, 1, due ? s->late_s * 1000 / ROUNDS : -1);
        if (ready == 0) {
            static int rounds;
            if (++rounds < ROUNDS)
                continue;
            send_reply(fd, &(struct td_reply){.kind = TD_REPLY_DONE, .id = due, .text = ""});
            due = 0;
            continue;
        }
        ssize_t size = p.revents & POLLIN ? recv(fd, bytes, sizeof bytes, 0) : 0;
        if (size <= 0)
            return; /* the library has given the connection up */
        if (td_wire_decode_request(bytes, (size_t)size, &memory, &q, &why) != TD_OK)
            _exit(4);
        handle(s, fd, &q, &due);
        joined = joined || q.kind == TD_REQUEST_JOIN;
        if (joined && s->ends) {
            send_reply(fd, &(struct td_reply){
                               .kind = TD_REPLY_ERROR, .error = TORUS_ERR_BUSY, .text = REASON});
            return;
        }
    }
}

static void *run_daemon(void *script)
{
    const struct script *s = script;
    while (s->accepts) {
        int fd = accept(s->listener, NULL, NULL);
        if (fd < 0)
            return NULL;
        serve(s, fd);
        close(fd);
        if (s->ends)
            return NULL;
    }
    return NULL;
}

/* begin starts the daemon and names its socket to the library. The daemon may outlive its case. */
static void begin(const struct script *of, const char *name)
{
    static struct script s;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    s = *of;
    snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", folder, name);
    s.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    setenv("TORUS_SOCKET", address.sun_path, 1);
    if (bind(s.listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(s.listener, 0) != 0 || pthread_create(&daemon_thread, NULL, run_daemon, &s) != 0)
        _exit(5);
}

/* ---- the cases: each returns 0 if the library did as it should ---- */

#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s: %s\n", __func__, #condition);                                     \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static torus_context *context;
static torus_group *group;

static int open_and_join(bool threads)
{
    struct torus_open_options o = {.size = sizeof o, .threads = threads};
    struct torus_join_options j = {
        .size = sizeof j, .name = "job", .ranks = SIZE, .rank = RANK, .timeout_ns = SECOND};
    int error = torus_open(&context, &o);
    return error ? error : torus_join(context, &j, &group);
}

/* gives_up checks that the connection is given up with the sentence, and that the context closes.
 */
static int gives_up(int error)
{
    char words[64];
    snprintf(words, sizeof words, "has not replied for %d s", TL_SILENCE_S);
    NEED(error == TORUS_ERR_TIMEOUT);
    NEED(strstr(torus_last_error(context), words));
    NEED(torus_barrier(group) == TORUS_ERR_SHUTDOWN || !group);
    torus_close(context);
    return 0;
}

static int open_ends(void)
{
    struct script s = {.accepts = true};
    begin(&s, __func__);
    NEED(torus_open(&context, NULL) == TORUS_ERR_TIMEOUT);
    torus_close(context);
    return 0;
}

static int open_ends_if_nobody_accepts(void)
{
    struct script s = {.accepts = false};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = 0;
    begin(&s, __func__);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", getenv("TORUS_SOCKET"));
    do /* until the queue of the socket is full */
        fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    while (connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    close(fd);
    NEED(torus_open(&context, NULL) == TORUS_ERR_NO_DAEMON);
    torus_close(context);
    return 0;
}

static int join_ends(void)
{
    struct script s = {.accepts = true, .reads = true, .welcomes = true};
    begin(&s, __func__);
    return gives_up(open_and_join(false));
}

static int alloc_ends(void)
{
    struct script s = {.accepts = true, .reads = true, .welcomes = true, .joins = true};
    begin(&s, __func__);
    NEED(open_and_join(false) == TORUS_OK);
    NEED(!torus_alloc(context, 100));
    return gives_up(TORUS_ERR_TIMEOUT);
}

static int barrier_ends(void)
{
    struct script s = {.accepts = true, .reads = true, .welcomes = true, .joins = true};
    begin(&s, __func__);
    NEED(open_and_join(false) == TORUS_OK);
    NEED(torus_set_timeout(group, SECOND) == TORUS_OK);
    return gives_up(torus_barrier(group));
}

static int barrier_of_a_shared_context_ends(void)
{
    struct script s = {.accepts = true, .reads = true, .welcomes = true, .joins = true};
    begin(&s, __func__);
    NEED(open_and_join(true) == TORUS_OK);
    return gives_up(torus_barrier(group));
}

static int short_waits_end(void)
{
    struct script s = {.accepts = true, .reads = true, .welcomes = true, .joins = true};
    torus_request *r = NULL;
    int error = TORUS_PENDING;
    begin(&s, __func__);
    NEED(open_and_join(false) == TORUS_OK);
    NEED(torus_ibarrier(group, &r) == TORUS_OK);
    while (error == TORUS_PENDING)
        error = torus_wait(r, SECOND / 10);
    return gives_up(error);
}

static int requests_end_if_nobody_reads(void)
{
    struct script s = {.accepts = true, .welcomes = true, .joins = true};
    torus_request *r = NULL;
    int error = TORUS_OK;
    begin(&s, __func__);
    NEED(open_and_join(false) == TORUS_OK);
    NEED(torus_ibarrier(group, &r) == TORUS_OK);
    for (int i = 0; i < CANCELS && error == TORUS_OK; i++)
        error = torus_cancel(r);
    NEED(error == TORUS_ERR_TIMEOUT);
    NEED(torus_wait(r, -1) == TORUS_ERR_TIMEOUT);
    return gives_up(error);
}

static int leave_ends(void)
{
    struct script s = {.accepts = true, .reads = true, .welcomes = true, .joins = true};
    begin(&s, __func__);
    NEED(open_and_join(false) == TORUS_OK);
    int error = torus_leave(group);
    group = NULL;
    NEED(error == TORUS_ERR_TIMEOUT);
    torus_close(context);
    return 0;
}

/* A daemon that waits for other ranks is silent, too, but it answers when it is asked. */
static int daemon_that_is_late_is_not_given_up(void)
{
    struct script s = {.accepts = true,
                       .reads = true,
                       .welcomes = true,
                       .joins = true,
                       .pings = true,
                       .late_s = LATE_S};
    begin(&s, __func__);
    NEED(open_and_join(false) == TORUS_OK);
    NEED(torus_barrier(group) == TORUS_OK);
    torus_close(context);
    return 0;
}

/* gives_up_unanswered: the daemon answers when it is asked whether it is there, and nothing else.
 */
static int gives_up_unanswered(int error)
{
    NEED(error == TORUS_ERR_TIMEOUT);
    NEED(strstr(torus_last_error(context), "has not answered a request in time"));
    torus_close(context);
    return 0;
}

static int join_ends_after_its_time_limit(void)
{
    struct script s = {.accepts = true, .reads = true, .welcomes = true, .pings = true};
    begin(&s, __func__);
    return gives_up_unanswered(open_and_join(false));
}

static int leave_ends_though_the_daemon_answers_others(void)
{
    struct script s = {
        .accepts = true, .reads = true, .welcomes = true, .joins = true, .pings = true};
    begin(&s, __func__);
    NEED(open_and_join(false) == TORUS_OK);
    int error = torus_leave(group);
    group = NULL;
    return gives_up_unanswered(error);
}

/* The library finds at a request, not at a reply, that the daemon has closed the connection. */
static int request_tells_why_the_connection_ended(void)
{
    struct script s = {
        .accepts = true, .reads = true, .welcomes = true, .joins = true, .ends = true};
    begin(&s, __func__);
    NEED(open_and_join(false) == TORUS_OK);
    NEED(pthread_join(daemon_thread, NULL) == 0);
    NEED(torus_barrier(group) == TORUS_ERR_BUSY);
    NEED(strstr(torus_last_error(context), REASON));
    torus_close(context);
    return 0;
}

static void calls_end_whatever_the_daemon_does(void **state)
{
    static int (*const cases[])(void) = {open_ends,
                                         open_ends_if_nobody_accepts,
                                         join_ends,
                                         alloc_ends,
                                         barrier_ends,
                                         barrier_of_a_shared_context_ends,
                                         short_waits_end,
                                         requests_end_if_nobody_reads,
                                         leave_ends,
                                         daemon_that_is_late_is_not_given_up,
                                         join_ends_after_its_time_limit,
                                         leave_ends_though_the_daemon_answers_others,
                                         request_tells_why_the_connection_ended};
    enum { CASES = sizeof cases / sizeof *cases };
    pid_t pid[CASES];
    int failed = 0;
    (void)state;
    for (unsigned i = 0; i < CASES; i++)
        if ((pid[i] = fork()) == 0) {
            alarm(LIMIT_S); /* SIGALRM ends a case that hangs */
            _exit(cases[i]());
        }
    for (unsigned i = 0; i < CASES; i++) {
        int code = 0;
        assert_int_equal(waitpid(pid[i], &code, 0), pid[i]);
        bool good = WIFEXITED(code) && WEXITSTATUS(code) == 0;
        if (!good)
            print_message("case %u: status %d, signal %d\n", i, WEXITSTATUS(code),
                          WIFSIGNALED(code) ? WTERMSIG(code) : 0);
        failed += !good;
    }
    assert_int_equal(failed, 0);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[100];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command); /* NOLINT(cert-env33-c): a name that this test has made */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls_end_whatever_the_daemon_does)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
