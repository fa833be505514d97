/* SPDX-License-Identifier: Apache-2.0 */
#include "http.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/config/address.h"
#include "io/loop.h"

enum { BACKLOG = 64, STACK_BYTES = 256 << 10 };

/* struct visit: a connection that has not sent its next request since a time. */
struct visit {
    int fd; /* -1: the entry is free */
    td_time since;
};

struct td_http {
    struct td_http_options options;
    atomic_bool page; /* serve / and /state.json, too */
    struct MHD_Daemon *daemon;
    char host[256]; /* the name of this host */
    pthread_mutex_t lock;
    struct visit visit[TD_HTTP_CONNECTIONS];
};

/* ---- connections ---- */

static int fd_of(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

/* visit_of returns the entry of a descriptor (-1: a free one), or NULL. The caller has locked. */
static struct visit *visit_of(struct td_http *h, int fd)
{
    for (struct visit *v = h->visit; v < h->visit + TD_HTTP_CONNECTIONS; v++)
        if (v->fd == fd)
            return v;
    return NULL;
}

static void on_connection(void *http, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct td_http *h = http;
    int fd = fd_of(connection);
    bool begins = code == MHD_CONNECTION_NOTIFY_STARTED;
    (void)context;
    pthread_mutex_lock(&h->lock);
    struct visit *v = visit_of(h, begins ? -1 : fd);
    if (v)
        *v = (struct visit){begins ? fd : -1, td_loop_now()};
    pthread_mutex_unlock(&h->lock);
}

/* on_completed gives a connection time for its next request. */
static void on_completed(void *http, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code)
{
    struct td_http *h = http;
    (void)context;
    (void)code;
    pthread_mutex_lock(&h->lock);
    struct visit *v = visit_of(h, fd_of(connection));
    if (v)
        v->since = td_loop_now();
    pthread_mutex_unlock(&h->lock);
}

void td_http_tick(struct td_http *h)
{
    td_time now = td_loop_now();
    pthread_mutex_lock(&h->lock);
    for (struct visit *v = h->visit; v < h->visit + TD_HTTP_CONNECTIONS; v++)
        if (v->fd >= 0 && now > v->since + TD_HTTP_PATIENCE_S * UINT64_C(1000000000))
            shutdown(v->fd, SHUT_RDWR); /* the server then closes it */
    pthread_mutex_unlock(&h->lock);
}

/* ---- requests ---- */

static enum MHD_Result respond(struct MHD_Connection *connection, unsigned status, char *text,
                               size_t bytes, enum MHD_ResponseMemoryMode mode, const char *type,
                               const char *const *header)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(bytes, text, mode);
    if (!r)
        return MHD_NO;
    MHD_add_response_header(r, "Content-Type", type);
    MHD_add_response_header(r, "Cache-Control", "no-store");
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(r, "Allow", "GET, HEAD");
    for (; header && header[0]; header += 2)
        MHD_add_response_header(r, header[0], header[1]);
    enum MHD_Result result = MHD_queue_response(connection, status, r);
    MHD_destroy_response(r);
    return result;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, const char *why)
{
    return respond(connection, status, (char *)(uintptr_t)why, strlen(why), MHD_RESPMEM_PERSISTENT,
                   "text/plain; charset=utf-8", NULL);
}

/* is_ours returns false if the request names a host by a name that is not this host's: a browser
 * was led here by somebody else's name for this address. */
static bool is_ours(const struct td_http *h, const char *host)
{
    if (!host || host[0] == '[' || strspn(host, "0123456789.") == strcspn(host, ":"))
        return true;
    size_t length = strcspn(host, ":");
    return (length == strlen("localhost") && strncasecmp(host, "localhost", length) == 0) ||
           (length == strlen(h->host) && strncasecmp(host, h->host, length) == 0);
}

