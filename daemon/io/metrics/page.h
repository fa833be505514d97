/* SPDX-License-Identifier: Apache-2.0 */
/* page: the page for people. page.html is compiled in (embed.cmake). It loads nothing but
 * state.json, and its headers tell the browser to run only its own script. */
#ifndef TD_IO_METRICS_PAGE_H
#define TD_IO_METRICS_PAGE_H

#include <stddef.h>

extern const char td_page_text[];
extern const size_t td_page_bytes;

/* struct td_page_headers: name, value, ..., NULL. */
struct td_page_headers {
    const char *header[7];
    char policy[400];
};

/* td_page_headers fills in the headers of the page. */
void td_page_headers(struct td_page_headers *headers);

#endif
