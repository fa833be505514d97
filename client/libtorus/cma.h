/* SPDX-License-Identifier: Apache-2.0 */
/* cma: plain memory of the other ranks of a group, which the kernel copies from process to process
 * (cross memory attach, process_vm_readv(2)).
 *
 * A rank may read the memory of another process if the kernel would let it trace that one. So it
 * can differ from rank to rank, and nobody is asked for it. Each rank tells the others in its line
 * of the segment where a mark of its own is, a random number. Who finds that number there reads
 * the right process: numbers of processes may differ between containers, and may be used again.
 * Each read takes the mark along, so it is never of another process. Each rank also says whether
 * it can read all others. If all say so, the ranks lend plain memory from the next call on.
 * Owns: the mark. */
#ifndef TORUS_CMA_H
#define TORUS_CMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tl_cma;

/* struct tl_cma_told: what a rank tells the others in each long call. */
struct tl_cma_told {
    uint32_t process; /* its number */
    uint32_t sees;    /* it can read the memory of all other ranks: 0 or 1 */
    uint64_t at;      /* of its mark */
    uint64_t mark;
};

/* tl_cma_new returns the record of a group; NULL: no memory. tl_cma_free accepts NULL. */
struct tl_cma *tl_cma_new(uint32_t rank, uint32_t ranks);
void tl_cma_free(struct tl_cma *c);
/* tl_cma_tell writes what this rank tells the others. */
void tl_cma_tell(const struct tl_cma *c, struct tl_cma_told *told);
/* tl_cma_hear takes what another rank has told, and tries its memory if it has not yet. */
void tl_cma_hear(struct tl_cma *c, uint32_t rank, const struct tl_cma_told *told);
/* tl_cma_open returns true if each rank had said, in the last long call, that it can read all
 * others. */
bool tl_cma_open(const struct tl_cma *c);
/* tl_cma_read copies bytes at `from` of the memory of a rank. It returns false if it cannot: then
 * `to` may have any contents, and this rank tells the others that it does not see them all. */
bool tl_cma_read(struct tl_cma *c, uint32_t rank, void *to, uint64_t from, size_t bytes);

#endif
