/* SPDX-License-Identifier: Apache-2.0 */
/* A hostile daemon at the other end of the library's connection. The input decides which calls a
 * process makes, what the daemon replies to each request (as it should, with other values or bytes,
 * twice, never), which files it passes on, and what it writes into memory that it shares with the
 * process: its letters, segments and regions. No call may crash, write beyond its buffers, leave a
 * descriptor open, or go on for ever. The connection, the clock and sleeps are virtual. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "decide.h"
#include "libtorus/deadline.h"
#include "libtorus/status.h"
#include "segment/letter.h"
#include "segment/segment.h"
#include "torus/torus.h"
#include "wire/client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    CALLS_MAX = 24,
    GROUPS_MAX = 6,
    REQUESTS_MAX = 4,
    SHARED_MAX = 12,  /* files that the daemon and the process share */
    QUEUE_MAX = 16,   /* replies that the process has not read */
    MEMBERS_MAX = 64, /* groups that the daemon remembers */
    COUNT = 8,        /* elements of a short call */
    LONG_COUNT = 9000,
    EVENTS_MAX = 3000,     /* then the daemon closes the connection, */
    EVENTS_LATER = 400000, /* and the process makes at most so many calls of the system */
    PAGE = 4096,
};

static struct scene {
    struct decide input;
    uint64_t events;
    int64_t now_ns;
    bool plays; /* an input is played */
    bool ended; /* the connection */
    struct datagram {
        size_t size;
        int fd[2]; /* -1: none */
        uint8_t bytes[512];
    } queue[QUEUE_MAX];
    uint32_t first, queued;
    uint64_t sent; /* datagrams */
    struct shared {
        uint8_t *memory;
        size_t bytes;
        bool letters;
    } shared[SHARED_MAX];
    uint32_t shares;
    int shrinking; /* a file that the process may have mapped; -1: none */
    struct made {
        uint32_t rank, size;
    } made[MEMBERS_MAX]; /* by number - 1 */
    uint32_t groups;
} s;

/* ---- files ---- */

static void share(int fd, size_t bytes, bool letters)
{
    struct stat st;
    if (s.shares == SHARED_MAX || fstat(fd, &st) != 0 || (size_t)st.st_size < bytes || bytes == 0)
        return;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED)
        s.shared[s.shares++] = (struct shared){memory, bytes, letters};
}

static int sealed(size_t bytes, unsigned seals)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    assert(fcntl(fd, F_ADD_SEALS, seals) == 0);
    return fd;
}

/* some_file makes a file that a reply needs, or another one. *shrinks: it loses its bytes when the
 * process has received it. */
static int some_file(size_t bytes, bool letters, bool *shrinks)
{
    int fd = -1, pipes[2];
    switch (decide_below(&s.input, 16)) {
    case 1:
        *shrinks = true;
        return sealed(bytes, 0);
    case 2:
        *shrinks = true;
        return sealed(bytes, F_SEAL_GROW);
    case 3:
        return sealed(bytes + PAGE, F_SEAL_SHRINK);
    case 4:
        return sealed(bytes / 2, F_SEAL_SHRINK);
    case 5:
        return sealed(0, F_SEAL_SHRINK);
    case 6:
        return open("/dev/zero", O_RDWR | O_CLOEXEC);
    case 7:
        assert(pipe2(pipes, O_CLOEXEC) == 0);
        close(pipes[1]);
        return pipes[0];
    case 8:
        fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);
        if (fd >= 0 && ftruncate(fd, 1 << 21) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0)
            return fd;
        if (fd >= 0)
            close(fd);
        return -1;
    case 9:
        return -1;
    default:
        fd = sealed(bytes, F_SEAL_SHRINK | F_SEAL_GROW);
        share(fd, bytes, letters);
        return fd;
    }
}

/* ---- memory that both write ---- */

