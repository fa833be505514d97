/* SPDX-License-Identifier: Apache-2.0 */
/* links: the links between nodes: whether they are up, and when a message arrives. */
#ifndef TD_SIM_LINKS_H
#define TD_SIM_LINKS_H

#include "state.h"

/* links_connect brings the links of a node up at the start. */
void links_connect(struct td_sim *sim, uint32_t node);
/* links_put_up queues the notice to `node` that its link to `from` has come up. */
void links_put_up(struct td_sim *sim, td_time at, uint32_t node, uint32_t from, uint32_t epoch);
/* links_cut cuts a link: node a closes it. Each end learns of it at a time of its own; if both
 * nodes live, the link comes up again later. links_reset does the same, but neither end closes it:
 * both learn of it although the link holds. */
void links_cut(struct td_sim *sim, uint32_t a, uint32_t b, const char *text);
void links_reset(struct td_sim *sim, uint32_t a, uint32_t b, const char *text);
/* links_come_up and links_go_down notify a node. */
void links_come_up(struct td_sim *sim, const struct event *e);
void links_go_down(struct td_sim *sim, struct event *e);

/* links_arrival returns the arrival time of a message or packet of some bytes sent at `sent`, after
 * those sent before it, on links that are not modelled. */
td_time links_arrival(struct td_sim *sim, uint32_t from, uint32_t to, int way, td_time sent,
                      uint64_t bytes);
/* links_check returns true if the link is up at this end. If the far daemon is dead, the core is
 * notified once. */
bool links_check(struct td_sim *sim, uint32_t from, uint32_t to);
static inline bool links_usable(struct td_sim *sim, uint32_t from, uint32_t to)
{
    return !sim->node[from].end || links_check(sim, from, to);
}
/* links_whole returns true if links are modelled and none was ever cut. */
static inline bool links_whole(const struct td_sim *sim)
{
    return sim->options.modelled && sim->epoch == 0;
}
/* links_epoch returns the number of the last cut of a link, or 0. */
static inline uint32_t links_epoch(const struct td_sim *sim, uint32_t node, uint32_t to)
{
    const struct link_end *end = sim->node[node].end;
    return end ? end[to].epoch : 0;
}
/* links_delivers returns true if a message sent in this epoch of the link still arrives. */
static inline bool links_delivers(const struct td_sim *sim, const struct event *e)
{
    const struct link_end *end = sim->node[e->node].end;
    return end ? end[e->from].up && end[e->from].epoch == e->epoch : e->epoch == 0;
}

#endif
