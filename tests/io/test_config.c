/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration reader: accepted files, and the place and sentence of every error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/bits.h"
#include "base/quantity.h"
#include "io/config/config.h"
#include "io/config/config_host.h"
#include "io/config/config_keys.h"
#include "model/terms.h"

#define PEERS_3x3 "[peers]\nhosts = n[0-8]\n[security]\ninsecure = yes\n"

static char folder[64], file[128], text[1024];
static struct td_config config;

static void write_file(const char *path, const char *content)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(content, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static td_err load(const char *content, const char *host)
{
    write_file(file, content);
    return td_config_load(&config, file, host, text, sizeof text);
}

static void good(const char *content, const char *host)
{
    if (load(content, host) != TD_OK)
        fail_msg("refused: %s", text);
}

/* rejected at a place ("LINE:" or "LINE:COLUMN:"), with a sentence that contains all of the words
 */
static void refused(const char *content, const char *place, const char *word, const char *other)
{
    char where[160];
    assert_int_equal(load(content, "n0"), TD_ERR_INVALID);
    snprintf(where, sizeof where, "%s:%s", file, place);
    if (strncmp(text, where, strlen(where)) != 0 || !strstr(text, word) || !strstr(text, other))
        fail_msg("expected %s ... %s ... %s, got: %s", where, word, other, text);
}

static int setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/torus-config-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(file, sizeof file, "%s/torusd.conf", folder);
    memset(&config, 0, sizeof config);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    td_config_free(&config);
    unlink(file);
    return rmdir(folder);
}

static void one_file_serves_all_nodes_by_host_name(void **state)
{
    (void)state;
    good("[torus]\nshape = 3x3\n" PEERS_3x3, "n5");
    assert_int_equal(config.node, 5);
    assert_int_equal(config.topology.nodes, 9);
    assert_string_equal(config.endpoints[8], "tcp://n8:7117");
    assert_string_equal(config.listen, "tcp://*:7117");
}

static void host_ranges_keep_their_zeroes(void **state)
{
    (void)state;
    good("[torus]\nshape = 2x3\n[peers]\nport = 9000\n"
         "hosts = node[00-02],spare[1,3],login\n[security]\ninsecure = yes\n",
         "login");
    const char *expected[] = {"node00", "node01", "node02", "spare1", "spare3", "login"};
    for (int i = 0; i < 6; i++) {
        char endpoint[64];
        snprintf(endpoint, sizeof endpoint, "tcp://%s:9000", expected[i]);
        assert_string_equal(config.endpoints[i], endpoint);
    }
    assert_int_equal(config.node, 5);
}

static void streams_ask_for_cubic_or_what_is_named(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"", "cubic"}, {"congestion = auto\n", "cubic"}, {"congestion = reno\n", "reno"}};
    char lines[256];
    for (int i = 0; i < 3; i++) {
        snprintf(lines, sizeof lines, "[torus]\nshape = 1\n[network]\n%s", names[i][0]);
        good(lines, "n0");
        assert_string_equal(td_config_congestion_name(&config), names[i][1]);
        td_config_free(&config);
    }
    good("[torus]\nshape = 1\n[network]\ncongestion = system\n", "n0");
    assert_null(td_config_congestion_name(&config));
}

static void values_have_units(void **state)
{
    (void)state;
    good("[torus]\nshape = 1\n[network]\npacket = 64 KiB\nheartbeat = 500ms\ncredits = 8\n"
         "express = no\ncongestion = cubic\n"
         "[limits]\nmemory = 16MiB\narrival_timeout = 2m\n[compute]\nworkers = 3\n"
         "[fft]\neffort = patient\nmeasure_timeout = 20s\n",
         "n0");
    assert_int_equal(config.settings.packet_bytes, 65536);
    assert_int_equal(config.settings.heartbeat_ns, 500000000);
    assert_false(config.express);
    assert_int_equal(config.settings.carry_bytes, 4096); /* by ZeroMQ; 16384 with express */
    assert_string_equal(config.congestion, "cubic");
    assert_int_equal(config.settings.link_credits, 8);
    assert_int_equal(config.settings.arena_bytes, 16 << 20);
    assert_int_equal(config.settings.arrival_timeout_ns, 120000000000);
    assert_int_equal(config.workers, 3);
    assert_int_equal(config.effort, 2);
    assert_int_equal(config.measure_ns, 20000000000);
}

