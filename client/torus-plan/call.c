/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "call_print.h"
#include "collectives/cost/bound.h"
#include "collectives/select.h"
#include "model/planes_call.h"
#include "tool/tool.h"
#include "system/limits.h"

enum { LOAD_SENDS_MAX = 1 << 22 }; /* sends of all nodes: with more, links are not examined */

/* ---- options ---- */

/* kind_of returns the kind of an operation, or 0 if the name is unknown or explained by other
 * files. */
static uint8_t kind_of(const char *name)
{
    for (unsigned kind = TD_KIND_BARRIER; kind < TD_KIND_MAX; kind++) {
        bool has_counts = td_call_has_counts(kind) && kind != TD_KIND_ALLTOALLV;
        bool other = kind == TD_KIND_PLAN_FFT || kind == TD_KIND_FFT || kind == TD_KIND_ALLTOALL;
        if (!has_counts && !other && strcmp(name, td_kind_name(kind)) == 0)
            return (uint8_t)kind;
    }
    return 0;
}

bool explain_call_known(const char *name)
{
    return kind_of(name) != 0;
}

/* named returns true if a value is a name; the value may have - for a space. */
static bool named(const char *value, const char *name)
{
    size_t i = 0;
    for (; name[i]; i++)
        if (value[i] != name[i] && !(name[i] == ' ' && value[i] == '-'))
            return false;
    return value[i] == '\0';
}

static const char *take_type(struct explain_call *q, const char *value)
{
    for (unsigned type = TD_TYPE_NONE + 1; type < TD_TYPE_MAX; type++)
        if (named(value, td_type_name(type))) {
            q->call.type = (uint8_t)type;
            return NULL;
        }
    return "--type must be a type, such as double, int32 or complex-float";
}

static const char *take_op(struct explain_call *q, const char *value)
{
    for (unsigned op = TD_OP_NONE + 1; op < TD_OP_END; op++)
        if (named(value, td_op_name(op))) {
            q->call.op = (uint8_t)op;
            return td_call_reduces(q->call.kind) ? NULL : "--op applies to reductions only";
        }
    return "--op must be an operator, such as sum, max or bitwise-and";
}

static const char *take_method(struct explain_call *q, const char *value)
{
    static const char *const prefix[] = {"auto", "stream", "gather", "round-trips", NULL};
    static const char *const tree[] = {"auto",     "links", "planes", "binary",
                                       "binomial", "chain", NULL};
    static const char *const rings[] = {"auto", "bucket", "swing", "swing-whole", NULL};
    struct td_tuning *t = &q->machine.settings.tuning;
    switch (q->call.kind) {
    case TD_KIND_ALLREDUCE:
    case TD_KIND_REDUCE_SCATTER:
    case TD_KIND_ALLGATHER:
        return explain_word(value, rings, &t->rings) ? NULL
                                                     : "--method must be auto, bucket or swing; "
                                                       "for allreduce also swing-whole";
    case TD_KIND_ALLTOALLV:
        return explain_alltoall_method(value, &t->alltoall);
    case TD_KIND_PREFIX:
        return explain_word(value, prefix, &t->prefix)
                   ? NULL
                   : "--method of a prefix must be auto, stream, gather or round-trips";
    case TD_KIND_BROADCAST:
    case TD_KIND_REDUCE:
    case TD_KIND_GATHER:
    case TD_KIND_SCATTER:
        return explain_word(value, tree, &t->rooted_tree)
                   ? NULL
                   : "--method of a rooted call must be auto, links, planes, binary, "
                     "binomial or chain";
    default:
        return "this operation has one method: it accepts no --method";
    }
}

static const char *take(void *me, const char *name, const char *value)
{
    struct explain_call *q = me;
    uint64_t n = 0;
    char *end = NULL;
    if (strcmp(name, "--method") == 0)
        return take_method(q, value);
    if (strcmp(name, "--bytes") == 0)
        return explain_size(value, 1, (uint64_t)1 << 32, &q->bytes) ? NULL
                                                                    : "--bytes must be 1 to 4G";
    if (strcmp(name, "--type") == 0)
        return take_type(q, value);
    if (strcmp(name, "--op") == 0)
        return take_op(q, value);
    if (strcmp(name, "--mode") == 0)
        return explain_word(value, (const char *const[]){"off", "same", "any", NULL}, &q->call.mode)
                   ? NULL
                   : "--mode must be off, same or any";
    if (strcmp(name, "--root") == 0) {
        bool good = explain_size(value, 0, TD_JOB_RANKS_MAX, &n);
        q->call.root = (uint32_t)n;
        return !td_call_rooted(q->call.kind) ? "this operation has no root"
               : good                        ? NULL
                                             : "--root must be a rank";
    }
    if (strcmp(name, "--ranks-per-node") == 0) {
        bool good = explain_size(value, 1, TD_NODE_RANKS_MAX, &n);
        q->ranks_per_node = (uint32_t)n;
        return good ? NULL : "--ranks-per-node must be 1 to 1024";
    }
    if (strcmp(name, "--spread") == 0) {
        q->spread = strtod(value, &end);
        return q->call.kind != TD_KIND_ALLTOALLV ? "--spread applies to alltoallv only"
               : end != value && !*end && q->spread >= 0 && q->spread <= 1
                   ? NULL
                   : "--spread must be 0 to 1";
    }
    return tool_no_option(name);
}

