/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "collectives/redist/redist_schedule.h"
#include "system/written.h"

static const char usage[] =
    "usage: torus-sim COLLECTIVE --shape SHAPE [OPTION]...\n"
    "Simulates a collective on a torus with one rank per node. A packet takes one slot on a link.\n"
    "COLLECTIVE is one of: alltoall alltoallv allreduce broadcast reduce reduce_scatter scan "
    "exscan\n"
    "prefix gather scatter allgather barrier redist fft.\n"
    "\n"
    "  --shape SHAPE          8x8x8; a trailing m makes a dimension a mesh: 8x8x16m\n"
    "  --mesh                 all dimensions are meshes\n"
    "  --method NAME          auto (the default); all-to-alls: random, phased, pairwise, "
    "two-phase;\n"
    "                         prefix: stream, gather, round-trips;\n"
    "                         rooted calls: links, planes, binary, binomial;\n"
    "                         allreduce, reduce_scatter, allgather: bucket, swing; allreduce:\n"
    "                         swing-whole\n"
    "  --bytes M              size of the message per pair, of each rank's part, or of the vector\n"
    "                         (K, M, G for powers of 1024)\n"
    "  --packets N            the same in packets (default 1)\n"
    "  --spread F             alltoallv: sizes are M times 1 - F to 1 + F (default 0.5)\n"
    "  --root R               root rank (default 0)\n"
    "  --from LAYOUT, --to LAYOUT\n"
    "                         redist: such as 'cyclic(2)@0-27' and 'cyclic(28)@28-63'; fft:\n"
    "                         such as '(block, *)' (the default)\n"
    "  --grid AxB             fft: the grid of nodes between the stages\n"
    "  --elements N           redist, fft: size of the array, 1000000 or 4000x3000; --bytes "
    "is\n"
    "                         the size of an element (default 8)\n"
    "  --schedule NAME        redist: auto, circulant, colouring, classes, matching, caterpillar\n"
    "  --group SET            all, random:0.6 (a connected share), nodes:0-5,9, file:NAME\n"
    "  --packet B             payload of a packet (default 1K)\n"
    "  --seed S               seed of all random choices (default 1)\n"
    "  --parts N              phased: parts of the data, 1, or 0 for one per dimension (default "
    "0)\n"
    "  --gap on|off           phased: pauses that keep packets from meeting (default on)\n"
    "  --barrier hop|phase|none\n"
    "                         phased: when the nodes synchronize (default hop)\n"
    "  --barrier-scope ring|all\n"
    "                         phased: which nodes synchronize (default ring)\n"
    "  --order random|number  random: order of destinations (default random)\n"
    "  --burst N              random: packets for one destination before the next (default 1)\n"
    "  --slots N              slots of an input channel (default 4)\n"
    "  --arbitration transit|injection|none\n"
    "                         which packets have priority (default transit)\n"
    "  --straight N           packets that keep their direction have priority every N turns\n"
    "                         (default 2)\n"
    "  --escape-only          no adaptive channels\n"
    "  --no-bubble            let a packet enter an escape ring with only one free slot there,\n"
    "                         not two: this may deadlock\n"
    "  --latency N            latency of a link in slots, added to the one slot of the packet\n"
    "                         itself (default 0)\n"
    "  --control N            slots that a control message takes per hop (default 1); 0: all "
    "nodes\n"
    "                         start at the same time\n"
    "  --json                 print the result as JSON\n"
    "  --plot FILE.svg        draw the load of the links over time\n"
    "  --trace FILE           write one line for every event\n"
    "  --help, --version\n";

enum option_name {
    SHAPE = 256,
    MESH,
    METHOD,
    BYTES,
    PACKETS,
    SPREAD,
    ROOT,
    FROM,
    TO,
    ELEMENTS,
    GRID,
    SCHEDULE,
    GROUP,
    PACKET,
    SEED,
    PARTS,
    GAP,
    BARRIER,
    SCOPE,
    ORDER,
    BURST,
    SLOTS,
    ARBITRATION,
    STRAIGHT,
    ESCAPE_ONLY,
    NO_BUBBLE,
    LATENCY,
    CONTROL,
    JSON,
    PLOT,
    TRACE,
    HELP,
    VERSION
};

