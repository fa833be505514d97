/* SPDX-License-Identifier: Apache-2.0 */
#include "epoch.h"

#include <string.h>

#include "core/net/fabric.h"
#include "core/net/link.h"
#include "core/net/session.h"

#define BALLOT_MAX (UINT64_MAX / 2)

/* An exclusion in a message: little-endian, node (2 bytes), daemon (4), ballot (8). */
enum { PACKED_BYTES = 14 };
_Static_assert((int)PACKED_BYTES *TD_EXCLUSIONS_MAX == TD_EXCLUSIONS_BYTES_MAX,
               "a message holds all exclusions");

static bool advance(struct td_core *core, struct td_task *task);

void td_epoch_init(struct td_core *core)
{
    core->epochs->task.advance = advance;
    core->epochs->telling = core->options.topology.nodes;
    core->epochs->away_since = TD_TIME_NEVER;
}

bool td_epoch_votes(const struct td_core *core, uint32_t node)
{
    return node < core->options.topology.nodes && !td_bit(core->settings.absent, node);
}

/* ---- sets ---- */

static struct td_exclusion *find(struct td_exclusions *set, uint32_t node)
{
    for (uint32_t i = 0; i < set->count; i++)
        if (set->of[i].node == node)
            return &set->of[i];
    return NULL;
}

/* add adds an exclusion, or takes its ballot if that is later. It returns false if the set is full.
 */
static bool add(struct td_exclusions *set, struct td_exclusion one)
{
    struct td_exclusion *old = find(set, one.node);
    if (old && old->ballot >= one.ballot)
        return true;
    if (!old && set->count == TD_EXCLUSIONS_MAX)
        return false;
    *(old ? old : &set->of[set->count++]) = one;
    return true;
}

static struct td_bitmap pack(struct td_core *core, const struct td_exclusions *set)
{
    uint8_t *bytes = td_core_pad(core, TD_EXCLUSIONS_BYTES_MAX), *at = bytes;
    for (uint32_t i = 0; bytes && i < set->count; i++) {
        const struct td_exclusion *x = &set->of[i];
        for (unsigned k = 0; k < 2; k++)
            *at++ = (uint8_t)(x->node >> 8 * k);
        for (unsigned k = 0; k < 4; k++)
            *at++ = (uint8_t)(x->daemon >> 8 * k);
        for (unsigned k = 0; k < 8; k++)
            *at++ = (uint8_t)(x->ballot >> 8 * k);
    }
    return (struct td_bitmap){bytes, bytes ? (uint32_t)(at - bytes) : 0};
}

static uint64_t number(const uint8_t *bytes, unsigned count)
{
    uint64_t value = 0;
    while (count-- > 0)
        value = value << 8 | bytes[count];
    return value;
}

/* unpack reads a set. It returns false if that is malformed. */
static bool unpack(const struct td_core *core, const struct td_bitmap *from,
                   struct td_exclusions *set)
{
    set->count = 0;
    if (from->bytes % PACKED_BYTES || from->bytes > TD_EXCLUSIONS_BYTES_MAX)
        return false;
    for (const uint8_t *at = from->bits; set->count < from->bytes / PACKED_BYTES;
         at += PACKED_BYTES) {
        struct td_exclusion x = {(uint32_t)number(at, 2), (uint32_t)number(at + 2, 4),
                                 number(at + 6, 8)};
        if (x.node >= core->options.topology.nodes)
            return false;
        set->of[set->count++] = x;
    }
    return true;
}

bool td_epoch_excluded(const struct td_core *core, uint32_t node, uint64_t since)
{
    const struct td_exclusion *x = find(&core->epochs->exclusions, node);
    return x && x->ballot > since;
}

uint64_t td_epoch_excluded_by(const struct td_core *core, uint32_t node)
{
    const struct td_exclusion *x = find(&core->epochs->exclusions, node);
    return x ? x->ballot : 0;
}

/* ---- the voter ---- */

static bool abstains(struct td_core *core)
{
    struct td_epochs *e = core->epochs;
    if (!e->votes_from) {
        e->began_at = core->now;
        e->votes_from = td_core_after(core, core->settings.progress_timeout_ns);
    }
    return core->now < e->votes_from;
}

