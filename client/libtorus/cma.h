/* SPDX-License-Identifier: Apache-2.0 */
/* cma: plain memory of the other ranks of a group, which the kernel copies from process to process
 * (cross memory attach, process_vm_readv(2)).
 *
 * A rank may read the memory of another process if the kernel would let it trace that process. So
 * each rank tries. In its line of the segment a rank tells the others where its mark is, a random
 * number in its memory. A rank that finds the mark there reads the right process: the numbers of
 * processes may differ between containers, and may be used again. Each read takes the mark along.
 * Each rank also tells whether it can read all others. When all have told so, ranks lend plain
 * memory. A mark guards against mistakes, not against a rank that lies.
 * Owns: the mark. */
#ifndef TORUS_CMA_H
#define TORUS_CMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tl_cma;

/* struct tl_cma_told: what a rank tells the others in each long call. */
struct tl_cma_told {
    uint32_t process; /* its number; not 0 */
    uint32_t sees;    /* it can read the memory of all other ranks: 0 or 1 */
    uint64_t at;      /* of its mark */
    uint64_t mark;
};

/* tl_cma_new returns the record of a group; NULL: no memory. tl_cma_free accepts NULL. */
struct tl_cma *tl_cma_new(uint32_t rank, uint32_t ranks);
void tl_cma_free(struct tl_cma *c);
/* tl_cma_tell writes what this rank tells the others. */
void tl_cma_tell(const struct tl_cma *c, struct tl_cma_told *told);
/* tl_cma_hear notes what another rank has told. If that is news, it tries the memory of that rank,
 * unless the kernel has refused several attempts. */
void tl_cma_hear(struct tl_cma *c, uint32_t rank, const struct tl_cma_told *told);
/* tl_cma_may_lend returns true if this rank should lend plain memory in a call: all ranks, when
 * they were last heard, could read all others. tl_cma_lent notes whether such a call was DONE.
 * After several calls in a row that were not, no memory is lent in many calls. */
bool tl_cma_may_lend(struct tl_cma *c);
void tl_cma_lent(struct tl_cma *c, bool done);
/* tl_cma_read copies bytes at `from` of the memory of a rank. It returns false if it cannot: then
 * `to` may have any contents. */
bool tl_cma_read(const struct tl_cma *c, uint32_t rank, void *to, uint64_t from, size_t bytes);

#endif