static const char *parse(struct explain_call *q, int argc, char **argv)
{
    bool reduces = td_call_reduces(q->call.kind);
    q->call.type = reduces ? TD_TYPE_DOUBLE : TD_TYPE_BYTE;
    q->call.op = reduces ? TD_OP_SUM : TD_OP_NONE;
    q->ranks_per_node = 1;
    q->spread = 0.5;
    const char *why = explain_options(&q->machine, argc, argv, take, q);
    if (why)
        return why;
    if (q->bytes == 0)
        q->bytes = 1 << 16;
    uint64_t size = (uint64_t)q->machine.topology.nodes * q->ranks_per_node;
    size_t element = td_type_bytes(q->call.type);
    if (size > TD_JOB_RANKS_MAX)
        return "a job can have at most 16384 ranks";
    if (q->bytes % element)
        return "--bytes must be a multiple of the type's size";
    q->size = (uint32_t)size;
    if (q->call.kind == TD_KIND_BARRIER) {
        q->call.type = TD_TYPE_NONE;
        q->bytes = 0;
    } else if (!td_call_has_counts(q->call.kind)) {
        q->call.count = q->bytes / element;
    }
    return td_call_check(&q->call, q->size);
}

/* ---- the program ---- */

/* part_elements returns the elements from rank i to rank j, spread around the mean. */
static uint64_t part_elements(const struct explain_call *q, uint64_t i, uint64_t j)
{
    uint64_t x = (i << 32 | j) + q->machine.seed * 0x9e3779b97f4a7c15u;
    double at = (double)(td_hash_mix(x) >> 11) / (double)((uint64_t)1 << 53); /* 0 to 1 */
    double mean = (double)q->bytes / (double)td_type_bytes(q->call.type);
    return (uint64_t)(mean * (1 + q->spread * (2 * at - 1)) + 0.5);
}

/* take_survey computes the survey of all units, as the nodes do together. */
static void take_survey(struct explain_call *q)
{
    uint64_t element = td_type_bytes(q->call.type);
    uint32_t each = q->ranks_per_node;
    for (uint32_t from = 0; from < q->group.slots; from++)
        for (uint32_t to = 0; to < q->group.slots; to++) {
            uint64_t unit = 0;
            for (uint32_t i = 0; from != to && i < each * each; i++)
                unit += element * part_elements(q, from * each + i / each, to * each + i % each);
            q->survey.total += unit;
            q->survey.most = unit > q->survey.most ? unit : q->survey.most;
        }
}

static bool fill_counts(struct explain_call *q, struct td_counts *counts, uint32_t slot)
{
    uint64_t need = 0;
    if (!td_counts_build(counts, q->arena, &q->group, slot))
        return false;
    for (uint32_t local = 0; local < counts->ranks; local++)
        for (unsigned destination = 0; destination < 2; destination++) {
            uint32_t rank = td_group_rank(&q->group, slot, local);
            for (uint32_t other = 0; other < q->size; other++)
                q->count[other] =
                    destination ? part_elements(q, other, rank) : part_elements(q, rank, other);
            struct td_rank_counts of_rank = {.count = q->count, .counts = q->size};
            if (td_counts_set(counts, local, destination, &of_rank, td_type_bytes(q->call.type),
                              &need))
                return false;
        }
    return true;
}

/* compile_slot compiles a node's program as its daemon would. The caller frees the counts. */
static bool compile_slot(struct explain_call *q, uint32_t slot, struct td_counts *counts,
                         struct td_program *out, char *reason, size_t room)
{
    bool has_counts = td_call_has_counts(q->call.kind);
    if (has_counts && !fill_counts(q, counts, slot))
        return false;
    struct td_compile_input in = {.call = &q->call,
                                  .seed = q->machine.seed,
                                  .group = &q->group,
                                  .tree = &q->tree,
                                  .slot = slot,
                                  .topology = &q->machine.topology,
                                  .counts = has_counts ? counts : NULL,
                                  .survey = has_counts ? &q->survey : NULL,
                                  .tuning = &q->machine.settings.tuning};
    td_select_compile(&in, out);
    if (reason) {
        td_select_explain(&in, reason, room);
        explain_candidates_of(&in, &q->candidates);
    }
    return true;
}