static void answer(struct td_core *core, uint32_t node, uint64_t ballot, bool votes)
{
    const struct td_epochs *e = core->epochs;
    td_time age = core->now - e->began_at;
    struct td_message m = {
        .kind = TD_MESSAGE_EPOCH_VOTE,
        .u.epoch_vote = {
            .ballot = ballot, .is_vote = votes, .seen = e->seen, .age_ns = age ? age : 1}};
    if (votes && e->accepted) {
        m.u.epoch_vote.accepted = e->accepted;
        m.u.epoch_vote.exclusions = pack(core, &e->acceptances);
        m.u.epoch_vote.is_vote = m.u.epoch_vote.exclusions.bits != NULL;
    }
    td_session_send(core, node, &m);
}

static void see(struct td_epochs *e, uint64_t ballot)
{
    e->seen = ballot > e->seen ? ballot : e->seen;
}

static void take_poll(struct td_core *core, uint32_t from, const struct td_message_epoch_poll *m)
{
    struct td_epochs *e = core->epochs;
    bool votes = !abstains(core) && m->ballot > e->promised;
    see(e, m->ballot);
    if (votes)
        e->promised = m->ballot;
    answer(core, from, m->ballot, votes);
}

static void take_proposal(struct td_core *core, uint32_t from, const struct td_message *message)
{
    struct td_epochs *e = core->epochs;
    const struct td_message_epoch_propose *m = &message->u.epoch_propose;
    struct td_exclusions proposed;
    see(e, m->ballot);
    if (abstains(core) || m->ballot < e->promised || !unpack(core, &m->exclusions, &proposed)) {
        answer(core, from, m->ballot, false);
        return;
    }
    e->acceptances = proposed;
    e->promised = e->accepted = m->ballot;
    td_session_send(
        core, from,
        &(struct td_message){.kind = TD_MESSAGE_EPOCH_ACCEPT, .u.epoch_accept.ballot = m->ballot});
}

/* ---- epochs that are known ---- */

static void end(struct td_core *core)
{
    struct td_epochs *e = core->epochs;
    td_epoch_transition(e, TD_EPOCH_END);
    memset(e->wanted, 0, sizeof e->wanted);
    e->confirming = false;
    e->until = TD_TIME_NEVER;
}

/* exclude tells the fabric of the nodes that are excluded anew. */
static void exclude(struct td_core *core, uint64_t known_before)
{
    const struct td_exclusions *x = &core->epochs->exclusions;
    for (uint32_t i = 0; i < x->count; i++)
        if (x->of[i].ballot > known_before && x->of[i].node != core->node)
            core->fabric->exclude(core, x->of[i].node);
}

/* learn takes an epoch. What this node still wants is asked for again by whoever needs it. */
static void learn(struct td_core *core, uint64_t epoch, const struct td_exclusions *exclusions)
{
    struct td_epochs *e = core->epochs;
    bool confirming = e->confirming;
    uint64_t before = e->known;
    see(e, epoch);
    if (epoch <= e->known)
        return;
    e->known = epoch;
    e->exclusions = *exclusions;
    if (epoch > e->accepted) {
        e->accepted = epoch;
        e->acceptances = *exclusions;
    }
    if (epoch > e->promised)
        e->promised = epoch;
    memset(e->told, 0, sizeof e->told);
    e->telling = 0;
    td_core_queue(core, &e->task);
    if (e->state != TD_EPOCH_RESTING)
        end(core);
    exclude(core, before);
    td_core_notices.epoch(core);
    if (confirming)
        td_epoch_confirm(core);
}

void td_epoch_tell(struct td_core *core, uint32_t node)
{
    struct td_epochs *e = core->epochs;
    if (!e->known || node == core->node || td_bit(e->told, node))
        return;
    struct td_message m = {.kind = TD_MESSAGE_EPOCH_KNOWN, .u.epoch_known.ballot = e->known};
    m.u.epoch_known.exclusions = pack(core, &e->exclusions);
    if (!m.u.epoch_known.exclusions.bits)
        return;
    td_bit_set(e->told, node);
    td_session_send(core, node, &m);
}

