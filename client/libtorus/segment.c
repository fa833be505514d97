/* SPDX-License-Identifier: Apache-2.0 */
#include "segment.h"

#include <errno.h>
#include <fenv.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "compute/combine.h"
#include "group.h"
#include "lock.h"
#include "memory.h"
#include "passed.h"
#include "rounds.h"
#include "segment/meeting.h"
#include "segment/waits.h"
#include "system/limits.h"

enum {
    PATIENCE_NS = 20000000, /* then a call goes by request: the daemon names the missing ranks */
    AWAKE_NS = 200000,      /* then a rank that waits sleeps; */
    AWAKE_ALONE_NS = 50000, /* the same if every rank has a processor */
    STOLEN_NS = 2000000,    /* between two looks: another process had the processor for a slice */
    BUSY_NS = 100000000,
    BUSY_TIMES_MAX = 2,
    LOOKS = 16,            /* between two readings of the clock */
    ALIVE_NS = 100000000,  /* between two looks whether the daemon is alive */
    WORTH_NS = 10000,      /* a shorter wait is not added up */
    LATE_CALLS = 8,        /* that expired, one after the other; then */
    REQUESTS = 256,        /* the next ones go by request at once */
    SHORT_PARTS = 8 << 20, /* bytes of all ranks together */
    FEW_RANKS = 4,         /* from more on, waiting for all readers costs more than a copy: */
    SHORT_BYTES = 16384,   /* of a rank: a call of more is made in rounds, if it can be */
    ROUND_NS = 1000000000, /* without a rank that ends its part of a round; and */
    ROUND_BYTE_NS = 10,    /* for each byte of this rank's buffers: then a call goes by request */
};

struct tl_segment {
    struct tl_attachment attachment; /* first: the group frees it */
    uint32_t late;                   /* calls that expired, one after the other */
    uint32_t requests;               /* calls that are still to go by request at once */
    uint32_t long_requests;          /* the same for long calls */
    uint32_t dropped;                /* regions of this rank that the others know to be dropped */
    struct td_segment view;
    struct tl_peers *peers; /* NULL: no long call yet */
    struct tl_cma *cma;     /* the same */
    void *memory;
    size_t bytes;
    uint8_t *sum, *next; /* room for the data of a rank each, aligned for all types */
    bool has_processors; /* one for each rank */
    int64_t busy_at;     /* when this rank found that another process computes */
    int64_t busy_times;  /* of BUSY_NS: how long the ranks sleep then */
    int64_t alive_at;    /* the daemon was alive */
};

/* ---- life ---- */

/* view makes the record of a segment that is mapped; NULL: no memory. */
static struct tl_segment *view(void *memory, size_t bytes, uint32_t ranks)
{
    cpu_set_t set;
    struct tl_segment *s = calloc(1, sizeof *s);
    size_t room = td_segment_data_bytes(ranks);
    if (s && !(s->sum = aligned_alloc(64, 2 * room))) {
        free(s);
        s = NULL;
    }
    if (!s)
        return NULL;
    s->next = s->sum + room;
    s->memory = memory;
    s->bytes = bytes;
    td_segment_open(&s->view, memory, ranks);
    s->has_processors =
        sched_getaffinity(0, sizeof set, &set) == 0 && ranks <= (uint32_t)CPU_COUNT(&set);
    return s;
}

/* destroy unmaps a segment, unless this process is a child: it has no mapping. */
static void destroy(struct tl_attachment *a)
{
    struct tl_segment *s = (struct tl_segment *)a;
    bool mapped = s->attachment.group->context->pid == getpid();
    if (mapped)
        munmap(s->memory, s->bytes);
    tl_peers_free(s->peers, mapped);
    tl_cma_free(s->cma);
    free(s->sum);
    free(s);
}

int tl_segment_adopt(torus_group *g)
{
    torus_context *c = g->context;
    void *memory = NULL;
    if (g->size > TD_SEGMENT_RANKS_MAX)
        return tl_malformed(c, "a segment of %u ranks, more than %d", g->size,
                            TD_SEGMENT_RANKS_MAX);
    size_t bytes = td_segment_bytes(g->size);
    int error = tl_passed_map(c, PROT_READ | PROT_WRITE, &bytes, &memory);
    if (!memory)
        return error;
    if (!(g->segment = view(memory, bytes, g->size))) {
        munmap(memory, bytes);
        return TORUS_OK;
    }
    g->segment->attachment.destroy = destroy;
    tl_group_attach(g, &g->segment->attachment);
    return TORUS_OK;
}

