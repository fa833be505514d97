/* SPDX-License-Identifier: Apache-2.0 */
#include "records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect.h"
#include "forming.h"
#include "groups.h"
#include "inspect.h"
#include "lost.h"
#include "merge.h"
#include "model/call.h"
#include "outages.h"
#include "present.h"
#include "remains.h"
#include "rows.h"
#include "silences.h"
#include "sides.h"
#include "stayed.h"
#include "torusctl/torusctl.h"

static json_t *row_json(const struct td_status_row *row)
{
    json_t *wait = ins_row(row, TD_ROW_WAIT);
    if (wait)
        json_object_set_new(wait, "kind", json_string(td_kind_name(row->u.wait.kind)));
    return wait ? wait : ins_row_record(row);
}

/* ---- sums ---- */

static void add(json_t *to, const json_t *row, const char *key)
{
    json_object_set_new(to, key, json_integer(ins_number(to, key) + ins_number(row, key)));
}

/* add_nothing sets the sums of a rank that nobody has waited for yet. */
static void add_nothing(json_t *to)
{
    json_object_update_new(to, json_pack("{s:i s:i s:i s:s s:i s:i s:i}", "waited_ns", 0, "last", 0,
                                         "longest_ns", 0, "longest_kind", "", "longest_age_ns", 0,
                                         "longest_operation", 0, "longest_group", 0));
}

static void add_sums(json_t *to, const json_t *row)
{
    add(to, row, "waited_ns");
    add(to, row, "last");
    if (ins_number(row, "longest_ns") <= ins_number(to, "longest_ns"))
        return;
    json_object_set(to, "longest_ns", json_object_get(row, "longest_ns"));
    json_object_set(to, "longest_kind", json_object_get(row, "kind"));
    json_object_set(to, "longest_age_ns", json_object_get(row, "longest_age_ns"));
    json_object_set(to, "longest_operation", json_object_get(row, "longest_operation"));
    json_object_set(to, "longest_group", json_object_get(row, "longest_group"));
}

/* kind_of returns the sums of one kind of call of a rank. */
static json_t *kind_of(json_t *rank, const char *kind)
{
    json_t *kinds = json_object_get(rank, "kinds"), *k = NULL;
    for (size_t i = 0; i < json_array_size(kinds); i++)
        if (strcmp(ins_string(json_array_get(kinds, i), "kind"), kind) == 0)
            return json_array_get(kinds, i);
    k = json_pack("{s:s}", "kind", kind);
    add_nothing(k);
    json_array_append_new(kinds, k);
    return k;
}

static int by_waiting(const void *a, const void *b)
{
    json_int_t left = ins_number(*(json_t *const *)a, "waited_ns"),
               right = ins_number(*(json_t *const *)b, "waited_ns");
    return left < right ? 1 : left > right ? -1 : 0;
}

/* sorted returns the objects of a list, those with the most waiting first. */
static json_t *sorted(const json_t *list)
{
    size_t count = json_array_size(list);
    json_t **item = calloc(count + 1, sizeof *item), *result = json_array();
    for (size_t i = 0; item && i < count; i++)
        item[i] = json_array_get(list, i);
    if (item)
        qsort(item, count, sizeof *item, by_waiting);
    for (size_t i = 0; item && i < count; i++)
        json_array_append(result, item[i]);
    free(item);
    return result;
}

/* is_place returns true if nobody has waited for a rank: the row only says where it runs. */
static bool is_place(const json_t *row)
{
    return ins_number(row, "waited_ns") == 0 && ins_number(row, "last") == 0;
}

/* place_of returns a row of a rank of a job, if possible that of its own node. */
static const json_t *place_of(const json_t *rows, json_int_t instance, json_int_t rank)
{
    const json_t *best = NULL, *row = NULL;
    size_t i = 0;
    json_array_foreach(rows, i, row) if (json_object_get(row, "kind") &&
                                         ins_number(row, "instance") == instance &&
                                         ins_number(row, "rank") == rank &&
                                         (!best || ins_number(row, "pid"))) best = row;
    return best;
}