void td_epoch_node_back(struct td_core *core, uint32_t node)
{
    struct td_epochs *e = core->epochs;
    td_bit_clear(e->told, node);
    e->telling = node < e->telling ? node : e->telling;
    if (e->known)
        td_core_queue(core, &e->task);
    if (e->state == TD_EPOCH_POLLING && node < e->next) { /* it was not asked, or had no session */
        e->next = node;
        td_core_queue(core, &e->task);
    }
}

/* ---- the poller ---- */

/* has_answered returns true if a node of the electorate has given at least this answer; old: and
 * its daemon has lived since before this one's pause. */
static bool has_answered(const struct td_core *core, uint32_t node, enum td_ballot_answer least,
                         bool old)
{
    const struct td_epochs *e = core->epochs;
    return td_epoch_votes(core, node) && e->answer[node] >= least &&
           !(old && td_bit(e->young, node));
}

static bool is_quorum(const struct td_core *core, enum td_ballot_answer least, bool old)
{
    uint32_t count = 0, electorate = 0;
    for (uint32_t n = 0; n < core->options.topology.nodes; n++) {
        electorate += td_epoch_votes(core, n);
        count += has_answered(core, n, least, old);
    }
    return 2 * count > electorate || (2 * count == electorate && has_answered(core, 0, least, old));
}

/* quorum returns true if nodes with at least this answer are a quorum; old_quorum: nodes whose
 * daemons have lived since before this one's pause. */
static bool quorum(const struct td_core *core, enum td_ballot_answer least)
{
    return is_quorum(core, least, false);
}

static bool old_quorum(const struct td_core *core, enum td_ballot_answer least)
{
    return is_quorum(core, least, true);
}

/* votes_suffice returns true if sweep 1 has the votes that it needs. */
static bool votes_suffice(const struct td_core *core)
{
    return quorum(core, TD_BALLOT_VOTED) &&
           (!core->epochs->confirming || old_quorum(core, TD_BALLOT_VOTED));
}

/* A message that is lost on its way is asked for after a second (net/early.h). */
td_time td_epoch_sweep_ns(const struct td_core *core)
{
    enum { LOST_NS = 1500000000 };
    return LOST_NS + (td_time)core->settings.heartbeat_ns;
}

static void begin_sweep(struct td_core *core, enum td_epoch_event event)
{
    struct td_epochs *e = core->epochs;
    td_epoch_transition(e, event);
    e->next = 0;
    e->until = core->now + td_epoch_sweep_ns(core);
    td_core_alarm(core, e->until);
    td_core_queue(core, &e->task);
}

static void poll(struct td_core *core)
{
    struct td_epochs *e = core->epochs;
    e->ballot = (e->seen / TD_NODES_MAX + 1) * TD_NODES_MAX + core->node;
    e->seen = e->ballot;
    e->latest = 0;
    e->outside = td_epoch_excluded_by(core, core->node);
    e->proposal = e->exclusions;
    memset(e->answer, TD_BALLOT_NONE, sizeof e->answer);
    begin_sweep(core, TD_EPOCH_POLL);
}

void td_epoch_want(struct td_core *core, uint32_t node)
{
    struct td_epochs *e = core->epochs;
    td_bit_set(e->wanted, node);
    if (e->state == TD_EPOCH_RESTING)
        poll(core);
}

bool td_epoch_resumed(struct td_core *core, td_time late)
{
    struct td_epochs *e = core->epochs;
    if (late <= (td_time)core->settings.progress_timeout_ns / 2)
        return false;
    if (e->away_since == TD_TIME_NEVER)
        e->away_since = core->now;
    return true;
}

void td_epoch_confirm(struct td_core *core)
{
    struct td_epochs *e = core->epochs;
    e->confirming = true;
    if (e->state == TD_EPOCH_RESTING)
        poll(core);
}

/* restarted returns true if the daemon that was excluded has ended: its ranks are dead anyway. */
static bool restarted(const struct td_core *core, const struct td_exclusion *x)
{
    uint32_t daemon =
        x->node == core->node ? (uint32_t)core->options.incarnation : core->link[x->node].daemon;
    return x->daemon && daemon && x->daemon != daemon;
}

/* propose adds the silent nodes to the exclusions, but not those that have come back meanwhile. It
 * ends the poll if it has no node to add, or too many; it goes on if a node may still answer. */
