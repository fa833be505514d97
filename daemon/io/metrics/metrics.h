/* SPDX-License-Identifier: Apache-2.0 */
/* metrics: what the daemon tells monitoring over HTTP ([metrics] listen): metrics at /metrics, and
 * with [metrics] jobs = yes a page for people at /, which reads /state.json.
 *
 * A thread of its own serves HTTP (http.h). It asks the loop for a text, which the loop makes
 * between two steps, at most every TD_METRICS_AGE_MS; all requests in between get the same text. A
 * client of HTTP therefore never delays the loop by more than that.
 * Owns: the server, the texts. Borrows: the parts of the driver. */
#ifndef TD_IO_METRICS_METRICS_H
#define TD_IO_METRICS_METRICS_H

#include "facts.h"

enum { TD_METRICS_AGE_MS = 250 };

struct td_metrics;

/* td_metrics_create returns NULL without memory. */
struct td_metrics *td_metrics_create(const struct td_metrics_sources *sources);
/* td_metrics_serve serves at an address, "" for none, from now on, and no more at the one before.
 * `page`: with the page for people. It returns false with a sentence in why if it cannot listen
 * there; then it goes on where it was. */
bool td_metrics_serve(struct td_metrics *metrics, const char *listen, bool page, char *why,
                      size_t why_bytes);
/* td_metrics_executes returns true for an action on the client of the page, and executes it. */
bool td_metrics_executes(struct td_metrics *metrics, const struct td_action *action);
/* td_metrics_stop ends the server; td_metrics_free follows once the loop has closed its handles.
 * These three accept NULL. */
void td_metrics_stop(struct td_metrics *metrics);
void td_metrics_free(struct td_metrics *metrics);

#endif
