/* SPDX-License-Identifier: Apache-2.0 */
#include "forms.h"
#include "random.h"

static uint64_t state;

void forms_seed(uint64_t seed)
{
    state = seed;
}

uint64_t draw(void)
{
    return td_hash_next(&state);
}

uint64_t below(uint64_t n)
{
    return draw() % n;
}

/* wide draws small, medium and huge numbers equally often: varints of every length. */
static uint64_t wide(void)
{
    return draw() >> below(64);
}

static uint32_t wide32(void)
{
    return (uint32_t)(draw() >> (32 + below(32)));
}

static int64_t wide_signed(void)
{
    return (int64_t)wide() * (below(2) ? 1 : -1);
}

/* text draws up to length_max characters; the last eight drawn stay valid. */
const char *text(size_t length_max)
{
    static char pool[8][1024];
    static unsigned turn;
    char *t = pool[turn++ % 8];
    size_t length = below(length_max + 1);
    for (size_t i = 0; i < length; i++)
        t[i] = (char)(1 + below(255));
    t[length] = '\0';
    return t;
}

const uint8_t *blob(size_t size)
{
    static uint8_t pool[4][4096];
    static unsigned turn;
    uint8_t *b = pool[turn++ % 4];
    for (size_t i = 0; i < size; i++)
        b[i] = (uint8_t)draw();
    return b;
}

struct td_call some_call(void)
{
    return (struct td_call){.kind = (uint8_t)(1 + below(TD_KIND_MAX - 1)),
                            .type = (uint8_t)below(TD_TYPE_MAX),
                            .op = (uint8_t)below(TD_OP_END),
                            .mode = (uint8_t)below(TD_REPRODUCIBLES),
                            .root = wide32(),
                            .count = wide(),
                            .plan = wide(),
                            .digest = draw()};
}

/* some_elements draws a form of elements, seldom a well formed one; the last four stay valid. */
static const struct td_form *some_elements(void)
{
    _Alignas(16) static uint8_t pool[4][4096];
    static unsigned turn;
    struct td_form *f = (void *)pool[turn++ % 4];
    f->bytes = wide();
    f->extent = wide();
    f->loops = (uint32_t)below(TD_FORM_LOOPS_MAX + 1);
    for (uint32_t i = 0; i < f->loops; i++)
        f->loop[i] = (struct td_form_loop){.at = wide_signed(),
                                           .stride = wide_signed(),
                                           .count = wide(),
                                           .bytes = wide(),
                                           .inner = wide32()};
    return f;
}

static struct td_place some_place(void)
{
    return (struct td_place){.region = wide32(),
                             .offset = wide(),
                             .bytes = wide(),
                             .form = below(2) ? some_elements() : NULL};
}

/* some_numbers returns up to 50 numbers, valid until the tenth call after this one. */
static const uint64_t *some_numbers(uint32_t *count)
{
    static uint64_t pool[10][50];
    static unsigned turn;
    uint64_t *numbers = pool[turn++ % 10];
    *count = (uint32_t)below(51);
    for (uint32_t i = 0; i < *count; i++)
        numbers[i] = wide();
    return numbers;
}

static struct td_rank_counts some_counts(void)
{
    struct td_rank_counts c;
    c.count = some_numbers(&c.counts);
    c.at = some_numbers(&c.ats);
    return c;
}

static struct td_box some_box(void)
{
    struct td_box b = {.dimensions = (uint32_t)below(TD_DIMENSIONS_MAX + 1)};
    for (uint32_t d = 0; d < b.dimensions; d++) {
        b.begin[d] = wide();
        b.count[d] = wide();
    }
    return b;
}

static td_err some_error(void)
{
    return (td_err) - (int)below(1 - (unsigned)TD_ERR_PERMISSION);
}

