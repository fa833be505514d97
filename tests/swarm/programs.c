/* SPDX-License-Identifier: Apache-2.0 */
#include "programs.h"

#include <stdlib.h>
#include <string.h>

enum { ROUND_STEPS_MAX = 8 };

/* ---- who runs what ---- */

static struct swarm_process *process_of(struct swarm *s, const struct swarm_program *g,
                                        uint32_t member)
{
    return swarm_process_of(s, &s->party[g->parent].seat[g->member[member]]);
}

static bool is_over(struct swarm *s, const struct swarm_program *g, uint32_t member)
{
    const struct swarm_process *q = process_of(s, g, member);
    return g->at[member] == g->steps || !q || q->dead || q->left ||
           td_sim_closed(s->sim, q->client);
}

bool swarm_programs_runs(struct swarm *s, uint32_t process)
{
    for (uint32_t k = 0; k < s->programs; k++)
        for (uint32_t i = 0; i < s->program[k].size; i++)
            if (process_of(s, &s->program[k], i) == &s->process[process] &&
                !is_over(s, &s->program[k], i))
                return true;
    return false;
}

/* ---- drawing ---- */

static void add_step(struct swarm_program *g, enum swarm_step_kind kind, uint32_t party)
{
    g->step[g->steps++] = (struct swarm_step){kind, party};
}

/* add_group adds a group of all members of the program to be made of another group. */
static uint32_t add_group(struct swarm *s, struct swarm_program *g, uint32_t parent)
{
    uint32_t number = s->parties;
    struct swarm_party *p = swarm_new_party(s, s->party[parent].job, g->size);
    p->parent = parent;
    p->member = malloc(g->size * sizeof *p->member);
    if (!p->member)
        abort();
    for (uint32_t i = 0; i < g->size; i++) {
        p->member[i] = parent == g->parent ? g->member[i] : i;
        p->seat[i].process = s->party[parent].seat[p->member[i]].process;
    }
    add_step(g, SWARM_STEP_MAKE, number);
    s->report->groups++;
    return number;
}

/* add_round adds the steps of one round of a kind of program. */
static void add_round(struct swarm *s, struct swarm_program *g, uint64_t kind)
{
    uint32_t first = add_group(s, g, g->parent), second = first;
    switch (kind) {
    case 0: /* free at once */
        break;
    case 1: /* call, then free */
        swarm_new_call(s, &s->party[first]);
        break;
    case 2: /* free a group while another one is made of it */
        second = add_group(s, g, first);
        swarm_new_call(s, &s->party[second]);
        break;
    case 3: /* shrink, then free both groups */
        add_step(g, SWARM_STEP_SHRINK, first);
        add_step(g, SWARM_STEP_FREE_SUCCESSOR, first);
        break;
    default: /* one member frees without a call that the others make */
        swarm_new_call(s, &s->party[first]);
        g->skips = g->skips == SWARM_NONE ? (uint32_t)swarm_below(s, g->size) : g->skips;
    }
    add_step(g, SWARM_STEP_FREE, first);
    if (second != first)
        add_step(g, SWARM_STEP_FREE, second);
}

/* draw_members draws some or all members of the parent, in any order. */
static void draw_members(struct swarm *s, struct swarm_program *g, uint32_t of)
{
    for (uint32_t i = 0; i < of; i++)
        g->member[i] = i;
    for (uint32_t i = 0; i < g->size; i++) {
        uint32_t other = i + (uint32_t)swarm_below(s, of - i);
        uint64_t swap = g->member[other];
        g->member[other] = g->member[i];
        g->member[i] = swap;
    }
}

void swarm_programs_begin(struct swarm *s, uint32_t parent)
{
    static const uint32_t most[] = {2, 6, 6, 40};
    struct swarm_party *from = &s->party[parent];
    if (s->programs == SWARM_PROGRAMS_MAX || from->size < 2)
        return;
    for (uint32_t i = 0; i < from->size; i++)
        if (!swarm_can_act(s, &from->seat[i]) || swarm_programs_runs(s, from->seat[i].process))
            return;
    uint32_t rounds = 1 + (uint32_t)swarm_below(s, most[swarm_below(s, 4)]);
    if (swarm_below(s, 200) == 0)
        rounds = 300;
    if (s->parties + 2 * rounds + 100 > SWARM_PARTIES_MAX)
        return;
    struct swarm_program *g = &s->program[s->programs++];
    *g = (struct swarm_program){.parent = parent, .skips = SWARM_NONE};
    g->size = swarm_below(s, 2) ? from->size : 1 + (uint32_t)swarm_below(s, from->size);
    g->member = calloc(from->size, sizeof *g->member);
    g->step = calloc(rounds * (size_t)ROUND_STEPS_MAX, sizeof *g->step);
    g->at = calloc(g->size, sizeof *g->at);
    if (!g->member || !g->step || !g->at)
        abort();
    draw_members(s, g, from->size);
    uint64_t kind = swarm_below(s, 5);
    for (uint32_t i = 0; i < rounds; i++)
        add_round(s, g, kind);
    g->late = (uint32_t)swarm_below(s, g->size);
    g->late_percent = (uint32_t)swarm_below(s, 2) * (uint32_t)swarm_below(s, 60);
}