/* load_links finds the busiest link, if that does not take long. */
static bool load_links(struct explain_call *q)
{
    const struct td_topology *t = &q->machine.topology;
    bool routed = q->machine.settings.tuning.fabric == TD_FABRIC_ROUTED;
    if (!routed || explain_sends(&q->program) > LOAD_SENDS_MAX / q->group.slots)
        return true;
    size_t links = (size_t)t->nodes * t->dimensions * 2;
    uint64_t *load2 = calloc(links, sizeof *load2);
    bool good = load2 != NULL;
    uint64_t sends = 0;
    for (uint32_t slot = 0; good && slot < q->group.slots && sends <= LOAD_SENDS_MAX; slot++) {
        static struct td_program program;
        struct td_counts counts = {0};
        good = compile_slot(q, slot, &counts, &program, NULL, 0);
        sends += good ? explain_sends(&program) : 0;
        if (good && sends <= LOAD_SENDS_MAX)
            explain_load(&program, load2);
        td_counts_free(&counts, q->arena);
    }
    for (size_t i = 0; good && sends <= LOAD_SENDS_MAX && i < links; i++)
        if (load2[i] / 2 > q->busiest.bytes)
            q->busiest = (struct explain_busiest){.node = (uint32_t)(i / 2 / t->dimensions),
                                                  .dimension = (uint32_t)(i / 2 % t->dimensions),
                                                  .sign = i % 2 ? -1 : 1,
                                                  .bytes = load2[i] / 2};
    free(load2);
    return good;
}

/* bound_bytes returns the bytes of a node's ranks together, as the bound counts them. */
static uint64_t bound_bytes(const struct explain_call *q)
{
    switch (q->call.kind) {
    case TD_KIND_BROADCAST:
    case TD_KIND_REDUCE:
    case TD_KIND_ALLREDUCE:
    case TD_KIND_SCAN:
    case TD_KIND_EXSCAN:
        return q->bytes;
    case TD_KIND_ALLTOALLV:
        return q->bytes * q->ranks_per_node * q->ranks_per_node;
    default:
        return q->bytes * q->ranks_per_node;
    }
}

static bool compile(struct explain_call *q)
{
    const struct td_topology *t = &q->machine.topology;
    bool routed = q->machine.settings.tuning.fabric == TD_FABRIC_ROUTED;
    bool has_counts = td_call_has_counts(q->call.kind);
    uint32_t *rank_node = calloc(q->size, sizeof *rank_node);
    size_t counts_bytes = has_counts ? (size_t)q->size * q->ranks_per_node * 256 : 0;
    q->count = calloc(q->size, sizeof *q->count);
    q->arena = td_arena_create((size_t)t->nodes * 2048 + counts_bytes + (1 << 20));
    for (uint32_t r = 0; rank_node && r < q->size; r++)
        rank_node[r] = r / q->ranks_per_node;
    bool good = rank_node && q->count && q->arena &&
                td_group_build(&q->group, q->arena, rank_node, q->size) == TD_OK;
    free(rank_node);
    if (!good || (routed ? td_planes_of_call(&q->tree, q->arena, t, &q->group, &q->call)
                         : td_tree_heap(&q->tree, q->arena, q->group.slots)) != TD_OK)
        return false;
    if (has_counts)
        take_survey(q);
    q->bound =
        td_bound_slots(t, q->call.kind, bound_bytes(q), t->nodes, q->machine.settings.packet_bytes);
    return compile_slot(q, td_group_slot(&q->group, q->machine.node), &q->counts, &q->program,
                        q->reason, sizeof q->reason) &&
           explain_traffic_of(&q->program, &q->traffic) && load_links(q);
}

int explain_call(int argc, char **argv)
{
    static struct explain_call q;
    q = (struct explain_call){0};
    explain_machine_default(&q.machine);
    q.call.kind = kind_of(argv[1]);
    const char *wrong = parse(&q, argc, argv);
    if (wrong)
        return tool_usage(NULL, wrong);
    bool good = compile(&q);
    if (!good)
        fprintf(stderr, "torus-plan: %s\n", td_limit_no_memory("this machine"));
    else if (q.machine.as_json)
        explain_call_json(&q);
    else
        explain_call_print(&q);
    explain_traffic_free(&q.traffic);
    free(q.count);
    td_arena_destroy(q.arena);
    return good ? EXIT_WELL : EXIT_FAILED;
}