static void propose(struct td_core *core)
{
    struct td_epochs *e = core->epochs;
    bool more = false, waits = false, fits = true;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < e->proposal.count; i++)
        if (!restarted(core, &e->proposal.of[i]))
            e->proposal.of[kept++] = e->proposal.of[i];
    e->proposal.count = kept;
    const struct td_exclusion *own = find(&e->proposal, core->node);
    if (own && own->ballot > e->outside) { /* it is excluded anew, and excludes nobody */
        begin_sweep(core, TD_EPOCH_PROPOSE);
        return;
    }
    for (uint32_t n = 0; n < core->options.topology.nodes; n++) {
        bool mute = td_bit(e->wanted, n) && e->answer[n] == TD_BALLOT_NONE && n != core->node;
        bool silent = mute && td_link_is_given_up(&core->link[n]);
        waits = waits || (mute && !silent);
        if (!silent)
            continue;
        more = true;
        fits = fits && add(&e->proposal, (struct td_exclusion){n, core->link[n].daemon, e->ballot});
    }
    if (more && fits) {
        begin_sweep(core, TD_EPOCH_PROPOSE);
        return;
    }
    if (!more && waits)
        return;
    bool confirmed = old_quorum(core, TD_BALLOT_VOTED) && e->away_since != TD_TIME_NEVER;
    end(core);
    if (confirmed) {
        e->away_since = TD_TIME_NEVER;
        td_core_notices.confirmed(core, true);
    }
    if (fits)
        td_core_notices.all_answer(core);
    else
        td_core_notices.no_quorum(core);
}

/* hasten ends the poll early if no more answers will come: all nodes with a link have answered. */
static void hasten(struct td_core *core)
{
    struct td_epochs *e = core->epochs;
    uint32_t nodes = core->options.topology.nodes;
    if (e->state != TD_EPOCH_POLLING || e->next < nodes)
        return;
    for (uint32_t n = 0; n < nodes; n++)
        if ((td_epoch_votes(core, n) || td_bit(e->wanted, n)) && e->answer[n] == TD_BALLOT_NONE &&
            n != core->node && !td_link_is_given_up(&core->link[n]))
            return;
    e->until = core->now;
    td_core_alarm(core, e->until);
}

void td_epoch_node_lost(struct td_core *core, uint32_t node)
{
    struct td_epochs *e = core->epochs;
    td_bit_clear(e->told, node);
    if (e->state == TD_EPOCH_POLLING && votes_suffice(core))
        propose(core); /* it has waited for the node */
    else
        hasten(core);
}

static void take_vote(struct td_core *core, uint32_t from, const struct td_message_epoch_vote *m)
{
    struct td_epochs *e = core->epochs;
    struct td_exclusions accepted;
    see(e, m->seen);
    if (m->ballot != e->ballot || (e->state != TD_EPOCH_POLLING && e->state != TD_EPOCH_PROPOSING))
        return;
    if (e->answer[from] == TD_BALLOT_NONE)
        e->answer[from] = TD_BALLOT_HEARD;
    if (core->now > e->away_since && m->age_ns && m->age_ns < core->now - e->away_since)
        td_bit_set(e->young, from);
    else
        td_bit_clear(e->young, from);
    hasten(core);
    if (e->state != TD_EPOCH_POLLING)
        return;
    if (m->is_vote && m->accepted > e->latest) {
        if (!unpack(core, &m->exclusions, &accepted))
            return;
        e->latest = m->accepted;
        e->proposal = accepted;
    }
    if (m->is_vote)
        e->answer[from] = TD_BALLOT_VOTED;
    if (votes_suffice(core))
        propose(core);
}

static void take_acceptance(struct td_core *core, uint32_t from, uint64_t ballot)
{
    struct td_epochs *e = core->epochs;
    if (ballot != e->ballot || e->state != TD_EPOCH_PROPOSING)
        return;
    e->answer[from] = TD_BALLOT_ACCEPTED;
    if (quorum(core, TD_BALLOT_ACCEPTED))
        learn(core, ballot, &e->proposal);
}

