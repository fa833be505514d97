/* SPDX-License-Identifier: Apache-2.0 */
#include "play.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "faults.h"
#include "groups.h"
#include "judge.h"
#include "programs.h"

enum {
    SETTLE_MS = 40000,
    RECOVER_MS = 3000,
    LEAVE_MS = 8000,
    COUNTS_MAX = 3 * SWARM_PROCESSES_MAX
};

/* base_of returns the memory that a member named in its call: of the region that its process had
 * then. */
static uint8_t *base_of(const struct swarm *s, const struct swarm_process *p,
                        const struct swarm_part *part)
{
    return td_sim_memory(s->sim, p->client, part->region);
}

/* ---- groups ---- */

static void make_job(struct swarm *s, uint32_t size)
{
    char name[24];
    if (s->jobs == SWARM_JOBS_MAX || s->parties == SWARM_PARTIES_MAX ||
        s->processes + size > SWARM_PROCESSES_MAX)
        return;
    struct swarm_party *p = swarm_new_party(s, s->jobs, size);
    snprintf(name, sizeof name, "job %u", s->jobs++);
    bool spread = swarm_below(s, 2);
    p->is_world = true;
    for (uint32_t i = 0; i < size; i++) {
        uint32_t node = spread ? i * s->nodes / size : (uint32_t)swarm_below(s, s->nodes);
        if (s->daemon_dead[node])
            continue; /* its daemon accepts no connection */
        struct swarm_process *q = &s->process[s->processes];
        *q = (struct swarm_process){.node = node, .job = p->job, .rank = i};
        p->seat[i].process = s->processes++;
        q->client = td_sim_open(s->sim, node);
        q->region = td_sim_region(s->sim, q->client, 2 * s->c->half_bytes);
        struct td_request request = {.kind = TD_REQUEST_JOIN};
        request.u.join.name = name;
        request.u.join.size = size;
        request.u.join.rank = i;
        request.u.join.timeout_ns = SWARM_REQUEST_MS * (int64_t)SWARM_MS;
        p->seat[i].making = td_sim_request(s->sim, q->client, &request);
    }
}

static void make_group(struct swarm *s, uint32_t parent)
{
    uint64_t member[SWARM_PROCESSES_MAX] = {0};
    if (s->parties == SWARM_PARTIES_MAX)
        return;
    struct swarm_party *from = &s->party[parent];
    for (uint32_t i = 0; i < from->size; i++)
        if (!swarm_can_act(s, &from->seat[i]))
            return;
    uint32_t size = 1 + (uint32_t)swarm_below(s, from->size);
    assert(size > 0);
    for (uint32_t i = 0; i < from->size; i++)
        member[i] = i;
    for (uint32_t i = 0; i < size; i++) {
        uint32_t other = i + (uint32_t)swarm_below(s, from->size - i);
        uint64_t swap = member[other];
        member[other] = member[i];
        member[i] = swap;
    }
    uint32_t number = s->parties;
    struct swarm_party *p = swarm_new_party(s, from->job, size);
    p->parent = parent;
    p->member = malloc(size * sizeof *p->member);
    if (!p->member)
        abort();
    memcpy(p->member, member, size * sizeof *p->member);
    for (uint32_t i = 0; i < size; i++) {
        p->seat[i].process = from->seat[member[i]].process;
        swarm_ask_for_group(s, number, i);
    }
    s->report->groups++;
}

/* is_busy returns true if a process has requests without reply: the others may wait for it there.
 */
static bool is_busy(struct swarm *s, uint32_t process)
{
    for (uint32_t k = 0; k < s->parties; k++)
        for (uint32_t i = 0; i < s->party[k].size; i++) {
            const struct swarm_seat *seat = &s->party[k].seat[i];
            if (seat->process != process)
                continue;
            if (seat->making || seat->shrinking)
                return true;
            for (uint32_t o = 0; o < s->party[k].operations; o++)
                if (s->party[k].operation[o].part[i].request)
                    return true;
        }
    return swarm_programs_runs(s, process);
}

