/* SPDX-License-Identifier: Apache-2.0 */
#include "arrival.h"

#include <stdio.h>
#include <string.h>

#include "core/membership/endings.h"
#include "core/membership/waits.h"
#include "core/net/silence.h"
#include "gate.h"
#include "model/plan_call.h"
#include "recording.h"
#include "stopped.h"
#include "stall.h"

bool td_arrival_mismatched(const struct td_operation *o)
{
    return o->witnesses && td_call_compare(&o->least.call, &o->greatest.call) != 0;
}

/* settle_types gives a kept call of a rank without data the types of another call. The rank that
 * gave the types is named if that is the only difference. */
static void settle_types(struct td_witness *kept, const struct td_witness *w)
{
    if (kept->call.type != TD_TYPE_NONE)
        return;
    td_call_adopt(&kept->call, &w->call);
    if (td_call_compare(&kept->call, &w->call) == 0)
        *kept = *w;
}

/* is_known returns true if a call tells nothing new: all ranks so far have made the same. */
static bool is_known(const struct td_operation *o, const struct td_call *call)
{
    return o->witnesses && call->type != TD_TYPE_NONE &&
           td_call_compare(call, &o->least.call) == 0 &&
           td_call_compare(call, &o->greatest.call) == 0;
}

void td_arrival_witness(struct td_core *core, struct td_operation *o,
                        const struct td_witness *given)
{
    if (is_known(o, &given->call)) {
        o->witnesses++;
        return;
    }
    bool before = td_arrival_mismatched(o);
    struct td_witness witness = *given, *w = &witness;
    if (o->witnesses) {
        settle_types(&o->least, w);
        settle_types(&o->greatest, w);
        td_call_adopt(&w->call, &o->least.call);
    }
    if (!o->witnesses || td_call_compare(&w->call, &o->least.call) < 0)
        o->least = *w;
    if (!o->witnesses || td_call_compare(&w->call, &o->greatest.call) > 0)
        o->greatest = *w;
    o->witnesses++;
    if (before || !td_arrival_mismatched(o))
        return;
    char a[TD_CALL_TEXT_MAX], b[TD_CALL_TEXT_MAX];
    td_call_print(&o->least.call, a, sizeof a);
    td_call_print(&o->greatest.call, b, sizeof b);
    const char *differs = td_plan_call_difference(&o->least.call, &o->greatest.call);
    if (!differs)
        differs = td_call_operator_difference(&o->least.call, &o->greatest.call);
    td_operation_appeal(
        core, o, TD_ERR_MISMATCH,
        td_core_format(core,
                       "rank %u called %s, but rank %u called %s, as operation %llu of job %s: "
                       "%s%sall ranks of a group make the same calls in the same order",
                       td_communicator_job_rank(o->communicator, o->least.rank), a,
                       td_communicator_job_rank(o->communicator, o->greatest.rank), b,
                       (unsigned long long)td_operation_number(o), o->communicator->name,
                       differs ? differs : "", differs ? "; " : ""));
}

/* ---- requests ---- */

/* need_bytes returns the bytes that a rank's source and destination must hold. Calls with counts
 * are checked by record_counts. */
static void need_bytes(const struct td_communicator *c, const struct td_seat *seat,
                       const struct td_call *call, const struct td_plan *plan, uint64_t need[2])
{
    td_call_bytes(call, c->group.size, seat->rank, &need[0], &need[1]);
    struct td_box box;
    for (unsigned side = 0; plan && side < 2; side++)
        need[side] = td_plan_bytes(plan, side, seat->rank, &box);
}

/* check_call checks a call. For a call that agrees on a plan it makes *made and fills in the
 * digest. For a call that executes a plan it finds *plan. On an error *text is a sentence. */
