/* SPDX-License-Identifier: Apache-2.0 */
/* action: everything that a core can ask of its driver. The driver executes the actions of a step
 * in order. Their pointers are valid until the next step. */
#ifndef TD_CORE_ACTION_H
#define TD_CORE_ACTION_H

#include "model/compute.h"
#include "model/message.h"
#include "model/request.h"
#include "model/program.h"

enum td_action_kind {
    TD_ACTION_SEND_TREE,    /* send a tree message to a node, or connect when the link is down. One
                               with a number is kept, as encoded, until FORGET_TREE */
    TD_ACTION_FORWARD_TREE, /* send a received tree message on to a neighbour, or drop it when the
                               connection is down or full: its sender retransmits it */
    TD_ACTION_REPEAT_TREE,  /* send kept messages again, in order */
    TD_ACTION_FORGET_TREE,  /* drop kept messages: they are acknowledged, or their session has ended
                             */
    TD_ACTION_KEEP_EARLY, /* keep the received tree message of the event under way until TAKE_EARLY
                             or FORGET_EARLY */
    TD_ACTION_TAKE_EARLY, /* feed a kept early message as an event, after this step, and drop it */
    TD_ACTION_FORGET_EARLY, /* drop all early messages of a node */
    TD_ACTION_SEND_PACKET,  /* send a bulk packet to a node; then SENT, with its handle. It may come
                               again with the same handle, even before SENT: one SENT for each */
    TD_ACTION_FORWARD_PACKET, /* send a received packet's payload on; no SENT follows. It may come
                                 again: the buffer stays until RELEASE_BUFFER */
    TD_ACTION_REPLY,          /* to a client */
    TD_ACTION_RELOAD,         /* read the configuration again, and reply to a client */
    TD_ACTION_CLOSE_CLIENT,   /* after its replies are sent; CLIENT_CLOSED does not follow */
    TD_ACTION_COMPUTE,        /* then COMPUTED, with its handle: at once or later */
    TD_ACTION_PREPARE_TRANSFORM, /* executions of a plan will perform such a step: make what it
                                    needs, at leisure. Nothing follows */
    TD_ACTION_PREPARE_SCRATCH,   /* they will use such scratch memory */
    TD_ACTION_RETURN_SCRATCH,    /* no operation has used such scratch memory lately: the system may
                                    have it */
    TD_ACTION_RELEASE_BUFFER,    /* of a received packet */
    TD_ACTION_RELEASE_REGION,    /* unmap: nothing refers to it any more */
    TD_ACTION_CLOSE_SEGMENT,     /* of a group that was local (JOINED): its calls go by request */
    TD_ACTION_DROP_LINK, /* the far end broke the protocol, or has said goodbye: end the session;
                            LINK_DOWN follows */
    TD_ACTION_STOPPED,   /* after STOP: nothing is left to do */
};

struct td_action {
    enum td_action_kind kind;
    union {
        struct {
            uint32_t node;
            struct td_message message; /* its payload, if it has one, is this part of the slice: */
            uint32_t payload_bytes;    /* no bytes: none */
            uint64_t payload_offset;
            struct td_slice payload; /* in the space of `view` */
            struct td_view view;
            uint64_t handle; /* not 0: SENT must follow; until then the arrays of `view` live */
            uint32_t via;    /* the node whose connection takes the message */
            bool held;       /* kept, but not sent before REPEAT_TREE says so */
        } tree;
        struct {
            uint32_t node;
            uint32_t via;    /* REPEAT_TREE: the node whose connection takes the messages */
            uint64_t number; /* REPEAT_TREE: from this one on; FORGET_TREE: up to it */
        } kept;
        struct {
            uint32_t node; /* that sent the messages */
            uint64_t number;
            const struct td_message *message; /* KEEP_EARLY: of the event under way */
        } early;
        struct {
            uint32_t node;              /* a neighbour */
            struct td_message *message; /* of the event under way; dropped if it cannot be sent */
        } relay;
        struct {
            uint32_t node;
            uint64_t handle; /* DATA: SENT must follow; CREDIT: none */
            struct td_packet packet;
            struct td_slice slice; /* DATA: bytes [packet.offset, + packet.bytes) of it */
            struct td_view view;   /* its arrays live until SENT */
            bool may_wait; /* CREDIT: until the driver has read what it can read now; a later
                              packet to the node replaces it */
        } packet;
        struct {
            uint32_t node;
            uint32_t buffer;
            struct td_packet packet;
        } forward;
        struct {
            uint32_t client;
            const struct td_reply *reply;
        } reply;
        struct {
            uint32_t client;
        } close;
        struct td_compute compute;
        struct {
            struct td_step step; /* PREPARE_TRANSFORM */
            uint32_t ranks;      /* local ones of its group */
            uint64_t uid;        /* of its user */
        } transform;
        struct {
            uint64_t offset, bytes;
            bool last; /* RETURN_SCRATCH: no more follows soon; other memory may go back, too */
        } scratch;     /* PREPARE_SCRATCH, RETURN_SCRATCH */
        struct {
            uint32_t buffer;
        } buffer;
        struct {
            uint32_t handle;
        } region;
        struct {
            uint32_t group; /* its number, as in JOINED */
        } segment;
        struct {
            uint32_t node;
            const char *text;
            bool goodbye; /* the far daemon has stopped, and broke no rule */
        } drop;
        struct {
            uint32_t client;
            uint64_t request; /* id, for the reply */
        } reload;
    } u;
};

struct td_actions {
    uint32_t count;
    struct td_action action[TD_ACTIONS_MAX];
};

#endif
