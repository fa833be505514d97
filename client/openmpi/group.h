/* SPDX-License-Identifier: Apache-2.0 */
/* group: torus groups that are made without waiting, and the calls that wait for one.
 *
 * A group starts to be made as soon as the job is complete. Calls made before it is ready wait in
 * its queue, and start in order.
 * Owns: the torus group, unless it is the world group. Each holder calls tm_group_release. */
#ifndef TORUS_OPENMPI_GROUP_H
#define TORUS_OPENMPI_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "torus/torus.h"

#include "waiting.h"

struct tm_group;

enum { TM_PERSISTENT_TAG = 1u << 30 }; /* tags below it are numbers of communicators */

/* struct tm_start: a call in the queue of a group. */
struct tm_start {
    struct tm_start *next;
    /* run starts the call. error: the group was not made */
    void (*run)(void *user, torus_group *group, int error, const char *text);
    void *user;
};

/* tm_group_new begins to make a group of `count` ranks of the job; `tag` as in torus_group_create.
 * All of the job's ranks in order with `is_world` give the world group. NULL: no memory. */
struct tm_group *tm_group_new(const uint32_t *ranks, uint32_t count, uint32_t tag, bool is_world);
/* tm_groups_persistent returns how many groups with tags from TM_PERSISTENT_TAG on exist. */
uint32_t tm_groups_persistent(void);
struct tm_group *tm_group_hold(struct tm_group *group);
void tm_group_release(struct tm_group *group);

/* tm_group_start runs start->run: at once if the group is ready, else later in the order of these
 * calls. */
void tm_group_start(struct tm_group *group, struct tm_start *start);

/* tm_group_await waits until the group is ready and its queue is empty. It returns the group; NULL:
 * it could not be made, for the reason in *error and *text. */
torus_group *tm_group_await(struct tm_group *group, int *error, const char **text);

/* tm_groups_advance starts to make the groups that waited for the job. */
void tm_groups_advance(void);

#endif
