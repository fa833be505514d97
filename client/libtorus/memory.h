/* SPDX-License-Identifier: Apache-2.0 */
/* memory: shared memory for torus_alloc and for staging copies.
 *
 * A region is a sealed memfd that the daemon has mapped. Small blocks share a region; a large block
 * has its own. Blocks of a region are listed by address; neighbouring unused blocks are merged.
 * Staging copies that find no room have regions of their own, which are kept when they are empty,
 * as far as they have 64 MiB together. So a block of torus_alloc never keeps a large region in use.
 * Owns: the context's regions and their blocks. */
#ifndef TORUS_MEMORY_H
#define TORUS_MEMORY_H

#include "context.h"

struct tl_block;

/* tl_memory_allocate writes the address of shared memory of at least `bytes`, aligned to 64 bytes
 * and not zeroed; NULL with an error, whose sentence is recorded: also TORUS_ERR_SHUTDOWN and
 * others of a connection that has ended. tl_memory_free releases it. */
int tl_memory_allocate(torus_context *c, size_t bytes, uint8_t **memory);
void tl_memory_free(torus_context *c, uint8_t *memory);

/* struct tl_role: the call of a buffer, and which of its buffers it is; for sentences. */
struct tl_role {
    const char *call, *buffer;
};

/* tl_memory_check returns NULL if `bytes` at `pointer` lie outside shared memory, or inside one
 * allocated block; else a sentence about the buffer of that name. */
const char *tl_memory_check(torus_context *c, const char *buffer, const void *pointer,
                            size_t bytes);

/* tl_memory_find writes the place of `bytes` at `pointer` in shared memory, and the block; *block
 * is NULL for a pointer outside shared memory. It returns TORUS_ERR_INVALID if the buffer begins in
 * shared memory but is not wholly inside one allocated block. */
int tl_memory_find(torus_context *c, const struct tl_role *role, const void *pointer, size_t bytes,
                   struct td_place *place, struct tl_block **block);

/* tl_memory_pin makes torus_free refuse the block until tl_memory_unpin. */
void tl_memory_pin(struct tl_block *b);
void tl_memory_unpin(struct tl_block *b);

/* tl_memory_fini unmaps all regions without notice to the daemon. */
void tl_memory_fini(torus_context *c);

#endif