static const struct option option_names[] = {
    {"shape", 1, 0, SHAPE},
    {"mesh", 0, 0, MESH},
    {"method", 1, 0, METHOD},
    {"bytes", 1, 0, BYTES},
    {"packets", 1, 0, PACKETS},
    {"spread", 1, 0, SPREAD},
    {"root", 1, 0, ROOT},
    {"from", 1, 0, FROM},
    {"to", 1, 0, TO},
    {"elements", 1, 0, ELEMENTS},
    {"grid", 1, 0, GRID},
    {"schedule", 1, 0, SCHEDULE},
    {"group", 1, 0, GROUP},
    {"packet", 1, 0, PACKET},
    {"seed", 1, 0, SEED},
    {"parts", 1, 0, PARTS},
    {"gap", 1, 0, GAP},
    {"barrier", 1, 0, BARRIER},
    {"barrier-scope", 1, 0, SCOPE},
    {"order", 1, 0, ORDER},
    {"burst", 1, 0, BURST},
    {"slots", 1, 0, SLOTS},
    {"arbitration", 1, 0, ARBITRATION},
    {"straight", 1, 0, STRAIGHT},
    {"escape-only", 0, 0, ESCAPE_ONLY},
    {"no-bubble", 0, 0, NO_BUBBLE},
    {"latency", 1, 0, LATENCY},
    {"control", 1, 0, CONTROL},
    {"json", 0, 0, JSON},
    {"plot", 1, 0, PLOT},
    {"trace", 1, 0, TRACE},
    {"help", 0, 0, HELP},
    {"version", 0, 0, VERSION},
    {0, 0, 0, 0},
};

static bool complain(const char *option, const char *value, const char *expected)
{
    fprintf(stderr, "torus-sim: --%s %s: expected %s\n", option, value, expected);
    return false;
}

/* number reads 4096, 4K or 1M. It returns true if the number is within bounds. */
static bool number(const char *option, const char *value, uint64_t least, uint64_t most,
                   uint64_t *out)
{
    char expected[80];
    if (td_quantity_parse(value, out) && *out >= least && *out <= most)
        return true;
    snprintf(expected, sizeof expected, "a number from %llu to %llu", (unsigned long long)least,
             (unsigned long long)most);
    return complain(option, value, expected);
}

/* choice finds a value in a list of words, such as "transit injection none", and writes its index.
 */
static bool choice(const char *option, const char *value, const char *words, unsigned *out)
{
    size_t length = strlen(value);
    unsigned place = 0;
    for (const char *w = words; w && *w; place++) {
        size_t size = strcspn(w, " ");
        if (size == length && memcmp(w, value, length) == 0) {
            *out = place;
            return true;
        }
        w += size + (w[size] == ' ');
    }
    char expected[200];
    snprintf(expected, sizeof expected, "one of: %s", words);
    return complain(option, value, expected);
}

/* method reads the name of a method of any kind of collective. */
static bool method(struct command *c, const char *name, const char *value)
{
    static const char words[] = "auto random phased pairwise two-phase stream gather round-trips "
                                "links planes binary binomial bucket swing swing-whole";
    unsigned place = 0;
    if (!choice(name, value, words, &place))
        return false;
    struct td_tuning *tuning = &c->measure.world.settings.tuning;
    if (place < TD_ALLTOALLS)
        tuning->alltoall = (uint8_t)place;
    else if ((place -= TD_ALLTOALLS) < TD_PREFIXES - TD_PREFIX_STREAM)
        tuning->prefix = (uint8_t)(place + TD_PREFIX_STREAM);
    else if ((place -= TD_PREFIXES - TD_PREFIX_STREAM) <
             TD_ROOTED_TREE_CHAIN - TD_ROOTED_TREE_LINKS)
        tuning->rooted_tree = (uint8_t)(place + TD_ROOTED_TREE_LINKS);
    else
        tuning->rings =
            (uint8_t)(place - (TD_ROOTED_TREE_CHAIN - TD_ROOTED_TREE_LINKS) + TD_RINGS_BUCKET);
    return true;
}

/* sizes reads 4000x3000 and returns the number of sizes; 0: the text is malformed. */
static uint32_t sizes(const char *value, uint64_t *size)
{
    char part[24];
    uint32_t count = 0;
    for (const char *p = value; count < TD_DIMENSIONS_MAX; p++) {
        size_t length = strcspn(p, "x");
        snprintf(part, sizeof part, "%.*s", (int)length, p);
        if (length >= sizeof part || !td_quantity_parse(part, &size[count]))
            break;
        count++;
        p += length;
        if (!*p)
            return count;
    }
    return 0;
}

