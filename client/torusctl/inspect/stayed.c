/* SPDX-License-Identifier: Apache-2.0 */
#include "stayed.h"

#include <stdio.h>
#include <string.h>

#include "inspect.h"
#include "rows.h"
#include "torus/torus.h"

enum { SHOWN = 4 /* processes of a job */ };

/* ---- finding ---- */

/* failed_of returns the record of the job of a process in which a call has failed, or NULL. Of jobs
 * with one name, the process is in the latest. Each node has a record; the first failure counts. */
static const json_t *failed_of(const json_t *client, const json_t *records)
{
    const json_t *latest = NULL, *first = NULL, *r = NULL;
    size_t i = 0;
    json_array_foreach(records, i, r)
    {
        bool same = json_object_get(r, "job") &&
                    strcmp(ins_string(r, "job"), ins_string(client, "job")) == 0 &&
                    ins_number(r, "uid") == ins_number(client, "uid");
        if (same && (!latest || ins_number(r, "formed_ns") < ins_number(latest, "formed_ns")))
            latest = r;
    }
    json_array_foreach(records, i, r)
    {
        if (latest && ins_number(r, "instance") == ins_number(latest, "instance") &&
            ins_number(r, "error") != TORUS_OK &&
            (!first || ins_number(r, "failed_ns") > ins_number(first, "failed_ns")))
            first = r;
    }
    return first;
}

/* entry_of finds the entry of a job, or adds one. */
static json_t *entry_of(json_t *stayed, const json_t *record)
{
    json_t *e = NULL;
    size_t i = 0;
    json_array_foreach(
        stayed, i, e) if (json_equal(json_object_get(e, "job"), json_object_get(record, "job")) &&
                          ins_number(e, "uid") == ins_number(record, "uid")) return e;
    e = json_pack("{s:O s:O s:b s:O s:[]}", "job", json_object_get(record, "job"), "uid",
                  json_object_get(record, "uid"), "cancelled",
                  ins_number(record, "error") == TORUS_ERR_CANCELLED, "failed_ns",
                  json_object_get(record, "failed_ns"), "stopped");
    json_array_append_new(stayed, e);
    return e;
}

json_t *ins_stayed_of(const json_t *clients, const json_t *records, const json_t *peers)
{
    json_t *stayed = json_array(), *c = NULL;
    size_t i = 0;
    json_array_foreach(clients, i, c)
    {
        const json_t *failed = ins_is_rank(c) && ins_is_stopped(c) ? failed_of(c, records) : NULL;
        if (failed)
            json_array_append_new(
                json_object_get(entry_of(stayed, failed), "stopped"),
                json_pack("{s:O s:O s:o s:O s:O}", "rank", json_object_get(c, "rank"), "node",
                          json_object_get(c, "node"), "host",
                          ins_host(peers, ins_number(c, "node")), "pid", json_object_get(c, "pid"),
                          "program", json_object_get(c, "program")));
    }
    return stayed;
}

json_t *ins_stayed(struct ins_machine *m, const json_t *all)
{
    const json_t *clients = json_object_get(all, "clients"), *c = NULL;
    bool any = false;
    size_t i = 0;
    json_array_foreach(clients, i, c) any = any || ins_is_stopped(c);
    json_t *records = any ? ins_machine_rows(m, TD_STATUS_WAITS, ins_row_record) : NULL;
    json_t *stayed = ins_stayed_of(clients, records, json_object_get(all, "peers"));
    json_decref(records);
    return stayed;
}

/* ---- text ---- */

/* print_ranks prints where the stopped ranks run. */
static void print_ranks(const json_t *stopped)
{
    size_t count = json_array_size(stopped);
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        const json_t *p = json_array_get(stopped, i);
        const char *host = ins_string(p, "host");
        printf("%srank %lld on node %lld", i ? "; " : "", (long long)ins_number(p, "rank"),
               (long long)ins_number(p, "node"));
        if (*host)
            printf(" (host %.100s)", host);
        printf(", process %lld", (long long)ins_number(p, "pid"));
    }
    if (count > SHOWN)
        printf("; and %zu other%s", count - SHOWN, count - SHOWN == 1 ? "" : "s");
    else
        putchar(',');
}

void ins_stayed_print(const json_t *stayed)
{
    const json_t *e = NULL;
    size_t i = 0;
    json_array_foreach(stayed, i, e)
    {
        const json_t *stopped = json_object_get(e, "stopped");
        bool one = json_array_size(stopped) == 1,
             cancelled = json_is_true(json_object_get(e, "cancelled"));
        char age[32];
        ins_duration(age, sizeof age, ins_number(e, "failed_ns"));
        printf(cancelled ? "! job %s was cancelled %s ago; " : "! a call of job %s failed %s ago; ",
               ins_string(e, "job"), age);
        print_ranks(stopped);
        printf(one ? " is stopped (SIGSTOP) and has not left: continue it (SIGCONT) or end it "
                     "(SIGKILL)\n"
                   : " are stopped (SIGSTOP) and have not left: continue them (SIGCONT) or end "
                     "them (SIGKILL)\n");
    }
}
