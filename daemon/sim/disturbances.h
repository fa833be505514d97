/* SPDX-License-Identifier: Apache-2.0 */
/* disturbances: faults that pass. Daemons that are paused, links that hold, slow, corrupt or
 * duplicate, partitions of sets of nodes, memory that is refused. They are for links that are not
 * modelled. faults.h has failures of daemons and cut links.
 * Invariant: what a paused node or a link that holds has kept arrives later in the same order,
 * unless its connection was lost. */
#ifndef TD_SIM_DISTURBANCES_H
#define TD_SIM_DISTURBANCES_H

#include "base/arena.h"
#include "world.h"

struct event;
struct kept_list;

/* td_sim_pause_node takes the processor from a daemon (SIGSTOP): the kernel keeps what arrives.
 * td_sim_thaw_node gives it back. The daemon's timers run before it reads its sockets, as in the
 * loop of a real one. Nothing happens if the node is dead, or was not paused. */
void td_sim_pause_node(struct td_sim *sim, uint32_t node);
void td_sim_thaw_node(struct td_sim *sim, uint32_t node);
/* td_sim_hold_link lets nothing pass from one node to another; neither end is told, and no
 * connection comes up between them. td_sim_release_link delivers what was held, as a network that
 * retransmits. */
void td_sim_hold_link(struct td_sim *sim, uint32_t from, uint32_t to);
void td_sim_release_link(struct td_sim *sim, uint32_t from, uint32_t to);
/* td_sim_slow_link lets each byte from one node to another take so long; 0: no time. */
void td_sim_slow_link(struct td_sim *sim, uint32_t from, uint32_t to, td_time byte_ns);
/* td_sim_disturb_link corrupts some of the frames from one node to another, and duplicates some.
 * The receiver finds a wrong checksum and closes the link. */
void td_sim_disturb_link(struct td_sim *sim, uint32_t from, uint32_t to, uint32_t corrupt_permille,
                         uint32_t duplicate_permille);
/* td_sim_damaged and td_sim_duplicated return the numbers of such frames that arrived, or left. */
uint64_t td_sim_damaged(const struct td_sim *sim);
uint64_t td_sim_duplicated(const struct td_sim *sim);
/* td_sim_partition holds all links between the nodes of a set and the others, both ways. With
 * `resets` both ends are told that their connections are lost. */
void td_sim_partition(struct td_sim *sim, const bool *set, bool resets);
/* td_sim_heal ends all disturbances of links. */
void td_sim_heal(struct td_sim *sim);
/* td_sim_refuse_memory begins or ends a shortage of memory at a daemon that is alive. */
void td_sim_refuse_memory(struct td_sim *sim, uint32_t node, struct td_refusals refusals);

/* ---- for the files of this folder ---- */

/* disturbances_keep keeps an event of a paused node, disturbances_hold one from a link that holds,
 * and disturbances_delay_up a LINK_UP that cannot happen now. They return false if nothing prevents
 * the event. */
bool disturbances_keep(struct td_sim *sim, struct event *e);
bool disturbances_hold(struct td_sim *sim, struct event *e);
bool disturbances_delay_up(struct td_sim *sim, const struct event *e);
/* disturbances_await keeps a packet whose bytes its sender has not read because it is paused, and
 * all that follows on the link. It returns false if the sender runs. disturbances_end_unread
 * delivers what a node's packets have kept so. */
bool disturbances_await(struct td_sim *sim, struct event *e);
void disturbances_end_unread(struct td_sim *sim, uint32_t from);
/* disturbances_copies returns how often a frame arrives, disturbances_corrupt whether it is damaged
 * on its way. disturbances_refuse closes the link of a damaged frame, and returns true. */
int disturbances_copies(struct td_sim *sim, uint32_t from, uint32_t to);
bool disturbances_corrupt(struct td_sim *sim, uint32_t from, uint32_t to);
bool disturbances_refuse(struct td_sim *sim, const struct event *e);
/* disturbances_forget frees kept events. */
void disturbances_forget(struct kept_list *list);

#endif
