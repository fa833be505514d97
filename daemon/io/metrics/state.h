/* SPDX-License-Identifier: Apache-2.0 */
/* state: what the page shows, as JSON (/state.json): the torus, and what each node has said. */
#ifndef TD_IO_METRICS_STATE_H
#define TD_IO_METRICS_STATE_H

#include "tour.h"

/* td_state_print returns the text, which the caller frees, and its length; NULL: no memory. */
char *td_state_print(const struct td_loop *loop, const struct td_tour *tour, size_t *bytes);

#endif
