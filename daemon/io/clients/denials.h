/* SPDX-License-Identifier: Apache-2.0 */
/* denials: connections of clients that are refused, because this process has no descriptors for
 * them. A client is sent the reason, and a later call closes its connection: close() at once would
 * drop the reason, which the client has not read yet, because the HELLO was not read either.
 * Owns: the connections. Borrows: the closer. */
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
};

/* td_denials_close closes the connections that were refused before. */
void td_denials_close(struct td_denials *denials, struct td_closer *closer);
/* td_denials_tell closes them, and refuses up to TD_DENIALS_MAX connections that wait at a
 * listener, with a sentence. */
void td_denials_tell(struct td_denials *denials, struct td_closer *closer, int listener,
                     const char *text);

#endif
