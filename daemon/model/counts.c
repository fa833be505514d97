/* SPDX-License-Identifier: Apache-2.0 */
#include "counts.h"

#include "base/arena.h"
#include "base/hash.h"

bool td_counts_build(struct td_counts *counts, struct td_arena *arena, const struct td_group *group,
                     uint32_t slot)
{
    *counts = (struct td_counts){group, slot, td_group_slot_ranks(group, slot), NULL};
    counts->part =
        td_arena_alloc(arena, 2 * (size_t)counts->ranks * group->size * sizeof *counts->part);
    return counts->part != NULL;
}

void td_counts_free(struct td_counts *counts, struct td_arena *arena)
{
    td_arena_free(arena, counts->part);
    counts->part = NULL;
}

static struct td_part *row(const struct td_counts *p, bool destination, uint32_t local)
{
    return p->part + ((size_t)destination * p->ranks + local) * p->group->size;
}

const char *td_counts_set(struct td_counts *counts, uint32_t local, bool destination,
                          const struct td_rank_counts *given, uint64_t element, uint64_t *need)
{
    struct td_part *part = row(counts, destination, local);
    uint32_t size = counts->group->size;
    uint64_t next = 0;
    *need = 0;
    if (given->counts != size || (given->ats && given->ats != size))
        return "each rank of the group needs one count, and one place if places are given";
    for (uint32_t i = 0; i < size; i++) {
        uint64_t at = given->ats ? given->at[i] : next, count = given->count[i];
        if (__builtin_add_overflow(at, count, &next) || next > (uint64_t)INT64_MAX / element)
            return "the counts overflow 63 bits of bytes";
        part[i] = (struct td_part){at * element, count * element};
        if (count && next * element > *need)
            *need = next * element;
    }
    return NULL;
}

uint64_t td_counts_pairs(const struct td_counts *counts, uint32_t slot)
{
    return (uint64_t)counts->ranks * td_group_slot_ranks(counts->group, slot);
}

const struct td_part *td_counts_pair(const struct td_counts *counts, bool destination,
                                     uint32_t slot, uint64_t i, uint32_t *local)
{
    uint64_t there = td_group_slot_ranks(counts->group, slot);
    uint64_t inner = destination ? counts->ranks : there; /* the receivers */
    uint64_t other = destination ? i / inner : i % inner;
    *local = (uint32_t)(destination ? i % inner : i / inner);
    return row(counts, destination, *local) + td_group_rank(counts->group, slot, (uint32_t)other);
}

uint64_t td_counts_unit(const struct td_counts *counts, bool destination, uint32_t slot)
{
    uint64_t bytes = 0, pairs = td_counts_pairs(counts, slot);
    uint32_t local = 0;
    for (uint64_t i = 0; i < pairs; i++)
        bytes += td_counts_pair(counts, destination, slot, i, &local)->bytes;
    return bytes;
}

struct td_slice td_counts_slice(const struct td_counts *counts, bool destination, uint32_t slot,
                                uint64_t begin, uint64_t bytes)
{
    struct td_slice s = td_slice_at(destination ? TD_SPACE_DESTINATION : TD_SPACE_SOURCE, 0,
                                    (int64_t)begin, (int64_t)bytes);
    s.counts = counts;
    s.slot = slot;
    return s;
}

/* ---- surveys ---- */

static uint64_t pair_hash(uint64_t sender, uint64_t receiver)
{
    return td_hash_mix(sender << 32 | receiver);
}

static void note(struct td_survey *s, uint64_t sender, uint64_t receiver, uint64_t bytes,
                 uint64_t sign)
{
    if (bytes == 0)
        return;
    s->hash += sign * td_hash_mix(pair_hash(sender, receiver) + bytes);
    s->difference += sign * bytes;
    s->by_sender += sign * bytes * sender;
    s->by_receiver += sign * bytes * receiver;
    s->by_pair += sign * bytes * pair_hash(sender, receiver);
}

void td_survey_collect(struct td_survey *survey, const struct td_counts *counts)
{
    const struct td_group *g = counts->group;
    for (uint32_t slot = 0; slot < g->slots; slot++) {
        uint64_t unit = td_counts_unit(counts, false, slot);
        if (slot == counts->slot)
            continue;
        survey->total += unit;
        survey->most = unit > survey->most ? unit : survey->most;
    }
    for (uint32_t local = 0; local < counts->ranks; local++)
        for (uint32_t other = 0; other < g->size; other++) {
            uint32_t own = td_group_rank(g, counts->slot, local);
            note(survey, own, other, row(counts, false, local)[other].bytes, 1);
            note(survey, other, own, row(counts, true, local)[other].bytes, UINT64_MAX);
        }
}

void td_survey_merge(struct td_survey *survey, const struct td_survey *other)
{
    survey->most = other->most > survey->most ? other->most : survey->most;
    survey->total += other->total;
    survey->hash += other->hash;
    survey->difference += other->difference;
    survey->by_sender += other->by_sender;
    survey->by_receiver += other->by_receiver;
    survey->by_pair += other->by_pair;
}

/* quotient writes sum / difference to *rank. It returns false if the difference is 0 or the result
 * is not a rank. Both numbers come from other nodes and may have any value. */
static bool quotient(uint64_t sum, uint64_t difference, uint32_t *rank)
{
    bool negative = difference >> 63;
    uint64_t value = negative ? -sum : sum, by = negative ? -difference : difference;
    if (by == 0 || value / by >= TD_JOB_RANKS_MAX)
        return false;
    *rank = (uint32_t)(value / by);
    return true;
}

bool td_survey_agrees(const struct td_survey *s, bool *single, uint32_t *sender, uint32_t *receiver,
                      int64_t *more)
{
    *more = (int64_t)s->difference;
    *sender = *receiver = 0;
    /* the sums of several pairs may look like one pair; the hash of the pair excludes that */
    *single = quotient(s->by_sender, s->difference, sender) &&
              quotient(s->by_receiver, s->difference, receiver) &&
              s->by_pair == s->difference * pair_hash(*sender, *receiver);
    return s->hash == 0 && s->difference == 0;
}