static void the_torus_and_all_to_all_are_tuned_by_keys(void **state)
{
    (void)state;
    good("[torus]\nshape = 1\nfabric = routed\nlink_rate = 5MB/s\nlink_latency = 50us\nslots = "
         "2\nfifo_slots = 3\n"
         "queues = 5\nqueue_slots = 6\npatience = 7\nstraight = 0\narbitration = none\n"
         "alltoall = two-phase\n[alltoall]\nburst = 8\norder = number\nparts = 1\ngap = no\n"
         "barriers = none\nbarrier_scope = all\nrelay = 1 MiB\n",
         "n0");
    const struct td_settings *s = &config.settings;
    assert_int_equal(s->tuning.fabric, TD_FABRIC_ROUTED);
    assert_int_equal(s->link_rate, 5000000);
    assert_int_equal(s->link_latency_ns, 50000);
    assert_int_equal(s->router.slots, 2);
    assert_int_equal(s->router.fifo_slots, 3);
    assert_int_equal(s->router.queues, 5);
    assert_int_equal(s->router.queue_slots, 6);
    assert_int_equal(s->router.patience, 7);
    assert_int_equal(s->router.straight, 0);
    assert_int_equal(s->router.arbitration, TD_NO_PREFERENCE);
    assert_int_equal(s->tuning.alltoall, TD_ALLTOALL_TWO_PHASE);
    assert_int_equal(s->tuning.burst, 8);
    assert_int_equal(s->tuning.parts, 1);
    assert_int_equal(s->tuning.barriers, TD_BARRIERS_NONE);
    assert_int_equal(s->tuning.relay_bytes, 1 << 20);
    assert_true(s->tuning.in_order && s->tuning.no_gap && s->tuning.barriers_of_all);
}

static void rates_are_decimal_or_binary(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t rate;
    } cases[] = {{"0", 0},          {"1000000", 1000000},  {"5MB/s", 5000000}, {"5 MB", 5000000},
                 {"3kB/s", 3000},   {"2GB/s", 2000000000}, {"5M", 5 << 20},    {"5MiB/s", 5 << 20},
                 {"7K/s", 7 << 10}, {"1GiB/s", 1 << 30},   {"9B/s", 9}};
    static const char *const bad[] = {"",
                                      "/s",
                                      "MB",
                                      "-1",
                                      "5m",
                                      "5MB/",
                                      "5MB/s ",
                                      "1.5MB/s",
                                      "99999999999999999999",
                                      "99999999999999GB"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t rate = 1;
        assert_true(td_quantity_parse_rate(cases[i].text, &rate));
        assert_int_equal(rate, cases[i].rate);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(td_quantity_parse_rate(bad[i], &(uint64_t){0}));
}

static void nonsense_about_the_torus_is_refused_at_its_key(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"slots = 1", "slots must be 2 to 64"},
        {"fifo_slots = 0", "fifo_slots must be"},
        {"queues = 0", "queues must be"},
        {"queue_slots = 257", "queue_slots must be"},
        {"patience = 0", "patience must be"},
        {"straight = 2000000", "straight must be"},
        {"link_rate = 100kB/s", "link_rate must transmit a packet within 1 s"},
        {"link_rate = 2000GB/s", "link_rate must be at most"},
        {"link_rate = fast", "bytes per second"},
        {"link_latency = 2s", "link_latency must be at most 1 s"},
        {"link_latency = 5 parsecs", "expected a duration"},
        {"alltoall = fast", "auto|random|phased|pairwise|two-phase"},
        {"arbitration = fast", "transit-first|injection-first|none"},
        {"[alltoall]\nburst = 0", "burst must be"},
        {"[alltoall]\nparts = 2", "all|1"},
        {"[alltoall]\nrelay = 1 KiB", "relay must be at least 64 KiB"},
        {"[alltoall]\nrelay = 5 GiB", "relay must be at most [limits] scratch"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char content[200];
        snprintf(content, sizeof content, "[torus]\nshape = 1\nfabric = routed\n%s\n", cases[i][0]);
        refused(content, cases[i][0][0] == '[' ? "5:" : "4:", cases[i][1], "");
    }
    refused("[torus]\nshape = 1\nlink_rate = 5MB/s\n", "3:", "link_rate needs fabric = routed", "");
    refused("[torus]\nshape = 1\nlink_latency = 1ms\n", "3:", "link_latency needs fabric = routed",
            "");
}

/* Keys that nodes must share, with the setting of the routed fabric where they need it. */
static const char *const of_link[] = {
    "fabric = routed",       "link_rate = 5MB/s",  "link_latency = 1ms", "slots = 5",
    "fifo_slots = 5",        "queues = 5",         "queue_slots = 5",    "patience = 5",
    "straight = 5",          "arbitration = none", "packet = 4 KiB",     "heartbeat = 2 s",
    "progress_timeout = 9 s"};
static const char *const of_group[] = {
    "alltoall = phased", "burst = 5",           "order = number", "parts = 1",      "gap = no",
    "barriers = phase",  "barrier_scope = all", "relay = 1 MiB",  "packet = 4 KiB", "credits = 5"};

static const char *section_of(const char *key)
{
    static const char *const sections[] = {"torus", "alltoall", "network", "limits"};
    char name[40];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(key, " "), key);
    for (unsigned i = 0; i < 4; i++)
        if (td_config_key(sections[i], name))
            return sections[i];
    fail_msg("%s", key);
    return NULL;
}

/* configure reads a configuration with a key, or without (NULL). */
static void configure(const char *key, bool routed)
{
    char content[200];
    int length = snprintf(content, sizeof content, "[torus]\nshape = 1\n%s",
                          routed && (!key || !strstr(key, "fabric")) ? "fabric = routed\n" : "");
    if (key)
        snprintf(content + length, sizeof content - (size_t)length, "[%s]\n%s\n", section_of(key),
                 key);
    td_config_free(&config);
    good(content, "n0");
}

/* differs checks that exactly one term of a list differs, that it has the name of the key, and that
 * its value is printed as in the configuration. */
