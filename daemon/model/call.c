/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"

#include <stdio.h>

#include "plan_call.h"

/* Properties that an operator needs of a type. */
enum { NUMBERS = 1, ORDER = 2, BITS = 4, PAIRS = 8 };

static const struct {
    const char *name;
    uint8_t bytes;
    uint8_t alignment; /* alignment of the numbers in it */
    uint8_t has;
} types[TD_TYPE_MAX] = {
    [TD_TYPE_NONE] = {"none", 0, 1, 0},
    [TD_TYPE_BYTE] = {"byte", 1, 1, BITS},
    [TD_TYPE_INT8] = {"int8", 1, 1, NUMBERS | ORDER | BITS},
    [TD_TYPE_INT16] = {"int16", 2, 2, NUMBERS | ORDER | BITS},
    [TD_TYPE_INT32] = {"int32", 4, 4, NUMBERS | ORDER | BITS},
    [TD_TYPE_INT64] = {"int64", 8, 8, NUMBERS | ORDER | BITS},
    [TD_TYPE_UINT8] = {"uint8", 1, 1, NUMBERS | ORDER | BITS},
    [TD_TYPE_UINT16] = {"uint16", 2, 2, NUMBERS | ORDER | BITS},
    [TD_TYPE_UINT32] = {"uint32", 4, 4, NUMBERS | ORDER | BITS},
    [TD_TYPE_UINT64] = {"uint64", 8, 8, NUMBERS | ORDER | BITS},
    [TD_TYPE_HALF] = {"half", 2, 2, NUMBERS | ORDER},
    [TD_TYPE_BFLOAT16] = {"bfloat16", 2, 2, NUMBERS | ORDER},
    [TD_TYPE_FLOAT] = {"float", 4, 4, NUMBERS | ORDER},
    [TD_TYPE_DOUBLE] = {"double", 8, 8, NUMBERS | ORDER},
    [TD_TYPE_LONG_DOUBLE] = {"long double", 16, 16, NUMBERS | ORDER},
    [TD_TYPE_COMPLEX_FLOAT] = {"complex float", 8, 4, NUMBERS},
    [TD_TYPE_COMPLEX_DOUBLE] = {"complex double", 16, 8, NUMBERS},
    [TD_TYPE_INT32_INT] = {"int32 and place", 8, 4, PAIRS},
    [TD_TYPE_INT64_INT] = {"int64 and place", 16, 8, PAIRS},
    [TD_TYPE_FLOAT_INT] = {"float and place", 8, 4, PAIRS},
    [TD_TYPE_DOUBLE_INT] = {"double and place", 16, 8, PAIRS},
    [TD_TYPE_INT16_INT] = {"int16 and place", 8, 4, PAIRS},
    [TD_TYPE_LONG_DOUBLE_INT] = {"long double and place", 32, 16, PAIRS},
    [TD_TYPE_BOOL] = {"bool", 1, 1, BITS},
};
static const struct {
    const char *name;
    uint8_t needs;
} ops[TD_OP_END] = {
    [TD_OP_NONE] = {"none", 0},          [TD_OP_SUM] = {"sum", NUMBERS},
    [TD_OP_MIN] = {"min", ORDER},        [TD_OP_MAX] = {"max", ORDER},
    [TD_OP_PROD] = {"product", NUMBERS}, [TD_OP_BAND] = {"bitwise and", BITS},
    [TD_OP_BOR] = {"bitwise or", BITS},  [TD_OP_BXOR] = {"bitwise xor", BITS},
    [TD_OP_LAND] = {"and", BITS},        [TD_OP_LOR] = {"or", BITS},
    [TD_OP_LXOR] = {"xor", BITS},        [TD_OP_MINLOC] = {"minloc", PAIRS},
    [TD_OP_MAXLOC] = {"maxloc", PAIRS},
};

/* Properties of a kind. */
enum { REDUCES = 1, PARTS = 2, ROOTED = 4, MOVES = 8 };

/* Size of a rank's buffer. */
enum extent { NOTHING, ONE, ALL, ONE_AT_ROOT, ALL_AT_ROOT };