/* leave_job makes a process leave its job, and the groups made of it first. */
static void leave_job(struct swarm *s, uint32_t process)
{
    for (uint32_t k = s->parties; k-- > 0;)
        for (uint32_t m = 0; m < s->party[k].size; m++)
            if (s->party[k].seat[m].process == process && swarm_can_act(s, &s->party[k].seat[m]))
                swarm_leave_seat(s, &s->party[k].seat[m]);
    s->process[process].left = true;
}

/* leave_group makes one member or all of them leave a group. Who leaves a job leaves its groups. */
static void leave_group(struct swarm *s, struct swarm_party *p, bool all)
{
    uint32_t one = (uint32_t)swarm_below(s, p->size);
    for (uint32_t i = 0; i < p->size; i++) {
        uint32_t process = p->seat[i].process;
        if (!swarm_can_act(s, &p->seat[i]) || (!all && i != one) || is_busy(s, process))
            continue;
        if (p->is_world)
            leave_job(s, process);
        else
            swarm_leave_seat(s, &p->seat[i]);
    }
}

/* ---- shrinks ---- */

static void shrink(struct swarm *s, struct swarm_party *p)
{
    if (p->shrinks || s->parties >= SWARM_PARTIES_MAX / 2)
        return;
    for (uint32_t i = 0; i < p->size; i++) { /* a live member that has no group cannot call */
        const struct swarm_process *q = swarm_process_of(s, &p->seat[i]);
        if (!q || (!q->dead && !q->left && !p->seat[i].left && !p->seat[i].has))
            return;
    }
    p->shrinks = p->broken = true;
    for (uint32_t i = 0; i < p->size; i++)
        if (swarm_can_act(s, &p->seat[i]))
            swarm_call_shrink(s, &p->seat[i]);
    s->report->shrinks++;
}

/* may_follow returns true if a group may have another successor, without the ranks whose bits are
 * set: the daemons of all members of the first one have died, also of those that were not told of
 * it. Each of these had accepted it, and would have told so in a later shrink; another daemon on
 * its node proves that it is gone, and is free to forget. */
static bool may_follow(const struct swarm *s, const struct swarm_party *p, const uint8_t *lost)
{
    for (uint32_t i = 0; i < p->size; i++) {
        bool member = !td_bit(p->left_out, i);
        uint32_t process = p->seat[i].process;
        if (member && (process == SWARM_NONE || !s->process[process].buried || !td_bit(lost, i)))
            return false;
    }
    return true;
}

/* new_successor notes a successor of a group: the ranks of the group without those that are lost.
 */
static struct swarm_party *new_successor(struct swarm *s, struct swarm_party *p,
                                         const struct td_reply *r)
{
    p->successor = s->parties;
    struct swarm_party *next = swarm_new_party(s, p->job, r->u.joined.size);
    next->instance = r->u.joined.instance;
    if (!p->left_out)
        p->left_out = malloc(td_bit_bytes(p->size));
    if (!p->left_out)
        abort();
    memcpy(p->left_out, r->u.joined.lost.bits, td_bit_bytes(p->size));
    return next;
}

/* succeed notes that a member was told of the successor of its group. */
static void succeed(struct swarm *s, struct swarm_party *p, uint32_t member,
                    const struct td_reply *r)
{
    uint32_t rank = r->u.joined.rank;
    if (r->u.joined.lost.bytes != td_bit_bytes(p->size))
        swarm_failed(s, "shrink: the list of lost ranks has %u bytes", r->u.joined.lost.bytes);
    struct swarm_party *next = p->successor == SWARM_NONE ? NULL : &s->party[p->successor];
    if (!next ||
        (next->instance != r->u.joined.instance && may_follow(s, p, r->u.joined.lost.bits)))
        next = new_successor(s, p, r);
    if (memcmp(p->left_out, r->u.joined.lost.bits, r->u.joined.lost.bytes) != 0 ||
        next->instance != r->u.joined.instance || next->size != r->u.joined.size)
        swarm_failed(s, "split brain: a group has two successors, of %u and of %u ranks",
                     next->size, r->u.joined.size);
    if (rank >= next->size || next->seat[rank].process != SWARM_NONE)
        swarm_failed(s, "shrink: two members became rank %u of the successor", rank);
    next->seat[rank].process = p->seat[member].process;
    swarm_take_group(s, next, rank, r);
}