/* ballot_of returns the largest ballot that a message has. */
static uint64_t ballot_of(const struct td_message *m)
{
    const struct td_message_epoch_vote *vote = &m->u.epoch_vote;
    uint64_t ballot = m->u.epoch_poll.ballot; /* all kinds begin with it */
    if (m->kind == TD_MESSAGE_EPOCH_VOTE && vote->seen > ballot)
        ballot = vote->seen;
    return ballot;
}

void td_epoch_message(struct td_core *core, uint32_t from, const struct td_message *m)
{
    struct td_exclusions known;
    if (ballot_of(m) > BALLOT_MAX)
        return; /* no daemon counts so far */
    if (m->kind == TD_MESSAGE_EPOCH_POLL)
        take_poll(core, from, &m->u.epoch_poll);
    else if (m->kind == TD_MESSAGE_EPOCH_VOTE)
        take_vote(core, from, &m->u.epoch_vote);
    else if (m->kind == TD_MESSAGE_EPOCH_PROPOSE)
        take_proposal(core, from, m);
    else if (m->kind == TD_MESSAGE_EPOCH_ACCEPT)
        take_acceptance(core, from, m->u.epoch_accept.ballot);
    else if (unpack(core, &m->u.epoch_known.exclusions, &known))
        learn(core, m->u.epoch_known.ballot, &known);
}

/* send_sweep sends a node the message of the sweep, unless its link is given up: the driver is
 * asked to connect then. */
static void send_sweep(struct td_core *core, uint32_t node)
{
    struct td_epochs *e = core->epochs;
    struct td_message m = {.kind = TD_MESSAGE_EPOCH_POLL, .u.epoch_poll.ballot = e->ballot};
    if (node != core->node && td_link_is_given_up(&core->link[node])) {
        td_link_want(core, &core->link[node]);
        return;
    }
    if (e->state == TD_EPOCH_PROPOSING) {
        m = (struct td_message){
            .kind = TD_MESSAGE_EPOCH_PROPOSE,
            .u.epoch_propose = {.ballot = e->ballot, .exclusions = pack(core, &e->proposal)}};
        if (!m.u.epoch_propose.exclusions.bits)
            return;
    }
    if (node != core->node)
        td_link_want(core, &core->link[node]);
    td_session_send(core, node, &m); /* to this node: it is answered before it returns */
}

static bool advance(struct td_core *core, struct td_task *task)
{
    struct td_epochs *e = core->epochs;
    uint32_t nodes = core->options.topology.nodes;
    (void)task;
    for (; e->telling < nodes; e->telling++) {
        if (!td_core_room(core))
            return false;
        if (!td_link_is_given_up(&core->link[e->telling]) && td_link_is_up(&core->link[e->telling]))
            td_epoch_tell(core, e->telling);
    }
    while ((e->state == TD_EPOCH_POLLING || e->state == TD_EPOCH_PROPOSING) && e->next < nodes) {
        if (!td_core_room(core))
            return false;
        uint32_t node = e->next++;
        bool asked = e->state == TD_EPOCH_POLLING && e->answer[node] != TD_BALLOT_NONE;
        if ((td_epoch_votes(core, node) || td_bit(e->wanted, node)) && !asked)
            send_sweep(core, node);
    }
    hasten(core);
    return true;
}

void td_epoch_timers(struct td_core *core)
{
    struct td_epochs *e = core->epochs;
    (void)abstains(core); /* the time begins with the first step */
    if (e->state == TD_EPOCH_RESTING)
        return;
    if (core->now < e->until) {
        td_core_alarm(core, e->until);
        return;
    }
    bool unconfirmed = e->confirming && !old_quorum(core, TD_BALLOT_HEARD);
    if (e->state == TD_EPOCH_PAUSING) {
        poll(core);
        return;
    }
    if (unconfirmed) {
        e->confirming = false;
        td_core_notices.confirmed(core, false);
    }
    if (quorum(core, TD_BALLOT_HEARD)) {
        td_epoch_transition(e, TD_EPOCH_PAUSE);
        uint64_t pause = (uint64_t)core->settings.heartbeat_ns;
        e->until = core->now + 1 + td_core_random(core) % pause;
        td_core_alarm(core, e->until);
    } else {
        end(core);
        td_core_notices.no_quorum(core);
    }
}
