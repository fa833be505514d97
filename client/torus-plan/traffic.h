/* SPDX-License-Identifier: Apache-2.0 */
/* traffic: the bytes that a node's program sends and receives, by peer node and by dimension, and
 * their text and JSON. */
#ifndef TORUSCTL_EXPLAIN_TRAFFIC_H
#define TORUSCTL_EXPLAIN_TRAFFIC_H

#include "model/program.h"
#include "model/topology.h"
#include "machine.h"

/* struct explain_peer: the traffic to one node, or from it. */
struct explain_peer {
    uint32_t node;
    uint64_t messages, bytes, packets;
    unsigned family; /* family of steps of the first message */
    int sign;        /* sign of the first message, as in struct td_step */
};

/* struct explain_flow: all sends of a program, or all its receives. */
struct explain_flow {
    struct explain_peer *peer; /* in the order of the first message */
    uint32_t peers;
    uint64_t messages, bytes, packets;
};

struct explain_traffic {
    struct explain_flow sent, received;
    uint64_t byte_hops[TD_DIMENSIONS_MAX]; /* of sent messages */
    uint64_t barriers;
    uint32_t hops_max;
    uint64_t family_bytes[TD_FAMILIES_MAX]; /* of sends and receives */
};

/* explain_traffic_of adds up every step of a node's program. It returns false if memory runs out.
 * explain_traffic_free frees the lists of *traffic. */
bool explain_traffic_of(const struct td_program *p, struct explain_traffic *traffic);
/* explain_traffic_among adds up families first to end - 1 only. */
bool explain_traffic_among(const struct td_program *p, unsigned first, unsigned end,
                           struct explain_traffic *traffic);
void explain_traffic_free(struct explain_traffic *traffic);
/* explain_sends returns the number of SEND steps of a program. */
uint64_t explain_sends(const struct td_program *p);
/* explain_load adds the bytes of all sends to load2, twice the load of each link; explain_pass
 * (steps.h) gives the index of a link. */
void explain_load(const struct td_program *p, uint64_t *load2);

/* explain_flow_print prints one line per peer node, which begins with `word`: for the first `shown`
 * nodes, or for all with --all. explain_flow_json always lists all. */
void explain_flow_print(const struct explain_machine *m, const struct td_program *p,
                        const struct explain_flow *flow, const char *word, uint32_t shown);
json_t *explain_flow_json(const struct explain_machine *m, const struct td_program *p,
                          const struct explain_flow *flow);

#endif