/* sum_up adds the ranks of a job to its record: "stragglers", and how many calls ended. Each call
 * has a last rank, whose node counts it; but a node may have no record. So there are no fewer calls
 * than any node has seen by request. */
static void sum_up(json_t *record, const json_t *rows)
{
    json_t *ranks = json_array();
    json_int_t calls = 0, waited = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        json_t *rank = ins_find(ranks, "rank", ins_number(row, "rank"));
        if (!json_object_get(row, "kind") || is_place(row) ||
            ins_number(row, "instance") != ins_number(record, "instance"))
            continue;
        if (!rank) {
            const json_t *place =
                place_of(rows, ins_number(record, "instance"), ins_number(row, "rank"));
            rank = json_pack("{s:O s:O s:O s:[]}", "rank", json_object_get(row, "rank"), "node",
                             json_object_get(row, "node"), "pid",
                             json_object_get(place ? place : row, "pid"), "kinds");
            add_nothing(rank);
            json_array_append_new(ranks, rank);
        }
        add_sums(rank, row);
        add_sums(kind_of(rank, ins_string(row, "kind")), row);
        calls += ins_number(row, "last");
        waited += ins_number(row, "waited_ns");
    }
    for (size_t i = 0; i < json_array_size(ranks); i++)
        json_object_set_new(json_array_get(ranks, i), "kinds",
                            sorted(json_object_get(json_array_get(ranks, i), "kinds")));
    json_object_set_new(record, "waited_ns", json_integer(waited));
    if (ins_number(record, "operations") > calls)
        calls = ins_number(record, "operations");
    json_object_set_new(record, "calls", json_integer(calls));
    json_object_set_new(record, "stragglers", sorted(ranks));
    json_decref(ranks);
}

/* ---- the ranks of a sentence ---- */

enum { NAMED_MAX = 8 }; /* ranks that made another call than the others */

/* struct naming: the ranks that a sentence names. */
struct naming {
    json_t *named, *peers;
    const json_t *rows;
    json_int_t instance;
};

static void name_rank(struct naming *n, json_int_t rank)
{
    const json_t *row = place_of(n->rows, n->instance, rank);
    if (!row || ins_find(n->named, "rank", rank))
        return;
    json_array_append_new(n->named, json_pack("{s:I s:O s:o s:O}", "rank", rank, "node",
                                              json_object_get(row, "node"), "host",
                                              ins_host(n->peers, ins_number(row, "node")), "pid",
                                              json_object_get(row, "pid")));
}

/* name_list names the ranks of a list such as 1, 3-5. */
static void name_list(struct naming *n, const char *list)
{
    enum { LIST_MAX = 64 };
    json_t *ranks = ins_numbers(list, TD_JOB_RANKS_MAX, LIST_MAX), *rank = NULL;
    size_t i = 0;
    json_array_foreach(ranks, i, rank) name_rank(n, json_integer_value(rank));
    json_decref(ranks);
}

/* name_sides names the ranks of the side with the fewest ranks, or of all those with as many. */
static void name_sides(struct naming *n, const json_t *sides)
{
    const json_t *s = NULL, *rank = NULL;
    size_t i = 0, k = 0;
    json_array_foreach(sides, i, s)
    {
        bool least = ins_number(s, "count") == ins_number(json_array_get(sides, 0), "count");
        if (!least)
            return; /* they are in order */
        json_array_foreach(json_object_get(s, "ranks"), k, rank)
        {
            if (json_array_size(n->named) < NAMED_MAX)
                name_rank(n, json_integer_value(rank));
        }
    }
}

static json_t *age_json(const struct td_status_row *row)
{
    const struct td_row_fact *r = &row->u.fact;
    return row->kind == TD_ROW_FACT && strcmp(r->name, "age") == 0
               ? json_pack("{s:I}", "age_ns", (json_int_t)strtoll(r->value, NULL, 10))
               : NULL;
}