/* write_letter puts a reply, or any bytes, into the letters. */
static void write_letter(const struct shared *m)
{
    struct td_letters *letters = (struct td_letters *)(void *)m->memory;
    uint8_t bytes[64];
    size_t size = decide_below(&s.input, sizeof bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)decide_bytes(&s.input, 1);
    const struct datagram *next = &s.queue[s.first];
    if (s.queued == 1 && next->fd[0] < 0 && decide_below(&s.input, 2)) {
        if (td_letter_put(&letters->reply, s.sent - 1, next->bytes, next->size)) {
            s.queued = 0;
            s.sent--;
        }
    } else if (decide_below(&s.input, 2)) {
        (void)td_letter_put(&letters->reply, s.sent + decide_below(&s.input, 3), bytes, size);
    } else {
        atomic_store(&letters->reply.state, decide_number(&s.input));
        atomic_store(&letters->reply.after, decide_number(&s.input));
        atomic_store(&letters->reply.bytes, decide_number(&s.input));
    }
}

/* write_slot makes a state of a slot: the number of a call, how many have arrived, and a phase. */
static void write_slot(const struct shared *m)
{
    uint64_t number = 1 + decide_below(&s.input, 6);
    size_t slot = 64 * (1 + (number - 1) % TD_SEGMENT_SLOTS);
    uint64_t state =
        number << 24 | (uint64_t)decide_below(&s.input, 8) << 8 | decide_below(&s.input, 6);
    if (slot + 8 <= m->bytes)
        memcpy(m->memory + slot, &state, sizeof state);
}

/* scribble writes into memory that the daemon shares with the process. */
static void scribble(void)
{
    if (s.shrinking >= 0 && s.queued == 0) { /* the process has received it */
        (void)!ftruncate(s.shrinking, 0);
        close(s.shrinking);
        s.shrinking = -1;
    }
    if (s.shares == 0 || decide_below(&s.input, 3) == 0)
        return;
    const struct shared *m = &s.shared[decide_below(&s.input, s.shares)];
    uint32_t way = decide_below(&s.input, 4);
    if (m->letters) {
        write_letter(m);
    } else if (way < 2) {
        write_slot(m);
    } else {
        uint64_t value = decide_number(&s.input), at = decide_number(&s.input);
        at = (way == 2 ? at % 512 : at) % (m->bytes / 8) * 8;
        memcpy(m->memory + at, &value, sizeof value);
    }
}

/* ---- replies ---- */

static struct datagram *queue_bytes(size_t size)
{
    if (s.queued == QUEUE_MAX)
        return NULL;
    struct datagram *d = &s.queue[(s.first + s.queued++) % QUEUE_MAX];
    *d = (struct datagram){.size = size < sizeof d->bytes ? size : sizeof d->bytes, .fd = {-1, -1}};
    s.sent++;
    return d;
}

/* queue sends a reply, changed or not. */
static struct datagram *queue(const struct td_reply *r)
{
    struct datagram *d = queue_bytes(0);
    if (!d)
        return NULL;
    d->size = td_wire_encode_reply(r, d->bytes, sizeof d->bytes);
    for (uint32_t n = decide_below(&s.input, 16) == 15 ? 3 : 0; n > 0 && d->size > 0; n--)
        d->bytes[decide_below(&s.input, 256) % d->size] = (uint8_t)decide_bytes(&s.input, 1);
    d->size -= decide_below(&s.input, 64) == 63 && d->size > 0;
    return d;
}

/* attach adds the file of a reply. */
static void attach(struct datagram *d, size_t bytes, bool letters)
{
    bool shrinks = false;
    if (!d)
        return;
    d->fd[0] = some_file(bytes, letters, &shrinks);
    if (d->fd[0] >= 0 && decide_below(&s.input, 16) == 15)
        d->fd[1] = dup(d->fd[0]);
    if (shrinks && d->fd[0] >= 0 && s.shrinking < 0)
        s.shrinking = dup(d->fd[0]);
}