/* ---- steps ---- */

/* has_ended returns true if a member's calls, creation and shrink of a group have ended. */
static bool has_ended(const struct swarm_party *p, uint32_t member, bool skips)
{
    const struct swarm_seat *seat = &p->seat[member];
    if (seat->making || seat->shrinking || seat->again)
        return false;
    for (uint32_t o = 0; o < p->operations; o++)
        if (p->operation[o].part[member].request)
            return false;
    return !seat->has || skips || seat->next == p->operations;
}

/* free_group makes a member leave a group. It returns false if the member has to wait. */
static bool free_group(struct swarm *s, struct swarm_party *p, uint32_t member, bool skips)
{
    struct swarm_seat *seat = &p->seat[member];
    if (!swarm_can_act(s, seat))
        return !seat->making;
    if (!has_ended(p, member, skips))
        return false;
    swarm_leave_seat(s, seat);
    return true;
}

static bool free_successor(struct swarm *s, struct swarm_party *p, uint32_t member)
{
    if (swarm_can_act(s, &p->seat[member]) && !has_ended(p, member, true))
        return false;
    struct swarm_party *next = p->successor == SWARM_NONE ? NULL : &s->party[p->successor];
    for (uint32_t i = 0; next && i < next->size; i++)
        if (next->seat[i].process == p->seat[member].process)
            return free_group(s, next, i, false);
    return true;
}

/* make_step makes the next step of a member. It returns false if the member has to wait. */
static bool make_step(struct swarm *s, struct swarm_program *g, uint32_t member)
{
    const struct swarm_step *step = &g->step[g->at[member]];
    struct swarm_party *p = &s->party[step->party];
    struct swarm_seat *seat = &p->seat[member];
    const struct swarm_seat *above = &s->party[p->parent].seat[p->member[member]];
    switch (step->kind) {
    case SWARM_STEP_MAKE:
        if (above->making)
            return false;
        if (swarm_can_act(s, above))
            swarm_ask_for_group(s, step->party, member);
        else if (!above->has) /* its creation has failed, and the others may wait in this one */
            swarm_kill(s, above->process);
        return true;
    case SWARM_STEP_SHRINK:
        if (seat->making)
            return false;
        if (swarm_can_act(s, seat))
            swarm_call_shrink(s, seat);
        p->shrinks = p->broken = true;
        return true;
    case SWARM_STEP_FREE_SUCCESSOR:
        return free_successor(s, p, member);
    case SWARM_STEP_FREE:
        return free_group(s, p, member, g->skips == member);
    }
    return true;
}

void swarm_programs_advance(struct swarm *s, bool settles)
{
    for (uint32_t k = 0; k < s->programs; k++) {
        struct swarm_program *g = &s->program[k];
        for (uint32_t i = 0; i < g->size; i++) {
            bool late = i == g->late && !settles;
            while (!is_over(s, g, i) && !(late && swarm_below(s, 100) >= g->late_percent) &&
                   make_step(s, g, i)) {
                g->at[i]++;
                s->steps_made++;
            }
        }
    }
}

bool swarm_programs_waits(struct swarm *s, char *text, size_t size)
{
    for (uint32_t k = 0; k < s->programs; k++) {
        const struct swarm_program *g = &s->program[k];
        for (uint32_t i = 0; i < g->size; i++)
            if (!is_over(s, g, i)) {
                snprintf(text, size, "step %u of %u of member %u of %u of a program", g->at[i],
                         g->steps, i, g->size);
                return true;
            }
    }
    return false;
}

void swarm_programs_free(struct swarm *s)
{
    for (uint32_t k = 0; k < s->programs; k++) {
        free(s->program[k].member);
        free(s->program[k].step);
        free(s->program[k].at);
    }
}