/* ---- which calls ---- */

/* is_short returns true if the data of each rank passes through its line: it fits, and a round
 * would take longer. */
static bool is_short(const torus_group *g, const struct td_call *call)
{
    uint64_t parts = 1;
    switch ((int)call->kind) {
    case TD_KIND_BARRIER:
        return true;
    case TD_KIND_REDUCE_SCATTER:
    case TD_KIND_SCATTER:
    case TD_KIND_ALLTOALL:
        parts = g->size;
        break;
    case TD_KIND_BROADCAST:
    case TD_KIND_REDUCE:
    case TD_KIND_ALLREDUCE:
    case TD_KIND_SCAN:
    case TD_KIND_EXSCAN:
    case TD_KIND_GATHER:
    case TD_KIND_ALLGATHER:
        break;
    default:
        return false;
    }
    uint64_t element = td_type_bytes(call->type), most = g->segment->view.data_bytes;
    if (call->kind == TD_KIND_BROADCAST && g->size > FEW_RANKS)
        most *= 2; /* it has no result, whose room follows */
    else if (most > SHORT_BYTES && tl_rounds_of(g, call) > 0)
        most = SHORT_BYTES;
    return element > 0 && call->count <= most / element / parts;
}

bool tl_segment_has(const torus_group *g, const struct td_call *call)
{
    return g->segment && (is_short(g, call) || tl_rounds_of(g, call) > 0);
}

/* number_of returns the number of the next call of the group, whichever way it goes. */
static uint64_t number_of(const torus_group *g)
{
    return g->sequence + g->by_segment;
}

/* ---- waiting ---- */

