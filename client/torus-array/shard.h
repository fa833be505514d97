/* SPDX-License-Identifier: Apache-2.0 */
/* shard: a rank's part of an array by a layout, moved between memory and the .npy file of the whole
 * array. */
#ifndef TORUSCTL_SHARD_H
#define TORUSCTL_SHARD_H

#include "model/layout.h"
#include "npy.h"

struct shard {
    uint32_t dimensions;
    bool there; /* the rank has a part, which may be empty */
    struct td_owned owned[TD_DIMENSIONS_MAX];
    uint64_t count[TD_DIMENSIONS_MAX];  /* owned indices */
    uint64_t stride[TD_DIMENSIONS_MAX]; /* elements between neighbours in memory */
    uint64_t elements;
};

/* shard_of returns the part of a rank. */
struct shard shard_of(const struct td_layout *layout, uint32_t rank);
/* shard_alone returns the same memory as an array of its own, all of which is the part. */
struct shard shard_alone(const struct shard *shard);
/* shard_read and shard_write move the part between memory and the file. Memory holds numbers of the
 * given form; if `form` is NULL, elements as in the file. They return false with npy->text. */
bool shard_read(const struct shard *shard, int fd, struct npy *npy, const struct npy_form *form,
                void *memory);
bool shard_write(const struct shard *shard, int fd, struct npy *npy, const struct npy_form *form,
                 const void *memory);

#endif
