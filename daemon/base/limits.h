/* SPDX-License-Identifier: Apache-2.0 */
/* limits: all bounds of the service, tied to each other by _Static_assert. Sizes are in bytes,
 * counts are numbers of things. model/settings_table.h has the defaults of the
 * settings that an operator may change; the wire format fixes the bounds below. */
#ifndef TD_BASE_LIMITS_H
#define TD_BASE_LIMITS_H

#include <stdint.h>

enum {
    TD_DIMENSIONS_MAX = 6,                     /* dimensions of a torus, and of an array */
    TD_DIRECTIONS_MAX = 2 * TD_DIMENSIONS_MAX, /* direction 2 d is +, 2 d + 1 is - in dimension d */
    TD_NODES_MAX = 4096,                       /* nodes of a torus */
    TD_JOB_RANKS_MAX = 16384, /* ranks of a job; their bitmap fits a tree message */
    TD_NODE_RANKS_MAX = 1024, /* ranks of one job on one node; node 0 refuses more joins */

    TD_RELAY_AVOID_MAX = 4,    /* lost nodes that a relayed message names */
    TD_TREE_ARITY = 8,         /* children of a node in the combining tree of the direct fabric */
    TD_TREE_CHILDREN_MAX = 12, /* children in any tree: as many as the neighbours of a torus node */
    TD_TREE_MESSAGE_MAX = 20480, /* bytes of an encoded tree message, payload included */
    TD_RIDE_BYTES_MAX =
        2048, /* payload of a ride, which travels with the announcement and the release */
    TD_LONG_RIDE_BYTES_MAX = 16384, /* the same on the direct fabric, if the root's link permits */
    TD_BITMAP_BYTES_MAX = TD_JOB_RANKS_MAX / 8,
    TD_MEMBERS_PER_MESSAGE = 128, /* runs of ranks in one message of a job's membership */
    TD_EXCLUSIONS_MAX = 256,      /* nodes that an epoch excludes (core/membership/epoch.h) */
    TD_EXCLUSIONS_BYTES_MAX = 14 * TD_EXCLUSIONS_MAX, /* these, in a tree message */
    TD_PAGE_BYTES_MAX = 3600, /* of a page of the status of another node, in a tree message */
    TD_TERMS_MAX = 64,        /* terms in a list of what daemons must share (model/terms.h) */
    TD_FORMING_MAX = 64, /* memberships of more than one message that a node receives from another
                            one at a time */

    TD_CLIENT_RANKS_MAX = 16,      /* jobs that one client belongs to or is joining */
    TD_CLIENT_REGIONS_MAX = 16384, /* regions that one client shares */
    TD_REGIONS_MAX = 65536,        /* regions of all clients, and scratch */

    TD_DATAGRAM_MAX = 65536, /* one request or reply on the local socket */
    TD_NAME_MAX = 128,       /* a job's name, with its terminator */
    TD_TEXT_MAX = 512,       /* a sentence for a person, with its terminator */

    TD_GROUP_OPERATIONS_MAX = 256, /* operations of one group on record at one node */
    TD_FAMILIES_MAX = 64,          /* step families of a program */
    TD_DEPENDENCIES_MAX = 6,       /* dependencies of a family: one per dimension */
    TD_LEVELS_MAX = 5,             /* loop levels of a slice */
    TD_FORM_LOOPS_MAX = 64,        /* loops of an element with gaps */
    TD_FORM_LEVELS_MAX = 8,        /* loops that nest in each other there */

    TD_ACTIONS_MAX = 256,     /* actions of one step of the core */
    TD_OPERATIONS_MAX = 4096, /* operations on record at a node */
    TD_INFLIGHTS_MAX = 8192,  /* computations in flight and packets in flight at a node */
    TD_STEPS_AHEAD = 8,       /* steps of a family in flight at a time, receives excepted */

    TD_PACKET_BYTES_MAX = 1 << 18, /* payload of one packet between nodes */
    TD_LINK_CREDITS_MAX = 64,      /* packets in flight on one link */
    TD_COMPUTE_BYTES = 1 << 18,    /* piece size of local combining and copying */
};

_Static_assert((int)TD_RIDE_BYTES_MAX <= (int)TD_LONG_RIDE_BYTES_MAX &&
                   TD_LONG_RIDE_BYTES_MAX + TD_BITMAP_BYTES_MAX <= TD_TREE_MESSAGE_MAX,
               "a ride and a bitmap fit one tree message");
_Static_assert(TD_MEMBERS_PER_MESSAGE * 24 <= TD_TREE_MESSAGE_MAX,
               "a message of a membership fits a tree message");
_Static_assert(TD_TREE_ARITY <= TD_TREE_CHILDREN_MAX &&
                   2 * TD_DIMENSIONS_MAX <= TD_TREE_CHILDREN_MAX,
               "every tree may have its children");
_Static_assert(TD_NODE_RANKS_MAX <= TD_JOB_RANKS_MAX, "a node holds no more ranks than a job has");
_Static_assert(TD_NODE_RANKS_MAX % 8 == 0, "the bitmap of the ranks of a node has whole bytes");
_Static_assert(2 * TD_NODE_RANKS_MAX * sizeof(void *) <= 1 << 16,
               "the addresses of the buffers of all ranks of a node fit on the stack");

#endif
