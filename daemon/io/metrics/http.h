/* SPDX-License-Identifier: Apache-2.0 */
/* http: a small server of GET requests, on a thread of its own (libmicrohttpd). It serves at most
 * TD_HTTP_CONNECTIONS connections, whose requests have TD_HTTP_REQUEST_BYTES and
 * TD_HTTP_PATIENCE_S. Owns: the listener, the thread. Borrows: the responses that `fetch` returns.
 */
#ifndef TD_IO_METRICS_HTTP_H
#define TD_IO_METRICS_HTTP_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    TD_HTTP_CONNECTIONS = 32,
    TD_HTTP_REQUEST_BYTES = 16384, /* of a request's head, and of a connection's buffers */
    TD_HTTP_PATIENCE_S = 15,       /* for a request, and for an idle connection */
};

/* enum td_http_text: what a client may ask for. */
enum td_http_text {
    TD_HTTP_OPENMETRICS,
    TD_HTTP_PLAIN,
    TD_HTTP_PAGE,
    TD_HTTP_STATE,
    TD_HTTP_TEXTS
};

struct td_http;
struct td_http_options {
    const char *listen;        /* an address that td_address_parse accepts */
    bool page;                 /* serve / and /state.json, too: td_http_set_page changes it */
    const char *const *header; /* of the page: name, value, ..., NULL */
    /* On the thread of the server: returns a text and its length, which the server frees; NULL: it
     * is not available now. */
    char *(*fetch)(void *user, enum td_http_text text, size_t *bytes);
    void *user;
};

/* td_http_start returns NULL with a sentence in why. The options' strings are borrowed. */
struct td_http *td_http_start(const struct td_http_options *options, char *why, size_t why_bytes);
void td_http_set_page(struct td_http *http, bool page);
/* td_http_tick ends connections that take too long for a request. */
void td_http_tick(struct td_http *http);
/* td_http_stop ends the thread and all connections: `fetch` is not called any more. */
void td_http_stop(struct td_http *http);

#endif
