/* SPDX-License-Identifier: Apache-2.0 */
/* collectives: the algorithms. Each file compiles a program (core/program.h) from what is the same
 * on every node; select decides which. A compile function finds the call, group and slot already in
 * the program and adds families, scratch and ride.
 * Pure: no I/O, clock, or globals. */
#ifndef TD_COLLECTIVES_COLLECTIVES_H
#define TD_COLLECTIVES_COLLECTIVES_H

#include "model/group.h"
#include "model/layout.h"
#include "model/program.h"
#include "collectives/rooted/rooted_tree.h"
#include "collectives/fft/transform_plan.h"

/* tree_combine: the gate is the operation. False when the payload is longer than
 * TD_RIDE_BYTES_MAX. */
bool td_tree_combine_compile(struct td_program *p);
/* bcast: chunks flow down a tree of nodes rooted at the root's node. */
void td_bcast_compile(struct td_program *p, enum td_rooted_tree spread);
/* tree_reduce: chunks flow up such a tree. */
void td_tree_reduce_compile(struct td_program *p, enum td_rooted_tree spread);
/* tree_gather: gather and scatter along the group's tree of neighbours. False where nodes would
 * have to keep more than tuning.relay_bytes. */
bool td_tree_gather_compile(struct td_program *p);
/* bcast_trees: broadcast over all links of a torus, by edge-disjoint trees. False where the group
 * is no torus. */
bool td_bcast_trees_compile(struct td_program *p);
/* reduce_trees: reduce over all links of a torus, by the same trees. False as above. */
bool td_reduce_trees_compile(struct td_program *p);
/* reduce_bucket: allreduce round the rings of a torus, a dimension at a time. False as above. */
bool td_reduce_bucket_compile(struct td_program *p);
/* reduce_swing: allreduce by halving with near partners (rings SWING), or by exchanging all
 * (WHOLE). False also where a ring has no power of two of nodes, or vectors too long for the
 * scratch. */
bool td_reduce_swing_compile(struct td_program *p, enum td_rings rings);
/* block_bucket: reduce-scatter, and all-gather, the same way. False also where ranks are not spread
 * regularly. */
bool td_reduce_scatter_bucket_compile(struct td_program *p);
bool td_allgather_bucket_compile(struct td_program *p);
/* block_swing: the same by halving, or doubling, with near partners. False also where a ring has no
 * power of two of nodes, or blocks are too long for the scratch. */
bool td_reduce_scatter_swing_compile(struct td_program *p);
bool td_allgather_swing_compile(struct td_program *p);
/* reduce_exchange: reduce-scatter by direct exchange, then all-gather, block after block. */
void td_reduce_exchange_compile(struct td_program *p);
/* reduce_rank_order: what needs every rank's values side by side: scans, prefix, reduce-scatter. */
void td_reduce_rank_order_compile(struct td_program *p);
/* scan_chain: scans from node to node. False where ranks are not numbered node by node. */
bool td_scan_chain_compile(struct td_program *p);
/* td_scan_chain_chunk returns the bytes that are passed on at once. */
uint64_t td_scan_chain_chunk(const struct td_program *p);
/* reduce_parts: reduce-scatter with counts. */
void td_reduce_parts_compile(struct td_program *p);
/* gather: gather, scatter and all-gather of long blocks. */
void td_gather_compile(struct td_program *p);
/* alltoallv: what all-to-alls with parts are when no relay is used. */
void td_alltoallv_compile(struct td_program *p, bool pairwise);
/* alltoall_random: every node visits the others in an order of its own (us8095585). */
void td_alltoall_random_compile(struct td_program *p);
/* alltoall_phased: a dimension a phase, a hop count at a time, by transit nodes (us20140201475). */
void td_alltoall_phased_compile(struct td_program *p);
/* alltoall_pairwise: one partner at a time. */
void td_alltoall_pairwise_compile(struct td_program *p);
/* alltoall_two_phase: the longest dimension first, the rest from relays in random order. */
void td_alltoall_two_phase_compile(struct td_program *p);
/* redist: from one layout of an array to another (Park, Prasanna, Raghavendra 1999). */
void td_redist_compile(struct td_program *p);
bool td_redist_stages(const struct td_plan_input *in, struct td_arena *arena,
                      struct td_transform_plan **stages);
/* fft_rows: rows, transpose, columns, transpose back (us8095585), where the array has two axes and
 * its rows are dealt out before and after. */
void td_fft_rows_compile(struct td_program *p);
/* fft: any array between any layouts, axis by axis (us8095585). */
void td_fft_compile(struct td_program *p);
bool td_fft_stages(const struct td_plan_input *in, struct td_arena *arena,
                   struct td_transform_plan **stages);
/* fft_long: one long axis over several nodes. False, splits: it has no two factors for that. */
bool td_fft_long_splits(const struct td_plan_input *in);
bool td_fft_long_make(const struct td_plan_input *in, struct td_arena *arena,
                      struct td_transform_plan *stages);

/* ---- what several methods need ---- */

/* td_permutation_at returns place i of a permutation of 0 .. n - 1 that depends on the seed alone;
 * it keeps no table. */
uint64_t td_permutation_at(uint64_t seed, uint64_t n, uint64_t i);
/* td_ranks_here returns how many ranks of the group are on this node. */
uint32_t td_ranks_here(const struct td_program *p);
/* td_alltoall_local makes `step` the COPY number i (< td_alltoall_locals) of what local ranks have
 * for each other. */
void td_alltoall_local(const struct td_program *p, uint64_t i, struct td_step *step);
uint64_t td_alltoall_locals(const struct td_program *p);

#endif
