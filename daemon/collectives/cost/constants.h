/* SPDX-License-Identifier: Apache-2.0 */
/* constants: the measured numbers behind predicted costs that several methods share. All nodes of a
 * group have the same ones: the choice of a method must be the same everywhere. Constants that one
 * method alone uses are in its file, and covered by its version (registry.c). */
#ifndef TD_COLLECTIVES_COST_CONSTANTS_H
#define TD_COLLECTIVES_COST_CONSTANTS_H

/* The place of a constant never changes: append. */
/* clang-format off */
#define TD_COST_CONSTANTS(each) \
    /* rings_cost.c */ \
    each(SWING_SHARE4, 7) \
    /* scan_cost.c */ \
    each(SCAN_SHARE2, 3) \
    /* array_move.c */ \
    each(STARTUP_BYTES, 1 << 15) \
    /* alltoall_model.c: efficiencies in thousandths, and the loss for each node of a long ring */ \
    each(RANDOM, 960) each(RANDOM_MESH, 890) each(RANDOM_LONGEST, 640) each(RANDOM_LOSS, 32) \
    each(TWO_PHASE_2, 950) each(TWO_PHASE_1_5, 900) each(TWO_PHASE, 630) \
    each(TWO_PHASE_MESH_4, 940) each(TWO_PHASE_MESH_2, 790) each(TWO_PHASE_MESH, 620) \
    /* a message of a barrier, in bytes of a link: as long as a packet of torus-sim */ \
    each(CONTROL_BYTES, 1 << 10) \
    /* alltoall_model.c: efficiency on the direct fabric, where some nodes meet at one receiver; measured \
     * between four hosts, 64 KiB to 16 MiB a pair (docs/results.md) */ \
    each(RANDOM_DIRECT, 870)
/* clang-format on */

#define TD_COST_CONSTANT(name, value) TD_COST_##name = (value),
enum { TD_COST_CONSTANTS(TD_COST_CONSTANT) };
#undef TD_COST_CONSTANT

#endif