static void wake(_Atomic uint32_t *gate)
{
    int saved = errno;
    syscall(SYS_futex, gate, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    errno = saved;
}

static void sleep_at(_Atomic uint32_t *gate, uint32_t value, int64_t ns)
{
    struct timespec time = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    int saved = errno;
    syscall(SYS_futex, gate, FUTEX_WAIT, value, &time, NULL, 0);
    errno = saved;
}

/* struct wait: one wait in a segment. */
struct wait {
    struct tl_segment *segment;
    struct tl_lock *lock; /* of the context; given up while `given` */
    bool given;
    uint32_t depth;
    int64_t began, last, limit_ns;
    int64_t round_ns;   /* the limit in rounds */
    int64_t arrival_ns; /* how long this rank waited for the others to arrive; -1: it still does */
    uint64_t state;     /* of the slot, in rounds */
    bool short_parts;   /* in a round all ranks together need much less than STOLEN_NS */
    uint32_t looks;
    bool yielded;              /* since `last`, and has not slept */
    bool slept;                /* since `last` */
    torus_idle_function *idle; /* of the context; NULL: none */
    void *idle_user;
};

static void rest_of_core(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* note_busy records that another process computes: for some time the ranks that wait sleep at once,
 * longer each time. */
static void note_busy(struct tl_segment *s, int64_t now)
{
    bool again = s->busy_times && now - s->busy_at < 2 * BUSY_TIMES_MAX * (int64_t)BUSY_NS;
    s->busy_times = !again                           ? 1
                    : s->busy_times < BUSY_TIMES_MAX ? 2 * s->busy_times
                                                     : BUSY_TIMES_MAX;
    s->busy_at = now;
    td_segment_set_busy(&s->view, (uint64_t)(now + s->busy_times * BUSY_NS));
}

/* is_busy returns true if this rank, or another one, has found that another process computes. */
static bool is_busy(const struct tl_segment *s, int64_t now)
{
    int64_t left = (int64_t)(td_segment_busy(&s->view) - (uint64_t)now);
    return left > 0 && left <= BUSY_TIMES_MAX * (int64_t)BUSY_NS;
}

/* begin_wait notes the time, and gives up the lock of the context. */
static void begin_wait(struct wait *w, int64_t now)
{
    w->began = w->last = now;
    if (!w->lock)
        return;
    w->given = true;
    w->depth = tl_lock_give(w->lock);
}

/* look_back notes a process that computed while this rank let others run. */
static void look_back(struct wait *w, int64_t now)
{
    if (w->yielded && now - w->last > STOLEN_NS)
        note_busy(w->segment, now);
    w->yielded = false;
    w->last = now;
}

/* run_idle runs the idle function of the context, without its lock. */
static void run_idle(struct wait *w)
{
    if (!w->idle || !w->given)
        return;
    w->idle(w->idle_user);
    w->last = tl_now_ns(); /* this time is not stolen */
}

/* wish_in_round decides how a rank waits for others that do their parts of a round: as wish does if
 * the parts of all ranks are short, so that a long absence shows another process; else it sleeps at
 * once. */
static enum td_meeting_wish wish_in_round(struct wait *w, uint64_t state)
{
    struct tl_segment *s = w->segment;
    if (s->has_processors && state == w->state && ++w->looks % LOOKS) {
        rest_of_core();
        return TD_MEETING_LOOK;
    }
    int64_t now = tl_now_ns(), awake = s->has_processors ? AWAKE_ALONE_NS : AWAKE_NS;
    if (state != w->state)
        w->began = now;
    w->state = state;
    if (now - w->began >= w->round_ns)
        return TD_MEETING_EXPIRE;
    look_back(w, now);
    run_idle(w);
    if (!w->short_parts || is_busy(s, now) || now - w->began >= awake)
        return TD_MEETING_REST;
    w->yielded = true;
    sched_yield();
    return TD_MEETING_LOOK;
}

/* wish decides how a rank waits. It looks again a few times if every rank has a processor. Then it
 * lets other ranks run and looks again, for AWAKE_NS or less; then it sleeps. If a process has the
 * processor for STOLEN_NS meanwhile, that one computes, and ranks sleep at once for some time. */
static enum td_meeting_wish wish(struct wait *w, const struct td_meeting *m)
{
    struct tl_segment *s = w->segment;
    if (m->closed)
        return TD_MEETING_EXPIRE;
    if (m->round > 0)
        return wish_in_round(w, m->state);
    if (s->has_processors && ++w->looks % LOOKS) {
        rest_of_core();
        return TD_MEETING_LOOK;
    }
    int64_t now = tl_now_ns(), awake = s->has_processors ? AWAKE_ALONE_NS : AWAKE_NS;
    if (!w->began)
        begin_wait(w, now);
    if (now - w->began >= w->limit_ns) {
        s->late++;
        return TD_MEETING_EXPIRE;
    }
    look_back(w, now);
    run_idle(w);
    if (is_busy(s, now) || now - w->began >= awake)
        return TD_MEETING_REST;
    w->yielded = true;
    sched_yield();
    return TD_MEETING_LOOK;
}

/* sleep_on sleeps until the call or a round ends, or for the rest of the limit. */
static void sleep_on(struct wait *w, const struct td_meeting *m)
{
    int64_t left = (m->round > 0 ? w->round_ns : w->limit_ns) - (tl_now_ns() - w->began);
    if (w->idle && left > TL_IDLE_NS)
        left = TL_IDLE_NS;
    w->slept = true;
    if (left > 0)
        sleep_at(m->gate, m->gate_value, left);
}

/* is_alive returns true while the daemon holds the connection. A rank that sees its end closes the
 * segment for all. */
static bool is_alive(const torus_group *g)
{
    struct timespec t;
    uint8_t byte = 0;
    struct tl_segment *s = g->segment;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    int64_t now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    if (now - s->alive_at < ALIVE_NS)
        return true;
    s->alive_at = now;
    int saved = errno;
    ssize_t got = recv(g->context->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    bool alive = got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
    errno = saved;
    if (!alive) {
        td_segment_close(&s->view);
        for (uint32_t i = 0; i < TD_SEGMENT_SLOTS; i++)
            wake(&s->view.slot[i].gate);
    }
    return alive;
}

/* ---- data ---- */

/* fold combines the data of ranks 0 .. count - 1 in s->sum, in this order. */
static void fold(struct tl_segment *s, uint64_t number, const struct td_call *call, size_t bytes,
                 uint32_t count)
{
    const struct td_segment *v = &s->view;
    fenv_t environment;
    size_t elements = bytes / td_type_bytes(call->type);
    td_segment_get(v, number, 0, TD_SEGMENT_DATA, 0, s->sum, bytes);
    if (count < 2 || bytes == 0)
        return;
    fegetenv(&environment); /* the caller may have changed the rounding */
    fesetenv(FE_DFL_ENV);
    for (uint32_t r = 1; r < count; r++) {
        td_segment_get(v, number, r, TD_SEGMENT_DATA, 0, s->next, bytes);
        td_combine_array(call->type, call->op, s->sum, s->next, elements);
    }
    fesetenv(&environment);
}

/* data_bytes returns the bytes that each rank, or the root, puts into its line. */
static size_t data_bytes(const struct td_segment *v, const struct td_call *call)
{
    bool all = call->kind == TD_KIND_REDUCE_SCATTER || call->kind == TD_KIND_SCATTER ||
               call->kind == TD_KIND_ALLTOALL;
    size_t bytes = call->kind == TD_KIND_BARRIER ? 0 : call->count * td_type_bytes(call->type);
    return all ? bytes * v->ranks : bytes;
}

/* write_line writes the call and the data of this rank to its line; of a long call, where its
 * memory is. */
static void write_line(const struct td_meeting *m, const struct td_call *call,
                       const struct tl_own *own, const struct tl_rounds *rounds)
{
    _Static_assert(sizeof *call == TD_SEGMENT_CALL_BYTES, "a line holds the call");
    _Static_assert((int)TD_KIND_MAX <= (int)TD_SEGMENT_KINDS, "each kind of call has sums");
    if (m->rounds) {
        tl_rounds_write(rounds);
        return;
    }
    td_segment_put(m->segment, m->number, m->rank, TD_SEGMENT_CALL, 0, call, sizeof *call);
    if (own->source)
        td_segment_put(m->segment, m->number, m->rank, TD_SEGMENT_DATA, 0, own->source,
                       own->bytes[0]);
}

/* note_last notes the rank that arrived last, for those that waited for it. */
static inline void note_last(const struct td_meeting *m, const struct td_call *call)
{
    const struct td_segment *v = m->segment;
    if (m->is_last)
        td_segment_was_last(v, m->slot, td_segment_sum_of(m->rank, call->kind));
    else
        td_segment_note_last(v, m->slot, td_segment_sum_of(td_meeting_last(m), call->kind));
}

/* combine compares the calls of all ranks. If they are equal and short it computes the result that
 * all ranks share. */
static void combine(struct tl_segment *s, struct td_meeting *m, const struct td_call *call)
{
    const struct td_segment *v = m->segment;
    struct td_call other, own;
    m->agree = true;
    td_segment_get(v, m->number, m->rank, TD_SEGMENT_CALL, 0, &own, sizeof own);
    for (uint32_t r = 0; r < v->ranks && m->agree; r++) {
        td_segment_get(v, m->number, r, TD_SEGMENT_CALL, 0, &other, sizeof other);
        m->agree = memcmp(&other, &own, sizeof other) == 0;
    }
    if (m->agree) /* before the end: whoever sees that sees the note */
        note_last(m, call);
    bool shares = call->kind == TD_KIND_REDUCE || call->kind == TD_KIND_ALLREDUCE ||
                  call->kind == TD_KIND_REDUCE_SCATTER;
    if (!m->agree || !shares || m->rounds)
        return;
    size_t bytes = data_bytes(v, call);
    fold(s, m->number, call, bytes, v->ranks);
    td_segment_put(v, m->number, m->rank, TD_SEGMENT_RESULT, 0, s->sum, bytes);
}

/* take copies the result of this rank to its destination. */
static void take(struct tl_segment *s, const struct td_meeting *m, const struct td_call *call,
                 const struct tl_own *own)
{
    const struct td_segment *v = m->segment;
    size_t block = call->count * td_type_bytes(call->type);
    if (!own->destination || own->bytes[1] == 0)
        return;
    switch ((int)call->kind) {
    case TD_KIND_BROADCAST:
        td_segment_get(v, m->number, call->root, TD_SEGMENT_DATA, 0, own->destination, block);
        return;
    case TD_KIND_REDUCE:
    case TD_KIND_ALLREDUCE:
        td_segment_get(v, m->number, m->by, TD_SEGMENT_RESULT, 0, own->destination, block);
        return;
    case TD_KIND_SCAN:
    case TD_KIND_EXSCAN:
        fold(s, m->number, call, block, m->rank + (call->kind == TD_KIND_SCAN));
        memcpy(own->destination, s->sum, block);
        return;
    case TD_KIND_GATHER:
    case TD_KIND_ALLGATHER:
        for (uint32_t r = 0; r < v->ranks; r++)
            td_segment_get(v, m->number, r, TD_SEGMENT_DATA, 0, own->destination + r * block,
                           block);
        return;
    default:
        break;
    }
    /* one block for each rank */
    uint32_t sources = call->kind == TD_KIND_ALLTOALL ? v->ranks : 1;
    enum td_segment_part part =
        call->kind == TD_KIND_REDUCE_SCATTER ? TD_SEGMENT_RESULT : TD_SEGMENT_DATA;
    for (uint32_t r = 0; r < sources; r++) {
        uint32_t from = call->kind == TD_KIND_ALLTOALL  ? r
                        : call->kind == TD_KIND_SCATTER ? call->root
                                                        : m->by;
        td_segment_get(v, m->number, from, part, m->rank * block, own->destination + r * block,
                       block);
    }
}

/* ---- calls ---- */

/* work does this rank's part of a round, without the lock of the context. Before the first one it
 * finds the memory of the other ranks, with the lock. */
static void work(struct wait *w, struct td_meeting *m, struct tl_rounds *rounds)
{
    if (m->round == 0) {
        if (w->given)
            tl_lock_take(w->lock, w->depth);
        m->agree = tl_rounds_attach(rounds);
        w->arrival_ns = w->began ? tl_now_ns() - w->began : 0;
        w->given = false;
        begin_wait(w, tl_now_ns());
        if (!m->agree)
            w->segment->long_requests = REQUESTS;
    }
    if (m->agree)
        m->agree = tl_rounds_work(rounds, m->round);
    w->began = w->last = tl_now_ns();
    w->yielded = false;
}

/* follow does what the meeting asks for. */
static void follow(struct wait *w, struct td_meeting *m, enum td_meeting_next next,
                   const struct td_call *call, const struct tl_own *own, struct tl_rounds *rounds)
{
    if (next == TD_MEETING_WRITE)
        write_line(m, call, own, rounds);
    else if (next == TD_MEETING_COMBINE)
        combine(w->segment, m, call);
    else if (next == TD_MEETING_WORK)
        work(w, m, rounds);
    else if (next == TD_MEETING_WAIT)
        m->wish = wish(w, m);
    else if (next == TD_MEETING_SLEEP)
        sleep_on(w, m);
    else if (next == TD_MEETING_WAKE)
        wake(m->gate);
}

/* account adds to the sums of the segment how long this rank waited for the last one of a call that
 * is DONE. */
static inline void account(const struct td_meeting *m, int64_t waited)
{
    if (waited >= WORTH_NS)
        td_segment_waited(m->slot, (uint64_t)waited);
}

/* end_wait ends this rank's wait for the arrival of others, in a short call that is DONE. */
static inline void end_wait(struct wait *w, const struct td_meeting *m)
{
    int64_t now = tl_now_ns();
    look_back(w, now);
    account(m, now - w->began);
}

/* meet makes the next call of the group in its segment; `rounds`: a long one. TORUS_PENDING: it
 * goes by request. */
static int meet(torus_group *g, const struct td_call *call, const struct tl_own *own,
                struct tl_rounds *rounds, int64_t *waited_ns)
{
    struct td_meeting m;
    torus_context *c = g->context;
    struct wait w = {.segment = g->segment,
                     .lock = c->use.lock,
                     .idle = c->idle,
                     .idle_user = c->idle_user,
                     .limit_ns = PATIENCE_NS,
                     .round_ns =
                         ROUND_NS + ROUND_BYTE_NS * (int64_t)(own->bytes[0] + own->bytes[1]),
                     .short_parts = own->bytes[0] + own->bytes[1] <= SHORT_PARTS / g->size,
                     .arrival_ns = -1};
    if (g->timeout_ns >= 0 && g->timeout_ns / 2 < w.limit_ns)
        w.limit_ns = g->timeout_ns / 2;
    enum td_meeting_next next = TD_MEETING_STEP;
    td_meeting_start(&m, &g->segment->view, g->rank, number_of(g),
                     rounds ? tl_rounds_of(g, call) : 0);
    g->in_flight++; /* another thread may free the group */
    g->meets = true;
    while (next != TD_MEETING_DONE && next != TD_MEETING_REQUEST) {
        next = td_meeting_step(&m);
        follow(&w, &m, next, call, own, rounds);
    }
    bool met_short = next == TD_MEETING_DONE && !rounds;
    if (met_short && w.began)
        end_wait(&w, &m);
    else if (w.yielded || w.slept)
        look_back(&w, tl_now_ns());
    if (w.given)
        tl_lock_take(c->use.lock, w.depth);
    g->meets = false;
    if (w.given)
        tl_lock_wake(c->use.lock);
    if (met_short)
        take(g->segment, &m, call, own);
    g->in_flight--;
    if (next == TD_MEETING_REQUEST) {
        *waited_ns = w.arrival_ns >= 0 ? w.arrival_ns : w.began ? tl_now_ns() - w.began : 0;
        return TORUS_PENDING;
    }
    g->by_segment++;
    g->segment->late = 0;
    c->operations++;
    if (met_short)
        tl_group_release(g);
    else
        account(&m, w.arrival_ns);
    return TORUS_OK;
}

/* withdraw ends a call in the segment, unless it is DONE: it goes by request. */
static void withdraw(const torus_group *g)
{
    struct td_meeting m;
    enum td_meeting_next next = TD_MEETING_STEP;
    td_meeting_withdraw(&m, &g->segment->view, g->rank, number_of(g));
    while (next != TD_MEETING_REQUEST && next != TD_MEETING_DONE) {
        next = td_meeting_step(&m);
        if (next == TD_MEETING_WAKE)
            wake(m.gate);
    }
}

/* meet_long makes a long call in rounds. */
static int meet_long(torus_group *g, const struct td_call *call, const struct tl_move *move,
                     const struct tl_own *own, int64_t *waited_ns)
{
    struct tl_segment *s = g->segment;
    if (!s->peers)
        s->peers = tl_peers_new(&s->view);
    if (!s->cma)
        s->cma = tl_cma_new(g->rank, g->size);
    struct tl_rounds rounds = {.group = g,
                               .peers = s->peers,
                               .cma = s->cma,
                               .segment = &s->view,
                               .call = call,
                               .own = own,
                               .move = move,
                               .number = number_of(g)};
    bool ready = s->peers && s->cma && tl_rounds_begin(&rounds);
    int error = ready ? meet(g, call, own, &rounds, waited_ns) : TORUS_PENDING;
    tl_rounds_end(&rounds, error == TORUS_OK);
    if (!ready)
        withdraw(g);
    if (error == TORUS_OK)
        tl_group_release(g);
    return error;
}

/* is_used returns false if other ranks come late to all calls, or never use the segment. */
static bool is_used(struct tl_segment *s)
{
    if (s->late >= LATE_CALLS) {
        s->late = 0;
        s->requests = REQUESTS;
    }
    if (s->requests == 0)
        return true;
    s->requests--;
    return false;
}

/* may_meet returns true if nothing of this rank's is in flight in the group: a request that is
 * refused gives its number back, and a call in the segment cannot. */
static bool may_meet(const torus_group *g)
{
    return is_used(g->segment) && g->in_flight == 0 && !g->refused && is_alive(g);
}

/* tidy tells the other ranks of regions that this one has dropped, and unmaps theirs. */
static void tidy(torus_group *g)
{
    struct tl_segment *s = g->segment;
    if (s->dropped != g->context->regions_dropped) {
        s->dropped = g->context->regions_dropped;
        td_segment_drop(&s->view, g->rank);
    }
    if (s->peers)
        tl_peers_sweep(s->peers);
}

/* may_meet_long returns true if no rank has failed lately to see the memory of another. */
static bool may_meet_long(struct tl_segment *s)
{
    if (s->long_requests == 0)
        return true;
    s->long_requests--;
    return false;
}

void tl_segment_await(torus_group *g)
{
    if (!g->meets)
        return;
    g->in_flight++; /* another thread may free the group */
    withdraw(g);    /* this thread need not wait long */
    while (g->meets)
        tl_lock_await(g->context->use.lock);
    g->in_flight--;
}

void tl_segment_withdraw(torus_group *g)
{
    tl_segment_await(g);
    withdraw(g);
}

int tl_segment_move(torus_group *g, const struct td_call *call, const struct tl_move *move,
                    const struct tl_own *own, int64_t *waited_ns)
{
    int error = tl_ready(g->context);
    if (error != TORUS_OK)
        return error;
    tl_segment_await(g);
    tidy(g);
    if (move && own && may_meet(g) && may_meet_long(g->segment))
        return meet_long(g, call, move, own, waited_ns);
    tl_segment_withdraw(g);
    return TORUS_PENDING;
}

int tl_segment_barrier(torus_group *g, int64_t *waited_ns)
{
    const struct td_call call = {.kind = TD_KIND_BARRIER};
    const struct tl_own nothing = {.source = NULL};
    *waited_ns = 0;
    int error = tl_ready(g->context);
    if (error != TORUS_OK)
        return error;
    tl_segment_await(g);
    tidy(g);
    if (may_meet(g))
        return meet(g, &call, &nothing, NULL, waited_ns);
    tl_segment_withdraw(g);
    return TORUS_PENDING;
}

/* find_buffers finds the buffers of a call without gaps. It returns TORUS_PENDING if the call must
 * go by request, which also reports what is wrong with them. */
static int find_buffers(const struct tl_work *w, struct tl_own *own)
{
    const struct tl_buffer *from = &w->buffer[0], *to = &w->buffer[1];
    if (w->gaps[0] || w->gaps[1] || w->op || from->piece || to->piece || from->begin || to->begin)
        return TORUS_PENDING;
    *own = (struct tl_own){
        .source = from->pointer, .destination = to->pointer, .bytes = {from->bytes, to->bytes}};
    if (w->same)
        *own = (struct tl_own){.source = to->copy_in ? to->pointer : NULL,
                               .destination = to->pointer,
                               .bytes = {to->bytes, to->bytes}};
    else if (w->inner_buffer == 0)
        own->source = to->pointer + w->inner.at, own->bytes[0] = w->inner.bytes;
    else if (w->inner_buffer == 1)
        own->destination = NULL; /* its block of the source */
    bool lacks = (own->bytes[0] && !own->source && !w->same) ||
                 (own->bytes[1] && !to->pointer && w->inner_buffer != 1);
    if (!to->copy_out || !own->bytes[1])
        own->destination = NULL;
    if (!own->bytes[0])
        own->source = NULL;
    return lacks ? TORUS_PENDING : TORUS_OK;
}

/* check_memory returns TORUS_OK if the buffers are plain memory or inside memory of torus_alloc. */
static int check_memory(torus_context *c, const struct tl_work *w)
{
    int error = TORUS_OK;
    for (int i = 0; i < 2 && error == TORUS_OK; i++) {
        const struct tl_buffer *b = &w->buffer[i];
        const char *wrong = NULL;
        if (b->bytes && b->pointer && w->inner_buffer != i && !(w->same && i == 0))
            wrong = tl_memory_check(c, tl_work_buffer(w, i), b->pointer, b->bytes);
        if (wrong)
            error = tl_fail(c, TORUS_ERR_INVALID, "%s: %s", w->what.name, wrong);
    }
    return error;
}

int tl_segment_run(struct tl_work *w)
{
    torus_group *g = w->what.group;
    struct tl_own own;
    int error = tl_ready(g->context);
    if (error != TORUS_OK)
        return error;
    tl_segment_await(g);
    tidy(g);
    bool in_rounds = !is_short(g, &w->call);
    if (find_buffers(w, &own) == TORUS_OK && may_meet(g) &&
        (!in_rounds || may_meet_long(g->segment))) {
        error = check_memory(g->context, w);
        if (error != TORUS_OK)
            return error;
        return in_rounds ? meet_long(g, &w->call, NULL, &own, &w->waited_ns)
                         : meet(g, &w->call, &own, NULL, &w->waited_ns);
    }
    tl_segment_withdraw(g);
    return TORUS_PENDING;
}
