/* SPDX-License-Identifier: Apache-2.0 */
/* sharing: REGION requests whose files are being mapped on a thread of the closer. The core hears
 * of the request when that has ended, and the caller reads no more of its client until then, so
 * that requests stay in order. If the client has gone meanwhile, the core releases the region.
 * Owns: the requests and their descriptors. Borrows: the loop, the closer. */
#ifndef TD_IO_CLIENTS_SHARING_H
#define TD_IO_CLIENTS_SHARING_H

#include <stdbool.h>
#include <stdint.h>

#include "model/request.h"

struct td_closer;
struct td_loop;

/* struct td_sharing: a request, and the function that is called when the core has heard of it. */
struct td_sharing {
    struct td_loop *loop;
    struct td_closer *closer;
    uint32_t client;
    uint64_t uid;
    bool may_keep; /* the region may keep the descriptor */
    void (*ended)(void *user, uint32_t client);
    void *user;
};

/* td_sharing_begin takes the descriptor and begins to map it. It returns false if there is no
 * memory; then the caller keeps the descriptor. */
bool td_sharing_begin(const struct td_sharing *sharing, const struct td_request *request, int fd);

#endif
