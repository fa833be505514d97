/* SPDX-License-Identifier: Apache-2.0 */
/* descriptors: how many descriptors this process may still open.
 *
 * libzmq ends the process if it finds none for a connection to a Unix socket, or for the list of
 * network interfaces. Therefore clients, which may be many, leave a reserve to the links of this
 * node: for each peer that may connect and has not, and some for all other uses. Peers that come
 * back find descriptors, although clients have waited for those that the peers had before.
 * A count may read the whole list of descriptors (before Linux 6.2). Therefore a count is used for
 * RECOUNT_MS, or for LACKING_MS while descriptors lack.
 * Owns: a count. Invariant: connections and regions that came since the count are added to it. */
#ifndef TD_IO_DESCRIPTORS_H
#define TD_IO_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TD_DESCRIPTORS_OF_CLIENT = 2, /* its socket, and its process */
    TD_DESCRIPTORS_OF_PEER = 12,  /* sockets and signals of ZeroMQ, and streams, both ways */
    TD_DESCRIPTORS_OWN = 64,      /* of the daemon alone */
    TD_DESCRIPTORS_LEAST = 32,    /* for ZeroMQ and the system; streams of peers may use half */
};

struct td_descriptors {
    uint64_t used, taken; /* at the last count, and since */
    uint64_t counted_ms;  /* when; 0: never */
};

/* td_descriptors_used counts the open descriptors; td_descriptors_limit returns how many there may
 * be; td_descriptors_free returns the difference. */
uint64_t td_descriptors_used(void);
uint64_t td_descriptors_limit(void);
uint64_t td_descriptors_free(void);
/* td_descriptors_has returns true if `reserve` are left after `count` more. now_ms: any steady
 * clock. td_descriptors_take notes that `count` are taken. */
bool td_descriptors_has(struct td_descriptors *d, uint64_t count, uint64_t reserve,
                        uint64_t now_ms);
void td_descriptors_take(struct td_descriptors *d, uint64_t count);
/* td_descriptors_text writes why a connection is refused, such as "700 of 1024 descriptors are in
 * use, and the others are reserved; raise LimitNOFILE of torusd.service". Nothing is reserved if
 * all are in use. */
void td_descriptors_text(char *text, size_t bytes);

#endif