struct td_request some_request(enum td_request_kind kind)
{
    struct td_request q = {.kind = kind, .id = wide()};
    switch (kind) {
    case TD_REQUEST_HELLO:
        q.u.hello.program = text(64);
        q.u.hello.strays = text(64);
        break;
    case TD_REQUEST_REGION:
        q.u.region.bytes = wide();
        q.u.region.region = wide32();
        break;
    case TD_REQUEST_UNREGION:
        q.u.unregion.region = wide32();
        break;
    case TD_REQUEST_JOIN:
        q.u.join.name = text(TD_NAME_MAX - 1);
        q.u.join.size = wide32();
        q.u.join.rank = wide_signed();
        q.u.join.timeout_ns = wide_signed();
        break;
    case TD_REQUEST_LEAVE:
        q.u.leave.group = wide32();
        break;
    case TD_REQUEST_OPERATION:
        q.u.operation.group = wide32();
        q.u.operation.call = some_call();
        q.u.operation.source = some_place();
        q.u.operation.destination = some_place();
        q.u.operation.timeout_ns = wide_signed();
        q.u.operation.sequence = wide();
        q.u.operation.by_segment = wide();
        q.u.operation.waited_ns = wide();
        if (td_call_has_counts(q.u.operation.call.kind)) {
            q.u.operation.from = some_counts();
            q.u.operation.to = some_counts();
        }
        if (q.u.operation.call.kind == TD_KIND_PLAN_FFT) {
            struct td_fft *f = &q.u.operation.description.fft;
            *f = (struct td_fft){.dimensions = (uint32_t)below(TD_DIMENSIONS_MAX + 1),
                                 .type = wide32(),
                                 .sign = (int32_t)wide32(),
                                 .scale = wide32()};
            for (uint32_t d = 0; d < f->dimensions; d++) {
                f->size[d] = wide();
                f->transform[d] = (uint8_t)below(256);
                f->grid[d] = wide32();
            }
            f->method = (uint8_t)below(256);
            q.u.operation.description.from = "(block, *)";
            q.u.operation.description.to = "";
        }
        if (q.u.operation.call.kind == TD_KIND_PLAN_REDIST) {
            struct td_redist *r = &q.u.operation.description.redist;
            *r = (struct td_redist){.dimensions = (uint32_t)below(TD_DIMENSIONS_MAX + 1),
                                    .schedule = wide32(),
                                    .element = wide()};
            for (uint32_t d = 0; d < r->dimensions; d++) {
                r->size[d] = wide();
                r->axes[d] = (uint8_t)below(256);
            }
            q.u.operation.description.from = "";
            q.u.operation.description.to = "cyclic(2)@0-3";
        }
        break;
    case TD_REQUEST_UNPLAN:
        q.u.unplan.group = wide32();
        q.u.unplan.plan = wide();
        break;
    case TD_REQUEST_CANCEL:
        q.u.cancel.request = wide();
        break;
    case TD_REQUEST_STATUS:
        q.u.status.section = wide32();
        q.u.status.cursor = wide();
        q.u.status.node = wide32();
        break;
    case TD_REQUEST_GROUP:
        q.u.make.group = wide32();
        q.u.make.number = wide();
        q.u.make.member = some_numbers(&q.u.make.members);
        break;
    case TD_REQUEST_SHRINK:
        q.u.shrink.group = wide32();
        q.u.shrink.timeout_ns = wide_signed();
        break;
    case TD_REQUEST_PEER_REGION:
        q.u.peer_region.group = wide32();
        q.u.peer_region.rank = wide32();
        q.u.peer_region.region = wide32();
        break;
    case TD_REQUEST_END_CALLS:
        q.u.end_calls.node = wide32();
        q.u.end_calls.end = (struct td_message_end_calls){.job = text(TD_NAME_MAX - 1),
                                                          .owner = wide(),
                                                          .all = below(2) == 1,
                                                          .instance = draw(),
                                                          .number = wide(),
                                                          .why = text(200)};
        break;
    case TD_REQUEST_RELOAD:
        break;
    }
    return q;
}

static struct td_bitmap some_ranks(uint32_t size)
{
    uint32_t count = below(3) ? (size + 7) / 8 : 0;
    return (struct td_bitmap){count ? blob(count) : NULL, count};
}

static void fill_numbers(uint64_t *number, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        number[i] = wide();
}