/* elements reads the size of an array along each axis: 4000x3000. */
static bool elements(struct command *c, const char *name, const char *value)
{
    struct td_redist *r = &c->plan.redist;
    struct td_fft *f = &c->plan.fft;
    r->dimensions = f->dimensions = sizes(value, r->size);
    for (uint32_t d = 0; d < r->dimensions; d++) {
        r->axes[d] = (uint8_t)d;
        f->size[d] = r->size[d];
    }
    return r->dimensions || complain(name, value, "lengths of up to 6 axes, 1000000 or 4000x3000");
}

static bool grid(struct command *c, const char *name, const char *value)
{
    uint64_t size[TD_DIMENSIONS_MAX] = {0};
    uint32_t count = sizes(value, size);
    for (uint32_t d = 0; d < count; d++)
        c->plan.fft.grid[d] = (uint32_t)size[d];
    return count || complain(name, value, "numbers of nodes, such as 8x8");
}

static bool schedule(struct command *c, const char *name, const char *value)
{
    enum td_schedule_kind kind = TD_SCHEDULE_AUTO;
    bool good = td_schedule_named(value, &kind);
    c->plan.redist.schedule = kind;
    return good ||
           complain(name, value, "auto, circulant, colouring, classes, matching or caterpillar");
}

static bool set_option(struct command *c, int option, const char *name, const char *value)
{
    struct td_settings *s = &c->measure.world.settings;
    uint64_t n = 0;
    unsigned place = 0;
    bool good = true;
    char *end = NULL;
    switch ((enum option_name)option) {
    case SHAPE:
        good = strlen(value) < sizeof c->shape / 2 ||
               complain(name, value, "a shape of fewer than 64 characters");
        snprintf(c->shape, sizeof c->shape, "%s", good ? value : "");
        return good;
    case MESH:
        c->mesh = true;
        return true;
    case METHOD:
        return method(c, name, value);
    case BYTES:
        c->packets = 0;
        c->bytes_given = true;
        return number(name, value, 1, (uint64_t)1 << 32, &c->measure.bytes);
    case PACKETS:
        return number(name, value, 1, 1 << 20, &c->packets);
    case SPREAD:
        c->measure.spread = strtod(value, &end);
        return (end != value && !*end && c->measure.spread >= 0 && c->measure.spread <= 1) ||
               complain(name, value, "a number from 0 to 1");
    case ROOT:
        good = number(name, value, 0, TD_NODES_MAX, &n);
        c->measure.call.root = (uint32_t)n;
        return good;
    case FROM:
        c->plan.from = value;
        return true;
    case TO:
        c->plan.to = value;
        return true;
    case ELEMENTS:
        return elements(c, name, value);
    case GRID:
        return grid(c, name, value);
    case SCHEDULE:
        return schedule(c, name, value);
    case GROUP:
        c->measure.group = value;
        return true;
    case PACKET:
        good = number(name, value, 1024, TD_PACKET_BYTES_MAX, &n);
        s->packet_bytes = (uint32_t)n;
        return good;
    case SEED:
        return number(name, value, 0, UINT64_MAX, &c->measure.world.seed);
    case PARTS:
        good = number(name, value, 0, 1, &n);
        s->tuning.parts = (uint8_t)n;
        return good;
    case GAP:
        good = choice(name, value, "on off", &place);
        s->tuning.no_gap = place;
        return good;
    case BARRIER:
        good = choice(name, value, "hop phase none", &place);
        s->tuning.barriers = (uint8_t)place;
        return good;
    case SCOPE:
        good = choice(name, value, "ring all", &place);
        s->tuning.barriers_of_all = place;
        return good;
    case ORDER:
        good = choice(name, value, "random number", &place);
        s->tuning.in_order = place;
        return good;
    case BURST:
        good = number(name, value, 1, 1 << 16, &n);
        s->tuning.burst = (uint32_t)n;
        return good;
    case SLOTS:
        good = number(name, value, 1, 1024, &n);
        s->router.slots = (uint32_t)n;
        return good;
    case ARBITRATION:
        good = choice(name, value, "transit injection none", &place);
        s->router.arbitration = (enum td_arbitration)place;
        return good;
    case STRAIGHT:
        good = number(name, value, 0, 1 << 20, &n);
        s->router.straight = (uint32_t)n;
        return good;
    case ESCAPE_ONLY:
        s->router.no_adaptive = true;
        return true;
    case NO_BUBBLE:
        s->router.no_bubble = true;
        return true;
    case LATENCY:
        good = number(name, value, 0, 1 << 20, &n);
        s->link_latency_ns = (int64_t)(n * TD_MEASURE_SLOT_NS);
        return good;
    case CONTROL:
        good = number(name, value, 0, 1 << 20, &n);
        c->measure.world.control_ns = n * TD_MEASURE_SLOT_NS;
        return good;
    case JSON:
        c->json = true;
        return true;
    case PLOT:
        c->plot = value;
        return true;
    case TRACE:
        c->trace = value;
        return true;
    case HELP:
        fputs(usage, stdout);
        exit(td_written_end("torus-sim", 0));
    case VERSION:
        puts("torus-sim " TORUS_VERSION);
        exit(td_written_end("torus-sim", 0));
    }
    return false;
}