/* join replies that a group is made, and passes on its segment, or letters. */
static void join(uint64_t id, uint32_t rank, uint32_t size, const uint8_t *lost,
                 uint32_t lost_bytes)
{
    struct td_reply r = {.kind = TD_REPLY_JOINED, .id = id, .text = ""};
    uint32_t odd = decide_below(&s.input, 32);
    r.u.joined.group = ++s.groups;
    r.u.joined.rank = odd == 1 ? (uint32_t)decide_number(&s.input) : rank;
    r.u.joined.size = odd == 2 ? (uint32_t)decide_number(&s.input) : size;
    if (odd == 3)
        r.u.joined.group = decide_below(&s.input, 4);
    r.u.joined.lost =
        (struct td_bitmap){lost, odd == 4 ? decide_below(&s.input, lost_bytes + 1) : lost_bytes};
    r.u.joined.has_segment = decide_below(&s.input, 4) > 0;
    r.u.joined.has_letters = !r.u.joined.has_segment && decide_below(&s.input, 2);
    if (s.groups <= MEMBERS_MAX)
        s.made[s.groups - 1] = (struct made){rank, size};
    struct datagram *d = queue(&r);
    if (r.u.joined.has_letters)
        attach(d, sizeof(struct td_letters), true);
    else if (r.u.joined.has_segment || odd == 5)
        attach(d, td_segment_bytes(size && size <= 1024 ? size : 1), false);
}

static struct made made_of(uint32_t group)
{
    return group && group <= s.groups && group <= MEMBERS_MAX ? s.made[group - 1]
                                                              : (struct made){0, 1};
}

static void reply_to_group(const struct td_request *q)
{
    struct made from = made_of(q->u.make.group);
    uint32_t rank = 0;
    for (uint32_t i = 0; i < q->u.make.members; i++)
        if (q->u.make.member[i] == from.rank)
            rank = i;
    join(q->id, rank, q->u.make.members, NULL, 0);
}

static void reply_to_shrink(const struct td_request *q)
{
    struct made from = made_of(q->u.shrink.group);
    uint8_t lost[256] = {(uint8_t)decide_bytes(&s.input, 1)};
    if (from.rank < 8 && decide_below(&s.input, 8))
        lost[0] &= (uint8_t) ~(1u << from.rank);
    uint32_t rank = from.rank, left = 0;
    for (uint32_t i = 0; i < from.size; i++) {
        bool is_lost = i < 8 && lost[0] >> i & 1;
        if (i == from.rank)
            rank = left;
        left += !is_lost;
    }
    join(q->id, rank, left, lost, (from.size + 7) / 8);
}

/* reply_well replies as torusd does. `passed`: the descriptor that came with the request, or -1. */
static void reply_well(const struct td_request *q, int passed)
{
    struct td_reply r = {.kind = TD_REPLY_DONE, .id = q->id, .text = ""};
    switch (q->kind) {
    case TD_REQUEST_HELLO:
        r.kind = TD_REPLY_WELCOME;
        r.u.welcome.topology.dimensions = 1;
        r.u.welcome.topology.size[0] = r.u.welcome.topology.nodes = 2;
        r.u.welcome.region_bytes_max = decide_below(&s.input, 8) ? 1 << 26 : UINT64_MAX;
        r.u.welcome.form_loops_max = decide_below(&s.input, 2) ? UINT32_MAX : 0;
        r.u.welcome.peer_regions = true;
        break;
    case TD_REQUEST_JOIN:
        join(q->id, q->u.join.rank < 0 ? 0 : (uint32_t)q->u.join.rank, q->u.join.size, NULL, 0);
        return;
    case TD_REQUEST_GROUP:
        reply_to_group(q);
        return;
    case TD_REQUEST_SHRINK:
        reply_to_shrink(q);
        return;
    case TD_REQUEST_PEER_REGION:
        r.kind = TD_REPLY_PEER_REGION;
        attach(queue(&r), 1 << 20, false);
        return;
    case TD_REQUEST_OPERATION:
        if (td_call_plans(q->u.operation.call.kind))
            r.kind = TD_REPLY_PLANNED;
        break;
    case TD_REQUEST_STATUS:
    case TD_REQUEST_END_CALLS:
        r.kind = TD_REPLY_STATUS;
        r.u.status.next = decide_number(&s.input);
        break;
    case TD_REQUEST_REGION:
        if (passed >= 0)
            share(passed, q->u.region.bytes, false);
        break;
    case TD_REQUEST_UNREGION:
    case TD_REQUEST_LEAVE:
    case TD_REQUEST_UNPLAN:
    case TD_REQUEST_CANCEL:
    case TD_REQUEST_RELOAD:
        break;
    }
    if (q->id)
        (void)queue(&r);
}