static struct td_row_operation some_operation(void)
{
    struct td_row_operation row = {.job = text(TD_NAME_MAX - 1),
                                   .call = text(200),
                                   .group = wide32(),
                                   .size = (uint32_t)below(TD_JOB_RANKS_MAX + 1),
                                   .sequence = wide(),
                                   .age_ns = wide(),
                                   .running = below(2),
                                   .steps_done = wide(),
                                   .steps = wide(),
                                   .instance = draw(),
                                   .world = draw(),
                                   .waits_for = (uint32_t)below(TD_NODES_MAX + 1),
                                   .idle_ns = wide(),
                                   .nobody_waits = below(2)};
    static struct td_row_absent pool[4][TD_ROW_ABSENTS_MAX];
    static unsigned turn;
    struct td_row_absent *absent = pool[turn++ % 4];
    row.arrived = some_ranks(row.size);
    row.instance = draw();
    row.absents = (uint32_t)below(TD_ROW_ABSENTS_MAX + 1);
    row.absent = absent;
    for (uint32_t i = 0; i < row.absents; i++)
        absent[i] = (struct td_row_absent){.rank = wide32(),
                                           .job_rank = wide32(),
                                           .node = wide32(),
                                           .health = (enum td_peer_state)below(TD_PEER_UNKNOWN + 1),
                                           .silent_ns = wide(),
                                           .pid = wide(),
                                           .doing = (uint32_t)below(128),
                                           .since_ns = wide()};
    return row;
}

static struct td_row_trace some_trace(void)
{
    static uint64_t pool[4][TD_TRACE_EVENTS_MAX * TD_TRACE_NUMBERS];
    static unsigned turn;
    uint64_t *number = pool[turn++ % 4];
    for (uint32_t i = 0; i < TD_TRACE_EVENTS_MAX * TD_TRACE_NUMBERS; i++)
        number[i] = wide();
    return (struct td_row_trace){
        .text = text(200), .events = (uint32_t)below(TD_TRACE_EVENTS_MAX + 1), .number = number};
}

