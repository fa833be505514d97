/* SPDX-License-Identifier: Apache-2.0 */
/* rounds: a rank's part in a long call that the ranks of a group on one node make in their segment.
 *
 * The ranks do the work. Each rank reads the memory of the others and writes its own destination
 * only, or memory of the library. In the first round all ranks read the sources. An allreduce or a
 * reduce has a second round: in the first one each rank combines a part of the elements, in the
 * second one the ranks that receive the result collect the parts. So has a long scan of many ranks:
 * there a part has the sums of the first source, the first two, and so on.
 *
 * Other ranks can map memory of torus_alloc, and have the kernel copy from a source elsewhere
 * (cma.h), if all of them may. Else such a source is copied into memory that they can map, first;
 * so is one that is the destination too. A call that ends by request after its destination was
 * written gets the source back from that copy.
 * Owns: the copies, until tl_rounds_end. */
#ifndef TORUS_ROUNDS_H
#define TORUS_ROUNDS_H

#include "cma.h"
#include "memory.h"
#include "moves.h"
#include "peers.h"

enum { TL_ROUNDS_RANKS_MAX = 128 };

/* struct tl_own: the buffers of this rank, without gaps. */
struct tl_own {
    const uint8_t *source;
    uint8_t *destination; /* NULL: nothing is returned */
    uint64_t bytes[2];    /* of both */
};

/* struct tl_lent: memory of this rank that the others read. */
struct tl_lent {
    uint8_t *at;
    struct tl_block *block; /* pinned; NULL: `copy` or `plain` */
    uint8_t *copy;
    bool plain; /* the others read it where it is (cma.h) */
    struct td_place place;
};

struct tl_rounds {
    torus_group *group;
    struct tl_peers *peers;
    struct tl_cma *cma;
    const struct td_segment *segment;
    const struct td_call *call;
    const struct tl_own *own;
    const struct tl_move *move; /* of a redistribution; else NULL */
    uint64_t number;            /* of the call */
    struct tl_lent source, result;
    /* the source of each rank: mapped, or its address in plain memory; NULL and 0: not needed */
    const uint8_t *from[TL_ROUNDS_RANKS_MAX];
    uint64_t plain[TL_ROUNDS_RANKS_MAX];
    const uint8_t *part[TL_ROUNDS_RANKS_MAX]; /* its part of the result */
};

/* tl_rounds_of returns how many rounds a call has; 0: it is not made in rounds. The answer depends
 * on the group and the call only. */
uint32_t tl_rounds_of(const torus_group *g, const struct td_call *call);
/* tl_rounds_begin makes the memory of this rank ready for others. It returns false if it cannot:
 * then tl_rounds_end is due too. */
bool tl_rounds_begin(struct tl_rounds *r);
/* tl_rounds_write says in this rank's line where its memory is. */
void tl_rounds_write(const struct tl_rounds *r);
/* tl_rounds_attach finds the memory of the other ranks after all have written. It returns false if
 * it cannot. */
bool tl_rounds_attach(struct tl_rounds *r);
/* tl_rounds_work does this rank's part of a round. It uses nothing of the context. It returns false
 * if it cannot. */
bool tl_rounds_work(const struct tl_rounds *r, uint32_t round);
/* tl_rounds_end frees the copies. `done`: the call ended in the segment. */
void tl_rounds_end(struct tl_rounds *r, bool done);

#endif