static td_err check_call(struct td_core *core, struct td_communicator *c,
                         const struct td_request *q, struct td_call *call, struct td_plan **made,
                         struct td_plan **plan, const char **text)
{
    td_err error = TD_OK;
    char wrong[400];
    *text = td_call_check(call, c->group.size);
    if (!*text && td_call_plans(call->kind)) {
        *made = td_plan_make(c->account->lasting, call->kind, &q->u.operation.description,
                             c->group.size, &error, wrong, sizeof wrong);
        if (*made) {
            call->digest = (*made)->digest;
            td_plan_call(*made, call);
        }
        if (!*made && error == TD_ERR_NO_MEMORY)
            *text = td_account_no_memory(core, c->account, "the layouts of a plan");
        else if (!*made)
            *text = td_core_format(core, "%s: %s", td_kind_name(call->kind), wrong);
        return error;
    }
    if (!*text && td_call_executes(call->kind)) {
        *plan = td_communicator_plan(c, call->plan);
        if (!*plan || (*plan)->kind != call->kind)
            *text = "the plan belongs to another group, or was freed";
    }
    return *text ? TD_ERR_INVALID : TD_OK;
}

/* struct buffers: the source and the destination of a rank's request: the regions that they name,
 * checked and in use, and copies of their forms. */
struct buffers {
    struct td_region *region[2];
    struct td_form *form[2];
    uint64_t need[2];
};

static struct td_memory memory_of(const struct buffers *b, unsigned side,
                                  const struct td_place *place)
{
    if (!b->region[side])
        return (struct td_memory){.handle = TD_NO_MEMORY};
    return (struct td_memory){b->region[side]->handle, place->offset, place->bytes, b->form[side]};
}

static void release_buffers(struct td_core *core, struct buffers *b)
{
    for (unsigned side = 0; side < 2; side++) {
        td_region_release(core, b->region[side]);
        td_core_free(core, b->form[side]);
    }
}

/* keep_form checks and copies the form of a buffer. *need, bytes of data, becomes the bytes of
 * memory that hold them. On an error *text is a sentence. */
static td_err keep_form(struct td_core *core, const struct td_account *account,
                        const struct td_form *form, const char *what, bool has_plan, uint64_t *need,
                        struct td_form **copy, const char **text)
{
    size_t size = td_form_size(form->loops);
    const char *wrong =
        has_plan ? "the arrays of a plan have no gaps" : td_form_check(form, *need, need);
    if (wrong) {
        *text =
            td_core_format(core, "the form of the elements of the %s is refused: %s", what, wrong);
        return TD_ERR_INVALID;
    }
    if (!(*copy = td_arena_alloc(account->calls, size))) {
        *text = td_account_no_memory(core, account, "the form of a buffer");
        return TD_ERR_NO_MEMORY;
    }
    memcpy(*copy, form, size);
    return TD_OK;
}

/* hold_buffer takes the region of one side of a request into use. On an error *text is a sentence.
 */
static td_err hold_buffer(struct td_core *core, struct td_client *client, unsigned side,
                          const struct td_place *place, size_t alignment, bool has_plan,
                          struct buffers *b, const char **text)
{
    const char *what = side ? "destination" : "source";
    td_err error = TD_OK;
    if (place->form && b->need[side] > 0) { /* its data is copied before it is combined */
        error = keep_form(core, client->account, place->form, what, has_plan, &b->need[side],
                          &b->form[side], text);
    } else if (place->offset % alignment) {
        *text = td_core_format(core, "the buffers must be aligned to %zu bytes", alignment);
        error = TD_ERR_INVALID;
    }
    if (error != TD_OK)
        return error;
    return td_region_use(core, client, place, b->need[side], what, &b->region[side], text);
}

/* hold_buffers takes the regions of a request into use. On an error *text is a sentence. */
static td_err hold_buffers(struct td_core *core, struct td_client *client,
                           const struct td_request *q, const struct td_plan *plan,
                           struct buffers *b, const char **text)
{
    const struct td_call *call = &q->u.operation.call;
    size_t alignment = plan ? td_plan_alignment(plan) : td_call_alignment(call->kind, call->type);
    td_err error =
        hold_buffer(core, client, 0, &q->u.operation.source, alignment, plan != NULL, b, text);
    return error != TD_OK ? error
                          : hold_buffer(core, client, 1, &q->u.operation.destination, alignment,
                                        plan != NULL, b, text);
}

