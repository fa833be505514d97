/* SPDX-License-Identifier: Apache-2.0 */
/* event: everything that can happen to a core. The driver fills one in and calls td_core_step. */
#ifndef TD_CORE_EVENT_H
#define TD_CORE_EVENT_H

#include "model/message.h"
#include "model/request.h"

enum td_event_kind {
    TD_EVENT_WAKE,     /* the deadline has come, or more work is waiting */
    TD_EVENT_PACKET,   /* a bulk packet from a neighbour on a link */
    TD_EVENT_ARRIVING, /* a part of a bulk packet has arrived from a neighbour: it is not silent */
    TD_EVENT_TREE_MESSAGE,   /* a tree message from another node */
    TD_EVENT_LINK_UP,        /* both connections to a node are up */
    TD_EVENT_LINK_DOWN,      /* link down; data in flight may still arrive */
    TD_EVENT_SENT,           /* the driver no longer reads the bytes of a packet or CARRY */
    TD_EVENT_CLIENT_OPENED,  /* a process has connected */
    TD_EVENT_CLIENT_REQUEST, /* a client has sent a request */
    TD_EVENT_CLIENT_INVALID, /* a client has sent a malformed request */
    TD_EVENT_CLIENT_CLOSED,  /* a client has closed its socket or died */
    TD_EVENT_COMPUTED,       /* a COMPUTE is done */
    TD_EVENT_REGION_FAILED,  /* the bytes of a region are lost (SIGBUS) */
    TD_EVENT_STOP, /* the daemon is asked to stop: refuse the new, drain the old. The second time:
                      do not wait for the old */
};

struct td_event {
    enum td_event_kind kind;
    union {
        struct {
            uint32_t node;   /* from */
            uint32_t buffer; /* driver's handle of the payload; the core returns it by
                                RELEASE_BUFFER. UINT32_MAX when there is no payload */
            struct td_packet packet;
        } packet;
        struct {
            uint32_t node; /* from */
            const struct td_packet *packet;
        } arriving;
        struct {
            uint32_t node;              /* the neighbour whose connection brought it */
            struct td_message *message; /* the core counts hops in a message that it forwards */
            bool two_paths; /* the neighbour has an express path: messages may overtake others */
        } tree;
        struct {
            uint32_t node;
            uint64_t incarnation; /* UP: of the far daemon */
            const char *text;     /* DOWN: why, for people */
            bool refused;         /* DOWN: connection refused: no daemon runs there */
            bool rejected;        /* DOWN: a daemon runs there, and rejects this one, or
                                             listens somewhere else */
        } link;
        struct {
            uint64_t handle; /* as in the SEND_PACKET action */
        } sent;
        struct {
            uint32_t client; /* driver's number; the core uses it in its actions */
            uint64_t uid, pid;
            bool observes; /* it may see the jobs of all users */
        } opened;
        struct {
            uint32_t client;
            const struct td_request *request;
        } request;
        struct {
            uint32_t client;
            td_err error; /* TD_ERR_PROTOCOL or TD_ERR_VERSION */
            const char *text;
        } invalid;
        struct {
            uint32_t client;
        } closed;
        struct {
            uint64_t handle; /* as in the COMPUTE action */
            td_err error;
        } computed;
        struct {
            uint32_t handle; /* of the region */
        } region;
    } u;
};

#endif
