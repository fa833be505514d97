/* SPDX-License-Identifier: Apache-2.0 */
/* patience: how long libtorus waits for a daemon, in seconds. The tests of daemons that hang build
 * the library with a smaller TL_PATIENCE_S. */
#ifndef TORUS_PATIENCE_H
#define TORUS_PATIENCE_H

/* A daemon that has sent nothing for so long is asked to reply, and given up after the same time
 * again. */
#ifndef TL_PATIENCE_S
#define TL_PATIENCE_S 5
#endif

enum {
    TL_SILENCE_S = 2 * TL_PATIENCE_S,
    TL_HANDSHAKE_S = 6 * TL_PATIENCE_S,
    TL_LISTING_S = 6 * TL_PATIENCE_S, /* all pages of a listing */
    TL_CALL_S = 12 * TL_PATIENCE_S,   /* a request that every daemon answers at once */
};

#endif
