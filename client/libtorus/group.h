/* SPDX-License-Identifier: Apache-2.0 */
/* group: the library's record of a group.
 *
 * The context lists the groups that the daemon has numbered.
 * Owns: the list of members and the attachments (plans, persistent calls). */
#ifndef TORUS_GROUP_H
#define TORUS_GROUP_H

#include "context.h"

struct tl_segment;

/* struct tl_attachment: first member of an object that is freed with its group. */
struct tl_attachment {
    struct tl_attachment *next;
    torus_group *group;
    void (*destroy)(struct tl_attachment *a); /* frees the object; it is out of the list already */
};

/* struct tl_creations: number of groups created from one list of ranks of this group and a tag. */
struct tl_creations {
    struct tl_creations *next;
    uint64_t list; /* hash of the list and the tag */
    uint64_t count;
};

struct torus_group {
    torus_context *context;
    struct torus_group *next;
    uint32_t number; /* in the daemon */
    uint32_t rank, size;
    int64_t timeout_ns; /* -1: the daemon's setting */
    uint8_t mode;       /* enum td_reproducible of the next reduction */
    uint32_t in_flight; /* operations; of these: */
    uint32_t sent;      /* requests that the daemon has; at most TD_GROUP_OPERATIONS_MAX */
    torus_request *unsent, **unsent_last; /* requests that wait to be sent, by sequence */
    /* After the daemon had no room for a call, nothing is sent until it has (`full`); then one call
     * at a time, and one more with each call that ends. */
    bool full;
    uint32_t held_back;         /* fewer calls than TD_GROUP_OPERATIONS_MAX may be sent */
    uint64_t sequence;          /* of the next call by request; a refused call does not count */
    struct tl_segment *segment; /* segment.c; NULL: all calls go by request */
    uint64_t by_segment;        /* calls made there */
    bool meets;                 /* a thread makes one */
    /* After the daemon refused a call it refuses the later calls too, until the caller has seen the
     * refusal. Then `sequence` returns to `refused_from`, and `turn` counts up. */
    bool refused;
    uint64_t refused_from, turn;
    struct tl_attachment *attachments;
    uint32_t world;   /* number of the job's world group */
    uint32_t *member; /* world rank of each rank; NULL: this is the world group */
    struct tl_creations *creations;
    uint64_t dups, persistents; /* groups of all ranks made by torus_dup, and of persistent calls */
    bool freed;                 /* by torus_group_free: it ends with its last operation */
};

/* tl_group_link adds a group, numbered by the daemon, to its context. */
void tl_group_link(torus_group *g, uint32_t number);

/* tl_group_release leaves and frees a group that torus_group_free has freed, once none of its
 * operations is in flight. */
void tl_group_release(torus_group *g);

/* tl_group_free removes a group from its context and frees it with its attachments. */
void tl_group_free(torus_group *g);

/* tl_group_destroy frees a group that is not linked. NULL is accepted. */
void tl_group_destroy(torus_group *g);

/* tl_group_attach and tl_group_detach add and remove an object that the group frees. */
void tl_group_attach(torus_group *g, struct tl_attachment *a);
void tl_group_detach(struct tl_attachment *a);

#endif
