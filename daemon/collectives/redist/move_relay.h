/* SPDX-License-Identifier: Apache-2.0 */
/* move_relay: a move of an array as a phased or two-phase all-to-all (us20140201475, us8095585).
 *
 * The nodes that exchange data must form boxes of the machine, all of the same shape. Each box is a
 * group with an all-to-all of its own. A unit has the data from the owners on one node to those on
 * another, padded to the longest unit. The program becomes a part of the plan's program: its
 * families follow those before, and its buffers are in the plan's scratch memory. Owns: its tables
 * and group, in the arena it was made in. Borrows: the move. Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_REDIST_MOVE_RELAY_H
#define TD_COLLECTIVES_REDIST_MOVE_RELAY_H

#include "collectives/alltoall/relay.h"
#include "traffic_matrix.h"

struct td_move_relay {
    struct td_relay_units units; /* first member: the program's units */
    const struct td_array_move *move;
    struct td_group group;        /* the nodes that exchange with each other, this node included */
    uint32_t *outer;              /* [group.slots] their slots in the plan's group */
    struct td_tenants tenants[2]; /* of the arrays before and after */
    int64_t base;                 /* of the buffers in scratch */
    struct td_program program;
};

/* td_move_relay_make makes move->relay if the method of the move (select.h) is an all-to-all by
 * relays and the move has such a form; otherwise move->relay stays NULL. The program has at most
 * `room` families. Its buffers begin at *scratch, which is moved past them. It returns false if the
 * arena is full. */
bool td_move_relay_make(struct td_array_move *move, const struct td_plan_input *in,
                        struct td_arena *arena, unsigned room, int64_t *scratch);
void td_move_relay_free(struct td_move_relay *relay, struct td_arena *arena);

/* td_move_relay_add adds its families to a plan's program and returns the first. */
unsigned td_move_relay_add(const struct td_move_relay *relay, struct td_program *p);
/* td_move_relay_families returns their number. */
unsigned td_move_relay_families(const struct td_move_relay *relay);
/* td_move_relay_packs_in returns true if such a family reads the array before the move. */
bool td_move_relay_packs_in(const struct td_move_relay *relay, unsigned family);
/* td_move_relay_needed makes a family wait for all families that write the array after the move. */
void td_move_relay_needed(const struct td_move_relay *relay, struct td_program *p, unsigned first,
                          unsigned f);
void td_move_relay_step(const struct td_move_relay *relay, unsigned first, unsigned family,
                        uint64_t index, struct td_step *step);

#endif