static const struct {
    const char *name;
    uint8_t is;
    uint8_t source, destination; /* enum extent */
} kinds[TD_KIND_MAX] = {
    [0] = {"none", 0, NOTHING, NOTHING},
    [TD_KIND_BARRIER] = {"barrier", 0, NOTHING, NOTHING},
    [TD_KIND_BROADCAST] = {"broadcast", MOVES | ROOTED, ONE, ONE},
    [TD_KIND_ALLREDUCE] = {"allreduce", MOVES | REDUCES, ONE, ONE},
    [TD_KIND_ALLTOALL] = {"alltoall", MOVES, ALL, ALL},
    [TD_KIND_PLAN_FFT] = {"plan_fft", 0, NOTHING, NOTHING},
    [TD_KIND_FFT] = {"fft", 0, NOTHING, NOTHING},
    [TD_KIND_REDUCE] = {"reduce", MOVES | REDUCES | ROOTED, ONE, ONE_AT_ROOT},
    [TD_KIND_REDUCE_SCATTER] = {"reduce_scatter", MOVES | REDUCES, ALL, ONE},
    [TD_KIND_SCAN] = {"scan", MOVES | REDUCES, ONE, ONE},
    [TD_KIND_EXSCAN] = {"exscan", MOVES | REDUCES, ONE, ONE},
    [TD_KIND_PREFIX] = {"prefix", MOVES | REDUCES, ONE, ALL},
    [TD_KIND_GATHER] = {"gather", MOVES | ROOTED, ONE, ALL_AT_ROOT},
    [TD_KIND_SCATTER] = {"scatter", MOVES | ROOTED, ALL_AT_ROOT, ONE},
    [TD_KIND_ALLGATHER] = {"allgather", MOVES, ONE, ALL},
    [TD_KIND_ALLTOALLV] = {"alltoallv", MOVES | PARTS, NOTHING, NOTHING},
    [TD_KIND_GATHERV] = {"gatherv", MOVES | PARTS | ROOTED, NOTHING, NOTHING},
    [TD_KIND_SCATTERV] = {"scatterv", MOVES | PARTS | ROOTED, NOTHING, NOTHING},
    [TD_KIND_ALLGATHERV] = {"allgatherv", MOVES | PARTS, NOTHING, NOTHING},
    [TD_KIND_NEIGHBOUR_ALLTOALLV] = {"neighbour_alltoallv", MOVES | PARTS, NOTHING, NOTHING},
    [TD_KIND_REDUCE_SCATTERV] = {"reduce_scatterv", MOVES | REDUCES | PARTS, NOTHING, NOTHING},
    [TD_KIND_PLAN_REDIST] = {"plan_redist", 0, NOTHING, NOTHING},
    [TD_KIND_REDIST] = {"redist", 0, NOTHING, NOTHING},
};

static bool kind_is(unsigned kind, unsigned properties)
{
    return kind < TD_KIND_MAX && (kinds[kind].is & properties);
}

bool td_call_reduces(unsigned kind)
{
    return kind_is(kind, REDUCES);
}

bool td_call_has_counts(unsigned kind)
{
    return kind_is(kind, PARTS);
}

bool td_call_rooted(unsigned kind)
{
    return kind_is(kind, ROOTED);
}

bool td_call_plans(unsigned kind)
{
    return kind == TD_KIND_PLAN_FFT || kind == TD_KIND_PLAN_REDIST;
}

bool td_call_executes(unsigned kind)
{
    return kind == TD_KIND_FFT || kind == TD_KIND_REDIST;
}

static uint64_t extent_bytes(enum extent extent, uint64_t bytes, uint32_t size, bool at_root)
{
    switch (extent) {
    case ONE:
        return bytes;
    case ALL:
        return bytes * size;
    case ONE_AT_ROOT:
        return at_root ? bytes : 0;
    case ALL_AT_ROOT:
        return at_root ? bytes * size : 0;
    case NOTHING:
        break;
    }
    return 0;
}

void td_call_bytes(const struct td_call *call, uint32_t size, uint32_t rank, uint64_t *source,
                   uint64_t *destination)
{
    uint64_t bytes = call->count * td_type_bytes(call->type);
    bool at_root = rank == call->root;
    *source = extent_bytes((enum extent)kinds[call->kind].source, bytes, size, at_root);
    *destination = extent_bytes((enum extent)kinds[call->kind].destination, bytes, size, at_root);
}

bool td_op_accepts(unsigned op, unsigned type)
{
    return op > TD_OP_NONE && op < TD_OP_END && type < TD_TYPE_MAX &&
           (types[type].has & ops[op].needs);
}

size_t td_type_bytes(unsigned type)
{
    return type < TD_TYPE_MAX ? types[type].bytes : 0;
}

size_t td_call_alignment(unsigned kind, unsigned type)
{
    if ((!kind_is(kind, REDUCES) && kind != TD_KIND_FFT) || type >= TD_TYPE_MAX)
        return 1;
    return types[type].alignment;
}

const char *td_type_name(unsigned type)
{
    return type < TD_TYPE_MAX ? types[type].name : "unknown type";
}

const char *td_op_name(unsigned op)
{
    return op < TD_OP_END ? ops[op].name : "unknown operator";
}

const char *td_kind_name(unsigned kind)
{
    return kind < TD_KIND_MAX ? kinds[kind].name : "unknown operation";
}