static struct td_status_row some_row(void)
{
    struct td_status_row row = {.kind = (enum td_row_kind)(1 + below(TD_ROW_OUTAGE))};
    switch (row.kind) {
    case TD_ROW_NODE:
        row.u.node = (struct td_row_node){wide32(), wide32(), text(100)};
        break;
    case TD_ROW_PEER:
        row.u.peer =
            (struct td_row_peer){wide32(),      (enum td_peer_state)below(TD_PEER_UNKNOWN + 1),
                                 text(100),     text(200),
                                 wide(),        wide(),
                                 below(2) == 1, wide()};
        break;
    case TD_ROW_CLIENT:
        row.u.client = (struct td_row_client){
            wide(),   wide(),        text(100),     text(TD_NAME_MAX - 1),
            wide32(), wide_signed(), below(2) == 1, (unsigned char)below(128)};
        break;
    case TD_ROW_JOB:
        row.u.job = (struct td_row_job){.name = text(TD_NAME_MAX - 1),
                                        .uid = wide(),
                                        .size = (uint32_t)below(TD_JOB_RANKS_MAX + 1),
                                        .joined = wide32(),
                                        .forming_ns = wide()};
        row.u.job.ranks = some_ranks(row.u.job.size);
        row.u.job.gone_nodes = some_ranks((uint32_t)below(TD_NODES_MAX + 1));
        break;
    case TD_ROW_OPERATION:
        row.u.operation = some_operation();
        break;
    case TD_ROW_ROUTER:
        row.u.router.node = wide32();
        row.u.router.numbers = below(2) ? 1 : TD_QUEUES_NUMBERS;
        fill_numbers(row.u.router.number, row.u.router.numbers);
        break;
    case TD_ROW_DIRECTION:
        row.u.direction.direction = wide32();
        row.u.direction.neighbour = wide32();
        row.u.direction.up = below(2);
        fill_numbers(row.u.direction.number, TD_WAY_NUMBERS);
        break;
    case TD_ROW_PLAN:
        row.u.plan.kind = text(30);
        row.u.plan.precision = text(30);
        row.u.plan.sign = (int32_t)wide_signed();
        row.u.plan.age_ns = wide();
        fill_numbers(row.u.plan.number, TD_PLAN_NUMBERS);
        break;
    case TD_ROW_RECORD:
        row.u.record = (struct td_row_record){.job = text(TD_NAME_MAX - 1),
                                              .uid = wide(),
                                              .instance = draw(),
                                              .size = wide32(),
                                              .formed_ns = wide(),
                                              .ended_ns = wide(),
                                              .operations = wide(),
                                              .waited_ns = wide(),
                                              .error = some_error(),
                                              .text = text(200),
                                              .failed_ns = wide(),
                                              .died_ns = wide(),
                                              .died_rank = wide32(),
                                              .died_pid = wide(),
                                              .died_paused_ns = wide(),
                                              .unformed = below(2) == 1};
        row.u.record.nodes = some_ranks((uint32_t)below(TD_NODES_MAX + 1));
        break;
    case TD_ROW_WAIT:
        row.u.wait = (struct td_row_wait){.instance = draw(),
                                          .rank = wide32(),
                                          .node = wide32(),
                                          .kind = wide32(),
                                          .pid = wide(),
                                          .last = wide(),
                                          .waited_ns = wide(),
                                          .longest_ns = wide(),
                                          .silent_node = wide32(),
                                          .silent_ns = wide(),
                                          .silent_longest_ns = wide(),
                                          .longest_age_ns = wide(),
                                          .longest_operation = wide(),
                                          .longest_group = wide32(),
                                          .silent_ranks = wide32(),
                                          .silences = wide32(),
                                          .silence_ns = wide(),
                                          .silence_longest_ns = wide(),
                                          .silence_longest_age_ns = wide(),
                                          .silence_unheard_ns = wide(),
                                          .silence_heard_ns = wide()};
        break;
    case TD_ROW_LINK:
        row.u.link = (struct td_row_link){.neighbour = wide32(),
                                          .health = (enum td_peer_state)below(TD_PEER_UNKNOWN + 1),
                                          .up = below(2) == 1,
                                          .neighbours = below(2) == 1,
                                          .since_ns = wide(),
                                          .packets = wide(),
                                          .bytes = wide(),
                                          .repeated = wide(),
                                          .resumes = wide(),
                                          .silent_ns = wide(),
                                          .busy_ns = wide(),
                                          .busy_bytes = wide(),
                                          .messages = wide(),
                                          .sent = wide(),
                                          .received = wide(),
                                          .error = text(150)};
        break;
    case TD_ROW_GROUP:
        row.u.group = (struct td_row_group){.job = text(TD_NAME_MAX - 1),
                                            .uid = wide(),
                                            .instance = draw(),
                                            .world = draw(),
                                            .index = wide32(),
                                            .size = (uint32_t)below(TD_JOB_RANKS_MAX + 1),
                                            .condition = (enum td_group_state)below(3),
                                            .error = some_error(),
                                            .text = text(200),
                                            .done = wide(),
                                            .in_flight = wide32(),
                                            .age_ns = wide()};
        row.u.group.job_ranks = some_ranks(row.u.group.size);
        row.u.group.nodes = some_ranks((uint32_t)below(TD_NODES_MAX + 1));
        break;
    case TD_ROW_FACT:
        row.u.fact =
            (struct td_row_fact){text(40), text(200), text(10), below(2) == 1, below(2) == 1};
        break;
    case TD_ROW_TRACE:
        row.u.trace = some_trace();
        break;
    case TD_ROW_SIDE:
        row.u.side = (struct td_row_side){
            .instance = wide(), .call = text(100), .ranks = (uint32_t)below(TD_SIDE_RANKS_MAX + 1)};
        row.u.side.count = row.u.side.ranks + (uint32_t)below(1000);
        for (uint32_t i = 0; i < row.u.side.ranks; i++)
            row.u.side.rank[i] = wide32();
        break;
    case TD_ROW_OUTAGE:
        row.u.outage = (struct td_row_outage){.instance = draw(),
                                              .kind = wide32(),
                                              .rank = wide32(),
                                              .pid = wide(),
                                              .count = wide32(),
                                              .ns = wide(),
                                              .longest_ns = wide(),
                                              .longest_age_ns = wide(),
                                              .text = text(120)};
        break;
    }
    return row;
}

