/* SPDX-License-Identifier: Apache-2.0 */
/* node: one core whose modules a test calls directly, and a record of its actions.
 *
 * The module under test runs in a real core, without a driver and without other nodes. The test
 * plays the other nodes: it passes messages to the module and reads the messages that the module
 * sends. Owns: the core and the record. */
#ifndef TD_TESTS_CORE_NODE_H
#define TD_TESTS_CORE_NODE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/core_internal.h"
#include "core/membership/communicator.h"

enum { NODE_SENT_MAX = 1024, NODE_PACKETS_MAX = 32, NODE_CLIENT = 7 };

struct node_sent {
    uint32_t to;
    bool held; /* kept for a REPEAT_TREE, and not sent now */
    struct td_message message;
};

/* struct node_kept: REPEAT_TREE, FORGET_TREE, KEEP_EARLY or TAKE_EARLY actions. */
struct node_kept {
    uint32_t count, node; /* node, number: of the latest */
    uint64_t number;
};

struct node {
    struct td_core *core;
    struct td_actions actions;
    struct node_sent sent[NODE_SENT_MAX]; /* since node_forget */
    uint32_t sents;
    struct td_packet packet[NODE_PACKETS_MAX]; /* since node_forget */
    uint32_t packets, waiting; /* waiting: those that the driver may hold for a while */
    struct node_kept repeats, forgets, early_kept, early_taken;
    uint32_t early_forgotten, dropped_links, computes, released_buffers;
    struct td_compute compute; /* the latest */
    uint64_t handle;           /* of it */
    struct td_reply reply;     /* the latest, to any client */
    char text[TD_TEXT_MAX];
    uint32_t replies;
};

extern struct node node;

/* node_begin makes node `at` of a mesh of `shape`, on the direct fabric. `change` may change its
 * settings; NULL: the defaults. */
void node_begin(const char *shape, uint32_t at, void (*change)(struct td_settings *));
void node_end(void);
/* node_run runs the work list until it is empty, and records all actions. The turns of a
 * task have room for no action or for one, so each task must go on where it came to. */
void node_run(void);
/* node_forget empties the record. */
void node_forget(void);
/* node_pass advances time, runs the timers of `c` (NULL: of joins and jobs only), and calls
 * node_run. */
void node_pass(struct td_communicator *c, uint64_t ns);
/* node_step passes an event to the core now, and runs the work list. */
void node_step(const struct td_event *event);
/* node_hear passes time in steps of 0.2 s, in which heartbeats come from the nodes of a mask and
 * this daemon runs. */
void node_hear(uint32_t mask, uint64_t ns);
/* node_message passes a message from a node to the core, and runs the work list. */
void node_message(uint32_t from, const struct td_message *message);
/* node_sent_to returns the first recorded message of a kind to a node, or NULL. node_held returns
 * true if that message was kept and not sent. */
const struct td_message *node_sent_to(uint32_t to, enum td_message_kind kind);
bool node_held(uint32_t to, enum td_message_kind kind);
/* node_count counts the recorded messages of a kind. */
uint32_t node_count(enum td_message_kind kind);
/* node_client opens a client with a number. */
struct td_client *node_client(uint32_t id);
/* node_group makes the group of one rank for each of the first `nodes` nodes. The local rank's
 * client is NODE_CLIENT. */
struct td_communicator *node_group(uint32_t nodes);
/* node_group_with does so, and names the daemon of the other nodes; 0: not known. */
struct td_communicator *node_group_with(uint32_t nodes, uint32_t daemon);
/* node_doubts returns true if a group knows that a node is silent, or that messages to it were
 * lost. */
bool node_doubts(const struct td_communicator *c, uint32_t at);
/* node_barrier returns the call of a barrier by a rank. */
struct td_witness node_barrier(uint32_t rank);
/* node_call makes the local rank call a barrier, with a timeout (-1: the daemon's). */
void node_call(struct td_communicator *c, int64_t timeout_ns);
/* node_leave: the local rank leaves the group. */
void node_leave(struct td_communicator *c);

#endif
