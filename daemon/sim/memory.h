/* SPDX-License-Identifier: Apache-2.0 */
/* memory: the memory of a node: regions of clients, scratch, and buffers of received packets; and
 * the computations on it. In timing-only worlds it has sizes, but no bytes. */
#ifndef TD_SIM_MEMORY_H
#define TD_SIM_MEMORY_H

#include "state.h"

bool memory_init(struct td_sim *sim, struct node *n);
void memory_fini(struct td_sim *sim, struct node *n);
/* memory_map returns the handle of a region. */
uint32_t memory_map(struct node *n, uint8_t *base, uint64_t bytes);
void memory_unmap(struct node *n, uint32_t handle);
/* memory_return_scratch clears a part of scratch, as the system does with pages that it gets back.
 */
void memory_return_scratch(struct node *n, uint64_t offset, uint64_t bytes);
/* memory_store_buffer takes ownership of the bytes of a packet and returns their handle. */
uint32_t memory_store_buffer(struct node *n, uint8_t *bytes);
void memory_release_buffer(struct node *n, uint32_t handle);
void memory_pack(const struct node *n, const struct td_slice *slice, const struct td_view *view,
                 uint64_t offset, uint64_t bytes, uint8_t *out);
/* memory_land writes the first bytes of an unpack, in one lane. */
void memory_land(struct node *n, const struct td_compute *to, const uint8_t *bytes);
/* memory_compute starts a computation, which reads and writes at once or when it ends.
 * memory_computed ends it. */
void memory_compute(struct td_sim *sim, uint32_t node, const struct td_compute *compute);
void memory_computed(struct td_sim *sim, const struct event *e);

#endif