/* some_reply has at most 4 rows, so that the pools of text and blob are large enough. */
struct td_reply some_reply(enum td_reply_kind kind)
{
    struct td_reply r = {.kind = kind, .id = wide(), .error = some_error(), .text = text(500)};
    size_t position = 0;
    const char *why = NULL;
    static const char *const shapes[] = {"1", "3x3", "2x2x2", "3x4m", "5m", "2x3x4x5x2m"};
    if (kind == TD_REPLY_ERROR && r.error == TD_OK)
        r.error = TD_ERR_BUSY;
    r.refused = below(2);
    switch (kind) {
    case TD_REPLY_WELCOME:
        (void)td_topology_parse(&r.u.welcome.topology, shapes[below(6)], &position, &why);
        r.u.welcome.node = (uint32_t)below(r.u.welcome.topology.nodes);
        r.u.welcome.incarnation = draw();
        r.u.welcome.packet_bytes = wide();
        r.u.welcome.region_bytes_max = wide();
        r.u.welcome.form_loops_max = wide32();
        r.u.welcome.peer_regions = below(2);
        r.u.welcome.peers_known = below(2);
        break;
    case TD_REPLY_JOINED:
        r.u.joined.group = wide32();
        r.u.joined.size = 1 + (uint32_t)below(TD_JOB_RANKS_MAX);
        r.u.joined.rank = (uint32_t)below(r.u.joined.size);
        r.u.joined.instance = draw();
        r.u.joined.lost_bytes = (uint32_t)below(TD_BITMAP_BYTES_MAX + 1);
        r.u.joined.lost = blob(r.u.joined.lost_bytes);
        r.u.joined.has_segment = below(2);
        r.u.joined.has_letters = !r.u.joined.has_segment && below(2);
        break;
    case TD_REPLY_PLANNED:
        r.u.planned.plan = wide();
        r.u.planned.source = some_box();
        r.u.planned.destination = some_box();
        break;
    case TD_REPLY_STATUS:
        r.u.status.section = wide32();
        r.u.status.next = wide();
        r.u.status.rows = (uint32_t)below(4);
        for (uint32_t i = 0; i < r.u.status.rows; i++)
            r.u.status.row[i] = some_row();
        break;
    case TD_REPLY_ERROR:
    case TD_REPLY_DONE:
    case TD_REPLY_NO_ROOM:
    case TD_REPLY_ROOM:
    case TD_REPLY_PEER_REGION:
        break;
    }
    return r;
}

struct td_handshake some_handshake(void)
{
    struct td_handshake g = {.major = wide32(),
                             .minor = wide32(),
                             .node = wide32(),
                             .incarnation = draw(),
                             .peer_incarnation = draw(),
                             .session = draw(),
                             .bulk = below(2),
                             .accepted = below(2),
                             .busy = below(2),
                             .seals = wide32(),
                             .ciphers = wide32(),
                             .has_random = below(2),
                             .shape = text(40),
                             .text = text(500)};
    for (int i = 0; g.has_random && i < TD_HANDSHAKE_RANDOM; i++)
        g.random[i] = (uint8_t)draw();
    static uint64_t term[TD_TERMS_MAX];
    g.terms = (struct td_term_list){(uint32_t)below(TD_TERMS_MAX + 1), term};
    for (uint32_t i = 0; i < g.terms.count; i++)
        term[i] = wide();
    return g;
}

struct td_packet some_packet(void)
{
    struct td_packet p = {.kind = below(2) ? TD_PACKET_DATA : TD_PACKET_CREDIT,
                          .session = wide32(),
                          .counts_session = wide32(),
                          .link_sequence = wide(),
                          .received = wide(),
                          .freed = wide(),
                          .instance = draw(),
                          .group = wide32(),
                          .sequence = wide(),
                          .family = wide32(),
                          .index = wide(),
                          .offset = wide(),
                          .bytes = wide32(),
                          .direction = (uint8_t)draw(),
                          .channel = (uint8_t)draw(),
                          .origin = wide32(),
                          .destination = wide32(),
                          .ticket = wide32()};
    for (int d = 0; d < TD_DIMENSIONS_MAX; d++)
        p.left[d] = (int16_t)draw();
    for (int c = 0; c < 3; c++)
        p.channel_freed[c] = wide32();
    return p;
}