/* has_one_share returns true if a rank of a reduce-scatter receives the same number of bytes, at
 * the same place, from every rank. The survey of pairs does not detect that. */
static bool has_one_share(const struct td_counts *p, uint32_t local)
{
    const struct td_part *of = p->part + (size_t)(p->ranks + local) * p->group->size;
    for (uint32_t i = 1; i < p->group->size; i++)
        if (of[i].bytes != of[0].bytes || (of[i].bytes && of[i].at != of[0].at))
            return false;
    return true;
}

/* counts_bytes returns the bytes of the table of counts of an operation. */
static uint64_t counts_bytes(const struct td_communicator *c)
{
    return td_arena_piece_bytes(2 * (size_t)c->ranks * c->group.size * sizeof(struct td_part));
}

/* record_counts records the counts of a local rank, and returns the bytes that its buffers need. */
static td_err record_counts(struct td_core *core, struct td_operation *o, uint32_t local,
                            const struct td_request *q, uint64_t need[2], const char **text)
{
    const struct td_communicator *c = o->communicator;
    bool lacks_data = q->u.operation.call.type == TD_TYPE_NONE;
    uint64_t element = lacks_data ? 1 : td_type_bytes(q->u.operation.call.type);
    bool made = !o->counts.part;
    if (made && !td_counts_build(&o->counts, c->account->calls, &c->group, c->slot)) {
        *text = td_account_no_memory(core, c->account, "the counts of a call");
        return TD_ERR_NO_MEMORY;
    }
    *text = td_counts_set(&o->counts, local, false, &q->u.operation.from, element, &need[0]);
    if (!*text)
        *text = td_counts_set(&o->counts, local, true, &q->u.operation.to, element, &need[1]);
    if (!*text && lacks_data && (need[0] || need[1]))
        *text = "the element type is unknown";
    if (!*text && q->u.operation.call.kind == TD_KIND_REDUCE_SCATTERV &&
        !has_one_share(&o->counts, local))
        *text = "a rank must receive the same number of elements, at the same place, from every "
                "rank";
    return *text ? TD_ERR_INVALID : TD_OK;
}

/* no_room returns NULL if this node may record the next operation of a rank now; else a sentence.
 */
static const char *no_room(struct td_core *core, const struct td_communicator *c,
                           const struct td_seat *seat)
{
    uint64_t sequence = seat->next_sequence;
    if (sequence >= c->first_sequence + TD_GROUP_OPERATIONS_MAX)
        return td_core_format(core,
                              "rank %u is %d operations ahead of the slowest rank of job %s, the "
                              "maximum: wait, then call again",
                              td_communicator_job_rank(c, seat->rank), TD_GROUP_OPERATIONS_MAX,
                              c->name);
    if (c->operation[sequence % TD_GROUP_OPERATIONS_MAX] ||
        td_operation_has_room(core, c, sequence))
        return NULL;
    const char *text = td_account_refuses(core, c->account, TD_HOLD_OPERATIONS, 1);
    return text ? text
                : td_account_refuses(core, c->account, TD_HOLD_CALLS, td_operation_record_bytes(c));
}

static uint64_t form_bytes(const struct td_form *form)
{
    return form ? td_arena_piece_bytes(td_form_size(form->loops)) : 0;
}

/* check_share returns TD_OK if the user may hold the forms and the table of counts that a call
 * brings. Alone, a call may take all that is left of the user's share. Otherwise it waits for the
 * user's other calls; the oldest of its group does not, because those may wait for it. On an error
 * *text is a sentence. */
