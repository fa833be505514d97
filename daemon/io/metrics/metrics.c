/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exposition.h"
#include "http.h"
#include "page.h"
#include "state.h"
#include "tour.h"

enum { TICK_MS = 5000, WAIT_S = 2 };

/* struct made: a text as the loop has made it. */
struct made {
    char *text; /* NULL: none yet */
    size_t bytes;
    td_time at;
    bool wanted;
};

struct td_metrics {
    struct td_metrics_sources sources;
    struct td_http *http; /* NULL: it serves nowhere */
    char listen[sizeof((struct td_config *)0)->metrics_listen];
    uv_async_t asked;
    uv_timer_t tick;
    struct td_tour *tour;
    struct td_page_headers headers;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t news;
    struct made made[TD_HTTP_TEXTS];
    bool closing;
};

/* ---- on the loop ---- */

static char *print(struct td_metrics *m, enum td_http_text text, size_t *bytes)
{
    if (text == TD_HTTP_STATE) {
        td_tour_watch(m->tour);
        return td_state_print(m->sources.loop, m->tour, bytes);
    }
    struct td_facts *facts = td_facts_collect(&m->sources);
    char *out = NULL;
    if (facts)
        out = td_exposition_print(
            facts, text == TD_HTTP_PLAIN ? TD_EXPOSITION_PLAIN : TD_EXPOSITION_OPENMETRICS, bytes);
    td_facts_free(facts);
    return out;
}

static void on_asked(uv_async_t *asked)
{
    struct td_metrics *m = asked->data;
    for (int i = 0; i < TD_HTTP_TEXTS; i++) {
        pthread_mutex_lock(&m->lock);
        bool wanted = m->made[i].wanted;
        pthread_mutex_unlock(&m->lock);
        if (!wanted || m->sources.loop->stopped)
            continue;
        size_t bytes = 0;
        char *text = print(m, (enum td_http_text)i, &bytes);
        pthread_mutex_lock(&m->lock);
        free(m->made[i].text);
        m->made[i] = (struct made){text, bytes, td_loop_now(), false};
        pthread_cond_broadcast(&m->news);
        pthread_mutex_unlock(&m->lock);
    }
}

static void on_tick(uv_timer_t *tick)
{
    td_http_tick(((struct td_metrics *)tick->data)->http);
}

/* ---- on the thread of the server ---- */

static bool is_fresh(const struct made *made)
{
    return made->text && td_loop_now() < made->at + TD_METRICS_AGE_MS * UINT64_C(1000000);
}

/* wait waits until the loop has made a text. The caller has locked. */
static void wait_for(struct td_metrics *m, struct made *made)
{
    struct timespec until;
    int late = 0;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += WAIT_S;
    made->wanted = true;
    uv_async_send(&m->asked);
    while (made->wanted && !m->closing && !late)
        late = pthread_cond_timedwait(&m->news, &m->lock, &until);
}

static char *copy(const char *text, size_t bytes)
{
    char *to = text ? malloc(bytes) : NULL;
    return to ? memcpy(to, text, bytes) : NULL;
}

static char *fetch(void *metrics, enum td_http_text text, size_t *bytes)
{
    struct td_metrics *m = metrics;
    struct made *made = &m->made[text];
    if (text == TD_HTTP_PAGE) {
        *bytes = td_page_bytes;
        return copy(td_page_text, td_page_bytes);
    }
    pthread_mutex_lock(&m->lock);
    if (!is_fresh(made) && !m->closing)
        wait_for(m, made);
    bool good = !made->wanted && made->text;
    *bytes = made->bytes;
    char *out = good ? copy(made->text, made->bytes) : NULL;
    pthread_mutex_unlock(&m->lock);
    return out;
}

/* ---- life ---- */

static void init_lock(struct td_metrics *m)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->news, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

struct td_metrics *td_metrics_create(const struct td_metrics_sources *sources)
{
    uv_loop_t *uv = &sources->loop->uv;
    struct td_metrics *m = calloc(1, sizeof *m);
    if (!m || !(m->tour = td_tour_create(sources->loop)) ||
        uv_async_init(uv, &m->asked, on_asked) != 0) {
        free(m);
        return NULL;
    }
    m->sources = *sources;
    m->asked.data = m->tick.data = m;
    init_lock(m);
    td_page_headers(&m->headers);
    uv_timer_init(uv, &m->tick);
    return m;
}

/* end_server ends the thread, which may wait for a text. */
static void end_server(struct td_metrics *m)
{
    if (!m->http)
        return;
    pthread_mutex_lock(&m->lock);
    m->closing = true;
    pthread_cond_broadcast(&m->news);
    pthread_mutex_unlock(&m->lock);
    td_http_stop(m->http);
    m->http = NULL;
    m->closing = false;
    uv_timer_stop(&m->tick);
}

bool td_metrics_serve(struct td_metrics *m, const char *listen, bool page, char *why,
                      size_t why_bytes)
{
    struct td_http *http = NULL;
    if (m->http)
        td_http_set_page(m->http, page);
    if (m->http && strcmp(m->listen, listen) == 0)
        return true;
    if (listen[0] && !(http = td_http_start(&(struct td_http_options){.listen = listen,
                                                                      .page = page,
                                                                      .header = m->headers.header,
                                                                      .fetch = fetch,
                                                                      .user = m},
                                            why, why_bytes)))
        return false;
    end_server(m);
    m->http = http;
    snprintf(m->listen, sizeof m->listen, "%s", listen);
    if (http)
        uv_timer_start(&m->tick, on_tick, TICK_MS, TICK_MS);
    return true;
}

bool td_metrics_executes(struct td_metrics *m, const struct td_action *a)
{
    if (a->kind == TD_ACTION_REPLY && a->u.reply.client == TD_TOUR_CLIENT && m) {
        td_tour_reply(m->tour, a->u.reply.reply);
        return true;
    }
    if (a->kind == TD_ACTION_CLOSE_CLIENT && a->u.close.client == TD_TOUR_CLIENT && m) {
        td_tour_closed(m->tour);
        return true;
    }
    return false;
}

void td_metrics_stop(struct td_metrics *m)
{
    if (!m)
        return;
    end_server(m);
    td_tour_stop(m->tour);
}

void td_metrics_free(struct td_metrics *m)
{
    for (int i = 0; m && i < TD_HTTP_TEXTS; i++)
        free(m->made[i].text);
    if (m) {
        pthread_cond_destroy(&m->news);
        pthread_mutex_destroy(&m->lock);
        td_tour_free(m->tour);
    }
    free(m);
}
