/* SPDX-License-Identifier: Apache-2.0 */
/* notices: the calls from a lower module of the core to an upper one.
 *
 * Includes run one way only: core.c -> operation -> membership -> net. Within membership they run
 * shrink -> subgroup -> communicator and job -> communicator -> registry. A lower module that has
 * news for an upper one calls it through this table. To the lower module the upper module's objects
 * are opaque pointers. core.c defines the one table, td_core_notices. It is constant, so a compiler
 * that sees the whole program calls the functions directly.
 *
 * Every notice is handled before it returns. Unless its comment says otherwise, a notice may emit
 * a handful of actions and may queue tasks, but never frees the object that it names. */
#ifndef TD_CORE_NOTICES_H
#define TD_CORE_NOTICES_H

#include "base/errors.h"
#include "base/time.h"
#include "model/message.h"
#include "model/program.h"

struct td_client;
struct td_communicator;
struct td_core;
struct td_operation;

struct td_notices {
    /* ---- from net: messages and nodes ---- */

    /* message dispatches a tree message from a node, or from this node itself, to its module. */
    void (*message)(struct td_core *core, uint32_t from, const struct td_message *message);
    /* node_lost: the session with a node has ended for good; `why` is a sentence for people. All
     * messages that were in flight are lost. */
    void (*node_lost)(struct td_core *core, uint32_t node, const char *why);
    /* daemon_is: the daemon of a node has said which incarnation it is; `changed`: it was not known
     * before. Whatever needs an earlier or a later daemon of that node is lost; `why` is a sentence
     * for people. It returns true if something here needs this one. */
    bool (*daemon_is)(struct td_core *core, uint32_t node, uint32_t daemon, bool changed,
                      const char *why);
    /* daemon_ended: the daemon of a node has said that it ends. Whatever needs it is lost; `why` is
     * a sentence for people. */
    void (*daemon_ended)(struct td_core *core, uint32_t node, uint32_t daemon, const char *why);
    /* epoch: a later epoch is known (membership/epoch.h). no_quorum: the nodes that are to be
     * excluded are silent, and too few nodes answer. */
    void (*epoch)(struct td_core *core);
    void (*no_quorum)(struct td_core *core);
    /* all_answer: the nodes that were to be excluded have answered, or are connected again. */
    void (*all_answer)(struct td_core *core);
    /* confirmed: after a pause of this daemon, whether it is known that no epoch has excluded this
     * node meanwhile. */
    void (*confirmed)(struct td_core *core, bool is_known);
    /* node_back: a new session with a node has begun. */
    void (*node_back)(struct td_core *core, uint32_t node);

    /* node_heard: a silence of a node that began at `since` has ended. It emits nothing. */
    void (*node_heard)(struct td_core *core, uint32_t node, td_time since);

    /* registry_moved: another node keeps the list of jobs now (membership/succession.h).
     * registry_knows: this node keeps it, and may form jobs. */
    void (*registry_moved)(struct td_core *core);
    void (*registry_knows)(struct td_core *core);

    /* ---- from net: bulk data. All but route_lost and packets_lost may run for every packet ----
     */

    /* packet unpacks the payload of a packet whose destination is this node. It returns false if no
     * live operation expects the packet; the buffer then stays the caller's. Otherwise net hears
     * of the buffer's release through the fabric (unpacked). */
    bool (*packet)(struct td_core *core, uint32_t origin, const struct td_packet *packet,
                   uint32_t buffer);
    /* carried does so for bytes that a message has brought: `data` is valid until the next step. */
    void (*carried)(struct td_core *core, uint32_t origin, const struct td_packet *packet,
                    const uint8_t *data);
    /* arriving: an operation makes progress: a part of such a packet has arrived here, or one that
     * messages carry is on its way. */
    void (*arriving)(struct td_core *core, const struct td_packet *packet);
    /* delivered: the destination has all bytes of a SEND step. */
    void (*delivered)(struct td_core *core, struct td_operation *operation, unsigned family,
                      uint64_t index);
    /* in_flight_begin and in_flight_end count what the driver or a link still has of an operation.
     * An operation is not freed while its count is above 0. After in_flight_end the operation may
     * be freed at any later step. */
    void (*in_flight_begin)(struct td_operation *operation);
    void (*in_flight_end)(struct td_core *core, struct td_operation *operation);
    /* sent: a packet of an operation goes to a node, for the first time. */
    void (*sent)(struct td_core *core, struct td_operation *operation, uint32_t node,
                 uint32_t bytes);
    /* packet_view fills in where the bytes of an operation's packets are. */
    void (*packet_view)(const struct td_operation *operation, struct td_view *view);
    /* packet_name fills in the instance, group and sequence number of an operation's packet. */
    void (*packet_name)(const struct td_operation *operation, struct td_packet *packet);
    /* route_lost: a lost node lies on the route of an operation's packets. The operation's group is
     * broken. */
    void (*route_lost)(struct td_core *core, struct td_operation *operation, uint32_t node,
                       const char *why);
    /* packets_lost: packets of an operation were lost with the session of two neighbours. The
     * operation ends alone. */
    void (*packets_lost)(struct td_core *core, struct td_operation *operation, uint32_t a,
                         uint32_t b);

    /* ---- from membership ---- */

    /* client_gone: a process has closed its socket or died, and is off the list of clients. It
     * returns false if the step has no room: the caller repeats it in the next one. The caller
     * frees the client afterwards. */
    bool (*client_gone)(struct td_core *core, struct td_client *client);
    /* seat_lost: a local rank has left or died. It makes no more calls and expects no replies. */
    void (*seat_lost)(struct td_core *core, struct td_communicator *communicator, uint32_t local);
    /* seat_died: the local rank's process is gone, so nobody waits for a shrink's reply either. */
    void (*seat_died)(struct td_communicator *communicator, uint32_t local);
    /* rank_lost and slot_lost: a rank of a group, or all ranks of a slot, are lost for good: there
     * is proof, or an epoch. slot_silent: the session with the slot's node has ended. */
    void (*rank_lost)(struct td_core *core, struct td_communicator *communicator, uint32_t rank);
    void (*slot_lost)(struct td_core *core, struct td_communicator *communicator, uint32_t slot);
    void (*slot_silent)(struct td_core *core, struct td_communicator *communicator, uint32_t slot);
    /* group_made reserves the memory of the group's shrinks. It returns false without memory. */
    bool (*group_made)(struct td_communicator *communicator);
    /* group_needed returns true if a shrink still needs the record of a group that is broken.
     * group_freed frees the group's shrink with the group. */
    bool (*group_needed)(const struct td_communicator *communicator);
    void (*group_freed)(struct td_core *core, struct td_communicator *communicator);
    /* group_broken ends the operations of a group that has lost a rank or a node: those that are
     * not released, and with `running_too` also those that run. */
    void (*group_broken)(struct td_core *core, struct td_communicator *communicator, td_err error,
                         const char *text, bool running_too);
    /* appeal: a request to end an operation has reached this node, the root of the group. */
    void (*appeal)(struct td_core *core, struct td_communicator *communicator,
                   const struct td_message *message);
};

extern const struct td_notices td_core_notices;

#endif