/* as_mesh appends an m to every size. */
static void as_mesh(char *shape, size_t size)
{
    char mesh[128] = "";
    size_t length = 0;
    for (const char *p = shape; *p && length + 3 < sizeof mesh; p++) {
        bool ends = p[1] == 'x' || p[1] == '\0';
        mesh[length++] = *p;
        if (ends && *p != 'm')
            mesh[length++] = 'm';
    }
    mesh[length] = '\0';
    snprintf(shape, size, "%s", mesh);
}

/* collective finds the call with this name. */
static bool collective(struct command *c, const char *word)
{
    struct td_call *call = &c->measure.call;
    for (unsigned kind = TD_KIND_BARRIER; kind < TD_KIND_MAX; kind++) {
        bool has_counts = td_call_has_counts(kind) && kind != TD_KIND_ALLTOALLV;
        if (td_call_plans(kind) || has_counts || strcmp(word, td_kind_name(kind)) != 0)
            continue;
        call->kind = (uint8_t)kind;
        call->type = td_call_reduces(kind) ? TD_TYPE_DOUBLE : TD_TYPE_BYTE;
        call->op = td_call_reduces(kind) ? TD_OP_SUM : TD_OP_NONE;
        return true;
    }
    fprintf(stderr, "torus-sim: unknown collective %s: see torus-sim --help\n", word);
    return false;
}

/* redistributes completes the description of a redistribution. It returns false if options are
 * missing. */
static bool redistributes(struct command *c)
{
    struct td_redist *r = &c->plan.redist;
    if (!c->plan.from || !c->plan.to || r->dimensions == 0) {
        fprintf(stderr, "torus-sim: redist needs --from, --to and --elements, such as --from "
                        "'cyclic(2)@0-27' --to 'cyclic(28)@28-63' --elements 1000000\n");
        return false;
    }
    if (!c->bytes_given)
        c->measure.bytes = 8;
    r->element = c->measure.bytes;
    c->measure.plan = &c->plan;
    return true;
}

/* transforms does the same for a transform of complex doubles. */
static bool transforms(struct command *c)
{
    struct td_fft *f = &c->plan.fft;
    if (f->dimensions == 0) {
        fprintf(stderr, "torus-sim: fft needs --elements, such as --elements 256x256x256\n");
        return false;
    }
    f->type = TD_TYPE_COMPLEX_DOUBLE;
    f->sign = TD_FFT_FORWARD;
    f->method = c->measure.world.settings.tuning.alltoall;
    td_fft_all(f);
    c->plan.from = c->plan.from ? c->plan.from : "";
    c->plan.to = c->plan.to ? c->plan.to : "";
    c->measure.bytes = 16;
    c->measure.plan = &c->plan;
    return true;
}

bool options_parse(int argc, char **argv, struct command *c)
{
    int option = 0, place = 0;
    while ((option = getopt_long(argc, argv, "", option_names, &place)) != -1)
        if (option == '?' || !set_option(c, option, option_names[place].name, optarg))
            return false;
    if (optind + 1 != argc) {
        fprintf(stderr,
                "torus-sim: missing collective, such as torus-sim alltoall --shape 8x8x8\n");
        return false;
    }
    if (!collective(c, argv[optind]))
        return false;
    if (!c->shape[0]) {
        fprintf(stderr, "torus-sim: missing --shape, such as --shape 8x8x8\n");
        return false;
    }
    if (c->measure.call.kind == TD_KIND_FFT && !transforms(c))
        return false;
    if (c->measure.call.kind == TD_KIND_REDIST && !redistributes(c))
        return false;
    if (c->mesh)
        as_mesh(c->shape, sizeof c->shape);
    if (c->packets && !c->measure.plan)
        c->measure.bytes = c->packets * c->measure.world.settings.packet_bytes;
    return true;
}