static td_err check_share(struct td_core *core, const struct td_communicator *c,
                          const struct td_seat *seat, const struct td_request *q, const char **text)
{
    const struct td_operation *o = c->operation[seat->next_sequence % TD_GROUP_OPERATIONS_MAX];
    uint64_t bytes =
        form_bytes(q->u.operation.source.form) + form_bytes(q->u.operation.destination.form);
    if (td_call_has_counts(q->u.operation.call.kind) && !(o && o->counts.part))
        bytes += counts_bytes(c);
    bool alone = td_account_held(c->account, TD_HOLD_OPERATIONS) == (o != NULL);
    if (bytes == 0 || alone)
        return TD_OK;
    bytes += o ? 0 : td_operation_record_bytes(c);
    if (!(*text = td_account_refuses(core, c->account, TD_HOLD_CALLS, bytes)))
        return TD_OK;
    return seat->next_sequence == c->first_sequence ? TD_ERR_NO_MEMORY : TD_ERR_BUSY;
}

/* admit checks a rank's request and finds its operation. On an error nothing has changed, except
 * that the operation may have a new record, as if another rank had arrived first. */
static td_err admit(struct td_core *core, struct td_client *client, struct td_communicator *c,
                    const struct td_seat *seat, const struct td_request *q,
                    const struct td_call *call, const struct td_plan *plan, struct buffers *b,
                    struct td_operation **o, const char **text)
{
    if ((*text = no_room(core, c, seat)))
        return TD_ERR_BUSY;
    bool has_counts = td_call_has_counts(call->kind);
    td_err error = check_share(core, c, seat, q, text);
    if (error != TD_OK)
        return error;
    need_bytes(c, seat, call, plan, b->need);
    if (!has_counts && (error = hold_buffers(core, client, q, plan, b, text)) != TD_OK)
        return error;
    if (!(*o = td_operation_obtain(core, c, seat->next_sequence))) {
        *text = td_account_no_memory(core, c->account, "the record of an operation");
        return TD_ERR_NO_MEMORY;
    }
    if (has_counts)
        error = record_counts(core, *o, (uint32_t)(seat - c->seat), q, b->need, text);
    if (has_counts && error == TD_OK)
        error = hold_buffers(core, client, q, plan, b, text);
    return error;
}

/* refuse refuses a call. A client whose call finds no room hears when there may be room. */
static void refuse(struct td_core *core, struct td_client *client, uint64_t request, td_err error,
                   const char *text)
{
    if (error != TD_ERR_BUSY) {
        td_reply_refused(core, client->id, request, error, text);
        return;
    }
    td_reply_no_room(core, client->id, request, text);
    td_client_wait_for_room(core, client);
}

static void arrive(struct td_core *core, struct td_client *client, struct td_communicator *c,
                   struct td_seat *seat, const struct td_request *q)
{
    struct td_call call = q->u.operation.call;
    struct td_plan *made = NULL, *plan = NULL;
    const char *text = NULL;
    td_err error = check_call(core, c, q, &call, &made, &plan, &text);
    uint32_t local = (uint32_t)(seat - c->seat);
    struct td_operation *o = NULL;
    struct buffers b = {0};
    if (error == TD_OK)
        error = admit(core, client, c, seat, q, &call, plan, &b, &o, &text);
    if (error != TD_OK) {
        release_buffers(core, &b);
        td_plan_free(made, core->arena);
        refuse(core, client, q->id, error, text);
        return;
    }
    /* a process may claim anything: it has not waited for longer than since its call before */
    uint64_t since = core->now - seat->called_at, claimed = q->u.operation.waited_ns;
    uint64_t waited = claimed < since ? claimed : since;
    seat->next_sequence++;
    o->by_segment = q->u.operation.by_segment;
    o->arrived++;
    struct td_arrival *a = &o->arrival[local];
    td_arrival_transition(a, TD_ARRIVAL_CALL);
    a->client = client->id;
    a->request = q->id;
    a->call = call;
    a->at = core->now - waited;
    seat->called_at = core->now;
    if (a->at < o->started_at)
        o->started_at = a->at;
    o->last = seat->rank + 1;
    o->silent_node = 0;
    o->silent_ns = 0;
    if (core->resumed_at) /* the call may have waited in the socket while this daemon did not run */
        td_arrival_delayed(core, o, core->node, 0, 0);
    td_recording_call(core, o, local, (uint8_t)call.kind);
    a->source = b.region[0];
    a->destination = b.region[1];
    o->source[local] = memory_of(&b, 0, &q->u.operation.source);
    o->destination[local] = memory_of(&b, 1, &q->u.operation.destination);
    if (o->plan) {
        td_plan_free(made, core->arena);
    } else if (plan) {
        o->plan = plan;
        plan->users++;
    } else {
        o->plan = made;
    }
    int64_t limit = q->u.operation.timeout_ns;
    td_time expires = td_core_after(core, limit < 0 ? core->settings.arrival_timeout_ns : limit);
    if (expires < o->expires_at) {
        o->expires_at = expires;
        td_core_alarm(core, expires);
    }
    if (o->error == TD_ERR_MISMATCH) /* others have called differently before */
        td_waits_side(c, o->sequence, seat->rank, &call);
    if (o->state < TD_OPERATION_RELEASED)
        td_arrival_witness(core, o, &(struct td_witness){call, seat->rank});
    if (o->report_at == TD_TIME_NEVER) {
        o->report_at = core->now + TD_REPORT_NS;
        td_core_alarm(core, o->report_at);
    }
    td_core_queue(core, &o->task);
}