/* text_of returns the text that a path names, or TD_HTTP_TEXTS. */
static enum td_http_text text_of(const struct td_http *h, struct MHD_Connection *connection,
                                 const char *path)
{
    const char *accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept");
    bool plain =
        accept && strstr(accept, "text/plain") && !strstr(accept, "application/openmetrics-text");
    if (strcmp(path, "/metrics") == 0)
        return plain ? TD_HTTP_PLAIN : TD_HTTP_OPENMETRICS;
    if (strcmp(path, "/") == 0 && h->page)
        return TD_HTTP_PAGE;
    if (strcmp(path, "/state.json") == 0 && h->page)
        return TD_HTTP_STATE;
    return TD_HTTP_TEXTS;
}

static enum MHD_Result on_request(void *http, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_bytes, void **context)
{
    static const char *const types[TD_HTTP_TEXTS] = {
        "application/openmetrics-text; version=1.0.0; charset=utf-8",
        "text/plain; version=0.0.4; charset=utf-8", "text/html; charset=utf-8", "application/json"};
    struct td_http *h = http;
    size_t bytes = 0;
    (void)version;
    (void)upload;
    (void)upload_bytes; /* the answer comes before a body is read */
    (void)context;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET is served\n");
    if (!is_ours(h, MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host")))
        return refuse(connection, MHD_HTTP_MISDIRECTED_REQUEST,
                      "this host has another name: ask by its address\n");
    enum td_http_text text = text_of(h, connection, path);
    if (text == TD_HTTP_TEXTS)
        return refuse(connection, MHD_HTTP_NOT_FOUND,
                      h->page ? "there are / and /metrics\n"
                              : "there is /metrics; a page at / needs jobs = yes in [metrics]\n");
    char *body = h->options.fetch(h->options.user, text, &bytes);
    if (!body)
        return refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                      "the daemon is busy: ask again later\n");
    return respond(connection, MHD_HTTP_OK, body, bytes, MHD_RESPMEM_MUST_FREE, types[text],
                   text == TD_HTTP_PAGE ? h->options.header : NULL);
}

/* ---- life ---- */

/* listen_at returns a listening socket, or -1 with errno. */
static int listen_at(const char *text)
{
    struct td_address address;
    int one = 1;
    struct sockaddr_storage at;
    socklen_t bytes = td_address_read(text, &address) ? 0 : td_address_socket(&address, &at);
    if (bytes == 0) {
        errno = EINVAL;
        return -1;
    }
    int fd = socket(address.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&at, bytes) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

/* start_thread starts the server without signals: those are the loop's. */
static struct MHD_Daemon *start_thread(struct td_http *h, int fd)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, on_request, h, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)TD_HTTP_CONNECTIONS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)TD_HTTP_REQUEST_BYTES,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TD_HTTP_PATIENCE_S, MHD_OPTION_THREAD_STACK_SIZE,
        (size_t)STACK_BYTES, MHD_OPTION_NOTIFY_CONNECTION, on_connection, h,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, h, MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return daemon;
}

struct td_http *td_http_start(const struct td_http_options *options, char *why, size_t why_bytes)
{
    struct td_http *h = calloc(1, sizeof *h);
    int fd = h ? listen_at(options->listen) : -1;
    if (fd < 0) {
        snprintf(why, why_bytes, "cannot listen on %s for metrics: %s: change listen in [metrics]",
                 options->listen, strerror(h ? errno : ENOMEM));
        free(h);
        return NULL;
    }
    h->options = *options;
    h->page = options->page;
    pthread_mutex_init(&h->lock, NULL);
    for (int i = 0; i < TD_HTTP_CONNECTIONS; i++)
        h->visit[i].fd = -1;
    gethostname(h->host, sizeof h->host - 1);
    if ((h->daemon = start_thread(h, fd)))
        return h;
    snprintf(why, why_bytes, "cannot start the server of metrics on %s: no memory or no thread",
             options->listen);
    close(fd);
    pthread_mutex_destroy(&h->lock);
    free(h);
    return NULL;
}

void td_http_set_page(struct td_http *h, bool page)
{
    h->page = page;
}

void td_http_stop(struct td_http *h)
{
    MHD_stop_daemon(h->daemon);
    pthread_mutex_destroy(&h->lock);
    free(h);
}