static void differs(enum td_terms_list list, const char *key, bool routed)
{
    uint64_t usual[TD_TERMS_MAX], changed[TD_TERMS_MAX];
    char name[80], printed[40];
    configure(NULL, routed);
    struct td_term_list a = {td_terms_settings(list, &config.settings, usual), usual};
    configure(key, routed);
    struct td_term_list b = {td_terms_settings(list, &config.settings, changed), changed};
    uint32_t index = 0, count = 0;
    assert_true(td_terms_differ(&a, &b, &index));
    for (uint32_t i = 0; i < a.count; i++)
        count += usual[i] != changed[i];
    assert_int_equal(count, 1);
    snprintf(name, sizeof name, "[%s] %.*s", section_of(key), (int)strcspn(key, " "), key);
    assert_string_equal(td_terms_name(list, index, printed, sizeof printed), name);
    assert_false(td_terms_is_fixed(list, index));
    td_terms_print(list, index, changed[index], printed, sizeof printed);
    const char *value = strchr(key, '=') + 2;
    static const char *const forms[][2] = {{"4 KiB", "4096 bytes"}, {"1 MiB", "1048576 bytes"},
                                           {"2 s", "2000 ms"},      {"9 s", "9000 ms"},
                                           {"1ms", "1 ms"},         {"5MB/s", "5000000 bytes/s"}};
    for (unsigned i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (strcmp(value, forms[i][0]) == 0)
            value = forms[i][1];
    assert_string_equal(printed, value);
}

static void every_key_that_nodes_must_share_is_a_term(void **state)
{
    (void)state;
    for (unsigned i = 1; i < sizeof of_link / sizeof *of_link; i++) /* fabric: below */
        differs(TD_TERMS_LINK, of_link[i], true);
    for (unsigned i = 0; i < sizeof of_group / sizeof *of_group; i++)
        differs(TD_TERMS_SETTINGS, of_group[i], false);
    uint64_t direct[TD_TERMS_MAX], routed[TD_TERMS_MAX];
    configure(NULL, false);
    uint32_t count = td_terms_settings(TD_TERMS_LINK, &config.settings, direct), index = 0;
    configure(of_link[0], true);
    td_terms_settings(TD_TERMS_LINK, &config.settings, routed);
    assert_true(td_terms_differ(&(struct td_term_list){count, direct},
                                &(struct td_term_list){count, routed}, &index));
    assert_string_equal(td_terms_name(TD_TERMS_LINK, index, text, sizeof text), "[torus] fabric");
}

static void settings_of_the_other_fabric_may_differ(void **state)
{
    (void)state;
    uint64_t a[TD_TERMS_MAX], b[TD_TERMS_MAX];
    uint32_t index = 0;
    configure(NULL, false);
    uint32_t count = td_terms_settings(TD_TERMS_LINK, &config.settings, a);
    configure("slots = 5", false);
    td_terms_settings(TD_TERMS_LINK, &config.settings, b);
    assert_false(td_terms_differ(&(struct td_term_list){count, a}, &(struct td_term_list){count, b},
                                 &index));
    configure(NULL, true);
    count = td_terms_settings(TD_TERMS_SETTINGS, &config.settings, a);
    configure("credits = 5", true);
    td_terms_settings(TD_TERMS_SETTINGS, &config.settings, b);
    assert_false(td_terms_differ(&(struct td_term_list){count, a}, &(struct td_term_list){count, b},
                                 &index));
}

static void lists_go_on_on_indented_lines(void **state)
{
    (void)state;
    good("[node]\ncoordinates = 1,0\n[torus]\nshape = 2x2\n[peers]\nendpoints = ipc:///tmp/a\n"
         "    ipc:///tmp/b, ipc:///tmp/c\n    ipc:///tmp/d\n",
         "n0");
    assert_int_equal(config.node, 2);
    assert_string_equal(config.endpoints[3], "ipc:///tmp/d");
    assert_string_equal(config.listen, "ipc:///tmp/c");
}

static void unknown_keys_name_the_nearest(void **state)
{
    (void)state;
    refused("[torus]\nshape = 1\n[limits]\nclinets = 4\n", "4:", "clinets", "clients");
}

static void errors_point_at_the_key_or_at_the_value(void **state)
{
    (void)state;
    refused("[torus]\nshap = 1\n", "2:1:", "shap", "shape");
    refused("[torus]\nshape = 1\n  shape = 1\n", "3:3:", "twice", "");
    refused("[torus]\nshape = 1\n[limits]\nclients =  x\n", "4:12:", "clients", "");
}

static void a_key_before_the_first_section_is_told_its_section(void **state)
{
    (void)state;
    refused("shape = 1\n", "1:1:", "shape", "[torus]");
}

static void comments_may_follow_on_a_line(void **state)
{
    (void)state;
    good("# a\n ; b\n[torus] # c\nshape = 1x1 # d\n[limits]\nclients = 7 ; e\n\t# f\n"
         "[peers]\nendpoints = # g\n  ipc:///tmp/a#b;c  # h\n",
         "n0");
    assert_int_equal(config.settings.clients_max, 7);
    assert_string_equal(config.endpoints[0], "ipc:///tmp/a#b;c");
}

static void a_folder_is_not_a_configuration(void **state)
{
    (void)state;
    assert_int_equal(td_config_load(&config, folder, "n0", text, sizeof text), TD_ERR_INVALID);
    assert_non_null(strstr(text, "cannot read the file"));
    write_file(file, ""); /* for teardown */
}

static void unknown_sections_are_refused(void **state)
{
    (void)state;
    refused("[torus]\nshape = 1\n[limit]\n", "3:", "[limit]", "limits");
}

static void a_key_set_twice_is_refused(void **state)
{
    (void)state;
    refused("[torus]\nshape = 1\nshape = 2\n", "3:", "shape", "line 2");
}

static void drop_ins_override_the_file(void **state)
{
    (void)state;
    char drop_ins[160], path[192];
    snprintf(drop_ins, sizeof drop_ins, "%s.d", file);
    snprintf(path, sizeof path, "%s/10-more.conf", drop_ins);
    assert_int_equal(mkdir(drop_ins, 0700), 0);
    write_file(path, "[limits]\nclients = 7\n");
    td_err error = load("[torus]\nshape = 1\n[limits]\nclients = 5\n", "n0");
    unlink(path);
    rmdir(drop_ins);
    assert_int_equal(error, TD_OK);
    assert_int_equal(config.settings.clients_max, 7);
}

static void bad_values_are_refused_with_their_key(void **state)
{
    (void)state;
    static const struct {
        const char *line, *word;
    } cases[] = {
        {"[network]\npacket = 4 parsecs", "packet"},
        {"[network]\npacket = 512", "packet"},
        {"[network]\npacket = -1", "packet"},
        {"[network]\ncredits = 1", "credits"},
        {"[network]\ncredits = 4x", "credits"},
        {"[network]\nheartbeat = soon", "heartbeat"},
        {"[network]\nexpress = fast", "express"},
        {"[network]\ncongestion =", "congestion"},
        {"[network]\ncongestion = longer-than-linux-takes", "congestion"},
        {"[network]\nheartbeat = 20s", "heartbeat"},
        {"[limits]\nmemory = 1", "memory"},
        {"[limits]\nscratch = 99999999999999999999", "scratch"},
        {"[limits]\nclients = 0", "clients"},
        {"[limits]\nclients = 99999999999999999999", "clients"},
        {"[limits]\nclients =", "clients"},
        {"[limits]\noperations = 5000", "operations"},
        {"[limits]\ngroups = 0", "groups"},
        {"[limits]\ngroups_per_process = many", "groups_per_process"},
        {"[limits]\nregions = 65536", "regions"},
        {"[limits]\nunread = 1", "unread"},
        {"[limits]\nshare = 101", "share"},
        {"[limits]\njoin_timeout = none", "join_timeout"},
        {"[limits]\nprogress_timeout = 0", "progress_timeout"},
        {"[security]\ninsecure = perhaps", "insecure"},
        {"[peers]\nlisten = udp://x:1", "listen"},
        {"[node]\nsocket = here", "socket"},
        {"[node]\ncoordinates = 1", "coordinates"},
        {"[node]\ncoordinates = 0,0", "coordinates"},
        {"[log]\nlevel = loud", "level"},
        {"[compute]\nworkers = 0", "1024"},
        {"[fft]\neffort = some", "estimate|measure|patient|wisdom"},
        {"[fft]\nmeasure_timeout = 0", "1 s to 24 h"},
        {"[fft]\nmeasure_timeout = 25h", "1 s to 24 h"},
        {"[compute]\nworkers = 1025", "1024"},
        {"[peers]\nport = 65535", "65534"},
        {"[peers]\nport = http", "65534"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char content[256];
        snprintf(content, sizeof content, "[torus]\nshape = 1\n%s\n", cases[i].line);
        refused(content, "4:", cases[i].word, "");
    }
    refused("[torus]\nshape = 3y3\n", "2:", "shape", "");
    refused("[torus]\nshape = 1\nfabric = woven\n", "3:", "fabric", "direct|routed");
    refused("[torus]\nshape 1\n", "2:", "key = value", "");
}

static void a_shape_that_does_not_match_the_hosts_names_both_numbers(void **state)
{
    (void)state;
    refused("[torus]\nshape = 2x2\n" PEERS_3x3, "4:", "9", "4");
    refused("[torus]\nshape = 2x2\n", "", "4 nodes", "hosts");
}

static void absent_nodes_are_a_list_of_numbers(void **state)
{
    (void)state;
    good("[torus]\nshape = 3x3\n" PEERS_3x3, "n5");
    td_config_free(&config);
    assert_int_equal(config.settings.absent_hash, 0);
    good("[torus]\nshape = 3x3\n[peers]\nabsent = 3, 6-7\n    8\n" PEERS_3x3, "n5");
    td_config_free(&config);
    for (uint32_t n = 0; n < 9; n++)
        assert_int_equal(td_bit(config.settings.absent, n), n == 3 || (n >= 6 && n <= 8));
    uint64_t hash = config.settings.absent_hash;
    good("[torus]\nshape = 3x3\n[peers]\nabsent = 8 7,6 3\n" PEERS_3x3, "n5");
    td_config_free(&config);
    assert_int_equal(config.settings.absent_hash, hash);
    good("[torus]\nshape = 3x3\n[peers]\nabsent = 3,6-7\n" PEERS_3x3, "n5");
    td_config_free(&config);
    assert_int_not_equal(config.settings.absent_hash, hash);
    refused("[torus]\nshape = 3x3\n[peers]\nabsent = 9\n" PEERS_3x3, "4:", "no node 9",
            "the last one is 8");
    refused("[torus]\nshape = 3x3\n[peers]\nabsent = n3\n" PEERS_3x3, "4:", "n3", "3,6-8");
    refused("[torus]\nshape = 3x3\n[peers]\nabsent = 6-\n" PEERS_3x3, "4:", "6-", "3,6-8");
    refused("[torus]\nshape = 3x3\n[peers]\nabsent = 5-3\n" PEERS_3x3, "4:", "5-3", "3,6-8");
    refused("[torus]\nshape = 3x3\n[peers]\nabsent = 0-8\n" PEERS_3x3, "4:", "all nodes", "absent");
}

static void tcp_without_keys_needs_insecure(void **state)
{
    (void)state;
    refused("[torus]\nshape = 3x3\n[peers]\nhosts = n[0-8]\n", "4:", "insecure = yes", "tcp://*");
    refused("[node]\ncoordinates = 0\n[torus]\nshape = 2\n[peers]\n"
            "endpoints = tcp://127.0.0.1:7000 tcp://127.0.0.1:7010\n",
            "6:", "torusctl keygen", "tcp://127.0.0.1:7000");
    refused("[node]\ncoordinates = 0\n[torus]\nshape = 2\n[peers]\n"
            "endpoints = ipc:///tmp/a tcp://127.0.0.1:7010\n",
            "6:", "torusctl keygen", "");
    good("[torus]\nshape = 1\n[peers]\nhosts = n0\n", "n0"); /* one node listens to nobody */
}

static void a_machine_outside_the_host_list_needs_coordinates(void **state)
{
    (void)state;
    assert_int_equal(load("[torus]\nshape = 3x3\n" PEERS_3x3, "elsewhere"), TD_ERR_INVALID);
    assert_non_null(strstr(text, "coordinates"));
}

static void a_host_is_found_with_and_without_its_domain(void **state)
{
    (void)state;
    good("[torus]\nshape = 3x3\n" PEERS_3x3, "n5.cluster.local");
    assert_int_equal(config.node, 5);
    td_config_free(&config);
    good("[torus]\nshape = 3\n[peers]\nhosts = n[0-2].cluster.local\n[security]\ninsecure = yes\n",
         "n1");
    assert_int_equal(config.node, 1);
    td_config_free(&config);
    good("[torus]\nshape = 3\n[peers]\nhosts = n0,n1.a,n1\n[security]\ninsecure = yes\n",
         "n1"); /* exact */
    assert_int_equal(config.node, 2);
}

static void a_host_that_may_be_two_of_the_list_needs_coordinates(void **state)
{
    (void)state;
    refused("[torus]\nshape = 3\n[peers]\nhosts = n0.a,n1,n0.b\n[security]\ninsecure = yes\n",
            "4:", "n0.a:7117 (node 0)", "n0.b:7117 (node 2)");
    refused("[torus]\nshape = 2\n[peers]\nhosts = n0,n0\n[security]\ninsecure = yes\n",
            "4:", "nodes 0 and 1", "tcp://n0:7117");
    good("[node]\ncoordinates = 2\n[torus]\nshape = 3\n[peers]\nhosts = n0.a,n1,n0.b\n"
         "[security]\ninsecure = yes\n",
         "n0");
    assert_int_equal(config.node, 2);
    td_config_free(&config);
    assert_int_equal(
        load("[torus]\nshape = 2\n[peers]\nhosts = n0.a,n1\n[security]\ninsecure = yes\n", "n0.b"),
        TD_ERR_INVALID); /* another domain is another machine */
    assert_non_null(strstr(text, "n0.b, is not in the host list"));
    refused("[torus]\nshape = 2\n[peers]\nendpoints = tcp://10.0.0.1:1,tcp://10.0.0.2:1\n"
            "listen = tcp://*:1\n[security]\ninsecure = yes\n",
            "4:", "endpoints does not say which node this machine, ", "set coordinates in [node]");
}

static void nodes_at_one_place_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *list, *word, *other;
    } cases[] = {
        {"hosts = a,b,a", "nodes 0 and 2", "tcp://a:7117"},
        {"endpoints = tcp://a:1,tcp://b:1,tcp://b:1", "nodes 1 and 2", "tcp://b:1"},
        {"endpoints = tcp://a:1,tcp://b:1,tcp://a:2", "node 2 has the endpoint tcp://a:2",
         "node 0 needs for bulk data"},
        {"endpoints = ipc:///a.bulk,ipc:///b,ipc:///a", "node 0 has the endpoint ipc:///a.bulk",
         "node 2 needs for bulk data"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char content[256];
        snprintf(content, sizeof content,
                 "[node]\ncoordinates = 0\n[torus]\nshape = 3\n[peers]\n%s\n[security]\ninsecure = "
                 "yes\n",
                 cases[i].list);
        refused(content, "6:", cases[i].word, cases[i].other);
    }
}

/* pair returns a configuration of two nodes. */
static const char *pair(const char *key, const char *list)
{
    static char content[400];
    snprintf(content, sizeof content,
             "[node]\ncoordinates = 0\n[torus]\nshape = 2\n[security]\ninsecure = yes\n[peers]\n%s "
             "= %s\n",
             key, list);
    return content;
}

static void an_endpoint_has_a_host_and_a_port(void **state)
{
    (void)state;
    static const struct {
        const char *key, *list, *first; /* the first endpoint as it works out */
    } accepted[] = {
        {"endpoints", "tcp://[fd00:77::1]:7117 tcp://[fd00:77::2]:7117", "tcp://[fd00:77::1]:7117"},
        {"endpoints", "tcp://[FD00:0077:0::1]:07117,ipc:///b", "tcp://[fd00:77::1]:7117"},
        {"endpoints", "tcp://[fe80::1%eth0]:7117 tcp://[fe80::1%eth1]:7117",
         "tcp://[fe80::1%eth0]:7117"},
        {"endpoints", "tcp://node-1.example.org:1 tcp://10.0.0.2:65534",
         "tcp://node-1.example.org:1"},
        {"endpoints", "tcp://n[1-2]:7117", "tcp://n1:7117"},
        {"endpoints", "tcp://127.0.0.1:[7001,7011]", "tcp://127.0.0.1:7001"},
        {"hosts", "[fd00:77::1], [fd00:77::2]", "tcp://[fd00:77::1]:7117"},
        {"hosts", "[::ffff:10.0.0.1] node_2", "tcp://[::ffff:10.0.0.1]:7117"},
    };
    for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; i++) {
        good(pair(accepted[i].key, accepted[i].list), "n0");
        assert_string_equal(config.endpoints[0], accepted[i].first);
        td_config_free(&config);
    }
}