/* name_culprit names a rank of a group in its job, and its node. It ignores UINT32_MAX. */
static void name_culprit(const struct td_communicator *c, uint32_t culprit, int64_t *rank,
                         int64_t *node)
{
    uint32_t slot = 0, local = 0;
    if (culprit >= c->group.size)
        return;
    td_group_locate(&c->group, culprit, &slot, &local);
    *rank = td_communicator_job_rank(c, culprit);
    *node = c->group.node[slot];
}

/* lost_culprit sets *rank and *node to the rank or node that a group has lost, if an error tells of
 * it. It returns false otherwise. */
static bool lost_culprit(const struct td_communicator *c, td_err error, int64_t *rank,
                         int64_t *node)
{
    if (error == TD_ERR_NODE_FAILED && c->state == TD_COMMUNICATOR_LOST_NODE)
        *node = c->lost;
    else if (error == TD_ERR_RANK_FAILED && c->state == TD_COMMUNICATOR_LOST_RANK)
        name_culprit(c, c->lost, rank, node);
    else
        return false;
    return true;
}

/* note_late notes the failure of a call for the log. */
static void note_late(struct td_core *core, const struct td_communicator *c,
                      const struct td_request *q, const struct td_recording_late *late)
{
    struct td_note *note = td_communicator_note(core, c, TD_NOTE_FAILED);
    if (!note)
        return;
    note->operation = q->u.operation.sequence + q->u.operation.by_segment;
    note->error = late->error;
    note->rank = late->rank;
    note->node = late->node;
    snprintf(note->text, sizeof note->text, "%s", late->text);
}

/* answer_late gives a rank the error of an operation that is over here before the rank has called
 * it.
 */
static void answer_late(struct td_core *core, struct td_client *client, struct td_communicator *c,
                        const struct td_seat *seat, const struct td_request *q, td_err error,
                        const char *text)
{
    struct td_recording_late late = {.error = error, .rank = TD_NOTE_NONE, .node = TD_NOTE_NONE};
    const struct td_failed_call failed = {
        .job = c->name,
        .group = c->index,
        .operation = (int64_t)(q->u.operation.sequence + q->u.operation.by_segment)};
    td_waits_side(c, q->u.operation.sequence, seat->rank, &q->u.operation.call);
    if (c->waits && c->waits->error == TD_OK) { /* no operation on this node has failed before */
        late.text = text;
        (void)lost_culprit(c, error, &late.rank, &late.node);
        td_waits_failed(core, c, &(struct td_waits_failure){error, text, late.rank, late.node});
        note_late(core, c, q, &late);
    }
    td_recording_late(core, c, seat, q, &late);
    td_reply_failed(core, client->id, q->id, error, text, &failed);
}