static const char *check_reduction(const struct td_call *call)
{
    if (call->op == TD_OP_NONE || call->op >= TD_OP_END)
        return "the operator is unknown";
    if (call->mode >= TD_REPRODUCIBLES)
        return "the reproducible mode is unknown";
    if (td_op_accepts(call->op, call->type))
        return NULL;
    switch ((int)ops[call->op].needs) {
    case BITS:
        return "this operator combines only bools, integers and bytes";
    case PAIRS:
        return "this operator combines only values with an index";
    case ORDER:
        return "this operator combines only ordered types: integers and floating point";
    default:
        return "this operator combines only numbers";
    }
}

static const char *const NO_ROOT = "the root is not a rank of the group";

/* may_lack_data returns true if a rank may call the kind without data, and so without a type. */
static bool may_lack_data(unsigned kind)
{
    return kind_is(kind, PARTS) && !kind_is(kind, REDUCES);
}

const char *td_call_check(const struct td_call *call, uint32_t size)
{
    if (call->kind == 0 || call->kind >= TD_KIND_MAX)
        return "the kind of operation is unknown";
    if (!kind_is(call->kind, MOVES))
        return NULL;
    if (call->type == TD_TYPE_NONE && may_lack_data(call->kind))
        return kind_is(call->kind, ROOTED) && call->root >= size ? NO_ROOT : NULL;
    if (td_type_bytes(call->type) == 0)
        return "the element type is unknown";
    bool all = kinds[call->kind].source == ALL || kinds[call->kind].destination == ALL ||
               kinds[call->kind].source == ALL_AT_ROOT ||
               kinds[call->kind].destination == ALL_AT_ROOT;
    if (call->count > (uint64_t)INT64_MAX / td_type_bytes(call->type) / (all ? size : 1))
        return "the count overflows 63 bits of bytes";
    if (kind_is(call->kind, ROOTED) && call->root >= size)
        return NO_ROOT;
    return kind_is(call->kind, REDUCES) ? check_reduction(call) : NULL;
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

int td_call_compare(const struct td_call *a, const struct td_call *b)
{
    if (a->kind != b->kind)
        return compare(a->kind, b->kind);
    if (a->type != b->type)
        return compare(a->type, b->type);
    if (a->op != b->op)
        return compare(a->op, b->op);
    if (a->mode != b->mode)
        return compare(a->mode, b->mode);
    if (a->root != b->root)
        return compare(a->root, b->root);
    if (a->count != b->count)
        return compare(a->count, b->count);
    if (a->plan != b->plan)
        return compare(a->plan, b->plan);
    return compare(a->digest, b->digest);
}

uint64_t td_call_digest(unsigned kind, uint64_t hash)
{
    return hash << 8 | (kind & 0xff);
}

/* The digest of an exchange has 8 bits of its kind, 32 of the grid and 24 of the types. */
enum { GRID_BITS = 32, TYPES_SHIFT = 8 + GRID_BITS };

uint64_t td_call_digest_exchange(unsigned kind, uint64_t grid, uint64_t elements)
{
    uint64_t folded = elements ^ elements >> 24 ^ elements >> 48; /* its lowest 24 bits count */
    return td_call_digest(kind, folded << GRID_BITS | (grid & UINT32_MAX));
}

/* is_exchange returns true for the digest of an exchange that compares the types. */
static bool is_exchange(uint64_t digest)
{
    unsigned kind = digest & 0xff;
    return kind == TD_KIND_NEIGHBOUR_ALLTOALLV || kind == TD_DIGEST_NEIGHBOUR_ALLGATHERV ||
           kind == TD_DIGEST_GRAPH_ALLTOALLV || kind == TD_DIGEST_GRAPH_ALLGATHERV;
}

uint64_t td_call_digest_without_types(uint64_t digest)
{
    unsigned kind = digest & 0xff;
    if (kind == TD_DIGEST_TYPES || kind == TD_DIGEST_NAMES)
        return 0;
    return is_exchange(digest) ? digest & (((uint64_t)1 << TYPES_SHIFT) - 1) : digest;
}

void td_call_adopt(struct td_call *call, const struct td_call *other)
{
    if (call->type != TD_TYPE_NONE || call->kind != other->kind || !may_lack_data(call->kind) ||
        td_call_digest_without_types(call->digest) != td_call_digest_without_types(other->digest))
        return;
    call->type = other->type;
    call->digest = other->digest;
}

enum { TYPES_TEXT_MAX = 100, NAME_BITS = 5 }; /* of a type in a digest; 0 ends the sequence */
_Static_assert(TD_TYPE_MAX <= 1 << NAME_BITS && TD_DIGEST_NAMES_MAX * NAME_BITS <= 56,
               "a digest holds the types");

uint64_t td_call_digest_names(const uint8_t *element, size_t count)
{
    uint64_t names = 0;
    for (size_t i = count; i-- > 0;)
        names = names << NAME_BITS | element[i];
    return td_call_digest(TD_DIGEST_NAMES, names);
}

/* has_types returns true if the elements of a call have several types. */
static bool has_types(const struct td_call *call)
{
    unsigned kind = call->digest & 0xff;
    return kind == TD_DIGEST_TYPES || kind == TD_DIGEST_NAMES;
}

/* print_types writes the types of the elements of a call. */
static void print_types(const struct td_call *call, char *text, size_t size)
{
    uint64_t names = call->digest >> 8;
    size_t length = 0;
    if (call->type == TD_TYPE_NONE) {
        snprintf(text, size, "no data");
    } else if (!has_types(call)) {
        snprintf(text, size, "%s", td_type_name(call->type));
    } else if ((call->digest & 0xff) == TD_DIGEST_TYPES) {
        snprintf(text, size, "several types %08x", (unsigned)names);
    } else {
        for (; names && length < size; names >>= NAME_BITS)
            length += (size_t)snprintf(text + length, size - length, "%s%s%s", length ? ", " : "(",
                                       td_type_name(names & ((1 << NAME_BITS) - 1)),
                                       names >> NAME_BITS ? "" : ")");
    }
}

/* print_digest returns the name of the call behind a digest of the library, and writes to `more`
 * what else must agree. */
static const char *print_digest(const struct td_call *call, char *more, size_t size)
{
    enum { FIRST = TD_DIGEST_GRAPH_ALLGATHERV };
    static const char *const behalf[] = {
        [TD_DIGEST_SPLIT - FIRST] = "split",
        [TD_DIGEST_ALLTOALLW - FIRST] = "alltoallw",
        [TD_DIGEST_NEIGHBOUR_ALLTOALLW - FIRST] = "neighbour_alltoallw",
        [TD_DIGEST_NEIGHBOUR_ALLGATHERV - FIRST] = "neighbour_allgatherv",
        [TD_DIGEST_GRAPH_ALLTOALLV - FIRST] = "graph_alltoallv",
        [TD_DIGEST_GRAPH_ALLTOALLW - FIRST] = "graph_alltoallw",
        [TD_DIGEST_GRAPH_ALLGATHERV - FIRST] = "graph_allgatherv",
    };
    unsigned kind = call->digest & 0xff, hash = (unsigned)(call->digest >> 8);
    more[0] = '\0';
    if (call->digest == 0 || has_types(call))
        return td_kind_name(call->kind);
    bool served = kind >= FIRST, exchange = is_exchange(call->digest);
    unsigned elements = exchange ? (unsigned)(call->digest >> TYPES_SHIFT) : 0;
    size_t length = 0;
    if (hash)
        length = (size_t)snprintf(more, size, ", %s %08x",
                                  kind_is(kind, REDUCES) ? "user-defined operator" : "grid", hash);
    if (elements)
        snprintf(more + length, size - length, ", types %06x", elements);
    return served ? behalf[kind - FIRST] : td_kind_name(kind);
}

/* has_operator returns true for a reduction by a user-defined operator. */
static bool has_operator(const struct td_call *call)
{
    return call->digest && !has_types(call) && kind_is(call->digest & 0xff, REDUCES);
}

const char *td_call_operator_difference(const struct td_call *a, const struct td_call *b)
{
    return has_operator(a) && has_operator(b) && a->digest >> 8 != b->digest >> 8
               ? "the name, the element size or the commutativity of the operators differs"
               : NULL;
}

int td_call_print(const struct td_call *call, char *text, size_t size)
{
    static const char *const modes[TD_REPRODUCIBLES] = {"", ", same placement", ", any placement"};
    const char *kind = td_kind_name(call->kind);
    if (td_call_plans(call->kind))
        return td_plan_call_print(call, text, size);
    if (td_call_executes(call->kind))
        return snprintf(text, size, "%s(plan %llu)", kind, (unsigned long long)call->plan);
    if (!kind_is(call->kind, MOVES))
        return snprintf(text, size, "%s", kind);
    char root[32] = "", count[48] = "", more[48], elements[TYPES_TEXT_MAX];
    kind = print_digest(call, more, sizeof more);
    if (kind_is(call->kind, ROOTED))
        snprintf(root, sizeof root, ", root %u", call->root);
    if (!kind_is(call->kind, PARTS))
        snprintf(count, sizeof count, ", %llu%s%s", (unsigned long long)call->count,
                 has_types(call) ? " bytes" : "", call->kind == TD_KIND_ALLTOALL ? " a pair" : "");
    print_types(call, elements, sizeof elements);
    bool reduces = kind_is(call->kind, REDUCES);
    return snprintf(text, size, "%s(%s%s%s%s%s%s%s)", kind, reduces ? td_op_name(call->op) : "",
                    reduces ? ", " : "", elements, count, root,
                    reduces && call->mode < TD_REPRODUCIBLES ? modes[call->mode] : "", more);
}
