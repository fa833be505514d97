/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "io/config/config_reload.h"
#include "io/control/peers.h"
#include "io/descriptors.h"
#include "wire/wire.h"

typedef void show_fn(const struct td_loop *loop, char *text, size_t bytes);

static void show_version(const struct td_loop *loop, char *text, size_t bytes)
{
    (void)loop;
    snprintf(text, bytes, "%s", TORUS_VERSION);
}

static void show_peer_protocol(const struct td_loop *loop, char *text, size_t bytes)
{
    (void)loop;
    snprintf(text, bytes, "%d.%d", TD_WIRE_PEER_MAJOR, TD_WIRE_PEER_MINOR);
}

static void show_host(const struct td_loop *loop, char *text, size_t bytes)
{
    (void)loop;
    if (gethostname(text, bytes) != 0)
        text[0] = '\0';
    text[bytes - 1] = '\0';
}

static void show_kernel(const struct td_loop *loop, char *text, size_t bytes)
{
    struct utsname name;
    (void)loop;
    if (uname(&name) == 0)
        snprintf(text, bytes, "%s", name.release);
}

static void show_process(const struct td_loop *loop, char *text, size_t bytes)
{
    (void)loop;
    snprintf(text, bytes, "%ld", (long)getpid());
}

static void show_age(const struct td_loop *loop, char *text, size_t bytes)
{
    snprintf(text, bytes, "%llu", (unsigned long long)(td_loop_now() - loop->began));
}

/* show_clock writes CLOCK_REALTIME: torusctl compares it with that of other nodes. */
static void show_clock(const struct td_loop *loop, char *text, size_t bytes)
{
    struct timespec now;
    (void)loop;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(text, bytes, "%lld", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
}

/* show_clock_state writes whether a time service keeps the clock; nothing if the kernel does not
 * say. */
static void show_clock_state(const struct td_loop *loop, char *text, size_t bytes)
{
    struct timex t = {.modes = 0}; /* it only reads */
    (void)loop;
    if (adjtimex(&t) >= 0)
        snprintf(text, bytes, "%s", t.status & STA_UNSYNC ? "not synchronised" : "synchronised");
}

static void show_limit(int resource, char *text, size_t bytes)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0)
        return;
    if (limit.rlim_cur == RLIM_INFINITY)
        snprintf(text, bytes, "unlimited");
    else
        snprintf(text, bytes, "%llu", (unsigned long long)limit.rlim_cur);
}

static void show_memlock(const struct td_loop *loop, char *text, size_t bytes)
{
    (void)loop;
    show_limit(RLIMIT_MEMLOCK, text, bytes);
}

static void show_files(const struct td_loop *loop, char *text, size_t bytes)
{
    (void)loop;
    show_limit(RLIMIT_NOFILE, text, bytes);
}

/* show_files_needed writes how many descriptors the limits of the configuration may take: those
 * of each client, of each peer, and of the daemon. */
static void show_files_needed(const struct td_loop *loop, char *text, size_t bytes)
{
    snprintf(text, bytes, "%llu",
             TD_DESCRIPTORS_OF_CLIENT * (unsigned long long)loop->config->settings.clients_max +
                 TD_DESCRIPTORS_OF_PEER * (unsigned long long)td_peers_most(loop->peers) +
                 TD_DESCRIPTORS_OWN);
}

static void show_maps(const struct td_loop *loop, char *text, size_t bytes)
{
    (void)loop;
    snprintf(text, bytes, "%u", td_regions_most());
}

static void show_maps_needed(const struct td_loop *loop, char *text, size_t bytes)
{
    snprintf(text, bytes, "%u", loop->config->settings.regions_max);
}