void td_arrival_request(struct td_core *core, struct td_client *client, const struct td_request *q)
{
    struct td_communicator *c = NULL;
    struct td_seat *seat = td_communicator_seat(core, client, q->u.operation.group, &c);
    if (!seat) {
        td_reply_error(core, client->id, q->id, TD_ERR_INVALID,
                       "this process is not in the group: it has not joined, or has left");
        return;
    }
    uint64_t sequence = q->u.operation.sequence;
    td_stopped_called(core, c, seat, sequence + q->u.operation.by_segment);
    bool again = sequence < seat->next_sequence && seat->again && sequence + 1 >= seat->again;
    if (sequence < seat->next_sequence && !again) {
        td_client_expel(core, client->id, TD_ERR_PROTOCOL,
                        "the sequence number of the call was used before");
        return;
    }
    if (c->state == TD_COMMUNICATOR_HELD && !core->stopping) {
        td_reply_no_room(
            core, client->id, q->id,
            td_core_format(core, "the nodes of job %s agree on how to go on", c->name));
        td_client_wait_for_room(core, client);
        return;
    }
    bool rests = td_communicator_rests(c);
    if (sequence > seat->next_sequence && !rests) {
        td_reply_refused(
            core, client->id, q->id, TD_ERR_BUSY,
            td_core_format(core,
                           "an earlier call of rank %u, operation %llu of job %s, was "
                           "refused: make this one again after it",
                           td_communicator_job_rank(c, seat->rank),
                           (unsigned long long)(seat->next_sequence + q->u.operation.by_segment),
                           c->name));
        return;
    }
    bool known = sequence >= c->first_sequence &&
                 sequence < c->first_sequence + TD_GROUP_OPERATIONS_MAX &&
                 c->operation[sequence % TD_GROUP_OPERATIONS_MAX];
    bool over = (rests && !known) || again || sequence < c->first_sequence; /* it is behind */
    const struct td_ending *ending = over ? td_endings_find(core, c->instance, sequence) : NULL;
    if (over && sequence > seat->next_sequence && !seat->again)
        seat->again = seat->next_sequence + 1;
    if (over && !again)
        seat->next_sequence = sequence + 1;
    client->failed_at = over ? core->now : 0;
    if (ending) { /* the operation ended before the group broke, or was parted */
        answer_late(core, client, c, seat, q, ending->error, ending->text);
        return;
    }
    if (over) {
        answer_late(core, client, c, seat, q, rests ? c->error : TD_ERR_PARTITIONED, c->text);
        return;
    }
    if (core->stopping) {
        td_reply_error(core, client->id, q->id, TD_ERR_SHUTDOWN, "the daemon is stopping");
        return;
    }
    arrive(core, client, c, seat, q);
}

/* ---- waiting ---- */

void td_arrival_delayed(struct td_core *core, struct td_operation *o, uint32_t from,
                        uint32_t silent_node, uint64_t silent_ns)
{
    td_time beat = (td_time)core->settings.heartbeat_ns, own = td_silence_delay(core, core->node),
            delay = td_silence_delay(core, from);
    bool told = silent_node > 0 && silent_node <= core->options.topology.nodes;
    o->silent_node = told ? silent_node : 0;
    o->silent_ns = told ? silent_ns : 0;
    o->unheard_ns = 0; /* a message does not tell */
    if (own > delay) {
        delay = own;
        from = core->node;
    }
    /* a call that has just begun was not delayed; a node nearer to the silence knows it better */
    if (core->now - o->started_at < beat || delay < beat || delay - beat <= o->silent_ns)
        return;
    o->silent_node = from + 1;
    o->silent_ns = delay;
    o->unheard_ns = td_silence_lasted(core, from);
}

void td_arrival_told(const struct td_core *core, struct td_operation *o,
                     const struct td_message_verdict *verdict)
{
    if (verdict->silent_node == 0 || verdict->silent_node > core->options.topology.nodes)
        return;
    o->silence_told = true;
    o->silent_node = verdict->silent_node;
    o->silent_ns = verdict->silent_ns;
}

/* waited fills in a charge: how long the local ranks have waited in a silence of silent_ns that
 * ends now, and otherwise, without the rank `except`. It returns true if that one is a local rank.
 */