/* reply_badly replies with an error, or with what no daemon says. */
static void reply_badly(const struct td_request *q, uint32_t way)
{
    struct td_reply r = {.id = q->id, .text = way % 2 ? "no, for no reason" : ""};
    uint32_t size = 0;
    struct datagram *d = NULL;
    switch (way) {
    case 1:
    case 2:
        r.kind = TD_REPLY_ERROR;
        r.error = (td_err) - (int)(1 + decide_below(&s.input, 18));
        r.refused = decide_below(&s.input, 2);
        break;
    case 3:
    case 4:
        r.kind = TD_REPLY_NO_ROOM;
        r.error = TD_ERR_BUSY;
        r.refused = true;
        (void)queue(&r);
        if (way == 4) /* of a call that waits to be sent again */
            (void)queue(&r);
        r = (struct td_reply){.kind = TD_REPLY_ROOM, .text = ""};
        break;
    case 5:
        r.kind = (enum td_reply_kind)(1 + decide_below(&s.input, TD_REPLY_PEER_REGION));
        r.error = (td_err) - (int)decide_below(&s.input, 19);
        r.refused = decide_below(&s.input, 2);
        r.id = decide_below(&s.input, 2) ? q->id : decide_number(&s.input);
        r.u.joined.size = 1;
        break;
    case 6:
        size = decide_below(&s.input, 40);
        if ((d = queue_bytes(size)))
            for (uint32_t i = 0; i < size; i++)
                d->bytes[i] = (uint8_t)decide_bytes(&s.input, 1);
        return;
    case 7:
        s.ended = true;
        return;
    default: /* no reply */
        return;
    }
    (void)queue(&r);
}

/* receive takes a request of the process. */
static void receive(const uint8_t *bytes, size_t size, int passed)
{
    static struct td_wire_memory memory;
    static struct td_request q;
    const char *why = NULL;
    td_err error = td_wire_decode_request(bytes, size, &memory, &q, &why);
    assert(error == TD_OK);
    uint32_t way = decide_below(&s.input, 32);
    if (way == 0 || way > 10)
        reply_well(&q, passed);
    else if (way < 10)
        reply_badly(&q, way);
    else
        for (int i = 0; i < 2; i++)
            reply_well(&q, passed);
}

/* ---- the system, as the library sees it ---- */

/* event counts a call of the system. In the end the daemon closes the connection; then the process
 * must come to an end, too. */
static void event(void)
{
    if (++s.events == EVENTS_MAX)
        s.ended = true;
    if (s.events > EVENTS_MAX + EVENTS_LATER) {
        fprintf(stderr, "the library does not end\n");
        abort();
    }
    s.now_ns += 20000;
}

/* The linker looks for these names.
 * NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t length);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t length)
{
    (void)fd;
    (void)address;
    (void)length;
    return 0;
}

int __wrap_shutdown(int fd, int how);
int __wrap_shutdown(int fd, int how)
{
    (void)fd;
    (void)how;
    s.ended = true;
    return 0;
}

/* lost_connection fails a send. */
static ssize_t lost_connection(void)
{
    errno = EPIPE;
    return -1;
}

ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags)
{
    (void)fd;
    (void)flags;
    event();
    if (s.ended)
        return lost_connection();
    receive(bytes, size, -1);
    return (ssize_t)size;
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    int passed = -1;
    (void)fd;
    (void)flags;
    event();
    if (s.ended)
        return lost_connection();
    const struct cmsghdr *rights = CMSG_FIRSTHDR(message);
    if (rights)
        memcpy(&passed, CMSG_DATA(rights), sizeof passed);
    receive(message->msg_iov[0].iov_base, message->msg_iov[0].iov_len, passed);
    return (ssize_t)message->msg_iov[0].iov_len;
}

