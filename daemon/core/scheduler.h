/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler: how the modules of the core ask for actions, memory of a step, turns and alarms. */
#ifndef TD_CORE_SCHEDULER_H
#define TD_CORE_SCHEDULER_H

#include "action.h"
#include "base/time.h"

struct td_arena;
struct td_core;
struct td_task;

/* td_core_act appends an action to those of the step, with its union cleared. */
struct td_action *td_core_act(struct td_core *core, enum td_action_kind kind);
/* td_core_pad returns memory that is valid until the next step, NULL if none exists left. */
void *td_core_pad(struct td_core *core, size_t bytes);
/* td_core_free frees memory of the arena after the driver has executed the actions of the step: a
 * message or a view among them may still point into it. NULL is accepted. */
void td_core_free(struct td_core *core, void *memory);
/* td_core_format formats a text of at most TD_TEXT_MAX bytes into memory of td_core_pad. If no
 * memory is left, it returns core->last_words: a sentence that names this node. */
const char *td_core_format(struct td_core *core, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));
/* td_core_copy_text returns a copy of a text in the arena, or NULL if memory runs out. */
char *td_core_copy_text(struct td_arena *arena, const char *text);
/* td_core_queue puts a task on the work list, once. */
void td_core_queue(struct td_core *core, struct td_task *task);
/* td_core_unqueue takes a task off the work list, before its record is freed. */
void td_core_unqueue(struct td_core *core, struct td_task *task);
/* td_core_alarm: timers are due no later than `at`. */
void td_core_alarm(struct td_core *core, td_time at);
/* td_core_random returns the next random number of the core's seed. */
uint64_t td_core_random(struct td_core *core);
/* td_core_after returns now + ns, TD_TIME_NEVER for a negative ns. */
td_time td_core_after(const struct td_core *core, int64_t ns);
/* td_core_put_off makes a time later by `ns`, unless it is TD_TIME_NEVER. */
void td_core_put_off(td_time *at, td_time ns);
enum { TD_NODE_NAME_MAX = 100 };
/* td_core_node_print writes e.g. "node 3 (1,0)". */
void td_core_node_print(const struct td_core *core, uint32_t node, char *text, size_t bytes);
/* td_core_node_name returns e.g. "node 3 (1,0)", valid until the next step. */
const char *td_core_node_name(struct td_core *core, uint32_t node);

/* ---- replies ---- */

/* td_reply_new appends a reply, to be filled in. */
struct td_reply *td_reply_new(struct td_core *core, uint32_t client, uint64_t id,
                              enum td_reply_kind kind);
/* td_reply_error sends an error with its sentence. */
void td_reply_error(struct td_core *core, uint32_t client, uint64_t id, td_err error,
                    const char *text);
/* td_reply_failed sends the error of a call of a job, which the log names. */
void td_reply_failed(struct td_core *core, uint32_t client, uint64_t id, td_err error,
                     const char *text, const struct td_failed_call *failed);
/* td_reply_no_answer sends the error of a question about a node. The log does not take it for a
 * call that failed. */
void td_reply_no_answer(struct td_core *core, uint32_t client, uint64_t id, td_err error,
                        const char *text);
/* td_reply_refused sends an error for a call that did not count: the client may repeat it. */
void td_reply_refused(struct td_core *core, uint32_t client, uint64_t id, td_err error,
                      const char *text);
/* td_reply_no_room refuses a call until this node has room for it: td_client_room follows. */
void td_reply_no_room(struct td_core *core, uint32_t client, uint64_t id, const char *text);
/* td_reply_done sends DONE, unless id is 0. */
void td_reply_done(struct td_core *core, uint32_t client, uint64_t id);

#endif
