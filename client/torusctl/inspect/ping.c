/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl ping: the time that a node takes to answer, over the daemons' own path. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "inspect.h"
#include "libtorus/deadline.h"
#include "libtorus/socket.h"
#include "libtorus/status.h"
#include "rounds.h"
#include "torusctl/torusctl.h"

enum { COUNT = 5, COUNT_MAX = 1000000, AGAIN_MS = 5, PAUSE_MS = 200 };

/* struct probes: the times of the answers so far, in ns. */
struct probes {
    uint32_t node;
    long sent, answers;
    double least, most, sum;
    json_t *times; /* [{round_trip_ns, daemons_ns}] */
    char why[TD_TEXT_MAX];
};

static void nap(int ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

/* probe asks the node once. It returns TORUS_OK with the reply, TORUS_PENDING with the reason in
 * p->why, or the error of a lost connection. */
static int probe(torus_context *c, struct probes *p, double timeout_s, struct td_reply *reply)
{
    int64_t until = tl_now_ns() + (int64_t)(1e9 * timeout_s);
    uint64_t id = 0;
    snprintf(p->why, sizeof p->why, "no answer within %.1f s", timeout_s);
    for (int error = tl_status_ask(c, p->node, TD_STATUS_NODE, 0, &id);;
         error = tl_status_ask(c, p->node, TD_STATUS_NODE, 0, &id)) {
        if (error != TORUS_OK)
            return error;
        do {
            error = tl_next(c, until, reply);
            if (error != TORUS_OK)
                return error;      /* PENDING: the time is over */
        } while (reply->id != id); /* the answer to an earlier question, which is late */
        if (reply->kind == TD_REPLY_STATUS && reply->error == TD_OK)
            return TORUS_OK;
        td_text_show(reply->text, p->why, sizeof p->why);
        if (reply->error != TD_ERR_BUSY || tl_now_ns() >= until)
            return TORUS_PENDING;
        nap(AGAIN_MS); /* the connection comes up */
    }
}

static void count(struct probes *p, int64_t round_trip_ns, uint64_t daemons_ns, bool as_json)
{
    double ns = daemons_ns ? (double)daemons_ns : (double)round_trip_ns;
    p->least = p->answers == 0 || ns < p->least ? ns : p->least;
    p->most = ns > p->most ? ns : p->most;
    p->sum += ns;
    p->answers++;
    json_array_append_new(p->times,
                          json_pack("{s:I s:I}", "round_trip_ns", (json_int_t)round_trip_ns,
                                    "daemons_ns", (json_int_t)daemons_ns));
    if (!as_json && daemons_ns)
        printf("node %u: %.3f ms between the daemons, %.3f ms in all\n", p->node,
               1e-6 * (double)daemons_ns, 1e-6 * (double)round_trip_ns);
    else if (!as_json)
        printf("node %u, this one: %.3f ms\n", p->node, 1e-6 * (double)round_trip_ns);
    fflush(stdout);
}

/* silence_ns returns the time since the last message of a node, 0 if there was none. */
static json_int_t silence_ns(struct ins_machine *m, uint32_t node)
{
    json_array_append_new(m->silent, json_pack("{s:i}", "node", (int)node));
    ins_add_silence(m);
    return ins_number(json_array_get(m->silent, 0), "silent_ns");
}

static void print_result(const struct probes *p, json_int_t silent_ns)
{
    char age[32];
    ins_duration(age, sizeof age, silent_ns);
    if (p->answers < p->sent && silent_ns)
        printf("! node %u did not answer, silent for %s: %s\n", p->node, age, p->why);
    else if (p->answers < p->sent)
        printf("! node %u did not answer: %s\n", p->node, p->why);
    if (p->answers)
        printf("%ld of %ld probes were answered; least %.3f, mean %.3f, most %.3f ms\n", p->answers,
               p->sent, 1e-6 * p->least, 1e-6 * p->sum / (double)p->answers, 1e-6 * p->most);
}

static int finish(struct ins_machine *m, struct probes *p, bool as_json)
{
    json_int_t silent_ns = p->answers < p->sent ? silence_ns(m, p->node) : 0;
    if (as_json) {
        json_t *all = ins_begin(m, 1);
        json_object_set_new(all, "to", json_integer(p->node));
        json_object_set_new(all, "sent", json_integer(p->sent));
        json_object_set_new(all, "answers", json_integer(p->answers));
        json_object_set(all, "probes", p->times);
        if (p->answers < p->sent) {
            json_object_set_new(all, "error", ins_text(p->why));
            json_object_set_new(all, "silent_ns", json_integer(silent_ns));
        }
        ins_print(all);
        json_decref(all);
    } else {
        print_result(p, silent_ns);
    }
    return p->answers == p->sent ? EXIT_WELL : EXIT_FAILED;
}

/* ping sends the probes, one after the other, until one is not answered. `forever`: --watch. */
static int ping(torus_context *c, const struct ins_choices *o, struct probes *p, long wanted)
{
    struct ins_machine m;
    ins_machine_begin(&m, c, o->timeout_s, true);
    int error = TORUS_OK, code = EXIT_FAILED;
    if (p->node >= m.nodes) {
        fprintf(stderr, "torusctl ping: the machine has no node %u: the last one is %u\n", p->node,
                m.nodes - 1);
        ins_machine_end(&m);
        return EXIT_FAILED;
    }
    while (p->sent < wanted && error == TORUS_OK) {
        static struct td_reply reply;
        if (p->sent++)
            nap(PAUSE_MS);
        int64_t at = tl_now_ns();
        error = probe(c, p, o->timeout_s, &reply);
        if (error == TORUS_OK)
            count(p, tl_now_ns() - at, reply.u.status.took_ns, o->as_json);
    }
    if (error == TORUS_OK || error == TORUS_PENDING)
        code = finish(&m, p, o->as_json);
    else
        fprintf(stderr, "torusctl ping: %s\n", tool_error(c));
    ins_machine_end(&m);
    return code;
}

/* is_host returns true if a word names a host, with or without its domain. */
static bool is_host(const char *word, const char *host)
{
    size_t length = strlen(word);
    return length && strncmp(word, host, length) == 0 && (!host[length] || host[length] == '.');
}

/* find_node finds the node of a word, its number or the host that its endpoint names. It returns
 * false, and says why. */
static bool find_node(torus_context *c, const char *word, uint32_t *node)
{
    char *end = NULL, own[INS_HOST_BYTES] = "";
    unsigned long number = strtoul(word, &end, 10);
    if (word[0] >= '0' && word[0] <= '9' && !*end && number < TD_NODES_MAX) {
        *node = (uint32_t)number;
        return true;
    }
    json_t *peers = ins_rows(c, TD_STATUS_PEERS, ins_state_json), *p = NULL;
    size_t i = 0, found = 0;
    json_array_foreach(peers, i, p)
    {
        json_t *host = ins_host(peers, ins_number(p, "node"));
        if (is_host(word, json_string_value(host))) {
            *node = (uint32_t)ins_number(p, "node");
            found++;
        }
        json_decref(host);
    }
    gethostname(own, sizeof own - 1); /* this node is not among its peers */
    if (found == 0 && is_host(word, own)) {
        *node = torus_node(c);
        found++;
    }
    if (found != 1)
        fprintf(stderr,
                found ? "torusctl ping: host %s has several nodes: give the number of one\n"
                      : "torusctl ping: no endpoint names a host %s: torusctl status lists them\n",
                word);
    json_decref(peers);
    return found == 1;
}

static int run(int argc, char **argv)
{
    struct ins_choices o;
    const char *word = NULL;
    char *end = NULL;
    const char *count = tool_take_option(&argc, argv, "--count");
    long wanted = count ? strtol(count, &end, 10) : COUNT;
    if (count && (*end || wanted < 1 || wanted > COUNT_MAX))
        return tool_usage("ping", "--count takes a number from 1 to 1000000");
    const char *wrong = ins_read_choices(argc, argv, &o, &word);
    if (wrong)
        return tool_usage("ping", tool_no_option(wrong));
    if (!word)
        return tool_usage("ping", "expected the number or the host of a node");
    int code = EXIT_WELL;
    uint32_t node = 0;
    torus_context *c = tool_open(o.socket, o.patience_s, &code);
    if (c && !find_node(c, word, &node)) {
        torus_close(c);
        return EXIT_FAILED;
    }
    for (bool first = true; c && (first || (o.watch && code == EXIT_WELL)); first = false) {
        struct probes p = {.node = node, .times = json_array()};
        if (!first)
            ins_pause();
        code = ping(c, &o, &p, wanted);
        json_decref(p.times);
    }
    torus_close(c);
    return code;
}

const struct tool_command ctl_command_ping = {
    .name = "ping",
    .arguments = "NODE [--count N] [--timeout SECONDS] [--watch] [--json] [--socket PATH]",
    .what = "measure the time that the daemon of a node takes to answer that of this one",
    .options =
        "  NODE                 the number of the node, or its host as in torusctl status\n"
        "  --count N            number of probes (5)\n"
        "  --timeout SECONDS    time for each answer (0.8)\n"
        "  --watch              repeat every second until a probe is not answered\n"
        "  --json               print the result as JSON\n"
        "  --socket PATH        socket of the daemon (default: the search order of libtorus(3))\n",
    .run = run,
};
