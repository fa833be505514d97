/* SPDX-License-Identifier: Apache-2.0 */
/* options: the parameters of td_core_create. */
#ifndef TD_CORE_OPTIONS_H
#define TD_CORE_OPTIONS_H

#include "model/request.h"
#include "model/plan.h"
#include "model/program.h"
#include "model/settings.h"
#include "model/topology.h"

/* struct td_fact: something that the driver knows, by name. */
struct td_fact {
    char name[40], value[256], unit[16];
    bool is_set, reloads; /* struct td_row_fact */
};

struct td_core_options {
    struct td_topology topology;
    uint32_t node;
    uint64_t incarnation; /* random, new at each start, never 0 */
    uint64_t seed;
    struct td_settings settings;
    td_compile_fn *compile;
    struct td_planner planner;
    struct td_term_list costs, methods; /* what `compile` is (model/terms.h). Borrowed */
    td_term_name_fn *term_name;         /* of these, for people */
    const char *const *endpoints; /* [nodes] each node's address, for people, or NULL. Borrowed */
    uint64_t uid;                 /* of the daemon, which sees every job */
    bool peers_known;             /* they have keys, or are on Unix sockets, or there are none */
    bool segments;                /* the driver may make segments: it executes CLOSE_SEGMENT */
    /* fills in row `at` of the PLANS section, which the driver has; NULL: the section is empty */
    bool (*plan_row)(unsigned at, struct td_row_plan *row);
    /* writes a page of the status for another node, and returns its bytes, or 0 if it does not
     * fit; NULL: other nodes see nothing of this one */
    size_t (*encode_page)(const struct td_reply *page, uint8_t *bytes, size_t size);
    /* returns the state of a process, a letter of proc(5): X if there is no such process, 0 if it
     * is unknown; NULL: all are unknown */
    char (*process_state)(uint64_t pid);
    void *driver; /* the argument of: */
    /* fills in fact `at` of the section SETTINGS or HOST, and returns false behind the last one;
     * NULL: both are empty */
    bool (*fact)(void *driver, uint32_t section, unsigned at, struct td_fact *fact);
    /* writes what is wrong on this host with the way to a node: "interface eth0 of node 0 is
     * down". It returns false if nothing is known to be wrong; NULL: nothing ever is */
    bool (*own_fault)(void *driver, uint32_t node, char *text, size_t bytes);
    /* reads from the segment of a group how many calls of a kind a rank was the last to make, and
     * how long the others waited for it then. It returns false if there is nothing; NULL: the
     * driver makes no segments */
    bool (*segment_waits)(void *driver, uint32_t group, uint32_t rank, uint32_t kind,
                          uint64_t *last, uint64_t *ns);
};

#endif
