/* SPDX-License-Identifier: Apache-2.0 */
/* Daemons of different configurations and releases: links are refused for what the link needs only;
 * groups for what their nodes must share; and a refused peer learns no setting. */
#include "daemons.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include "model/terms.h"
#include "wire/handshake.h"

enum { NODES = 3, ODD = 2, HEAD_BYTES = 8 };

/* begin starts `count` of three daemons; the last one has other lines in its configuration. */
static void begin(uint32_t count, const char *other)
{
    prepare(NODES);
    for (uint32_t n = 0; n < NODES; n++) {
        write_config(n, n == ODD ? other : "");
        if (n < count)
            start_daemon(n);
    }
    wait_ready(count);
}

/* join_at joins ranks on nodes, and returns the last error. */
static int join_at(const uint32_t *node, uint32_t count, const char *name, torus_context **c,
                   torus_group **g)
{
    torus_request *r[NODES];
    int error = TORUS_OK;
    for (uint32_t i = 0; i < count; i++) {
        struct torus_join_options options = as(count, (int32_t)i);
        options.name = name;
        c[i] = open_at(node[i]);
        assert_int_equal(torus_ijoin(c[i], &options, &g[i], &r[i]), TORUS_OK);
    }
    for (uint32_t i = 0; i < count; i++) {
        int one = torus_wait(r[i], 20 * (int64_t)SECOND);
        error = one != TORUS_OK ? one : error;
    }
    return error;
}

static void works(const uint32_t *node, uint32_t count, const char *name)
{
    torus_context *c[NODES];
    torus_group *g[NODES];
    assert_int_equal(join_at(node, count, name, c, g), TORUS_OK);
    barrier_all(g, count);
    close_all(c, count);
}

static void a_job_over_nodes_that_differ_is_refused_beside_others_that_work(void **state)
{
    (void)state;
    static const uint32_t all[] = {0, 1, 2};
    torus_context *c[NODES];
    torus_group *g[NODES];
    begin(NODES, "[alltoall]\nburst = 4\n");
    assert_int_equal(join_at(all, NODES, "all", c, g), TORUS_ERR_MISMATCH);
    for (uint32_t i = 0; i < NODES; i++) {
        assert_says(c[i], "job all: [alltoall] burst is ");
        assert_says(c[i], "1 on node ");
        assert_says(c[i], "4 on node 2 (2)");
        assert_says(c[i], "configure the same value on all nodes of the job");
    }
    close_all(c, NODES);
    works(all, 2, "agree");
    works(all + ODD, 1, "alone");
    for (uint32_t n = 0; n < NODES; n++)
        assert_int_equal(logged(n, "rejected the handshake"), 0);
    stop();
}

static void a_link_is_refused_for_what_it_needs_and_the_log_says_what(void **state)
{
    (void)state;
    static const uint32_t all[] = {0, 1, 2};
    begin(NODES, "[network]\nheartbeat = 2s\n");
    wait_logged(0, "rejected the handshake of node 2: [network] heartbeat is 2000 ms on node 2, "
                   "but 500 ms on node 0: use the same value");
    wait_logged(ODD, "node 0: it rejected the handshake: [network] heartbeat is 500 ms on node 0, "
                     "but 2000 ms on node 2: use the same value");
    works(all, 2, "agree");
    stop();
}

/* ---- peers that a test plays ---- */

static void *context;

/* greet sends node 0 a handshake of node 2 and reads the reply. */
static struct td_handshake greet(const struct td_handshake *request)
{
    static struct td_wire_memory memory;
    static uint64_t number = 100;
    uint8_t body[1024] = {0}, reply[1024], identity[13] = {'T', ODD};
    char endpoint[128];
    const char *why = NULL;
    int none = 0, timeout_ms = 10000;
    struct td_handshake g = *request, a;
    g.session = ++number;
    memcpy(identity + 5, &number, sizeof number);
    void *s = zmq_socket(context, ZMQ_DEALER);
    assert_non_null(s);
    zmq_setsockopt(s, ZMQ_LINGER, &none, sizeof none);
    zmq_setsockopt(s, ZMQ_RCVTIMEO, &timeout_ms, sizeof timeout_ms);
    zmq_setsockopt(s, ZMQ_ROUTING_ID, identity, sizeof identity);
    snprintf(endpoint, sizeof endpoint, "ipc://%s/p0", folder);
    assert_int_equal(zmq_connect(s, endpoint), 0);
    size_t size = td_wire_encode_handshake(&g, body + HEAD_BYTES, sizeof body - HEAD_BYTES);
    assert_true(size > 0);
    assert_true(zmq_send(s, body, size + HEAD_BYTES, 0) > 0);
    int got = zmq_recv(s, reply, sizeof reply, 0);
    assert_true(got > HEAD_BYTES && got <= (int)sizeof reply);
    assert_int_equal(
        td_wire_decode_handshake(reply + HEAD_BYTES, (size_t)got - HEAD_BYTES, &memory, &a, &why),
        TD_OK);
    zmq_close(s);
    return a;
}

static void refused(const struct td_handshake *request, const char *words)
{
    struct td_handshake a = greet(request);
    assert_false(a.accepted);
    assert_string_equal(a.text, words);
    assert_string_equal(a.shape, "");
    assert_true(a.terms.count == 0 && a.incarnation == 0 && a.node == 0 && !a.has_random);
}

static void neighbouring_minor_versions_speak_and_refused_ones_learn_nothing(void **state)
{
    (void)state;
    struct td_settings settings;
    struct td_topology line;
    uint64_t term[TD_TERMS_MAX], more[TD_TERMS_MAX];
    size_t position = 0;
    const char *why = NULL;
    keyless = true;
    begin(2, "");
    context = zmq_ctx_new();
    td_settings_default(&settings);
    assert_int_equal(td_topology_parse(&line, "3", &position, &why), TD_OK);
    uint32_t terms = td_terms_settings(TD_TERMS_LINK, &settings, term);
    struct td_handshake g = {.major = TD_WIRE_PEER_MAJOR,
                             .minor = TD_WIRE_PEER_MINOR,
                             .node = ODD,
                             .incarnation = 4711,
                             .terms = {terms, term},
                             .shape = "3"};
    struct td_handshake old = g, newer = g;
    old.minor--;
    old.terms.count--; /* the previous release knows no absent nodes: there are none */
    assert_true(greet(&old).accepted);
    assert_true(greet(&g).accepted);

    memcpy(more, term, sizeof more);
    more[terms] = 0; /* a later release has one more, and does as before */
    newer.minor++;
    newer.terms = (struct td_term_list){terms + 1, more};
    assert_true(greet(&newer).accepted);
    more[terms] = 5;
    refused(&newer, "settings differ: see its log");
    wait_logged(0, "a setting of a newer release is 5 on node 2, but 0 on node 0");
    more[0] = !term[0];
    g.terms = (struct td_term_list){terms, more};
    refused(&g, "settings differ: see its log");
    wait_logged(0, "[torus] fabric is routed on node 2, but direct on node 0");
    old.minor = 0;
    refused(&old, "protocol versions do not match: run the same release");
    zmq_ctx_term(context);
    keyless = false;
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_job_over_nodes_that_differ_is_refused_beside_others_that_work,
                                  clean_up),
        cmocka_unit_test_teardown(a_link_is_refused_for_what_it_needs_and_the_log_says_what,
                                  clean_up),
        cmocka_unit_test_teardown(neighbouring_minor_versions_speak_and_refused_ones_learn_nothing,
                                  clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
