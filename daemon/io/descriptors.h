/* SPDX-License-Identifier: Apache-2.0 */
/* descriptors: how many descriptors this process may still open.
 *
 * libzmq ends the process if it finds none for a connection to a Unix socket, or for the list of
 * network interfaces. Therefore clients, which may be many, leave a reserve to the links of this
 * node: for each peer that may connect and has not, and some for all other uses. Peers that come
 * back find descriptors, although clients have waited for those that the peers had before.
 * Owns: a count. Invariant: the count is at most RECOUNT_MS old, and what was taken since is added
 * to it. */
#ifndef TD_IO_DESCRIPTORS_H
#define TD_IO_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TD_DESCRIPTORS_OF_CLIENT = 2, /* its socket, and its process */
    TD_DESCRIPTORS_OF_PEER = 12,  /* sockets and signals of ZeroMQ, and streams, both ways */
    TD_DESCRIPTORS_OWN = 64,      /* of the daemon alone */
    TD_DESCRIPTORS_LEAST = 32,    /* that nothing but ZeroMQ and the system may use */
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
/* td_descriptors_take returns true, and notes that `count` descriptors are taken, if `reserve` are
 * left after that. now_ms: any steady clock. */
bool td_descriptors_take(struct td_descriptors *d, uint64_t count, uint64_t reserve,
                         uint64_t now_ms);
/* td_descriptors_text writes why a connection is refused, such as "700 of 1024 descriptors are in
 * use, and the others are reserved; raise LimitNOFILE of torusd.service". */
void td_descriptors_text(char *text, size_t bytes);

#endif
