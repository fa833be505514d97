/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl doctor: what is wrong with the machine, or will be, and what to do. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>

#include "clocks.h"
#include "collect.h"
#include "daemon_program.h"
#include "facts.h"
#include "inspect.h"
#include "links.h"
#include "model/settings.h"
#include "torusctl/find_daemon.h"
#include "torusctl/torusctl.h"

#define SKEW_NS_MAX 100000000LL /* of the clocks of two nodes */

/* struct report: the findings so far. */
struct report {
    const struct ins_machine *m;
    const json_t *facts, *settings, *links, *peers;
    json_t *findings;
};

/* host_of writes the name of a node's host if the nodes are on several; of a node that has not
 * answered, the host of its endpoint; else "". */
static void host_of(const struct report *r, uint32_t node, char *host, size_t bytes)
{
    const char *own = ins_fact(r->facts, node, "host");
    bool other = false;
    for (size_t i = 0; i < json_array_size(r->facts); i++) {
        const json_t *f = json_array_get(r->facts, i);
        other = other || (strcmp(ins_string(f, "name"), "host") == 0 &&
                          strcmp(ins_string(f, "value"), own) != 0);
    }
    json_t *endpoint = *own ? NULL : ins_host(r->peers, node);
    if (endpoint)
        snprintf(host, bytes, "%s", json_string_value(endpoint));
    else
        snprintf(host, bytes, "%s", other ? own : "");
    json_decref(endpoint);
}

/* name_hosts copies a sentence and adds the host to each number of a node, such as
 * "node 1 (beta)", unless it has its coordinates. */
static void name_hosts(const struct report *r, const char *from, char *text, size_t bytes)
{
    static const char word[] = "node ";
    size_t length = 0;
    text[0] = '\0';
    for (const char *at = from; *from && length + 1 < bytes;) {
        char *end = NULL, host[INS_HOST_BYTES] = "";
        at = strstr(from, word);
        unsigned long node = at ? strtoul(at + sizeof word - 1, &end, 10) : 0;
        if (!at || end == at + sizeof word - 1)
            end = at ? (char *)(uintptr_t)at + sizeof word - 1
                     : (char *)(uintptr_t)from + strlen(from);
        else if (strncmp(end, " (", 2) != 0 && r->facts)
            host_of(r, (uint32_t)node, host, sizeof host);
        snprintf(text + length, bytes - length, *host ? "%.*s (%s)" : "%.*s", (int)(end - from),
                 from, host);
        length = strlen(text);
        from = end;
    }
}

