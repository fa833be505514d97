/* SPDX-License-Identifier: Apache-2.0 */
/* tour: what all nodes say of their links, operations and ranks, for the page. While somebody
 * looks at the page, the tour asks node after node, as torusctl does: as a client of this node's
 * core, of the daemon's own user, which sees all jobs.
 *
 * It asks at most TD_TOUR_RATE questions a second, and TD_TOUR_OPEN at once, whatever the size
 * of the machine; each node answers one page of the status at a time, and at most TD_TOUR_PAGES
 * of a section in a round. A node that does not answer in time is silent, and the others are asked
 * on. Owns: its client, the answers. Borrows: the loop. */
#ifndef TD_IO_METRICS_TOUR_H
#define TD_IO_METRICS_TOUR_H

#include <jansson.h>

#include "io/loop.h"

enum {
    TD_TOUR_RATE = 400,
    TD_TOUR_OPEN = 16,
    TD_TOUR_PAGES = 16,
    TD_TOUR_WATCHED_S = 10, /* how long a look at the page keeps it going */
};
#define TD_TOUR_CLIENT UINT32_MAX /* its number in the core; sockets count from 1 */

struct td_tour;

/* td_tour_create returns NULL without memory. */
struct td_tour *td_tour_create(struct td_loop *loop);
/* td_tour_stop ends its questions; td_tour_free follows once the loop has closed its handles.
 * Both accept NULL. */
void td_tour_stop(struct td_tour *tour);
void td_tour_free(struct td_tour *tour);
/* td_tour_watch begins to ask, or goes on. It may be called between two steps only. */
void td_tour_watch(struct td_tour *tour);
/* td_tour_reply takes an answer of the core. td_tour_closed: the core has closed the client. */
void td_tour_reply(struct td_tour *tour, const struct td_reply *reply);
void td_tour_closed(struct td_tour *tour);
/* td_tour_nodes returns what each node has said last. */
json_t *td_tour_nodes(const struct td_tour *tour);

#endif