static void receive_shrink(struct swarm *s, struct swarm_party *p, uint32_t member,
                           const struct td_reply *r)
{
    struct swarm_seat *seat = &p->seat[member];
    seat->shrinking = 0;
    seat->told = true;
    seat->end = r->error;
    /* the others may agree later, with what this member's daemon has accepted */
    seat->again = r->error == TD_ERR_PARTITIONED && strstr(r->text, "call again");
    if (r->error == TD_OK)
        succeed(s, p, member, r);
    else
        swarm_judge(s, p, NULL, r, "a shrink");
    for (uint32_t i = 0; i < p->size; i++) {
        const struct swarm_seat *other = &p->seat[i];
        if (other->told && (other->end == TD_OK) != (r->error == TD_OK) && !s->any_hurt &&
            !s->any_starved)
            swarm_failed(s, "shrink: members %u and %u were told of different ends: %d and %d: %s",
                         i, member, (int)other->end, (int)r->error, r->text);
    }
}

/* ---- calls ---- */

/* issue makes a member's next call. */
static void issue(struct swarm *s, struct swarm_party *p, uint32_t member)
{
    static uint64_t counts[COUNTS_MAX];
    struct swarm_seat *seat = &p->seat[member];
    struct swarm_operation *o = &p->operation[seat->next];
    const struct swarm_process *q = swarm_process_of(s, seat);
    struct td_request request;
    o->part[member].region = q->region;
    if (o->call.call.kind != TD_KIND_BARRIER)
        swarm_call_prepare(&o->call, member, base_of(s, q, &o->part[member]), s->c->half_bytes);
    swarm_call_request(&o->call, member, q->region, s->c->half_bytes, counts, &request);
    if (o->odd == member)
        swarm_call_change(&request);
    request.u.operation.group = seat->group;
    request.u.operation.sequence = seat->next++;
    o->part[member].request = td_sim_request(s->sim, q->client, &request);
    o->made += !o->part[member].made;
    o->part[member].made = true;
}

static void issue_some(struct swarm *s, uint32_t percent)
{
    swarm_programs_advance(s, s->settles);
    for (uint32_t k = 0; k < s->parties; k++) {
        struct swarm_party *p = &s->party[k];
        for (uint32_t i = 0; i < p->size; i++)
            if (p->seat[i].again && swarm_can_act(s, &p->seat[i]) && swarm_below(s, 100) < percent)
                swarm_call_shrink(s, &p->seat[i]);
        if (!p->instance || p->operations == 0)
            continue;
        uint32_t first = (uint32_t)swarm_below(s, p->size);
        for (uint32_t i = 0; i < p->size; i++) {
            uint32_t member = (first + i) % p->size;
            while (swarm_can_act(s, &p->seat[member]) && p->seat[member].next < p->operations &&
                   swarm_below(s, 100) < percent)
                issue(s, p, member);
        }
    }
}

static void describe(const struct swarm_operation *o, uint32_t member, char *text, size_t size)
{
    char call[TD_CALL_TEXT_MAX];
    td_call_print(&o->call.call, call, sizeof call);
    snprintf(text, size, "%s%s of rank %u of %u", call, o->call.in_place ? " in place" : "", member,
             o->call.size);
}

