/* SPDX-License-Identifier: Apache-2.0 */
/* denials: connections of processes that are not served, because this process has no descriptors
 * for them. Each is told why, and is closed by a later call: close() would drop what it has not
 * read yet, as its HELLO was not read either. Owns: the connections. Borrows: the closer. */
#ifndef TD_IO_CLIENTS_DENIALS_H
#define TD_IO_CLIENTS_DENIALS_H

#include <stddef.h>
#include <stdint.h>

#include "closer.h"

enum { TD_DENIALS_MAX = 16 };

struct td_denials {
    struct td_denied {
        int fd;
        uint64_t uid;
    } connection[TD_DENIALS_MAX];
    uint32_t count;
    uint64_t all; /* since the start */
};

/* td_denials_close closes the connections that were refused before. */
void td_denials_close(struct td_denials *denials, struct td_closer *closer);
/* td_denials_tell closes them, and refuses up to TD_DENIALS_MAX connections that wait at a
 * listener, with a sentence. */
void td_denials_tell(struct td_denials *denials, struct td_closer *closer, int listener,
                     const char *text);

#endif