/* restarted_of returns the restarts of daemons that a record names. The daemons of other nodes know
 * when they heard another one there; that of this node knows its age. */
static json_t *restarted_of(struct ins_machine *m, const json_t *record, const json_t *peers)
{
    json_t *ages = ins_rows(m->c, TD_STATUS_HOST, age_json),
           *all = ins_lost_with_own(peers, torus_node(m->c),
                                    ins_number(json_array_get(ages, 0), "age_ns")),
           *restarted = ins_lost_restarted(record, all);
    json_decref(ages);
    json_decref(all);
    return restarted;
}

/* name_ranks adds to a record the nodes that the sentence of its failure names, and where the ranks
 * run that it names, such as "rank 3 called barrier" or "ranks 1, 3-5 had not called": "named". The
 * daemon that wrote it knows only the processes of its node. */
static void name_ranks(struct ins_machine *m, json_t *record, const json_t *rows, json_t *peers)
{
    struct naming n = {.named = json_array(),
                       .peers = peers,
                       .rows = rows,
                       .instance = ins_number(record, "instance")};
    for (const char *t = ins_string(record, "text"); (t = strstr(t, "rank"));) {
        t += strlen("rank");
        t += *t == 's';
        if (*t == ' ')
            name_list(&n, t + 1);
    }
    name_sides(&n, json_object_get(record, "sides"));
    json_object_set_new(record, "named", n.named);
    json_object_set_new(record, "named_nodes", ins_lost_nodes(record, n.peers));
    json_object_set_new(record, "restarted", restarted_of(m, record, n.peers));
}

/* ---- one job ---- */

/* latest returns the record of the wanted job that formed last, or (`unformed`) of the one that
 * last began to form and did not; or NULL. */
static json_t *latest(const json_t *rows, const struct ins_wanted *w, bool unformed)
{
    json_t *best = NULL;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i);
        bool wanted = json_object_get(row, "job") &&
                      json_is_true(json_object_get(row, "unformed")) == unformed &&
                      ins_is_wanted(w, ins_string(row, "job"), ins_number(row, "uid"));
        if (wanted && (!best || ins_number(row, "formed_ns") < ins_number(best, "formed_ns")))
            best = row;
    }
    return best;
}

/* struct facts: what the nodes say. */
struct facts {
    json_t *rows;       /* of the records */
    json_t *peers;      /* of this node */
    json_int_t unix_ns; /* the moment of the ages of these two, in ns since 1970 */
    json_t *all;        /* the state of the machine (collect.h) */
    json_t *groups;     /* groups.h */
    json_t *forming;    /* the jobs that wait for ranks (forming.h) */
};

/* ask asks the nodes. It returns false if the daemon is lost. */
static bool ask(struct ins_machine *m, struct facts *f)
{
    *f = (struct facts){.rows = ins_machine_rows(m, TD_STATUS_WAITS, row_json)};
    f->unix_ns = ins_unix_ns();
    f->peers = f->rows ? ins_rows(m->c, TD_STATUS_PEERS, ins_state_json) : NULL;
    f->all = f->peers ? ins_collect(m) : NULL;
    json_int_t later_ns = ins_unix_ns() - f->unix_ns;
    f->groups = f->all ? ins_groups(m) : NULL;
    ins_add_member_nodes(json_object_get(f->all, "operations"), f->groups);
    f->forming = f->groups ? ins_forming(json_object_get(f->all, "jobs"), f->groups,
                                         json_object_get(f->all, "clients"))
                           : NULL;
    ins_forming_earlier(f->forming, later_ns);
    return f->forming != NULL;
}

static void facts_free(struct facts *f)
{
    json_decref(f->rows);
    json_decref(f->peers);
    json_decref(f->all);
    json_decref(f->groups);
    json_decref(f->forming);
}