static void receive_call(struct swarm *s, struct swarm_party *p, struct swarm_operation *o,
                         uint32_t member, const struct td_reply *r)
{
    char what[200];
    struct swarm_part *part = &o->part[member];
    struct swarm_process *q = swarm_process_of(s, &p->seat[member]);
    describe(o, member, what, sizeof what);
    part->request = 0;
    if (r->refused) { /* it does not count, nor those after it */
        uint32_t index = (uint32_t)(o - p->operation);
        p->seat[member].next = index < p->seat[member].next ? index : p->seat[member].next;
        part->made = false;
        o->made--;
        if (strstr(r->text, "which this process has not shared")) /* its daemon had no memory */
            q->region = td_sim_region(s->sim, q->client, 2 * s->c->half_bytes);
        swarm_judge(s, p, o, r, what);
        return;
    }
    part->replied = true;
    if (r->error == TD_OK && o->made < p->size)
        swarm_failed(s, "early release: %s ended well, and only %u ranks have called", what,
                     o->made);
    if (r->error == TD_OK && o->odd != SWARM_NONE)
        swarm_failed(s, "mismatch: %s ended well, and rank %u has made another call", what, o->odd);
    const char *wrong = NULL;
    if (o->call.call.kind != TD_KIND_BARRIER) {
        uint8_t *base = base_of(s, q, part);
        wrong = swarm_call_check(&o->call, member, base, s->c->half_bytes, r->error == TD_OK);
        part->hash = swarm_call_hash(&o->call, base, s->c->half_bytes);
    }
    if (wrong)
        swarm_failed(s, "wrong result: %s (%d): %s", what, (int)r->error, wrong);
    if (r->error == TD_OK) {
        s->report->good++;
        return;
    }
    p->broken |=
        r->error != TD_ERR_CANCELLED && r->error != TD_ERR_NO_MEMORY && r->error != TD_ERR_MISMATCH;
    swarm_judge(s, p, o, r, what);
}

static void cancel(struct swarm *s, struct swarm_party *p)
{
    for (uint32_t k = 0; k < p->operations; k++)
        for (uint32_t i = 0; i < p->size; i++) {
            struct swarm_operation *o = &p->operation[k];
            if (!o->part[i].request || !swarm_can_act(s, &p->seat[i]) || swarm_below(s, 4))
                continue;
            struct td_request q = {.kind = TD_REQUEST_CANCEL};
            q.u.cancel.request = o->part[i].request;
            td_sim_request(s->sim, swarm_process_of(s, &p->seat[i])->client, &q);
            o->cancelled = true;
            return;
        }
}

/* ---- replies ---- */

/* add_text adds a text, which may be NULL, to a hash. */
static uint64_t add_text(uint64_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = td_hash_add(hash, (uint8_t)*text);
    return hash;
}

/* digest adds a reply to the case's digest. */
static void digest(struct swarm *s, uint32_t client, const struct td_reply *r)
{
    const uint64_t words[] = {td_sim_now(s->sim), client, r->id, r->kind,
                              (uint64_t)(int64_t)r->error};
    uint64_t hash = s->report->digest;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = td_hash_add(hash, words[i]);
    if (r->kind == TD_REPLY_JOINED) {
        hash = td_hash_add(hash, r->u.joined.rank);
        hash = td_hash_add(hash, r->u.joined.size);
        hash = td_hash_add(hash, r->u.joined.instance);
    }
    s->report->digest = add_text(hash, r->error == TD_OK ? NULL : r->text);
}

/* receive finds the request of a reply. */
static void receive(void *me, uint32_t client, const struct td_reply *r)
{
    struct swarm *s = me;
    digest(s, client, r);
    for (uint32_t k = 0; r->id && k < s->parties; k++) {
        struct swarm_party *p = &s->party[k];
        for (uint32_t i = 0; i < p->size; i++) {
            struct swarm_seat *seat = &p->seat[i];
            const struct swarm_process *q = swarm_process_of(s, seat);
            if (!q || q->client != client)
                continue;
            if (q->dead) /* its daemon drains */
                return;
            if (seat->making == r->id) {
                seat->making = 0;
                if (r->error == TD_OK)
                    swarm_take_group(s, p, i, r);
                else
                    swarm_judge(s, p, NULL, r, "the making of a group");
                return;
            }
            if (seat->shrinking == r->id) {
                receive_shrink(s, p, i, r);
                return;
            }
            for (uint32_t o = p->operations; o-- > 0;)
                if (p->operation[o].part[i].request == r->id) {
                    receive_call(s, p, &p->operation[o], i, r);
                    return;
                }
        }
    }
}