static bool waited(const struct td_core *core, const struct td_operation *o, uint32_t except,
                   uint64_t silent_ns, struct td_charge *charge)
{
    const struct td_communicator *c = o->communicator;
    bool is_local = false, here = o->silent_node == core->node + 1; /* that rank was late, too */
    *charge = (struct td_charge){
        .at = core->now, .operation = td_operation_number(o), .silence_ns = silent_ns};
    for (uint32_t i = 0; i < c->ranks; i++) {
        bool is_except = c->seat[i].rank == except;
        is_local = is_local || is_except;
        if (o->arrival[i].state != TD_ARRIVAL_WAITING || (is_except && here))
            continue;
        uint64_t ns = core->now - o->arrival[i].at, silent = ns < silent_ns ? ns : silent_ns;
        charge->silent_ns += silent;
        charge->silent_ranks += silent > 0;
        if (silent > charge->silent_longest_ns)
            charge->silent_longest_ns = silent;
        if (is_except)
            continue;
        ns -= silent;
        charge->ns += ns;
        if (ns > charge->longest_ns)
            charge->longest_ns = ns;
    }
    return is_local;
}

void td_arrival_released(struct td_core *core, struct td_operation *o)
{
    struct td_charge charge;
    if (!o->communicator->waits || o->last == 0)
        return;
    bool is_local = waited(core, o, o->last - 1, o->silent_ns, &charge);
    charge.silent_node = o->silent_node;
    charge.unheard_ns = o->unheard_ns;
    charge.last = is_local;
    if (charge.silent_longest_ns < (uint64_t)core->settings.heartbeat_ns)
        charge.silent_node = 0; /* too short to be told */
    o->communicator->waits->operations++;
    td_waits_charge(o->communicator, o->last - 1, o->least.call.kind, &charge);
}

/* struct absence: how long the local ranks have waited, for a rank whose node is not heard for so
 * long. Most absent ranks are of nodes that are heard, or of one that is not: the sums are reused.
 */
struct absence {
    bool known;
    td_time unheard;
    struct td_charge charge;
    uint32_t told_node; /* as the verdict, or the loss of a node, tells; 0: it tells of none */
    td_time told_ns;
};

/* charge_absent charges one of `absent` ranks that have not called, or the silence of its node. */
static void charge_absent(struct td_core *core, struct td_operation *o, uint32_t rank,
                          uint32_t absent, struct absence *sums)
{
    struct td_communicator *c = o->communicator;
    uint32_t slot = 0, local = 0;
    td_group_locate(&c->group, rank, &slot, &local);
    td_time unheard = td_silence_unheard(core, c->group.node[slot]),
            delay = td_silence_delay(core, c->group.node[slot]);
    td_time lasted = unheard;
    if (delay > unheard) { /* another daemon of the node has just been heard */
        unheard = delay;
        lasted = td_silence_lasted(core, c->group.node[slot]);
    }
    uint32_t silent = c->group.node[slot] + 1;
    if (sums->told_node == silent && sums->told_ns > unheard) /* its neighbours know it better */
        unheard = sums->told_ns;
    if (unheard < (td_time)core->settings.heartbeat_ns)
        unheard = 0; /* too short to be told: a connection that has just ended */
    if (unheard && (!o->silent_node || unheard > o->silent_ns)) {
        o->silent_node = silent;
        o->silent_ns = unheard;
    }
    if (!sums->known || sums->unheard != unheard) {
        sums->known = true;
        sums->unheard = unheard;
        waited(core, o, UINT32_MAX, unheard, &sums->charge);
    }
    struct td_charge charge = sums->charge;
    charge.silent_node = unheard ? silent : 0;
    charge.unheard_ns = lasted;
    charge.ns /= absent;
    charge.silent_ns /= absent;
    td_waits_charge(c, rank, o->least.call.kind, &charge);
}