/* blank_of returns the record of a job that has not formed: no node has one. */
static json_t *blank_of(json_t *name, json_t *uid, json_t *size)
{
    return json_pack("{s:O s:O s:O s:i s:i s:i s:i s:i s:s s:i s:[] s:[] s:[] s:[] s:[] s:[] s:[] "
                     "s:[] s:[] s:[] s:[] s:s s:s s:[]}",
                     "job", name, "uid", uid, "size", size, "formed_ns", 0, "ended_ns", 0,
                     "waited_ns", 0, "calls", 0, "error", 0, "text", "", "failed_ns", 0,
                     "stragglers", "silences", "in_flight", "named", "named_nodes", "restarted",
                     "nodes", "without", "stayed", "sides", "outages", "state", "", "reason", "",
                     "processes");
}

/* add_without adds the nodes whose records are not in the sums: "without". */
static void add_without(struct ins_machine *m, json_t *record, const json_t *rows)
{
    json_t *without = m->here ? json_array() : ins_merge_without(record, rows, m->silent, NULL);
    if (json_array_size(without) > 0) {
        json_t *daemons = ins_machine_rows(m, TD_STATUS_HOST, age_json);
        json_decref(without);
        without = ins_merge_without(record, rows, m->silent, daemons);
        json_decref(daemons);
    }
    json_object_set_new(record, "without", without);
}

/* stayed_of returns the stopped processes of the job of a record in which a call has failed. */
static json_t *stayed_of(const json_t *record, const struct facts *f)
{
    json_t *clients = json_array(), *c = NULL, *stayed = NULL;
    size_t i = 0;
    json_array_foreach(json_object_get(f->all, "clients"), i, c)
    {
        if (json_equal(json_object_get(c, "job"), json_object_get(record, "job")) &&
            ins_number(c, "uid") == ins_number(record, "uid"))
            json_array_append(clients, c);
    }
    stayed = ins_number(record, "ended_ns")
                 ? json_array()
                 : ins_stayed_of(clients, f->rows, json_object_get(f->all, "peers"));
    json_decref(clients);
    return stayed;
}

/* fill adds to the merged record of a job what the ranks waited for, and wait for now. */
static void fill(struct ins_machine *m, json_t *record, const struct facts *f)
{
    ins_merge_record(record, f->rows);
    json_object_set_new(
        record, "in_flight",
        ins_number(record, "ended_ns")
            ? json_array()
            : ins_present(m, f->all, ins_string(record, "job"), ins_number(record, "instance")));
    json_object_set_new(record, "stayed", stayed_of(record, f));
    ins_remains(record, json_object_get(f->all, "jobs"), f->groups,
                json_object_get(f->all, "clients"), m->silent);
    json_object_set_new(record, "sides",
                        ins_number(record, "error") == TORUS_ERR_MISMATCH
                            ? ins_sides(m, ins_number(record, "instance"))
                            : json_array());
    sum_up(record, f->rows);
    json_t *silences = ins_silences(f->rows, ins_number(record, "instance")),
           *outages = ins_outages(m, ins_number(record, "instance"), f->unix_ns);
    ins_silences_last(silences, m->silent);
    ins_outages_explain(silences, outages);
    json_object_set_new(record, "silences", sorted(silences));
    json_object_set_new(record, "outages", outages);
    json_decref(silences);
    name_ranks(m, record, f->rows, f->peers);
    add_without(m, record, f->rows);
}

/* unformed_of returns what is told of a job that did not form. */
static json_t *unformed_of(const json_t *row)
{
    return json_pack("{s:O s:O s:O s:O s:O s:O s:O}", "job", json_object_get(row, "job"), "uid",
                     json_object_get(row, "uid"), "size", json_object_get(row, "size"), "begun_ns",
                     json_object_get(row, "formed_ns"), "ended_ns",
                     json_object_get(row, "ended_ns"), "error", json_object_get(row, "error"),
                     "text", json_object_get(row, "text"));
}

