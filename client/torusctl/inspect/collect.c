/* SPDX-License-Identifier: Apache-2.0 */
#include "collect.h"

#include <stdio.h>
#include <string.h>

#include "inspect.h"
#include "torusctl/torusctl.h"

enum { LATE_SECONDS = 10 };

static const char *const states[] = {"down", "up", "unknown"};

static json_t *peer_json(const struct td_row_peer *r)
{
    return json_pack("{s:i s:o s:s s:o}", "node", (int)r->node, "endpoint", ins_text(r->endpoint),
                     "state", states[r->health], "error",
                     ins_text(r->health == TD_PEER_UP ? "" : r->error));
}

static json_t *client_json(const struct td_row_client *r)
{
    return json_pack("{s:I s:I s:o s:I s:b s:o s:i}", "pid", (json_int_t)r->pid, "uid",
                     (json_int_t)r->uid, "job", ins_text(r->job), "rank", (json_int_t)r->rank,
                     "joining", r->joining, "program", ins_text(r->program), "seat", (int)r->group);
}

static json_t *job_json(const struct td_row_job *r)
{
    return json_pack("{s:o s:I s:i s:i s:o}", "name", ins_text(r->name), "uid", (json_int_t)r->uid,
                     "size", (int)r->size, "joined", (int)r->joined, "missing",
                     ins_ranks(&r->ranks, r->size, false));
}

static json_t *absent_json(const struct td_row_absent *a)
{
    char state[2] = {(char)a->doing, '\0'};
    return json_pack("{s:i s:i s:i s:s s:I s:I s:s s:I}", "rank", (int)a->rank, "job_rank",
                     (int)a->job_rank, "node", (int)a->node, "node_state", states[a->health],
                     "silent_ns", (json_int_t)a->silent_ns, "pid", (json_int_t)a->pid,
                     "process_state", state, "since_ns", (json_int_t)a->since_ns);
}

static json_t *operation_json(const struct td_row_operation *r)
{
    json_t *absents = json_array();
    for (uint32_t i = 0; i < r->absents; i++)
        json_array_append_new(absents, absent_json(&r->absent[i]));
    return json_pack("{s:o s:i s:I s:o s:s s:I s:I s:I s:o s:o s:o}", "job", ins_text(r->job),
                     "group", (int)r->group, "sequence", (json_int_t)r->sequence, "kind",
                     ins_text(r->call), "phase", r->running ? "running" : "waiting", "age_ns",
                     (json_int_t)r->age_ns, "step", (json_int_t)r->steps_done, "steps",
                     (json_int_t)r->steps, "arrived", ins_ranks(&r->arrived, r->size, true),
                     "missing", ins_ranks(&r->arrived, r->size, false), "absent", absents);
}

/* row_json returns a row, or NULL if its kind is not one of those that are listed here. */
static json_t *row_json(const struct td_status_row *row)
{
    switch (row->kind) {
    case TD_ROW_PEER:
        return peer_json(&row->u.peer);
    case TD_ROW_CLIENT:
        return client_json(&row->u.client);
    case TD_ROW_JOB:
        return job_json(&row->u.job);
    case TD_ROW_OPERATION:
        return operation_json(&row->u.operation);
    case TD_ROW_NODE:
    case TD_ROW_ROUTER:
    case TD_ROW_DIRECTION:
    case TD_ROW_PLAN:
    case TD_ROW_RECORD:
    case TD_ROW_WAIT:
        break;
    }
    return NULL;
}

json_t *ins_collect(torus_context *c)
{
    static const struct {
        uint32_t section;
        const char *name;
    } parts[] = {{TD_STATUS_PEERS, "peers"},
                 {TD_STATUS_CLIENTS, "clients"},
                 {TD_STATUS_JOBS, "jobs"},
                 {TD_STATUS_OPERATIONS, "operations"}};
    uint32_t size[TORUS_DIMENSIONS_MAX], place[TORUS_DIMENSIONS_MAX];
    int wrap[TORUS_DIMENSIONS_MAX], dimensions = torus_shape(c, size, wrap);
    torus_coords(c, place);
    json_t *all = json_object(), *coordinates = json_array(), *shape = json_array(),
           *wraps = json_array();
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
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        json_t *list = ins_rows(c, parts[i].section, row_json);
        if (!list) {
            json_decref(all);
            return NULL;
        }
        json_object_set_new(all, parts[i].name, list);
    }
    return all;
}

bool ins_is_late(const json_t *operation)
{
    return json_array_size(json_object_get(operation, "missing")) &&
           json_integer_value(json_object_get(operation, "age_ns")) >= LATE_SECONDS * 1000000000LL;
}

const char ins_options[] =
    "  --json               print the result as JSON\n"
    "  --socket PATH        socket of the daemon (default: the search order of libtorus(3))\n";

int ins_ask(const char *name, int argc, char **argv, ins_print_fn *print)
{
    const char *socket = NULL;
    bool as_json = false;
    int code = EXIT_WELL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            as_json = true;
        else if (strcmp(argv[i], "--socket") == 0 && i + 1 < argc)
            socket = argv[++i];
        else
            return ctl_usage(name, ctl_no_option(argv[i]));
    }
    torus_context *c = ctl_open(socket, &code);
    if (!c)
        return code;
    json_t *all = ins_collect(c);
    if (all) {
        print(c, all, as_json);
    } else {
        fprintf(stderr, "torusctl %s: %s\n", name, torus_last_error(c));
        code = EXIT_FAILED;
    }
    json_decref(all);
    torus_close(c);
    return code;
}