/* ---- the workload ---- */

static struct swarm_party *any_party(struct swarm *s)
{
    for (int tries = 0; tries < 8; tries++) {
        struct swarm_party *p = &s->party[swarm_below(s, s->parties)];
        if (p->instance)
            return p;
    }
    return NULL;
}

static void act(struct swarm *s)
{
    struct swarm_party *p = any_party(s);
    uint64_t what = swarm_below(s, 100);
    if (!p)
        return;
    bool shrinks = (p->broken && what < 50) || what == 85;
    if (shrinks)
        shrink(s, p);
    else if (what < 62 || what > 85)
        swarm_new_call(s, p);
    else if (what < 75 && s->parties <= s->c->groups)
        make_group(s, (uint32_t)(p - s->party));
    else if (what < 79)
        cancel(s, p);
    else if (what < 82)
        leave_group(s, p, swarm_below(s, 2));
    else
        make_job(s, 1 + (uint32_t)swarm_below(s, 6));
}

/* pause_for lets time pass, in which programs go on. */
static void pause_for(struct swarm *s, td_time duration, uint32_t percent)
{
    enum { SLICES = 16 };
    for (uint32_t i = 1; s->programs && i < SLICES; i++) {
        swarm_run(s, duration / SLICES);
        issue_some(s, percent);
    }
    swarm_run(s, s->programs ? duration / SLICES : duration);
}

static void work(struct swarm *s)
{
    static const uint8_t percents[] = {100, 100, 60, 25};
    uint32_t percent = percents[swarm_below(s, sizeof percents)];
    uint64_t acts = 1 + swarm_below(s, 4);
    if (s->c->groups > 100)
        acts = 8;
    make_job(s, s->c->ranks);
    for (uint32_t step = 0; step < s->c->steps; step++) {
        swarm_faults_begin(s, step);
        for (uint64_t i = 0; i < acts; i++)
            act(s);
        if (s->c->programs && swarm_below(s, 100) < s->c->programs)
            swarm_programs_begin(s, (uint32_t)swarm_below(s, s->parties));
        issue_some(s, percent);
        pause_for(s, swarm_below(s, s->c->pause_ns), percent);
    }
}

/* ---- the end ---- */

/* print_seats writes a letter for each member of a group: what keeps it from calling, or c. */
static int print_seats(struct swarm *s, const struct swarm_party *p, uint32_t o, char *text,
                       size_t size)
{
    int at = snprintf(text, size, ", members ");
    for (uint32_t i = 0; i < p->size && (size_t)at + 2 < size; i++) {
        const struct swarm_seat *seat = &p->seat[i];
        const struct swarm_process *q = swarm_process_of(s, seat);
        const struct swarm_part *part = &p->operation[o].part[i];
        text[at++] = !q              ? '?'
                     : q->dead       ? 'd'
                     : q->left       ? 'L'
                     : seat->left    ? 'l'
                     : !seat->has    ? '-'
                     : part->replied ? 'r'
                     : part->request ? 'c'
                                     : 'n';
    }
    return at + snprintf(text + at, size - (size_t)at, ", call %u of %u", o, p->operations);
}

/* unanswered writes a request of a live process that has no reply, and returns false if there is
 * none. */