/* choose returns the record of the wanted job that formed last, or NULL. "forming" of the record is
 * the job of this name and user that still forms, "unformed" that which did not form, if it began
 * later; or null. If only such a job is there, or it is another one and later, the rest of the
 * record is empty. */
static json_t *choose(struct ins_machine *m, const struct facts *f, const struct ins_wanted *w)
{
    json_t *record = latest(f->rows, w, false), *unformed = latest(f->rows, w, true);
    json_t *forming = ins_forming_latest(f->forming, w), *attempt = forming ? forming : unformed;
    json_t *name = json_object_get(attempt, forming ? "name" : "job"),
           *uid = json_object_get(attempt, "uid");
    bool same = json_equal(name, json_object_get(record, "job")) &&
                json_equal(uid, json_object_get(record, "uid"));
    bool formed_later =
        ins_number(record, "formed_ns") < ins_number(attempt, forming ? "forming_ns" : "formed_ns");
    if (record && attempt && formed_later && (!same || !forming))
        attempt = NULL;
    if (attempt && !same)
        record = NULL;
    if (record) {
        fill(m, record, f);
        json_incref(record);
    } else if (attempt) {
        record = blank_of(name, uid, json_object_get(attempt, "size"));
    }
    if (!record)
        return NULL;
    json_object_set(record, "forming", attempt && forming ? forming : json_null());
    json_object_set_new(record, "unformed",
                        attempt && !forming ? unformed_of(unformed) : json_null());
    json_object_set_new(record, "other_jobs", ins_other_jobs(w, record, f->all, f->rows));
    return record;
}

json_t *ins_record(struct ins_machine *m, const char *command, const struct ins_wanted *wanted)
{
    static const char *const only_merge[] = {
        "died_ns", "died_rank", "died_pid", "died_paused_ns", "operations", "instance", "at"};
    char owner[40];
    struct facts f;
    bool asked = ask(m, &f);
    json_t *record = asked ? choose(m, &f, wanted) : NULL;
    if (record) {
        ins_add_silence(m);
        json_object_set_new(record, "version", json_integer(1));
        json_object_set_new(record, "unix_ns", json_integer(f.unix_ns));
        json_object_set_new(record, "node", json_integer(torus_node(m->c)));
        json_object_set(record, "silent", m->silent);
        json_object_set(record, "absent", m->absent);
        if (!json_object_get(record, "death"))
            json_object_set_new(record, "death", json_null());
        for (size_t i = 0; i < sizeof only_merge / sizeof only_merge[0]; i++)
            json_object_del(record, only_merge[i]);
    } else if (!asked) {
        fprintf(stderr, "torusctl %s: %s\n", command, tool_error(m->c));
    } else if (wanted->job) {
        fprintf(stderr, "torusctl %s: no node has a record of a job %s of %s\n", command,
                wanted->job, ins_wanted_owner(wanted, owner, sizeof owner));
    } else {
        fprintf(stderr, "torusctl %s: no node has a record of a job of %s\n", command,
                ins_wanted_owner(wanted, owner, sizeof owner));
    }
    facts_free(&f);
    return record;
}

static void moment(char *text, size_t bytes, const json_t *record, const char *key)
{
    ins_ago(text, bytes, ins_number(record, "unix_ns"), ins_number(record, key));
}

void ins_record_print_job(const json_t *record)
{
    char text[80];
    moment(text, sizeof text, record, "formed_ns");
    printf("job %s of user %lld: %lld rank%s, formed %s; ", ins_string(record, "job"),
           (long long)ins_number(record, "uid"), (long long)ins_number(record, "size"),
           ins_number(record, "size") == 1 ? "" : "s", text);
    moment(text, sizeof text, record, "ended_ns");
    if (ins_number(record, "ended_ns"))
        printf("ended %s\n", text);
    else
        puts("not over");
}

