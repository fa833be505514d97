/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler.h"

#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "core_internal.h"

struct td_action *td_core_act(struct td_core *core, enum td_action_kind kind)
{
    struct td_action *a = td_core_act_bare(core, kind);
    memset(&a->u, 0, sizeof a->u);
    return a;
}

/* pad takes memory of the first `most` bytes of the pad. */
static void *pad(struct td_core *core, size_t bytes, size_t most)
{
    size_t at = core->pad_used;
    bytes = (bytes + 15) & ~(size_t)15;
    if (at > most || bytes > most - at)
        return NULL;
    core->pad_used += bytes;
    return core->pad + at;
}

void *td_core_pad(struct td_core *core, size_t bytes)
{
    return pad(core, bytes, TD_PAD_BYTES - TD_PAD_REPLIES);
}

void td_core_free(struct td_core *core, void *memory)
{
    td_arena_free_later(core->arena, memory);
}

char *td_core_copy_text(struct td_arena *arena, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = td_arena_alloc(arena, bytes);
    if (copy)
        memcpy(copy, text, bytes);
    return copy;
}

const char *td_core_format(struct td_core *core, const char *format, ...)
{
    char *text = td_core_pad(core, TD_TEXT_MAX);
    if (!text)
        return core->last_words;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, TD_TEXT_MAX, format, arguments);
    va_end(arguments);
    return text;
}

void td_core_queue(struct td_core *core, struct td_task *task)
{
    if (task->queued)
        return;
    task->queued = true;
    task->next = NULL;
    *core->work_last = task;
    core->work_last = &task->next;
}

void td_core_unqueue(struct td_core *core, struct td_task *task)
{
    if (!task->queued)
        return;
    struct td_task **link = &core->work;
    while (*link != task)
        link = &(*link)->next;
    *link = task->next;
    if (!*link)
        core->work_last = link;
    task->queued = false;
}

void td_core_alarm(struct td_core *core, td_time at)
{
    if (at < core->alarm)
        core->alarm = at;
}

uint64_t td_core_random(struct td_core *core)
{
    return td_hash_next(&core->random);
}

td_time td_core_after(const struct td_core *core, int64_t ns)
{
    if (ns < 0 || (uint64_t)ns >= TD_TIME_NEVER - core->now)
        return TD_TIME_NEVER;
    return core->now + (uint64_t)ns;
}

void td_core_put_off(td_time *at, td_time ns)
{
    *at += *at < TD_TIME_NEVER ? ns : 0;
}

void td_core_node_print(const struct td_core *core, uint32_t node, char *text, size_t bytes)
{
    const struct td_topology *t = &core->options.topology;
    uint32_t c[TD_DIMENSIONS_MAX];
    char place[80];
    int length = 0;
    td_topology_coordinates(t, node, c);
    for (uint32_t d = 0; d < t->dimensions; d++)
        length +=
            snprintf(place + length, sizeof place - (size_t)length, "%s%u", d ? "," : "", c[d]);
    snprintf(text, bytes, "node %u (%s)", node, place);
}

const char *td_core_node_name(struct td_core *core, uint32_t node)
{
    char name[TD_NODE_NAME_MAX];
    td_core_node_print(core, node, name, sizeof name);
    return td_core_format(core, "%s", name);
}

#define FITS(member)                                                                               \
    _Static_assert(sizeof(((struct td_reply *)0)->u.member) <=                                     \
                       sizeof(((struct td_reply *)0)->u.planned),                                  \
                   "td_reply_new clears it")
FITS(welcome);
FITS(peer_region);
FITS(joined);

struct td_reply *td_reply_new(struct td_core *core, uint32_t client, uint64_t id,
                              enum td_reply_kind kind)
{
    struct td_reply *r = pad(core, sizeof *r, TD_PAD_BYTES);
    assert(r);
    /* the rows of a status, which are most of it, are cleared one by one */
    memset(r, 0, offsetof(struct td_reply, u) + sizeof r->u.planned);
    r->kind = kind;
    r->id = id;
    r->text = "";
    struct td_action *a = td_core_act(core, TD_ACTION_REPLY);
    a->u.reply.client = client;
    a->u.reply.reply = r;
    return r;
}

static struct td_reply *reply_error(struct td_core *core, uint32_t client, uint64_t id,
                                    td_err error, const char *text)
{
    struct td_reply *r = td_reply_new(core, client, id, TD_REPLY_ERROR);
    char *copy = td_core_pad(core, TD_TEXT_MAX);
    r->error = error;
    if (copy)
        snprintf(copy, TD_TEXT_MAX, "%s", text ? text : core->last_words);
    r->text = copy ? copy : core->last_words;
    return r;
}

void td_reply_error(struct td_core *core, uint32_t client, uint64_t id, td_err error,
                    const char *text)
{
    reply_error(core, client, id, error, text);
}

void td_reply_failed(struct td_core *core, uint32_t client, uint64_t id, td_err error,
                     const char *text, const struct td_failed_call *failed)
{
    struct td_reply *r = reply_error(core, client, id, error, text);
    struct td_failed_call *copy = td_core_pad(core, sizeof *copy);
    if (!copy)
        return;
    *copy = *failed;
    /* the log reads it after this step, when the group may have ended */
    copy->job = td_core_format(core, "%s", failed->job);
    r->failed = copy;
}

void td_reply_no_answer(struct td_core *core, uint32_t client, uint64_t id, td_err error,
                        const char *text)
{
    reply_error(core, client, id, error, text)->is_of_question = true;
}

void td_reply_no_room(struct td_core *core, uint32_t client, uint64_t id, const char *text)
{
    struct td_reply *r = reply_error(core, client, id, TD_ERR_BUSY, text);
    r->kind = TD_REPLY_NO_ROOM;
    r->refused = true;
}

void td_reply_refused(struct td_core *core, uint32_t client, uint64_t id, td_err error,
                      const char *text)
{
    reply_error(core, client, id, error, text)->refused = true;
}

void td_reply_done(struct td_core *core, uint32_t client, uint64_t id)
{
    if (id)
        td_reply_new(core, client, id, TD_REPLY_DONE);
}