/* none_arrived tells that nothing has come: the connection has ended, or the wait has. */
static ssize_t none_arrived(bool waits)
{
    if (s.ended)
        return 0;
    if (waits)
        s.now_ns += 5000000000;
    errno = EAGAIN;
    return -1;
}

ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags)
{
    (void)fd;
    event();
    scribble();
    if (s.queued == 0)
        return none_arrived(!(flags & MSG_DONTWAIT));
    struct datagram *d = &s.queue[s.first];
    s.first = (s.first + 1) % QUEUE_MAX;
    s.queued--;
    memcpy(message->msg_iov[0].iov_base, d->bytes, d->size);
    uint32_t count = d->fd[0] < 0 ? 0 : d->fd[1] < 0 ? 1 : 2;
    struct cmsghdr *rights = CMSG_FIRSTHDR(message);
    if (count) {
        *rights = (struct cmsghdr){.cmsg_len = CMSG_LEN(count * sizeof(int)),
                                   .cmsg_level = SOL_SOCKET,
                                   .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(rights), d->fd, count * sizeof(int));
    } else {
        message->msg_controllen = 0;
    }
    return (ssize_t)d->size;
}

ssize_t __wrap_recv(int fd, void *bytes, size_t size, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t size, int flags)
{
    (void)fd;
    (void)bytes;
    assert(size == 1 && (flags & MSG_PEEK));
    event();
    return s.queued ? 1 : none_arrived(false);
}

int64_t __wrap_tl_now_ns(void);
int64_t __wrap_tl_now_ns(void)
{
    event();
    return s.now_ns;
}

int __wrap_tl_poll(const int *fd, unsigned count, short events, int64_t deadline_ns);
int __wrap_tl_poll(const int *fd, unsigned count, short events, int64_t deadline_ns)
{
    (void)fd;
    (void)count;
    event();
    scribble();
    if (decide_below(&s.input, 8) == 7)
        (void)queue(&(struct td_reply){.kind = TD_REPLY_ROOM, .text = ""});
    if (s.queued || s.ended || (events & POLLOUT))
        return TORUS_OK;
    if (deadline_ns < 0)
        s.ended = true; /* nothing will come */
    else if (deadline_ns > s.now_ns)
        s.now_ns = deadline_ns;
    return deadline_ns < 0 ? TORUS_OK : TORUS_PENDING;
}

