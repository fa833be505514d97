/* SPDX-License-Identifier: Apache-2.0 */
/* span: a range of memory that a driver may prefetch. */
#ifndef TD_BASE_SPAN_H
#define TD_BASE_SPAN_H

#include <stddef.h>

struct td_span {
    const void *at;
    size_t bytes;
};

#endif
