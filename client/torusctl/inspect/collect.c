/* SPDX-License-Identifier: Apache-2.0 */
#include "collect.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "inspect.h"
#include "merge.h"
#include "rows.h"
#include "torusctl/torusctl.h"

enum { LATE_SECONDS = 10 };

/* job_json says which ranks are missing, instead of those that are known. */
static json_t *job_json(const struct td_status_row *row)
{
    const struct td_row_job *r = &row->u.job;
    json_t *job = ins_row(row, TD_ROW_JOB);
    json_object_set_new(job, "missing", ins_ranks(&r->ranks, r->size, false));
    json_object_del(job, "ranks");
    return job;
}

static json_t *operation_json(const struct td_status_row *row)
{
    const struct td_row_operation *r = &row->u.operation;
    json_t *operation = ins_row(row, TD_ROW_OPERATION);
    json_object_set_new(operation, "phase", json_string(r->running ? "running" : "waiting"));
    json_object_set_new(operation, "arrived", ins_ranks(&r->arrived, r->size, true));
    json_object_set_new(operation, "missing", ins_ranks(&r->arrived, r->size, false));
    json_object_del(operation, "running");
    json_object_del(operation, "size");
    return operation;
}

json_t *ins_state_json(const struct td_status_row *row)
{
    if (row->kind == TD_ROW_JOB)
        return job_json(row);
    if (row->kind == TD_ROW_OPERATION)
        return operation_json(row);
    json_t *peer = ins_row(row, TD_ROW_PEER);
    return peer ? peer : ins_row(row, TD_ROW_CLIENT);
}

/* describe adds the node and the machine to an object. */
static void describe(torus_context *c, json_t *all)
{
    uint32_t size[TORUS_DIMENSIONS_MAX], place[TORUS_DIMENSIONS_MAX];
    int wrap[TORUS_DIMENSIONS_MAX], dimensions = torus_shape(c, size, wrap);
    torus_coords(c, place);
    json_t *coordinates = json_array(), *shape = json_array(), *wraps = json_array();
    for (int d = 0; d < dimensions; d++) {
        json_array_append_new(coordinates, json_integer(place[d]));
        json_array_append_new(shape, json_integer(size[d]));
        json_array_append_new(wraps, json_boolean(wrap[d]));
    }
    json_object_set_new(all, "version", json_integer(1));
    json_object_set_new(all, "node", json_integer(torus_node(c)));
    json_object_set_new(all, "coordinates", coordinates);
    json_object_set_new(all, "shape", shape);
    json_object_set_new(all, "wrap", wraps);
}

/* heard_json says when a node last heard another one. */
static json_t *heard_json(const struct td_status_row *row)
{
    const struct td_row_link *r = &row->u.link;
    return row->kind == TD_ROW_LINK
               ? json_pack("{s:i s:I}", "node", (int)r->to, "silent_ns", (json_int_t)r->silent_ns)
               : NULL;
}

/* add_silence adds what this node's peers (all other nodes), and the links of the others say. */
static void add_silence(struct ins_machine *m, const json_t *peers)
{
    json_t *links = NULL, *p = NULL;
    size_t i = 0;
    if (json_array_size(m->silent) == 0)
        return;
    json_array_foreach(peers, i, p) json_object_set_new(p, "at", json_integer(torus_node(m->c)));
    ins_merge_silence(m->silent, peers);
    links = ins_machine_rows(m, TD_STATUS_LINKS, heard_json);
    ins_merge_silence(m->silent, links);
    json_decref(links);
}

void ins_add_silence(struct ins_machine *m)
{
    json_t *peers =
        json_array_size(m->silent) ? ins_rows(m->c, TD_STATUS_PEERS, ins_state_json) : NULL;
    add_silence(m, peers);
    json_decref(peers);
}

/* mark_absent gives the peers that are not up, and not expected to be, the state "absent". */
static void mark_absent(struct ins_machine *m, const json_t *peers)
{
    json_t *p = NULL;
    size_t i = 0;
    json_array_foreach(peers, i, p)
    {
        if (strcmp(ins_string(p, "state"), "up") == 0 ||
            !ins_machine_lists(m, ins_number(p, "node")))
            continue;
        json_object_set_new(p, "state", json_string("absent"));
        json_object_set_new(p, "error", json_string(""));
    }
}

