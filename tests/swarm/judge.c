/* SPDX-License-Identifier: Apache-2.0 */
#include "judge.h"

#include <stdlib.h>
#include <string.h>

/* is_gone returns true if a rank of a job is dead, has left, or did not join. */
static bool is_gone(const struct swarm *s, const struct swarm_party *party, uint32_t rank)
{
    for (uint32_t i = 0; i < s->processes; i++)
        if (s->process[i].job == party->job && s->process[i].rank == rank &&
            (s->process[i].dead || s->process[i].left))
            return true;
    for (uint32_t k = 0; k < s->parties; k++)
        for (uint32_t i = 0; s->party[k].job == party->job && i < s->party[k].size; i++) {
            const struct swarm_seat *seat = &s->party[k].seat[i];
            bool out = seat->left || (s->party[k].is_world && !seat->has && !seat->making);
            if (out && seat->process != SWARM_NONE && s->process[seat->process].rank == rank)
                return true;
        }
    return false;
}

static bool is_deserted(const struct swarm *s, const struct swarm_party *party, uint32_t node)
{
    for (uint32_t i = 0; i < party->size; i++) {
        const struct swarm_seat *seat = &party->seat[i];
        if (seat->process != SWARM_NONE && s->process[seat->process].node == node && !seat->left &&
            !is_gone(s, party, s->process[seat->process].rank))
            return false;
    }
    return true;
}

/* has_left returns true if a rank of the job has left the group. */
static bool has_left(const struct swarm *s, const struct swarm_party *party, uint32_t rank)
{
    for (uint32_t i = 0; i < party->size; i++) {
        const struct swarm_seat *seat = &party->seat[i];
        if (seat->process != SWARM_NONE && s->process[seat->process].rank == rank && seat->left)
            return true;
    }
    return false;
}

/* is_of_kind returns true if what a sentence says of a rank of the job is true: it has left the
 * group, or the job, or its process has died. Other sentences leave that open. */
static bool is_of_kind(const struct swarm *s, const struct swarm_party *party, uint32_t rank,
                       const char *sentence)
{
    char text[TD_TEXT_MAX];
    snprintf(text, sizeof text, "%.*s", (int)strcspn(sentence, ";"), sentence);
    if (strstr(text, "has left a group of job"))
        return has_left(s, party, rank);
    bool left = strstr(text, "has left job"), died = strstr(text, "died: process");
    for (uint32_t i = 0; (left || died) && i < s->processes; i++) {
        const struct swarm_process *q = &s->process[i];
        if (q->job == party->job && q->rank == rank)
            return left ? q->left : q->dead;
    }
    return true;
}

/* is_short_of_a_member returns true if a member of a group is dead, or has left or lost its job. */
static bool is_short_of_a_member(const struct swarm *s, const struct swarm_party *party)
{
    for (uint32_t i = 0; i < party->size; i++) {
        uint32_t process = party->seat[i].process;
        if (process == SWARM_NONE || s->process[process].dead || s->process[process].left ||
            s->hurt[s->process[process].node])
            return true;
    }
    return false;
}

/* names_awaited_rank returns true if the first rank of a list has not called the shrink of a group,
 * or only just. The number is that in the job. */
static bool names_awaited_rank(const struct swarm *s, const struct swarm_party *party,
                               const char *text)
{
    static const char list[] = "did not call it in time: rank";
    const char *number = strstr(text, list);
    if (!number)
        return false;
    number += strlen(list);
    uint32_t rank = (uint32_t)strtoul(number + (*number == 's'), NULL, 10);
    for (uint32_t i = 0; i < party->size; i++) {
        const struct swarm_seat *seat = &party->seat[i];
        if (seat->process != SWARM_NONE && s->process[seat->process].rank == rank &&
            (!seat->shrunk_at || td_sim_now(s->sim) - seat->shrunk_at < 1000 * SWARM_MS))
            return true;
    }
    return false;
}

static bool names_gone_rank(const struct swarm *s, const struct swarm_party *party,
                            const char *text)
{
    unsigned number = 0;
    if (sscanf(text, "all ranks on node %u", &number) == 1)
        return is_deserted(s, party, number);
    const char *name = strstr(text, "rank ");
    if (!name || sscanf(name, "rank %u", &number) != 1)
        return false;
    if (!is_of_kind(s, party, number, text))
        return false;
    if (is_gone(s, party, number))
        return true;
    /* the sentence may give its number in the group */
    return number < party->size && party->seat[number].process != SWARM_NONE &&
           is_gone(s, party, s->process[party->seat[number].process].rank);
}