/* find adds a finding about a node (-1: the machine): what is wrong, and what to do. */
__attribute__((format(printf, 5, 6))) static void
find(struct report *r, const char *check, int64_t node, const char *advice, const char *format, ...)
{
    char plain[TD_TEXT_MAX], text[TD_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(plain, sizeof plain, format, arguments);
    va_end(arguments);
    name_hosts(r, plain, text, sizeof text);
    json_array_append_new(r->findings,
                          json_pack("{s:s s:I s:o s:s}", "check", check, "node", (json_int_t)node,
                                    "text", ins_text(text), "advice", advice));
}

static const char *fact(const struct report *r, uint32_t node, const char *name)
{
    return ins_fact(r->facts, node, name);
}

static long long number(const struct report *r, uint32_t node, const char *name)
{
    return strtoll(fact(r, node, name), NULL, 10);
}

/* answers returns true if a node has told its facts. */
static bool answers(const struct report *r, uint32_t node)
{
    return *fact(r, node, "version") != '\0';
}

/* ---- checks ---- */

/* advice_for returns what to do about a dead link, by its reason; NULL: it says too little. */
static const char *advice_for(const char *why)
{
    if (strstr(why, "cannot be resolved"))
        return "correct the name in [peers] here, or add it to DNS or /etc/hosts on that host";
    if (strstr(why, "interface ") || strstr(why, "no route to it"))
        return "look at ip link and ip route on that host: bring its interface up, or plug in its "
               "cable";
    if (strstr(why, "its daemon runs"))
        return "write the address and port of the other daemon's listen into [peers] here";
    if (strstr(why, "has no key for it"))
        return "append the line of that node's key to the file of [security] peers here, and run "
               "systemctl reload torusd here: torusctl keygen --show KEYFILE there prints the "
               "line, and torusctl config show there has the key as public_key";
    if (strstr(why, "does not accept the key of this node"))
        return "append the line of this node's key to the file of [security] peers there, and run "
               "systemctl reload torusd there: torusctl keygen --show KEYFILE here prints the "
               "line, and torusctl config show here has the key as public_key";
    if (strstr(why, "refused"))
        return "start torusd there; if it runs, compare its listen with [peers] here; both ports "
               "must be open: the one of listen and the next";
    if (strstr(why, "[peers] here"))
        return "write the address and port of the other daemon's listen into [peers] here; or look "
               "at its log";
    if (strstr(why, "use the same value") || strstr(why, " differ") || strstr(why, "shape is"))
        return "use the same value on all nodes, and run systemctl restart torusd where it changed";
    if (strstr(why, "same release"))
        return "install the same release on all nodes, and restart torusd";
    if (strstr(why, "key") || strstr(why, "handshake"))
        return "compare the keys of both nodes with torusctl config show, and reload both";
    if (strstr(why, "nothing has come from"))
        return "compare [peers] there with listen here; open the ports of this node to that one: "
               "the "
               "one of listen and the next";
    if (strstr(why, "timeout") || strstr(why, "route") || strstr(why, "silent"))
        return "look at the cable, the route and the firewall between the two hosts";
    return NULL;
}

static void check_silent(struct report *r)
{
    for (size_t i = 0; i < json_array_size(r->m->silent); i++) {
        const json_t *s = json_array_get(r->m->silent, i);
        char age[32], since[64] = "";
        ins_duration(age, sizeof age, ins_number(s, "silent_ns"));
        if (ins_number(s, "silent_ns"))
            snprintf(since, sizeof since, ", silent for %s", age);
        if (json_is_true(json_object_get(s, "stopped"))) {
            find(r, "answers", ins_number(s, "node"),
                 "run systemctl start torusd there; if it runs again, compare its address and port "
                 "with [peers] here",
                 "node %lld was stopped by its operator, and has not been heard since",
                 (long long)ins_number(s, "node"));
            continue;
        }
        const char *advice = advice_for(ins_string(s, "error"));
        find(r, "answers", ins_number(s, "node"),
             advice
                 ? advice
                 : "run torusctl status there; if it answers, look at the network and the firewall",
             "node %lld does not answer%s: %s", (long long)ins_number(s, "node"), since,
             ins_string(s, "error"));
    }
}

/* is_told returns true if a link needs no finding, since check_silent has told why the node at its
 * end does not answer: its daemon was stopped, or for the reason of the link. */
static bool is_told(const struct report *r, const json_t *link)
{
    const json_t *s = ins_find(r->m->silent, "node", ins_number(link, "to"));
    const char *why = ins_string(link, "error");
    return s && (json_is_true(json_object_get(s, "stopped")) ||
                 (*why && strstr(ins_string(s, "error"), why)));
}

static void check_links(struct report *r)
{
    for (size_t i = 0; i < json_array_size(r->links); i++) {
        const json_t *l = json_array_get(r->links, i);
        const char *advice = advice_for(ins_string(l, "error"));
        if (ins_link_is_dead(l) && !is_told(r, l))
            find(r, "ports", ins_number(l, "from"),
                 advice ? advice
                        : "look at the log of both daemons (journalctl -u torusd), and for a "
                          "firewall: both ports must be open, the one of listen and the next",
                 "node %lld has no connection to node %lld: %s", (long long)ins_number(l, "from"),
                 (long long)ins_number(l, "to"), ins_string(l, "error"));
    }
}

static void check_version(struct report *r, uint32_t node, uint32_t here)
{
    if (strcmp(fact(r, node, "version"), fact(r, here, "version")) != 0)
        find(r, "versions", node, "install the same release on all nodes",
             "node %u runs torusd %s, node %u %s", node, fact(r, node, "version"), here,
             fact(r, here, "version"));
    else if (strcmp(fact(r, node, "peer_protocol"), fact(r, here, "peer_protocol")) != 0)
        find(r, "versions", node, "restart the daemon that is older than its installation",
             "node %u speaks version %s of the peer protocol, node %u %s", node,
             fact(r, node, "peer_protocol"), here, fact(r, here, "peer_protocol"));
}

/* check_clock compares the clock of a node with this one's. The answer took up to `window_ns`. */
static void check_clock(struct report *r, uint32_t node, int64_t begin_ns, int64_t end_ns)
{
    int64_t clock = number(r, node, "clock");
    int64_t off = clock < begin_ns ? begin_ns - clock : clock > end_ns ? clock - end_ns : 0;
    char age[32];
    if (clock == 0 || off < SKEW_NS_MAX)
        return;
    ins_duration(age, sizeof age, off);
    find(r, "clocks", node, "run an NTP service (chrony or systemd-timesyncd) on all nodes",
         "the clock of node %u is %s %s that of this node: times in logs do not agree", node, age,
         clock < begin_ns ? "behind" : "ahead of");
}

static void check_limits(struct report *r, uint32_t node)
{
    if (strcmp(fact(r, node, "files"), "unlimited") != 0 &&
        number(r, node, "files") < number(r, node, "files_needed"))
        find(r, "limits", node, "raise LimitNOFILE of the unit, or lower [limits] clients",
             "node %u may open %s files; [limits] clients may need %s", node,
             fact(r, node, "files"), fact(r, node, "files_needed"));
    if (number(r, node, "regions_possible") < number(r, node, "regions_wanted"))
        find(r, "limits", node, "raise vm.max_map_count, or lower [limits] regions",
             "the kernel of node %u maps %s regions, fewer than the %s of [limits] regions", node,
             fact(r, node, "regions_possible"), fact(r, node, "regions_wanted"));
    if (strcmp(fact(r, node, "memlock"), "0") == 0)
        find(r, "limits", node, "raise LimitMEMLOCK of the unit to 64 KiB or more",
             "node %u may lock no memory", node);
}

static void check_keys(struct report *r, uint32_t node, uint32_t here)
{
    const char *files = fact(r, node, "key_files");
    if (strcmp(fact(r, node, "keys"), "insecure") == 0)
        find(r, "keys", node, "run torusctl keygen, and set key and peers in [security]",
             "node %u trusts every host and user that reaches its ports: insecure = yes", node);
    if (strcmp(fact(r, node, "keys"), fact(r, here, "keys")) != 0)
        find(r, "keys", node, "use keys on all nodes",
             "the keys of node %u are \"%s\", those of node %u \"%s\"", node, fact(r, node, "keys"),
             here, fact(r, here, "keys"));
    if (strcmp(files, "changed") == 0)
        find(r, "keys", node, "run systemctl reload torusd there",
             "the key files of node %u are newer than the keys in use", node);
    else if (files[0] && strcmp(files, "in use") != 0 && strcmp(files, "wait for a restart") != 0)
        find(r, "keys", node, "repair the file before the daemon restarts",
             "node %u could not read its keys again: %s", node, files);
}

/* check_file tells of the settings in the file of a node that its daemon does not have. */
static void check_file(struct report *r, uint32_t node)
{
    static const char changed[] = "changed: ";
    const char *file = fact(r, node, "settings_file");
    if (!*file || strcmp(file, "in use") == 0) /* "": an older daemon */
        return;
    if (strncmp(file, changed, sizeof changed - 1) != 0)
        find(r, "configuration", node, "repair it before the daemon restarts",
             "with its configuration, torusd of node %u would not start: %s", node, file);
    else
        find(r, "configuration", node,
             strstr(file, "a restart ")
                 ? "run systemctl restart torusd there, or undo the change; torusctl config diff "
                   "there has the values"
                 : "run systemctl reload torusd there; torusctl config diff there has the values",
             "the configuration of node %u has settings that its daemon does not have: %s", node,
             file + sizeof changed - 1);
}

/* check_shared compares the settings that the nodes of a job must share with those of this node. */
static void check_shared(struct report *r, uint32_t node, uint32_t here)
{
    bool routed = strcmp(ins_fact(r->settings, here, "torus.fabric"), "routed") == 0;
    const struct td_setting_row *s = NULL;
    for (unsigned i = 0; (s = td_setting_at(i)) != NULL; i++) {
        bool counts = s->group.number && s->section[0] &&
                      s->group.counts != (routed ? TD_TERM_DIRECT : TD_TERM_ROUTED);
        char name[80], value[2][300];
        snprintf(name, sizeof name, "%s.%s", s->section, s->key);
        const json_t *a = ins_fact_of(r->settings, here, name),
                     *b = ins_fact_of(r->settings, node, name);
        if (!counts || !a || !b || strcmp(ins_string(a, "value"), ins_string(b, "value")) == 0)
            continue;
        ins_fact_text(value[0], sizeof value[0], a);
        ins_fact_text(value[1], sizeof value[1], b);
        find(r, "configuration", node,
             "use the same value on all nodes, and run systemctl restart torusd where it changed",
             "%s is %s on node %u, but %s on node %u: no job can have ranks on both", name,
             value[0][0] ? value[0] : "empty", here, value[1][0] ? value[1] : "empty", node);
    }
}

static void check_mtu(struct report *r, uint32_t node, uint32_t here)
{
    long long mtu = number(r, node, "mtu"), other = number(r, here, "mtu");
    if (mtu && other && mtu != other)
        find(r, "mtu", node, "set the same MTU on all interfaces and switches of the network",
             "the path from node %u to node %s has an MTU of %lld bytes; from node %u it is %lld",
             node, fact(r, node, "mtu_node"), mtu, here, other);
}

/* has_hosts returns true if the nodes are on more than one host. */
static bool has_hosts(const struct report *r)
{
    const char *first = fact(r, torus_node(r->m->c), "host");
    for (uint32_t n = 0; n < r->m->nodes; n++)
        if (answers(r, n) && strcmp(fact(r, n, "host"), first) != 0)
            return true;
    return false;
}

/* is_unsynchronised returns true if no time service keeps the clock of a node. Where the daemon of
 * this node does not know, this process asks the kernel. */
static bool is_unsynchronised(const struct report *r, uint32_t node)
{
    struct timex t = {.modes = 0}; /* it only reads */
    const char *state = fact(r, node, "clock_state");
    if (!*state && node == torus_node(r->m->c))
        return adjtimex(&t) >= 0 && (t.status & STA_UNSYNC);
    return strcmp(state, "not synchronised") == 0;
}

static void check_synchronisation(struct report *r)
{
    char text[200];
    json_t *nodes = json_array();
    bool several = has_hosts(r);
    for (uint32_t n = 0; several && n < r->m->nodes; n++)
        if (answers(r, n) && is_unsynchronised(r, n))
            json_array_append_new(nodes, json_integer(n));
    size_t count = json_array_size(nodes);
    ins_clocks_text(text, sizeof text, nodes);
    if (count)
        find(r, "clocks", count == 1 ? json_integer_value(json_array_get(nodes, 0)) : -1,
             "run an NTP service (chrony or systemd-timesyncd) there", "%s", text);
    json_decref(nodes);
}

/* check_here looks at what only this process sees. */
static void check_here(struct report *r)
{
    if (strcmp(fact(r, torus_node(r->m->c), "version"), TORUS_VERSION) != 0)
        find(r, "versions", torus_node(r->m->c), "restart torusd, or install the same release",
             "this torusctl is of release %s, the daemon of %s", TORUS_VERSION,
             fact(r, torus_node(r->m->c), "version"));
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- report ---- */

static const char *const checks = "ports, keys, configurations, clocks, MTU, limits and versions";

static json_t *nodes_of(const struct report *r)
{
    json_t *nodes = json_array();
    for (uint32_t n = 0; n < r->m->nodes; n++) {
        if (!answers(r, n))
            continue;
        json_t *node = json_pack("{s:i}", "node", (int)n);
        for (size_t i = 0; i < json_array_size(r->facts); i++) {
            const json_t *f = json_array_get(r->facts, i);
            char key[64];
            if (ins_number(f, "at") != n)
                continue;
            snprintf(key, sizeof key, "%s%s%s", ins_string(f, "name"),
                     *ins_string(f, "unit") ? "_" : "", ins_string(f, "unit"));
            json_object_set(node, key, json_object_get(f, "value"));
        }
        json_array_append_new(nodes, node);
    }
    return nodes;
}

static void print_findings(const struct report *r)
{
    for (size_t i = 0; i < json_array_size(r->findings); i++) {
        const json_t *f = json_array_get(r->findings, i);
        printf("! %s\n  %s\n", ins_string(f, "text"), ins_string(f, "advice"));
    }
}

static void print_report(const struct report *r)
{
    uint32_t nodes = r->m->here ? 1 : r->m->nodes - (uint32_t)json_array_size(r->m->absent);
    char absent[40] = "";
    if (json_array_size(r->m->absent))
        snprintf(absent, sizeof absent, " (%zu absent)", json_array_size(r->m->absent));
    print_findings(r);
    if (json_array_size(r->findings) == 0)
        printf("%u node%s%s: %s are in order\n", nodes, nodes == 1 ? "" : "s", absent, checks);
}

static void examine(struct report *r, int64_t begin_ns, int64_t end_ns)
{
    uint32_t here = torus_node(r->m->c);
    check_silent(r);
    check_links(r);
    for (uint32_t n = 0; n < r->m->nodes; n++) {
        if (!answers(r, n))
            continue;
        check_limits(r, n);
        check_keys(r, n, here);
        check_file(r, n);
        check_clock(r, n, begin_ns, end_ns);
        if (n == here)
            continue;
        check_version(r, n, here);
        check_shared(r, n, here);
        check_mtu(r, n, here);
    }
    check_synchronisation(r);
    check_here(r);
}

static int show(struct ins_machine *m, const struct ins_choices *o, const char *word)
{
    int64_t begin = now_ns();
    json_t *facts = ins_facts(m, TD_STATUS_HOST);
    int64_t end = now_ns();
    json_t *settings = facts ? ins_facts(m, TD_STATUS_SETTINGS) : NULL;
    json_t *links = settings ? ins_links(m) : NULL;
    json_t *peers = links ? ins_rows(m->c, TD_STATUS_PEERS, ins_state_json) : NULL;
    struct report r = {.m = m,
                       .facts = facts,
                       .settings = settings,
                       .links = links,
                       .peers = peers,
                       .findings = json_array()};
    int code = INS_LOST;
    (void)word;
    if (links) {
        examine(&r, begin, end);
        code = json_array_size(r.findings) ? EXIT_FAILED : EXIT_WELL;
        if (o->as_json) {
            json_t *all = ins_begin(m, 1);
            json_object_set(all, "findings", r.findings);
            json_object_set_new(all, "nodes", nodes_of(&r));
            ins_end(m, all);
        } else {
            print_report(&r);
        }
    }
    json_decref(r.findings);
    json_decref(peers);
    json_decref(links);
    json_decref(settings);
    json_decref(facts);
    return code;
}

/* ---- without a daemon ---- */

/* find_lines adds a finding for each line that torusd says of its configuration. */
static void find_lines(struct report *r, char *lines)
{
    char *rest = NULL;
    for (char *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        find(r, "configuration", -1, "repair it, and run torusctl config check", "%s", line);
}

/* examine_here looks at the configuration, which may be why no daemon of this node answers. */
static void examine_here(bool as_json)
{
    char daemon[512], text[TD_TEXT_MAX] = "";
    struct report r = {.findings = json_array()};
    find(&r, "answers", -1, "run systemctl status torusd and journalctl -u torusd",
         "no daemon of this node answers");
    if (!ctl_find_daemon(daemon, sizeof daemon))
        find(&r, "configuration", -1, "install torusd",
             "there is no torusd beside torusctl or in "
             "PATH");
    else if (!ins_daemon_check(daemon, NULL, text, sizeof text))
        find_lines(&r, text);
    if (as_json) {
        json_t *all = json_pack("{s:i s:n s:O s:[] s:[] s:[]}", "version", 1, "node", "findings",
                                r.findings, "nodes", "silent", "absent");
        ins_print(all);
        json_decref(all);
    } else {
        print_findings(&r);
    }
    json_decref(r.findings);
}

static int run(int argc, char **argv)
{
    struct ins_choices o;
    const char *wrong = ins_read_choices(argc, argv, &o, NULL);
    if (wrong)
        return tool_usage(argv[0], tool_no_option(wrong));
    int code = ins_run_with(argv[0], &o, NULL, show);
    if (code == EXIT_NO_DAEMON)
        examine_here(o.as_json);
    return code;
}

const struct tool_command ctl_command_doctor = {
    .name = "doctor",
    .arguments = INS_ARGUMENTS,
    .what = "check ports, keys, configurations, clocks, MTU, limits and versions of all nodes",
    .options = ins_options,
    .run = run,
};