json_t *ins_collect(struct ins_machine *m)
{
    /* the peers last: the wait for nodes that do not answer is over then, so that the ages of
     * operations and of silences are of one moment, that of the clock when they are printed */
    json_t *all = json_object(), *clients = ins_machine_rows(m, TD_STATUS_CLIENTS, ins_state_json),
           *jobs = clients ? ins_machine_rows(m, TD_STATUS_JOBS, ins_state_json) : NULL,
           *operations = jobs ? ins_machine_rows(m, TD_STATUS_OPERATIONS, ins_state_json) : NULL,
           *peers = operations ? ins_rows(m->c, TD_STATUS_PEERS, ins_state_json) : NULL;
    bool good = peers != NULL;
    describe(m->c, all);
    if (good) {
        size_t i = 0;
        json_t *client = NULL;
        json_array_foreach(clients, i, client)
            json_object_set(client, "node", json_object_get(client, "at"));
        add_silence(m, peers);
        mark_absent(m, peers);
        json_object_set(all, "peers", peers);
        json_object_set(all, "clients", clients);
        json_object_set_new(all, "jobs", ins_merge_jobs(jobs));
        json_object_set_new(all, "operations", ins_merge_operations(operations));
        ins_drop_abandoned(json_object_get(all, "operations"),
                           !m->here && json_array_size(m->silent) == 0);
        json_object_set(all, "silent", m->silent);
        json_object_set(all, "absent", m->absent);
    }
    json_decref(peers);
    json_decref(clients);
    json_decref(jobs);
    json_decref(operations);
    if (good)
        return all;
    json_decref(all);
    return NULL;
}

bool ins_is_late(const json_t *operation)
{
    return json_array_size(json_object_get(operation, "missing")) &&
           json_integer_value(json_object_get(operation, "age_ns")) >= LATE_SECONDS * 1000000000LL;
}

const char ins_options[] = INS_OPTIONS;

const char *ins_read_choices(int argc, char **argv, struct ins_choices *o, const char **word)
{
    *o = (struct ins_choices){.timeout_s = INS_TIMEOUT_S, .patience_s = INS_PATIENCE_S};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            o->as_json = true;
        else if (strcmp(argv[i], "--here") == 0)
            o->here = true;
        else if (strcmp(argv[i], "--watch") == 0)
            o->watch = true;
        else if (strcmp(argv[i], "--socket") == 0 && i + 1 < argc)
            o->socket = argv[++i];
        else if (strcmp(argv[i], "--timeout") == 0 && i + 1 < argc &&
                 ins_machine_seconds(argv[i + 1], &o->timeout_s))
            o->patience_s = strtod(argv[++i], NULL);
        else if (word && !*word && argv[i][0] != '-')
            *word = argv[i];
        else
            return argv[i];
    }
    return NULL;
}

/* ask_once collects the state and prints it. It returns false on an error. */
static bool ask_once(torus_context *c, const struct ins_choices *o, ins_print_fn *print)
{
    struct ins_machine m;
    ins_machine_begin(&m, c, o->timeout_s, o->here);
    m.compact = o->watch;
    json_t *all = ins_collect(&m);
    if (all)
        print(&m, all, o->as_json);
    fflush(stdout);
    ins_machine_end(&m);
    bool good = all != NULL;
    json_decref(all);
    return good;
}

void ins_pause(void)
{
    fflush(stdout);
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    if (isatty(STDOUT_FILENO))
        fputs("\033[H\033[2J", stdout);
}

int ins_ask(const char *name, int argc, char **argv, ins_print_fn *print)
{
    struct ins_choices o;
    int code = EXIT_WELL;
    const char *wrong = ins_read_choices(argc, argv, &o, NULL);
    if (wrong)
        return tool_usage(name, tool_no_option(wrong));
    torus_context *c = tool_open(o.socket, o.patience_s, &code);
    if (!c)
        return code;
    bool good = ask_once(c, &o, print);
    while (good && o.watch) {
        ins_pause();
        good = ask_once(c, &o, print);
    }
    if (!good) {
        fprintf(stderr, "torusctl %s: %s\n", name, tool_error(c));
        code = EXIT_FAILED;
    }
    torus_close(c);
    return code;
}