static bool is_on_hurt_node(const struct swarm *s, const struct swarm_party *party, uint32_t rank)
{
    for (uint32_t i = 0; i < s->processes; i++)
        if (s->process[i].job == party->job && s->process[i].rank == rank &&
            s->hurt[s->process[i].node])
            return true;
    return rank < party->size && party->seat[rank].process != SWARM_NONE &&
           s->hurt[s->process[party->seat[rank].process].node]; /* its number in the group */
}

static bool names_hurt_rank(const struct swarm *s, const struct swarm_party *party,
                            const char *text)
{
    unsigned number = 0;
    return sscanf(text, "rank %u", &number) == 1 && is_on_hurt_node(s, party, number);
}

/* names_deadly_node returns true if a process died on a node while its job formed. */
static bool names_deadly_node(const struct swarm *s, const struct swarm_party *party,
                              const char *text)
{
    unsigned node = 0;
    const char *name = strstr(text, "lost ranks on node ");
    if (!name || sscanf(name, "lost ranks on node %u", &node) != 1)
        return false;
    for (uint32_t i = 0; i < s->processes; i++)
        if (s->process[i].job == party->job && s->process[i].node == node && s->process[i].dead)
            return true;
    return false;
}

static bool names_hurt_node(const struct swarm *s, const struct swarm_party *party,
                            const char *text)
{
    unsigned number = 0;
    if (sscanf(text, "all ranks on node %u", &number) == 1)
        return is_deserted(s, party, number);
    if (sscanf(text, "the shrink excludes rank %u", &number) == 1)
        return is_on_hurt_node(s, party, number);
    if (strncmp(text, "messages were lost", strlen("messages were lost")) == 0)
        return s->any_hurt;
    /* a node that was paused tells its own ranks so, after the end that the others decided */
    const char *pause = strstr(text, "had not run") ? strstr(text, "; node ") : NULL;
    const char *name = strstr(text, "node ");
    bool own_fault = false;
    if (pause && sscanf(pause, "; node %u", &number) == 1) {
        if (number >= s->nodes || !s->paused[number])
            return false;
        own_fault = s->hurt[number];
    }
    return own_fault || (name && sscanf(name, "node %u", &number) == 1 && number < s->nodes &&
                         (s->hurt[number] || s->starved[number]));
}

static bool is_true(const struct swarm *s, const struct swarm_party *party,
                    const struct swarm_operation *o, const struct td_reply *r)
{
    bool creates = !o && !party->is_world && party->member;
    switch ((int)r->error) {
    case TD_ERR_RANK_FAILED:
        if (creates && !is_short_of_a_member(s, party))
            return false;
        return names_gone_rank(s, party, r->text) ||
               (strstr(r->text, "is lost") && names_hurt_rank(s, party, r->text));
    case TD_ERR_INVALID: /* a group of ranks that are lost; or its daemon refused a region */
        if (strstr(r->text, "which this process has not shared"))
            return s->any_starved;
        return strstr(r->text, "is lost") &&
               (names_gone_rank(s, party, r->text) || names_hurt_rank(s, party, r->text));
    case TD_ERR_NODE_FAILED:
        return names_hurt_node(s, party, r->text) || names_deadly_node(s, party, r->text);
    case TD_ERR_PARTITIONED:
        return s->any_hurt;
    case TD_ERR_TIMEOUT:
        /* a loss does not make an operation stall: it ends the operation, unless a link is bad */
        if (strstr(r->text, "has stalled"))
            return s->any_slow || s->any_starved ||
                   (s->any_hurt && strstr(r->text, "the link between them"));
        if (names_awaited_rank(s, party, r->text))
            return true;
        return s->any_hurt || s->any_slow || s->any_starved || s->any_gone;
    case TD_ERR_CANCELLED:
        return o && o->cancelled;
    case TD_ERR_MISMATCH:
        return o && o->odd != SWARM_NONE;
    case TD_ERR_NO_MEMORY:
        return s->any_starved;
    case TD_ERR_BUSY:
        return s->any_starved || r->refused ||
               (s->c->groups_max && strstr(r->text, "[limits] groups"));
    default:
        return false;
    }
}

void swarm_judge(struct swarm *s, const struct swarm_party *party, const struct swarm_operation *o,
                 const struct td_reply *r, const char *what)
{
    snprintf(s->error, sizeof s->error, "%s ended with %d: %s", what, (int)r->error, r->text);
    if (!is_true(s, party, o, r))
        swarm_failed(s, "accusation: %s", s->error);
}