void td_arrival_failed(struct td_core *core, struct td_operation *o)
{
    struct td_communicator *c = o->communicator;
    uint8_t *bits = td_core_pad(core, td_bit_bytes(c->group.size));
    if (!c->waits || !o->witnesses || !bits)
        return;
    td_gate_arrived(o, bits);
    bool lost =
        c->state == TD_COMMUNICATOR_LOST_RANK && c->lost < c->group.size && !td_bit(bits, c->lost);
    uint32_t absent = 0;
    for (uint32_t r = 0; r < c->group.size; r++)
        absent += !td_bit(bits, r);
    c->waits->operations++;
    if (lost) {
        struct td_charge charge;
        waited(core, o, UINT32_MAX, 0, &charge);
        td_waits_charge(c, c->lost, o->least.call.kind, &charge);
        return;
    }
    if (absent == 0 ||
        o->error == TD_ERR_MISMATCH) /* calls that differ end at once: none is late */
        return;
    struct absence sums = {.told_node = o->silent_node, .told_ns = o->silent_ns};
    if (c->state == TD_COMMUNICATOR_LOST_NODE) {
        sums.told_node = c->lost + 1;
        sums.told_ns = c->lost_silent_ns;
    }
    for (uint32_t r = 0; r < c->group.size; r++)
        if (!td_bit(bits, r))
            charge_absent(core, o, r, absent, &sums);
}

/* only_absent returns the only rank that has not called, as far as this node knows, or UINT32_MAX.
 */
static uint32_t only_absent(struct td_core *core, const struct td_operation *o)
{
    const struct td_communicator *c = o->communicator;
    uint8_t *bits = td_core_pad(core, td_bit_bytes(c->group.size));
    uint32_t absent = UINT32_MAX, count = 0;
    if (!bits)
        return UINT32_MAX;
    td_gate_arrived(o, bits);
    for (uint32_t r = 0; r < c->group.size && count < 2; r++)
        if (!td_bit(bits, r)) {
            absent = r;
            count++;
        }
    return count == 1 ? absent : UINT32_MAX;
}

void td_arrival_culprit(struct td_core *core, const struct td_operation *o, td_err error,
                        int64_t *rank, int64_t *node)
{
    const struct td_communicator *c = o->communicator;
    if (lost_culprit(c, error, rank, node))
        return;
    /* a mismatch blames nobody: two calls are kept, but not how many ranks have made each, so
     * either rank that the sentence names may have called what all others did */
    if (error == TD_ERR_TIMEOUT)
        name_culprit(c, only_absent(core, o), rank, node);
}

/* ---- cancellation ---- */

static void cancel(struct td_core *core, struct td_operation *o, const char *text)
{
    if (o->state >= TD_OPERATION_RELEASED) {
        td_stall_cancel(core, o, text);
        return;
    }
    o->appeal_error = TD_OK; /* a cancel replaces an earlier appeal */
    td_operation_appeal(core, o, TD_ERR_CANCELLED, text);
}

bool td_arrival_end(struct td_core *core, struct td_operation *o, const char *by)
{
    bool waits = o->state < TD_OPERATION_RELEASED;
    if (waits ? o->appeal_error == TD_ERR_CANCELLED : o->cancelled || !td_stall_may_cancel(o))
        return false;
    cancel(core, o,
           td_core_format(core, "%s was cancelled by %s", td_operation_describe(core, o), by));
    return waits || o->cancelled;
}

void td_arrival_cancel(struct td_core *core, struct td_client *client, uint64_t request)
{
    for (struct td_communicator *c = core->communicators; c; c = c->next)
        for (int i = 0; c->recorded && i < TD_GROUP_OPERATIONS_MAX; i++) {
            struct td_operation *o = c->operation[i];
            for (uint32_t local = 0; o && local < c->ranks; local++) {
                const struct td_arrival *a = &o->arrival[local];
                if (a->state != TD_ARRIVAL_WAITING || a->client != client->id ||
                    a->request != request)
                    continue;
                cancel(core, o,
                       td_core_format(core, "rank %u cancelled %s",
                                      td_communicator_job_rank(c, c->seat[local].rank),
                                      td_operation_describe(core, o)));
                return;
            }
        }
}
