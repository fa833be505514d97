/* SPDX-License-Identifier: Apache-2.0 */
/* exposition: the metrics as text, in the format of OpenMetrics 1.0 or in Prometheus' older one.
 * docs/metrics.md lists them. Without [metrics] jobs no text names a job or a user. */
#ifndef TD_IO_METRICS_EXPOSITION_H
#define TD_IO_METRICS_EXPOSITION_H

#include "facts.h"

enum td_exposition_format { TD_EXPOSITION_OPENMETRICS, TD_EXPOSITION_PLAIN };

/* td_exposition_print returns the text, which the caller frees, and its length; NULL: no memory. */
char *td_exposition_print(const struct td_facts *facts, enum td_exposition_format format,
                          size_t *bytes);

#endif
