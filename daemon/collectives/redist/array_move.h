/* SPDX-License-Identifier: Apache-2.0 */
/* array_move: an array distributed over owners, and its move to other owners.
 *
 * Owners are ranks, with their buffers, or nodes, with scratch memory. A move brings every element
 * from its owner in one array to its owner in the next, with one message from each owner to each
 * other. Messages are cut into chunks along an axis, so that a chunk can be sent as soon as it is
 * computed. Owns: its tables, in the arena it was made in. Borrows: the plan and its group. Pure:
 * no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_REDIST_ARRAY_MOVE_H
#define TD_COLLECTIVES_REDIST_ARRAY_MOVE_H

#include "collectives/method.h"
#include "model/layout.h"
#include "model/overlap.h"
#include "redist_schedule.h"

struct td_array {
    struct td_layout layout; /* for nodes, the "ranks" are slots */
    bool borrowed;           /* the layout belongs to the plan */
    bool of_nodes;
    enum td_space space;
    uint32_t own;     /* slot of this node */
    uint64_t element; /* bytes */
    uint32_t *slot;   /* [owners] of the owner's node */
    uint32_t *place;  /* [owners] the owner's index among those of its slot */
    uint32_t *there;  /* [slots] number of owners on the slot */
    uint32_t *here;   /* [there[own]] the owners on this node */
    uint32_t *local;  /* [there[own]] their local ranks; 0 for nodes */
    int64_t *base; /* [there[own]] offset of their parts in scratch memory; 0 in buffers of ranks */
};

struct td_array_move {
    const struct td_array *from, *to;
    struct td_overlap overlap;
    /* owners meet in the steps of the schedule; without one, each visits the others in its own
     * random order */
    bool scheduled;
    struct td_schedule schedule;
    bool in_turn; /* without a schedule: one partner after the other, by number */
    /* chunks of `lines` lines each, along an axis of the sender's array; alike: a chunk has the
     * same lines on both sides */
    uint64_t chunks, lines;
    uint8_t along;
    bool alike;
    uint64_t bursts;             /* of a message; messages alternate by bursts */
    uint64_t pieces;             /* of a chunk that stays on the node */
    struct td_move_relay *relay; /* the move as an all-to-all by relays, or NULL */
};

/* td_array_make copies or borrows a layout. The parts of an array in scratch memory begin at
 * *scratch, which is moved past them. It returns false if the arena is full. */
bool td_array_make(struct td_array *a, const struct td_plan_input *in, struct td_arena *arena,
                   const struct td_layout *layout, bool of_nodes, enum td_space space,
                   uint64_t element, int64_t *scratch);
void td_array_free(struct td_array *a, struct td_arena *arena);

/* struct td_move_chunks: the chunks of the pass before a move. */
struct td_move_chunks {
    uint64_t chunks, lines;
    uint8_t along;
};

/* td_array_move_make makes a move, in the chunks of the pass before it (NULL: in one chunk). A move
 * by relays has at most `room` families, and its buffers begin at *scratch. It returns false if the
 * arena is full. */
bool td_array_move_make(struct td_array_move *m, const struct td_plan_input *in,
                        struct td_arena *arena, const struct td_array *from,
                        const struct td_array *to, const struct td_move_chunks *last, unsigned room,
                        int64_t *scratch);
void td_array_move_free(struct td_array_move *m, struct td_arena *arena);
/* td_distributed_alike returns true if two layouts distribute an axis alike. Then a chunk has the
 * same lines on both sides. */
bool td_distributed_alike(const struct td_layout *a, const struct td_layout *b, uint32_t axis);

/* Families of a move without a relay, in this order. SEND: [chunk][burst][turn][owner here]; RECV:
 * [chunk][burst][sender][owner here]; COPY: [chunk][owner here][owner here][piece]. */
enum { TD_MOVE_RECV, TD_MOVE_SEND, TD_MOVE_COPY, TD_MOVE_FAMILIES };
/* td_array_move_add adds the families of a move and returns the first. td_array_move_families
 * returns their number. */
unsigned td_array_move_add(struct td_program *p, const struct td_array_move *m);
unsigned td_array_move_families(const struct td_array_move *m);
/* td_array_move_reads returns true if such a family reads the array before the move. */
bool td_array_move_reads(const struct td_array_move *m, unsigned family);
/* td_array_move_needed makes a family wait for all data of a move; `first` is the move's first
 * family. */
void td_array_move_needed(struct td_program *p, const struct td_array_move *m, unsigned first,
                          unsigned f);
/* td_array_move_slice names chunk `chunk` of the elements that `from` sends to `to`, on one side.
 */
struct td_slice td_array_move_slice(const struct td_array_move *m, enum td_overlap_side side,
                                    uint32_t from, uint32_t to, uint64_t chunk);
/* td_array_move_step writes step `index` of family first + `family`. */
void td_array_move_step(const struct td_program *p, const struct td_array_move *m, unsigned first,
                        unsigned family, uint64_t index, struct td_step *step);
/* td_array_move_turns returns the number of turns of an owner. */
uint64_t td_array_move_turns(const struct td_array_move *m);

#endif