static void an_endpoint_without_a_host_or_a_port_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *key, *first, *word;
    } cases[] = {
        {"endpoints", "tcp://10.0.0.1", "the port is missing: expected HOST:PORT"},
        {"endpoints", "tcp://node1", "the port is missing"},
        {"endpoints", "tcp://[fd00:77::1]", "the port is missing"},
        {"endpoints", "tcp://fd00:77::1", "an IPv6 address needs brackets"},
        {"endpoints", "tcp://fd00:77::1:7117", "an IPv6 address needs brackets"},
        {"endpoints", "tcp://[fd00::1", "missing ]"},
        {"endpoints", "tcp://[fd00:xyz::1]:7117", "the brackets have no IPv6 address"},
        {"endpoints", "tcp://[::]x:7117", "the port must be a number"},
        {"endpoints", "tcp://[fe80::1]:7117", "needs its zone"},
        {"endpoints", "tcp://[fe80::1%]:7117", "the zone after % must be the name of an interface"},
        {"endpoints", "tcp://[fe80::1%averylonginterface]:7117", "the zone after %"},
        {"endpoints", "tcp://:7117", "the host is missing"},
        {"endpoints", "tcp://n1:0", "1 to 65535"},
        {"endpoints", "tcp://n1:65535", "at most 65534"},
        {"endpoints", "tcp://n1:70000", "1 to 65535"},
        {"endpoints", "tcp://n1:7117x", "1 to 65535"},
        {"endpoints", "tcp://n1:7117:7117", "more than one colon"},
        {"endpoints", "tcp://10.0.0.300:7117", "no IPv4 address"},
        {"endpoints", "tcp://n\x1b:7117", "letters, digits, -, _ and . only"},
        {"endpoints", "udp://n1:7117", "expected tcp://HOST:PORT or ipc:///PATH"},
        {"hosts", "fd00:77::1", "an IPv6 address needs brackets"},
        {"hosts", "n1:7117", "more than one colon"},
        {"hosts", "[fd00:77::1]:7117", "the port must be a number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char list[200];
        snprintf(list, sizeof list, "%s %s", cases[i].first,
                 cases[i].key[0] == 'h' ? "n9" : "tcp://n9:7117");
        refused(pair(cases[i].key, list), "8:", cases[i].word, "");
    }
}