void ins_record_print_failure(const json_t *record)
{
    char text[80];
    if (ins_number(record, "error") == TORUS_OK)
        return;
    moment(text, sizeof text, record, "failed_ns");
    printf("the first call failed %s: %s\n", text, ins_string(record, "text"));
}

void ins_record_longest(char *text, size_t bytes, const json_t *record, const json_t *straggler)
{
    json_int_t age = ins_number(straggler, "longest_age_ns"),
               group = ins_number(straggler, "longest_group"),
               begin = ins_number(record, "unix_ns") - age - ins_number(straggler, "longest_ns");
    char since[32], of[40] = "";
    ins_moment(since, sizeof since, begin, 0);
    if (group)
        snprintf(of, sizeof of, " of group %lld", (long long)group);
    snprintf(text, bytes, age ? "%s %lld%s, since %s" : "", ins_string(straggler, "longest_kind"),
             (long long)ins_number(straggler, "longest_operation"), of, since);
}

void ins_record_print_without(const json_t *record)
{
    const json_t *list = json_object_get(record, "without");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *w = json_array_get(list, i);
        const char *reason = ins_string(w, "reason");
        /* the new daemon started before its link was up: one restart has one time here */
        const json_t *restart =
            ins_find(json_object_get(record, "restarted"), "node", ins_number(w, "node"));
        char text[80];
        ins_ago(text, sizeof text, ins_number(record, "unix_ns"),
                ins_number(restart ? restart : w, "age_ns"));
        printf("! counts and times are without node %lld", (long long)ins_number(w, "node"));
        if (strcmp(reason, "silent") == 0)
            puts(", which did not answer");
        else if (strcmp(reason, "restarted") == 0 &&
                 ins_lost_with_daemon(record, ins_number(w, "node")))
            puts(": its record of the job was lost with its daemon");
        else if (strcmp(reason, "restarted") == 0)
            printf(": its record of the job was lost when its daemon started, %s\n", text);
        else
            puts(": it has no record of the job, as a daemon keeps those of 64 jobs");
    }
}

/* print prints a record for people: first the job that forms or did not, then the one that has
 * formed. */
static void print(const json_t *record, const char *command, ins_record_fn *show)
{
    const json_t *forming = json_object_get(record, "forming"),
                 *unformed = json_object_get(record, "unformed");
    bool formed = ins_number(record, "formed_ns") != 0;
    if (json_is_object(forming))
        ins_forming_print(forming);
    else if (json_is_object(unformed))
        ins_unformed_print(unformed, ins_number(record, "unix_ns"));
    if (formed && (json_is_object(forming) || json_is_object(unformed)))
        puts("\nthe job of this name before it:");
    if (formed)
        show(record);
    ins_other_jobs_print(json_object_get(record, "other_jobs"), command);
}

int ins_record_run(int argc, char **argv, ins_record_fn *show)
{
    struct ins_wanted wanted;
    struct ins_choices o;
    int code = EXIT_WELL;
    bool is_user = ins_wanted_take(&wanted, &argc, argv);
    const char *wrong = ins_read_choices(argc, argv, &o, &wanted.job);
    if (wrong)
        return tool_usage(argv[0], tool_no_option(wrong));
    if (!is_user)
        return tool_usage(argv[0], INS_USER_WRONG);
    torus_context *c = tool_open(o.socket, o.patience_s, &code);
    for (bool first = true; c && code == EXIT_WELL && (first || o.watch); first = false) {
        struct ins_machine m;
        if (!first)
            ins_pause();
        ins_machine_begin(&m, c, o.timeout_s, o.here);
        json_t *record = ins_record(&m, argv[0], &wanted);
        if (record && o.as_json)
            ins_print(record);
        else if (record)
            print(record, argv[0], show);
        if (!o.as_json)
            ins_machine_print_silent(&m);
        code = record ? EXIT_WELL : EXIT_FAILED;
        json_decref(record);
        ins_machine_end(&m);
    }
    torus_close(c);
    return code;
}
