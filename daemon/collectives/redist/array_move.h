/* SPDX-License-Identifier: Apache-2.0 */
/* array_move: an array that lies with owners, and its move to other owners.
 *
 * Owners are ranks, with their buffers, or nodes, with scratch. A move takes every element from its
 * owner in one array to its owner in the next: a message from each owner to each other. Messages
 * are cut into chunks along an axis, so that a chunk can be sent when it is computed. Owns: its
 * tables, in the arena it was made in. Borrows: the plan and its group. Pure: no I/O, clock, or
 * globals. */
#ifndef TD_COLLECTIVES_REDIST_ARRAY_MOVE_H
#define TD_COLLECTIVES_REDIST_ARRAY_MOVE_H

#include "collectives/method.h"
#include "model/layout.h"
#include "model/overlap.h"
#include "redist_schedule.h"

struct td_array {
    struct td_layout layout; /* of nodes: the "ranks" are slots */
    bool borrowed;           /* the layout is the plan's */
    bool of_nodes;
    enum td_space space;
    uint32_t own;     /* slot of this node */
    uint64_t element; /* bytes */
    uint32_t *slot;   /* [owners] of the owner's node */
    uint32_t *place;  /* [owners] the owner's index among those of its slot */
    uint32_t *there;  /* [slots] count of owners on the slot */
    uint32_t *here;   /* [there[own]] the owners of this node */
    uint32_t *local;  /* [there[own]] their local ranks; 0 of nodes */
    int64_t *base;    /* [there[own]] offset of their parts in scratch; 0 in buffers of ranks */
};

struct td_array_move {
    const struct td_array *from, *to;
    struct td_overlap overlap;
    /* owners meet as the schedule says; else each visits the others in its own random order */
    bool scheduled;
    struct td_schedule schedule;
    bool in_turn; /* unless scheduled: one partner after the other, by number */
    /* chunks: so many lines each of the sender's array, along an axis; alike: the lines of a chunk
     * are the same on both sides */
    uint64_t chunks, lines;
    uint8_t along;
    bool alike;
    uint64_t bursts;             /* of a message: messages take turns, a burst each */
    uint64_t pieces;             /* of a chunk that stays on the node */
    struct td_move_relay *relay; /* the move as an all-to-all by way of other nodes, else NULL */
};

/* td_array_make copies or borrows a layout. The parts of an array in scratch begin at *scratch,
 * which is moved behind them. False: the arena is full. */
bool td_array_make(struct td_array *a, const struct td_plan_input *in, struct td_arena *arena,
                   const struct td_layout *layout, bool of_nodes, enum td_space space,
                   uint64_t element, int64_t *scratch);
void td_array_free(struct td_array *a, struct td_arena *arena);

/* struct td_move_chunks: how the pass before a move cuts the array. */
struct td_move_chunks {
    uint64_t chunks, lines;
    uint8_t along;
};

/* td_array_move_make makes a move, in the chunks of the pass before it (NULL: in one chunk). If it
 * goes by relays it has at most `room` families, and its buffers begin at *scratch. False: the
 * arena is full. */
bool td_array_move_make(struct td_array_move *m, const struct td_plan_input *in,
                        struct td_arena *arena, const struct td_array *from,
                        const struct td_array *to, const struct td_move_chunks *last, unsigned room,
                        int64_t *scratch);
void td_array_move_free(struct td_array_move *m, struct td_arena *arena);
/* td_dealt_alike returns true if an axis is dealt out alike in two layouts: then its lines are,
 * chunk by chunk, the same. */
bool td_dealt_alike(const struct td_layout *a, const struct td_layout *b, uint32_t axis);

/* Families of a move without a relay, in this order. SEND: [chunk][burst][turn][owner here]; RECV:
 * [chunk][burst][sender][owner here]; COPY: [chunk][owner here][owner here][piece]. */
enum { TD_MOVE_RECV, TD_MOVE_SEND, TD_MOVE_COPY, TD_MOVE_FAMILIES };
/* td_array_move_add adds the families of a move and returns the first; td_array_move_families
 * returns how many there are. */
unsigned td_array_move_add(struct td_program *p, const struct td_array_move *m);
unsigned td_array_move_families(const struct td_array_move *m);
/* td_array_move_reads returns true if such a family reads the array before the move. */
bool td_array_move_reads(const struct td_array_move *m, unsigned family);
/* td_array_move_needed makes a family wait for all data of a move, whose first family is `first`.
 */
void td_array_move_needed(struct td_program *p, const struct td_array_move *m, unsigned first,
                          unsigned f);
/* td_array_move_slice names chunk `chunk` of the elements of `from` for `to`, on one of the sides.
 */
struct td_slice td_array_move_slice(const struct td_array_move *m, enum td_overlap_side side,
                                    uint32_t from, uint32_t to, uint64_t chunk);
/* td_array_move_step writes step `index` of family first + `family`. */
void td_array_move_step(const struct td_program *p, const struct td_array_move *m, unsigned first,
                        unsigned family, uint64_t index, struct td_step *step);
/* td_array_move_turns returns how many partners an owner has turns for. */
uint64_t td_array_move_turns(const struct td_array_move *m);

#endif