static void addresses_to_listen_at_follow_the_same_rule(void **state)
{
    (void)state;
    static const struct {
        const char *section, *listen, *word; /* NULL: accepted */
    } cases[] = {
        {"peers", "tcp://[::]:7117", NULL},
        {"peers", "tcp://*:7117", NULL},
        {"peers", "tcp://eth0:7117", NULL},
        {"peers", "tcp://[fe80::1%eth0]:7117", NULL},
        {"peers", "tcp://::1:7117", "needs brackets"},
        {"peers", "tcp://*", "the port is missing"},
        {"metrics", "[::1]:9817", NULL},
        {"metrics", "127.0.0.1:9817", NULL},
        {"metrics", "127.0.0.1", "the port is missing"},
        {"metrics", "::1:9817", "needs brackets"},
        {"metrics", "localhost:9817", "expected a numeric address"},
        {"metrics", "[fd00:77::1]:9817", "other hosts reach this address"},
        {"metrics", "[::]:9817", "other hosts reach this address"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char rest[200];
        bool peers = strcmp(cases[i].section, "peers") == 0;
        snprintf(rest, sizeof rest, peers ? "n0 n1%s\nlisten = %s" : "n0 n1\n[%s]\nlisten = %s",
                 peers ? "" : cases[i].section, cases[i].listen);
        const char *content = pair("hosts", rest);
        if (cases[i].word) {
            refused(content, "", cases[i].listen, cases[i].word);
        } else {
            good(content, "n0");
            td_config_free(&config);
        }
    }
}

static void a_list_with_a_name_missing_is_refused_at_its_place(void **state)
{
    (void)state;
    refused("[torus]\nshape = 2\n[peers]\nhosts = n0,,n1\n", "4:", "character 4", "no name");
}

static void an_ipc_path_that_a_socket_cannot_have_is_refused(void **state)
{
    (void)state;
    char content[400], path[104];
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0'; /* 1 + 103 + 5 of ".bulk" is one too many and one more */
    snprintf(content, sizeof content, "[torus]\nshape = 1\n[peers]\nendpoints = ipc:///%s\n", path);
    refused(content, "4:", "107", "");
}

static void a_missing_file_is_named(void **state)
{
    (void)state;
    assert_int_equal(td_config_load(&config, "/nonexistent/t.conf", "n0", text, sizeof text),
                     TD_ERR_INVALID);
    assert_non_null(strstr(text, "/nonexistent/t.conf"));
    write_file(file, ""); /* for teardown */
}

static void the_configuration_as_shipped_is_good(void **state)
{
    (void)state;
    write_file(file, ""); /* for teardown */
    if (td_config_load(&config, TORUS_SOURCE "/conf/torusd.conf", "n0", text, sizeof text) != TD_OK)
        fail_msg("refused: %s", text);
    assert_int_equal(config.topology.nodes, 1);
}

/* find_key finds a key in its section of a text, and returns what follows it. `mark` begins the
 * line of a section, `form` is that of the key. */
static const char *find_key(const char *where, const char *mark, const char *form,
                            const struct td_setting_row *s)
{
    char section[80], key[80];
    snprintf(section, sizeof section, "%s%s]\n", mark, s->section);
    snprintf(key, sizeof key, form, s->key);
    const char *begin = strstr(where, section);
    const char *found = begin ? strstr(begin, key) : NULL;
    const char *end = begin ? strstr(begin + 1, mark) : NULL;
    return found && (!end || found < end) ? found + strlen(key) : NULL;
}

static char *read_all(const char *path)
{
    static char all[65536];
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    all[fread(all, 1, sizeof all - 1, f)] = '\0';
    fclose(f);
    return all;
}

/* The default of a key with a unit is that of the table; other keys have any value. */
static void every_key_is_in_the_shipped_file_with_its_default(void **state)
{
    (void)state;
    const char *conf = read_all(TORUS_SOURCE "/conf/torusd.conf");
    const struct td_config_key *k = NULL;
    for (size_t i = 0; (k = td_config_key_at(i)); i++) {
        char content[256], usual[80], shipped[80];
        const char *value = find_key(conf, "\n[", "\n#%s =", &k->setting);
        if (!value && !find_key(conf, "\n[", "\n%s =", &k->setting))
            fail_msg("conf/torusd.conf has no [%s] %s", k->setting.section, k->setting.key);
        if (!value || k->read)
            continue;
        good("[torus]\nshape = 1\n", "n0");
        td_config_key_print(&config, k, usual, sizeof usual);
        td_config_free(&config);
        snprintf(content, sizeof content, "[torus]\nshape = 1\n[%s]\n%s =%.*s\n",
                 k->setting.section, k->setting.key, (int)strcspn(value, "\n"), value);
        good(content, "n0");
        td_config_key_print(&config, k, shipped, sizeof shipped);
        td_config_free(&config);
        assert_string_equal(shipped, usual);
    }
}

static void every_key_is_in_the_man_page(void **state)
{
    (void)state;
    const char *page = read_all(TORUS_SOURCE "/docs/man/torusd.conf.5.scd");
    const struct td_config_key *k = NULL;
    for (size_t i = 0; (k = td_config_key_at(i)); i++)
        if (!find_key(page, "\n# [", "\n*%s*", &k->setting) &&
            !find_key(page, "\n# [", ", *%s*\n", &k->setting))
            fail_msg("torusd.conf(5) has no [%s] %s", k->setting.section, k->setting.key);
    write_file(file, ""); /* for teardown */
}

static void the_default_is_that_of_the_prefix(void **state)
{
    (void)state;
    static const struct {
        const char *executable, *path;
    } cases[] = {
        {"/usr/sbin/torusd", "/etc/torusd/torusd.conf"},
        {"/usr/local/sbin/torusd", "/etc/torusd/torusd.conf"},
        {"/sbin/torusd", "/etc/torusd/torusd.conf"},
        {"/opt/torus/sbin/torusd", "/etc/opt/torus/torusd/torusd.conf"},
        {"/home/me/torus/sbin/torusd", "/home/me/torus/etc/torusd/torusd.conf"},
    };
    write_file(file, ""); /* for teardown */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        td_config_default(cases[i].executable, text, sizeof text);
        assert_string_equal(text, cases[i].path);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void directories_that_a_unit_makes_need_not_exist(void **state)
{
    static const struct {
        const char *path;
        bool made;
    } rows[] = {{"/run/torusd/torusd.sock", true},
                {"/run/torusd/no-such-instance/torusd.sock", true},
                {"/run/torusd/no-such/instance/torusd.sock", false},
                {"/run/torusd-no-such/torusd.sock", false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char content[200], said[600];
        snprintf(content, sizeof content, "[torus]\nshape = 1\n[node]\nsocket = %s\n",
                 rows[i].path);
        td_config_free(&config);
        good(content, "n0");
        assert_int_equal(td_config_host(&config, said, sizeof said), rows[i].made);
    }
}

static void a_group_of_observers_that_the_host_lacks_is_told(void **state)
{
    char said[300];
    (void)state;
    td_config_free(&config);
    good("[torus]\nshape = 1\n", "n0"); /* the default group need not exist */
    assert_true(td_config_observers(&config, said, sizeof said));
    td_config_free(&config);
    good("[torus]\nshape = 1\n[node]\nobservers = root\n", "n0");
    assert_true(td_config_observers(&config, said, sizeof said));
    td_config_free(&config);
    good("[torus]\nshape = 1\n[node]\nobservers = no-such\n", "n0");
    assert_false(td_config_observers(&config, said, sizeof said));
    assert_string_equal(said, "observers = no-such: there is no group no-such on this host");
}

static void numbers_out_of_range_are_told_the_range(void **state)
{
    (void)state;
    refused("[torus]\nshape = 1\n[limits]\nclients = 99999999999\n",
            "4:11:", "clients must be 1 to ", "");
    refused("[torus]\nshape = 1\n[limits]\nclients = 99999999999999999999999\n",
            "4:11:", "clients must be 1 to ", "");
}

static void wrong_coordinates_are_told_the_form_of_the_shape(void **state)
{
    static const struct {
        const char *shape, *hosts, *coordinates, *form;
    } rows[] = {{"3", "n[0-2]", "0,1", "coordinates = 0,1: expected one number, 0 to 2"},
                {"3", "n[0-2]", "3", "coordinates = 3: expected one number, 0 to 2"},
                {"2x3", "n[0-5]", "0,3",
                 "coordinates = 0,3: expected 2 numbers such as 1,2, each below the size of its "
                 "dimension"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char content[200];
        snprintf(content, sizeof content,
                 "[node]\ncoordinates = %s\n[torus]\nshape = %s\n[peers]\nhosts = %s\n"
                 "[security]\ninsecure = yes\n",
                 rows[i].coordinates, rows[i].shape, rows[i].hosts);
        refused(content, "2:1:", rows[i].form, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(directories_that_a_unit_makes_need_not_exist),
        TEST(a_group_of_observers_that_the_host_lacks_is_told),
        TEST(numbers_out_of_range_are_told_the_range),
        TEST(wrong_coordinates_are_told_the_form_of_the_shape),
        TEST(one_file_serves_all_nodes_by_host_name),
        TEST(host_ranges_keep_their_zeroes),
        TEST(streams_ask_for_cubic_or_what_is_named),
        TEST(values_have_units),
        TEST(the_torus_and_all_to_all_are_tuned_by_keys),
        TEST(rates_are_decimal_or_binary),
        TEST(nonsense_about_the_torus_is_refused_at_its_key),
        TEST(every_key_that_nodes_must_share_is_a_term),
        TEST(settings_of_the_other_fabric_may_differ),
        TEST(lists_go_on_on_indented_lines),
        TEST(unknown_keys_name_the_nearest),
        TEST(errors_point_at_the_key_or_at_the_value),
        TEST(a_key_before_the_first_section_is_told_its_section),
        TEST(comments_may_follow_on_a_line),
        TEST(a_folder_is_not_a_configuration),
        TEST(unknown_sections_are_refused),
        TEST(a_key_set_twice_is_refused),
        TEST(drop_ins_override_the_file),
        TEST(bad_values_are_refused_with_their_key),
        TEST(a_shape_that_does_not_match_the_hosts_names_both_numbers),
        TEST(absent_nodes_are_a_list_of_numbers),
        TEST(tcp_without_keys_needs_insecure),
        TEST(a_machine_outside_the_host_list_needs_coordinates),
        TEST(a_host_is_found_with_and_without_its_domain),
        TEST(a_host_that_may_be_two_of_the_list_needs_coordinates),
        TEST(nodes_at_one_place_are_refused),
        TEST(an_endpoint_has_a_host_and_a_port),
        TEST(an_endpoint_without_a_host_or_a_port_is_refused),
        TEST(addresses_to_listen_at_follow_the_same_rule),
        TEST(a_list_with_a_name_missing_is_refused_at_its_place),
        TEST(an_ipc_path_that_a_socket_cannot_have_is_refused),
        TEST(a_missing_file_is_named),
        TEST(the_configuration_as_shipped_is_good),
        TEST(every_key_is_in_the_shipped_file_with_its_default),
        TEST(every_key_is_in_the_man_page),
        TEST(the_default_is_that_of_the_prefix),
    };
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