static bool unanswered(struct swarm *s, char *text, size_t size)
{
    for (uint32_t k = 0; k < s->parties; k++) {
        const struct swarm_party *p = &s->party[k];
        for (uint32_t i = 0; i < p->size; i++) {
            const struct swarm_seat *seat = &p->seat[i];
            const struct swarm_process *q = swarm_process_of(s, seat);
            if (!q || q->dead || td_sim_closed(s->sim, q->client))
                continue;
            if (seat->making || seat->shrinking || (seat->again && swarm_can_act(s, seat))) {
                snprintf(text, size, "the %s of member %u of a group of %u",
                         seat->shrinking || seat->again ? "shrink" : "making", i, p->size);
                return true;
            }
            for (uint32_t o = 0; o < p->operations; o++)
                if (p->operation[o].part[i].request ||
                    (swarm_can_act(s, seat) && seat->next == o)) {
                    describe(&p->operation[o], i, text, size);
                    size_t at = strlen(text);
                    print_seats(s, p, o, text + at, size - at);
                    return true;
                }
        }
    }
    return swarm_programs_waits(s, text, size);
}

/* give_up makes the members leave their jobs that were told often enough to call a shrink again, or
 * to join a new job. This is right if a node was away, and the daemons of others were restarted:
 * then nobody is left that knows whether they went on without it. */
static void give_up(struct swarm *s)
{
    bool paused = false, restarted = false;
    for (uint32_t n = 0; n < s->nodes; n++) {
        paused |= s->paused[n];
        restarted |= s->restarted[n];
    }
    for (uint32_t k = 0; k < s->parties && paused && restarted; k++)
        for (uint32_t i = 0; i < s->party[k].size; i++)
            if (s->party[k].seat[i].again && swarm_can_act(s, &s->party[k].seat[i]))
                leave_job(s, s->party[k].seat[i].process);
}

static void settle(struct swarm *s)
{
    char text[400];
    td_time until = td_sim_now(s->sim) + SETTLE_MS * SWARM_MS, slice = SWARM_MS;
    s->settles = true;
    while (unanswered(s, text, sizeof text)) {
        if (td_sim_now(s->sim) > until)
            swarm_failed(s, "liveness: %s has no end %u s after all faults", text,
                         SETTLE_MS / 1000);
        if (td_sim_now(s->sim) + SETTLE_MS / 2 * SWARM_MS > until)
            give_up(s);
        uint64_t made = s->steps_made;
        issue_some(s, 100);
        swarm_run(s, slice);
        slice = slice < 500 * SWARM_MS ? 2 * slice : slice;
        if (s->steps_made !=
            made) { /* the next step of a program may wait for the next turn only */
            until = td_sim_now(s->sim) + SETTLE_MS * SWARM_MS;
            slice = SWARM_MS;
        }
    }
}

static bool is_whole(struct swarm *s, const struct swarm_party *p)
{
    for (uint32_t i = 0; i < p->size; i++)
        if (!swarm_can_act(s, &p->seat[i]))
            return false;
    return p->instance && !p->broken;
}

/* go_on makes each group that no error has hit call once more, and forms a job of all nodes. If a
 * node is at its limit of groups, no rank gets into that job. */
static void go_on(struct swarm *s)
{
    for (uint32_t k = 0; k < s->parties; k++)
        if (is_whole(s, &s->party[k]))
            swarm_new_call(s, &s->party[k]);
    settle(s);
    swarm_run(s, RECOVER_MS * SWARM_MS);
    struct swarm_party *p = swarm_new_party(s, SWARM_JOBS_MAX, s->nodes);
    for (uint32_t i = 0; i < s->nodes; i++) {
        struct swarm_process *q = &s->process[s->processes];
        *q = (struct swarm_process){.node = i, .job = SWARM_JOBS_MAX, .rank = i};
        p->seat[i].process = s->processes++;
        q->client = td_sim_open(s->sim, i);
        q->region = td_sim_region(s->sim, q->client, 2 * s->c->half_bytes);
        struct td_request request = {.kind = TD_REQUEST_JOIN};
        request.u.join = (__typeof__(request.u.join)){"after", s->nodes, i,
                                                      SWARM_REQUEST_MS * (int64_t)SWARM_MS};
        p->seat[i].making = td_sim_request(s->sim, q->client, &request);
    }
    s->error[0] = '\0';
    settle(s);
    bool full = s->c->groups_max && strstr(s->error, "[limits] groups");
    swarm_new_call(s, p);
    settle(s);
    for (uint32_t i = 0; i < s->nodes; i++)
        if (full ? p->seat[i].has : !p->seat[i].has || p->broken)
            swarm_failed(s, "liveness: a job of all nodes after all faults: %s", s->error);
}

