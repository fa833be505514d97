/* SPDX-License-Identifier: Apache-2.0 */
/* traffic: the traffic of a program between nodes, summed up by peer node and by link; and its
 * text. */
#ifndef TORUSCTL_EXPLAIN_TRAFFIC_H
#define TORUSCTL_EXPLAIN_TRAFFIC_H

#include "model/program.h"
#include "model/topology.h"
#include "machine.h"

/* struct explain_peer: the traffic to, or from, one node. */
struct explain_peer {
    uint32_t node;
    uint64_t messages, bytes, packets;
    unsigned family; /* of the first message */
    int sign;        /* of the first message: struct td_step */
};

struct explain_way {
    struct explain_peer *peer; /* in the order of the program */
    uint32_t peers;
    uint64_t messages, bytes, packets;
};

struct explain_traffic {
    struct explain_way sent, received;
    uint64_t byte_hops[TD_DIMENSIONS_MAX]; /* of sent messages */
    uint64_t barriers;
    uint32_t hops_max;
    uint64_t family_bytes[TD_FAMILIES_MAX]; /* of sends and receives */
};

/* explain_traffic_of analyses every step of a node's program. It returns false without memory. */
bool explain_traffic_of(const struct td_program *p, struct explain_traffic *traffic);
/* explain_traffic_among analyses families first to end - 1 only. */
bool explain_traffic_among(const struct td_program *p, unsigned first, unsigned end,
                           struct explain_traffic *traffic);
void explain_traffic_free(struct explain_traffic *traffic);
/* explain_sends returns the number of sends of a program. explain_load adds their bytes to the
 * loads of links, as explain_pass does. */
uint64_t explain_sends(const struct td_program *p);
void explain_load(const struct td_program *p, uint64_t *load2);

/* explain_way_print prints one line per node, for the first `shown` of them unless --all is given;
 * each begins with `word`. explain_way_json lists all. */
void explain_way_print(const struct explain_machine *m, const struct td_program *p,
                       const struct explain_way *way, const char *word, uint32_t shown);
json_t *explain_way_json(const struct explain_machine *m, const struct td_program *p,
                         const struct explain_way *way);

#endif