static void show_processors(const struct td_loop *loop, char *text, size_t bytes)
{
    (void)loop;
    snprintf(text, bytes, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
}

static void show_workers(const struct td_loop *loop, char *text, size_t bytes)
{
    snprintf(text, bytes, "%u", loop->config->workers);
}

static void show_listen(const struct td_loop *loop, char *text, size_t bytes)
{
    if (loop->config->topology.nodes > 1)
        snprintf(text, bytes, "%s", loop->config->listen);
}

static void show_mtu(const struct td_loop *loop, char *text, size_t bytes)
{
    uint32_t node = 0, mtu = td_peers_mtu(loop->peers, &node);
    if (mtu)
        snprintf(text, bytes, "%u", mtu);
}

static void show_mtu_node(const struct td_loop *loop, char *text, size_t bytes)
{
    uint32_t node = 0, mtu = td_peers_mtu(loop->peers, &node);
    if (mtu)
        snprintf(text, bytes, "%u", node);
}

static void show_keys(const struct td_loop *loop, char *text, size_t bytes)
{
    const char *word = td_config_is_open(loop->config) ? "insecure" : "not needed";
    snprintf(text, bytes, "%s", td_peers_security(loop->peers)->keyed ? "keyed" : word);
}

/* keys_wait returns true if the keys fit the node and the shape that the files have now, and not
 * the running ones. */
static bool keys_wait(const struct td_config *running)
{
    struct td_config *fresh = calloc(1, sizeof *fresh);
    struct td_config_refusals *refusals = calloc(1, sizeof *refusals);
    char why[600];
    bool wait = false;
    if (fresh && refusals &&
        td_config_load_again(fresh, running, refusals, why, sizeof why) == TD_OK) {
        wait = fresh->keys_wait;
        td_config_free(fresh);
    }
    free(fresh);
    free(refusals);
    return wait;
}

/* compare_keys says whether a reload would change the keys, or why it would fail. */
static void compare_keys(const struct td_loop *loop, char *text, size_t bytes)
{
    const struct td_config *c = loop->config;
    const struct td_security *used = td_peers_security(loop->peers);
    struct td_security fresh = {.keyed = false};
    char why[600];
    text[0] = '\0';
    if (!used->keyed)
        return;
    if (!td_security_load(&fresh, c->key_file, c->peers_file, &c->topology, c->node, why,
                          sizeof why)) {
        snprintf(text, bytes, "%s", keys_wait(c) ? "wait for a restart" : why);
        return;
    }
    snprintf(text, bytes, "%s", td_security_same(&fresh, used) ? "in use" : "changed");
    td_key_wipe(fresh.secret, sizeof fresh.secret);
    td_security_free(&fresh);
}

/* compare_settings says whether the files have settings that the daemon does not have, or why
 * torusd would not start with them. */
static void compare_settings(const struct td_loop *loop, char *text, size_t bytes)
{
    char reload[300], restart[300], why[600];
    if (!td_config_to_do(loop->config, reload, sizeof reload, restart, sizeof restart, why,
                         sizeof why))
        snprintf(text, bytes, "%s", why);
    else if (!reload[0] && !restart[0])
        snprintf(text, bytes, "in use");
    else
        snprintf(text, bytes, "changed: %s%s%s%s%s", reload[0] ? "a reload takes up " : "", reload,
                 reload[0] && restart[0] ? "; " : "", restart[0] ? "a restart takes up " : "",
                 restart);
}

/* read_files reads the files of the configuration, if the last result is too old. Any user may ask
 * for facts: a result is kept 100 times as long as it took, so that questions take at most 1 % of
 * the loop. */
static void read_files(struct td_loop *loop)
{
    struct td_files *f = &loop->files;
    td_time began = td_loop_now();
    if (began < f->until)
        return;
    compare_keys(loop, f->keys, sizeof f->keys);
    compare_settings(loop, f->settings, sizeof f->settings);
    td_time now = td_loop_now();
    f->until = now + 100 * (now - began);
}

static void show_key_files(const struct td_loop *loop, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s", loop->files.keys);
}

static void show_settings_file(const struct td_loop *loop, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s", loop->files.settings);
}

/* ---- how long the loop works on one event (busy.h) ---- */

static void show_ns(uint64_t ns, char *text, size_t bytes)
{
    snprintf(text, bytes, "%llu", (unsigned long long)ns);
}

static void show_event(const struct td_busy_event *e, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s", e->what ? e->what : "");
}

static void show_longest(const struct td_loop *loop, char *text, size_t bytes)
{
    show_ns(loop->busy.ever.passed.ns, text, bytes);
}

static void show_longest_of(const struct td_loop *loop, char *text, size_t bytes)
{
    show_event(&loop->busy.ever.passed, text, bytes);
}

static void show_longest_cpu(const struct td_loop *loop, char *text, size_t bytes)
{
    show_ns(loop->busy.ever.cpu.cpu_ns, text, bytes);
}

static void show_longest_cpu_of(const struct td_loop *loop, char *text, size_t bytes)
{
    show_event(&loop->busy.ever.cpu, text, bytes);
}

static void show_too_long(const struct td_loop *loop, char *text, size_t bytes)
{
    snprintf(text, bytes, "%llu", (unsigned long long)loop->busy.too_long);
}

static void show_recent(const struct td_loop *loop, char *text, size_t bytes)
{
    show_ns(td_busy_recent(&loop->busy, td_loop_now()).passed.ns, text, bytes);
}

static void show_recent_cpu(const struct td_loop *loop, char *text, size_t bytes)
{
    show_ns(td_busy_recent(&loop->busy, td_loop_now()).cpu.cpu_ns, text, bytes);
}

static void show_recent_cpu_of(const struct td_loop *loop, char *text, size_t bytes)
{
    const struct td_busy_longest longest = td_busy_recent(&loop->busy, td_loop_now());
    show_event(&longest.cpu, text, bytes);
}

/* The names are keys of torusctl's JSON: they never change. */
static const struct {
    const char *name, *unit;
    show_fn *show;
} facts[] = {
    {"version", "", show_version},
    {"peer_protocol", "", show_peer_protocol},
    {"host", "", show_host},
    {"kernel", "", show_kernel},
    {"pid", "", show_process},
    {"age", "ns", show_age},
    {"clock", "ns", show_clock},
    {"clock_state", "", show_clock_state},
    {"memlock", "bytes", show_memlock},
    {"files", "", show_files},
    {"files_needed", "", show_files_needed},
    {"regions_possible", "", show_maps},
    {"regions_wanted", "", show_maps_needed},
    {"processors", "", show_processors},
    {"workers", "", show_workers},
    {"listen", "", show_listen},
    {"mtu", "bytes", show_mtu},
    {"mtu_node", "", show_mtu_node},
    {"keys", "", show_keys},
    {"key_files", "", show_key_files},
    {"settings_file", "", show_settings_file},
    {"event_longest", "ns", show_longest},
    {"event_longest_of", "", show_longest_of},
    {"event_longest_cpu", "ns", show_longest_cpu},
    {"event_longest_cpu_of", "", show_longest_cpu_of},
    {"events_over_5ms", "", show_too_long},
    {"event_recent", "ns", show_recent},
    {"event_recent_cpu", "ns", show_recent_cpu},
    {"event_recent_cpu_of", "", show_recent_cpu_of},
};

bool td_host_fact(struct td_loop *loop, unsigned at, struct td_fact *fact)
{
    if (at >= sizeof facts / sizeof facts[0])
        return false;
    *fact = (struct td_fact){.is_set = false};
    snprintf(fact->name, sizeof fact->name, "%s", facts[at].name);
    snprintf(fact->unit, sizeof fact->unit, "%s", facts[at].unit);
    if (facts[at].show == show_key_files || facts[at].show == show_settings_file)
        read_files(loop);
    facts[at].show(loop, fact->value, sizeof fact->value);
    return true;
}