int __real_sched_yield(void);
int __wrap_sched_yield(void);
int __wrap_sched_yield(void)
{
    if (!s.plays) /* the sanitizer looks for leaks */
        return __real_sched_yield();
    event();
    scribble();
    return 0;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
    va_list list;
    long a[6];
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (number != SYS_futex)
        return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    const struct timespec *time = (const struct timespec *)a[3]; /* NOLINT */
    event();
    scribble();
    if (a[1] == FUTEX_WAIT && time)
        s.now_ns += (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
    return 0;
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

/* ---- the process ---- */

static struct process {
    torus_context *context;
    torus_group *group[GROUPS_MAX];
    uint32_t groups;
    torus_request *request[REQUESTS_MAX];
    double *kept[REQUESTS_MAX]; /* buffers of requests */
    torus_plan *plan;
    torus_group *plan_group, *made[REQUESTS_MAX];
    void *memory;
} p;

static void check(int error)
{
    assert(error == TORUS_PENDING || (error <= TORUS_OK && error >= TORUS_ERR_PERMISSION));
    assert(error == TORUS_OK || error == TORUS_PENDING || torus_last_error(p.context)[0]);
}

static void keep(int error, torus_group *made)
{
    check(error);
    if (error != TORUS_OK || !made)
        return;
    assert(torus_rank(made) < torus_size(made));
    if (p.groups < GROUPS_MAX)
        p.group[p.groups++] = made;
}

static torus_group *some_group(void)
{
    return p.groups ? p.group[decide_below(&s.input, p.groups)] : NULL;
}

/* drop_group forgets a group that ends, with its plan. */
static void drop_group(const torus_group *g)
{
    for (uint32_t i = 0; i < p.groups; i++)
        if (p.group[i] == g)
            p.group[i--] = p.group[--p.groups];
    if (p.plan_group == g)
        p.plan = NULL;
}

static void join_job(void)
{
    torus_group *world = NULL;
    struct torus_join_options o = {.size = sizeof o, .name = "job"};
    o.ranks = decide_below(&s.input, 8) == 7 ? 1024 : 1 + decide_below(&s.input, 4);
    o.rank_set = (int)decide_below(&s.input, 2);
    o.rank = o.rank_set ? (int32_t)decide_below(&s.input, o.ranks) : 0;
    o.timeout_ns = decide_below(&s.input, 2) ? 1000000000 : 0;
    int error = torus_join(p.context, &o, &world);
    if (error == TORUS_OK)
        assert(torus_size(world) == o.ranks &&
               (!o.rank_set || torus_rank(world) == (uint32_t)o.rank));
    keep(error, world);
}

/* make makes a group of another one. */
static void make(torus_group *g, uint32_t way)
{
    torus_group *made = NULL;
    torus_intergroup *inter = NULL;
    uint32_t ranks[] = {torus_rank(g), torus_rank(g) ? 0 : torus_size(g) - 1};
    int error = TORUS_OK;
    if (way == 0)
        error = torus_split(g, (int32_t)decide_below(&s.input, 2), 0, &made);
    else if (way == 1)
        error = torus_dup(g, &made);
    else if (way == 2)
        error = torus_group_create(g, ranks, 1 + (torus_size(g) > 1), 0, &made);
    else if (way == 3)
        error = torus_shrink(g, &made);
    else
        error = torus_intergroup_create(g, 0, p.group[0], 1, 0, &inter);
    keep(error, made);
    (void)torus_intergroup_free(inter);
}

/* collect makes a blocking call with buffers of exactly the bytes that it needs. */
static void collect(torus_group *g, uint32_t way)
{
    size_t count = decide_below(&s.input, 8) == 7 ? LONG_COUNT : COUNT;
    size_t ranks = torus_size(g), bytes = count * sizeof(double);
    if (ranks > 8)
        count = bytes = 0;
    double *one = calloc(1, bytes + 1), *all = calloc(ranks, bytes + 1),
           *to = calloc(ranks, bytes + 1);
    assert(one && all && to);
    int error = TORUS_OK;
    if (way == 0)
        error = torus_barrier(g);
    else if (way == 1)
        error = torus_allreduce(g, one, to, count, TORUS_DOUBLE, TORUS_SUM);
    else if (way == 2)
        error = torus_allgather(g, one, to, count, TORUS_DOUBLE);
    else if (way == 3)
        error = torus_alltoall(g, all, to, count, TORUS_DOUBLE);
    else if (way == 4)
        error = torus_broadcast(g, one, count, TORUS_DOUBLE, 0);
    else
        error = torus_scan(g, one, to, count, TORUS_DOUBLE, TORUS_MAX);
    check(error);
    free(one);
    free(all);
    free(to);
}

/* begin starts a call without waiting for it. */
static void begin(torus_group *g)
{
    uint32_t at = decide_below(&s.input, REQUESTS_MAX), way = decide_below(&s.input, 4);
    if (p.request[at])
        return;
    free(p.kept[at]);
    double *buffer = p.kept[at] = calloc(2 * COUNT, sizeof *buffer);
    assert(buffer);
    p.made[at] = NULL;
    if (way == 0)
        check(torus_ibarrier(g, &p.request[at]));
    else if (way == 1)
        check(torus_isplit(g, 1, 0, &p.made[at], &p.request[at]));
    else if (way == 2)
        check(torus_idup(g, &p.made[at], &p.request[at]));
    else
        check(torus_iallreduce(g, buffer, buffer + COUNT, COUNT, TORUS_DOUBLE, TORUS_SUM,
                               &p.request[at]));
}

/* end waits for a call, looks at it, or cancels it. */
static void end(void)
{
    uint32_t at = decide_below(&s.input, REQUESTS_MAX), way = decide_below(&s.input, 5);
    torus_request *r = p.request[at];
    if (way == 0) {
        check(torus_waitall(p.request, REQUESTS_MAX, 1000000, NULL));
        return;
    }
    if (!r)
        return;
    int error = TORUS_PENDING;
    if (way == 1)
        error = torus_wait(r, decide_below(&s.input, 2) ? -1 : 1000000);
    else if (way == 2)
        error = torus_test(r);
    else if (way == 3)
        check(torus_cancel(r));
    else
        check(torus_dispatch(p.context));
    check(error);
    if (error != TORUS_PENDING && error != TORUS_ERR_SYSTEM)
        p.request[at] = NULL;
}

static void move_array(torus_group *g)
{
    struct torus_redist_desc d = {.size = sizeof d,
                                  .dimensions = 1,
                                  .element_bytes = 8,
                                  .shape = {64},
                                  .from = "block",
                                  .to = "cyclic"};
    if (!p.plan) {
        check(torus_plan_redist(g, &d, &p.plan));
        p.plan_group = g;
        return;
    }
    void *from = calloc(1, torus_plan_bytes(p.plan, TORUS_SIDE_INPUT) + 1);
    void *to = calloc(1, torus_plan_bytes(p.plan, TORUS_SIDE_OUTPUT) + 1);
    assert(from && to);
    check(torus_execute(p.plan, from, to));
    free(from);
    free(to);
}

static void list(void)
{
    struct tl_listing listing = {0};
    static struct td_reply reply;
    int error = TORUS_OK;
    do
        error = tl_status_next(p.context, 1 + decide_below(&s.input, 4), &listing, &reply);
    while (error == TORUS_OK && listing.cursor && s.events < EVENTS_MAX);
    check(error);
}

static void play(void)
{
    uint32_t way = decide_below(&s.input, 16);
    torus_group *g = way < 2 ? NULL : some_group();
    if (!g && way < 13) {
        join_job();
        return;
    }
    switch (way) {
    case 2:
    case 3:
        make(g, decide_below(&s.input, 5));
        break;
    case 4:
    case 5:
    case 6:
    case 7:
        collect(g, decide_below(&s.input, 6));
        break;
    case 8:
        begin(g);
        break;
    case 9:
    case 10:
        end();
        break;
    case 11:
        move_array(g);
        break;
    case 12:
        if (torus_group_free(g) == TORUS_OK)
            drop_group(g);
        break;
    case 13:
        if (p.memory)
            check(torus_free(p.context, p.memory));
        p.memory = p.memory ? NULL : torus_alloc(p.context, 8192);
        break;
    case 14:
        check(torus_dispatch(p.context));
        break;
    default:
        list();
    }
}

static void clean_up(int lowest)
{
    torus_close(p.context);
    for (uint32_t i = 0; i < REQUESTS_MAX; i++)
        free(p.kept[i]);
    for (uint32_t i = 0; i < s.shares; i++)
        munmap(s.shared[i].memory, s.shared[i].bytes);
    for (; s.queued > 0; s.queued--, s.first = (s.first + 1) % QUEUE_MAX)
        for (int i = 0; i < 2; i++)
            if (s.queue[s.first].fd[i] >= 0)
                close(s.queue[s.first].fd[i]);
    if (s.shrinking >= 0)
        close(s.shrinking);
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert(fd == lowest); /* no descriptor is left open */
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct torus_open_options o = {.size = sizeof o, .socket = "hostile"};
    int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(lowest);
    s = (struct scene){.plays = true, .input = {data, size}, .now_ns = 1000000000, .shrinking = -1};
    p = (struct process){0};
    int error = torus_open(&p.context, &o);
    check(error);
    for (uint32_t i = 0; error == TORUS_OK && i < CALLS_MAX && s.input.left > 0; i++)
        play();
    clean_up(lowest);
    s.plays = false;
    return 0;
}
