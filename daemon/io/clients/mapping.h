/* SPDX-License-Identifier: Apache-2.0 */
/* mapping: a client's file that is to become a region (regions.h).
 *
 * td_mapping_make checks, maps and seals the file. It runs on a thread, because it takes the lock
 * of the file's inode: write(2) and fallocate(2) of the client hold that lock, for as long as the
 * client likes if it writes from memory whose pages nobody makes.
 * Owns: the descriptor and the mapping, until the table of regions takes them. */
#ifndef TD_IO_CLIENTS_MAPPING_H
#define TD_IO_CLIENTS_MAPPING_H

#include <stdint.h>

#include "base/errors.h"
#include "base/limits.h"

enum { TD_MAPPING_SMALL_BYTES = 1 << 19 /* it is populated at once */ };

struct td_mapping {
    int fd;         /* -1: taken, or closed */
    uint64_t bytes; /* that the client announced */
    uint64_t uid;
    uint32_t entry;            /* that the table of regions keeps for it, or 0 */
    char refusal[TD_TEXT_MAX]; /* a sentence if the table refuses it, although the file is good */
    td_err error;              /* from here on: of td_mapping_make */
    char text[TD_TEXT_MAX];    /* the sentence of `error` */
    uint8_t *base;             /* NULL: it is not mapped */
};

void td_mapping_make(struct td_mapping *mapping);
/* td_mapping_fini closes and unmaps what was not taken, and may sleep. */
void td_mapping_fini(struct td_mapping *mapping);

#endif