static void check_buffers(struct swarm *s)
{
    char what[200];
    for (uint32_t k = 0; k < s->parties; k++)
        for (uint32_t o = 0; o < s->party[k].operations; o++)
            for (uint32_t i = 0; i < s->party[k].size; i++) {
                const struct swarm_operation *x = &s->party[k].operation[o];
                const struct swarm_process *q = swarm_process_of(s, &s->party[k].seat[i]);
                if (!x->part[i].replied || x->call.call.kind == TD_KIND_BARRIER)
                    continue;
                describe(x, i, what, sizeof what);
                if (swarm_call_hash(&x->call, base_of(s, q, &x->part[i]), s->c->half_bytes) !=
                    x->part[i].hash)
                    swarm_failed(s, "late write: the buffers of %s changed after the reply", what);
            }
}

static void check_left(struct swarm *s)
{
    for (uint32_t i = 0; i < s->processes; i++) {
        const struct swarm_process *p = &s->process[i];
        if (!p->dead && td_sim_closed(s->sim, p->client) && !s->any_starved)
            swarm_failed(s,
                         "accusation: the daemon of node %u has closed the connection of rank %u",
                         p->node, p->rank);
        td_sim_close(s->sim, p->client);
    }
    const char *left = "";
    for (td_time waited = 0; left && waited < LEAVE_MS * SWARM_MS; waited += 1000 * SWARM_MS) {
        td_sim_run(s->sim, 1000 * SWARM_MS);
        left = td_sim_leftovers(s->sim);
    }
    if (left)
        swarm_failed(s, "leak: in the end %s", left);
}

static void finish(struct swarm *s)
{
    s->report->events = td_sim_events(s->sim);
    s->report->end = td_sim_now(s->sim);
    td_sim_destroy(s->sim);
    swarm_programs_free(s);
    for (uint32_t k = 0; k < s->parties; k++) {
        for (uint32_t o = 0; o < s->party[k].operations; o++)
            free(s->party[k].operation[o].part);
        free(s->party[k].operation);
        free(s->party[k].member);
        free(s->party[k].left_out);
        free(s->party[k].seat);
    }
}

static td_err slow_worker(void *me, uint32_t node, const struct td_compute *c, td_time *later)
{
    const struct swarm *s = me;
    (void)c;
    *later = s->compute_ns[node];
    return TD_OK;
}

void swarm_play(const struct swarm_case *c, uint32_t without, FILE *trace,
                struct swarm_report *report, void (*fail)(const char *text))
{
    static struct swarm play;
    struct swarm *s = &play;
    memset(s, 0, sizeof *s);
    *report = (struct swarm_report){.digest = TD_HASH_START};
    s->c = c;
    s->without = without;
    s->report = report;
    s->fail = fail;
    s->random = c->workload;
    struct td_sim_options o;
    swarm_options(c, &o);
    o.trace = trace;
    o.workers.compute = slow_worker;
    o.workers.me = s;
    o.observer.reply = receive;
    o.observer.me = s;
    s->sim = td_sim_create(&o);
    if (!s->sim)
        abort();
    s->nodes = td_sim_nodes(s->sim);
    work(s);
    swarm_faults_heal(s);
    settle(s);
    go_on(s);
    check_buffers(s);
    check_left(s);
    check_buffers(s);
    finish(s);
}
