/* SPDX-License-Identifier: Apache-2.0 */
#include "hostile_user.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemons.h"
#include "random.h"

enum {
    CONNECTIONS = 200,
    CROWD = 900, /* more than the share of a user */
    JOBS = 25,
    GROUPS = 1024,
    MIB = 1 << 20,
    REPLY_S = 60,
};
#define LONG_NS (INT64_C(100) * SECOND)

static uint8_t bytes[TD_DATAGRAM_MAX];
static struct td_wire_memory memory;
static uint64_t last_id = 1, seed = 1;

/* ---- connections ---- */

void hostile_become(uint32_t uid)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (setgroups(0, NULL) != 0 || setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0)
        _exit(9);
}

static int reach(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = REPLY_S};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/s0", folder);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

bool hostile_send(int fd, const struct td_request *q, int pass)
{
    struct iovec part = {.iov_base = bytes,
                         .iov_len = td_wire_encode_request(q, bytes, sizeof bytes)};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    if (pass >= 0) {
        m.msg_control = control;
        m.msg_controllen = sizeof control;
        struct cmsghdr *h = CMSG_FIRSTHDR(&m);
        h->cmsg_level = SOL_SOCKET;
        h->cmsg_type = SCM_RIGHTS;
        h->cmsg_len = CMSG_LEN(sizeof pass);
        memcpy(CMSG_DATA(h), &pass, sizeof pass);
    }
    return sendmsg(fd, &m, MSG_NOSIGNAL) > 0;
}

bool hostile_hear(int fd, struct td_reply *reply)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {.iov_base = bytes, .iov_len = sizeof bytes};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = sizeof control};
    const char *why = NULL;
    int passed = -1;
    ssize_t size = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *rights = size > 0 ? CMSG_FIRSTHDR(&m) : NULL;
    if (rights) {
        memcpy(&passed, CMSG_DATA(rights), sizeof passed);
        close(passed);
    }
    return size > 0 && td_wire_decode_reply(bytes, (size_t)size, &memory, reply, &why) == TD_OK;
}

static void count(struct hostile *me, const struct td_reply *reply)
{
    me->answered++;
    me->refused += reply->error != TD_OK;
}

/* ask sends a request and reads the next reply. */
static bool ask(struct hostile *me, int fd, struct td_request q, int pass, struct td_reply *reply)
{
    q.id = ++last_id;
    if (!hostile_send(fd, &q, pass) || !hostile_hear(fd, reply))
        return false;
    count(me, reply);
    return true;
}

int hostile_open(const char *program)
{
    struct td_request q = {.kind = TD_REQUEST_HELLO, .id = 1, .u.hello.program = program};
    struct td_reply reply;
    int fd = reach();
    if (fd >= 0 && hostile_send(fd, &q, -1) && hostile_hear(fd, &reply) &&
        reply.kind == TD_REPLY_WELCOME)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static uint32_t open_many(int *fd, uint32_t most)
{
    uint32_t n = 0;
    while (n < most && (fd[n] = hostile_open("hostile")) >= 0)
        n++;
    return n;
}

static void close_all_of(const int *fd, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        close(fd[i]);
}

static bool lasts(const struct hostile *me)
{
    return seconds() < me->until;
}

int hostile_memory(uint64_t size)
{
    int fd = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, (off_t)size) != 0 || fallocate(fd, 0, 0, (off_t)size) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    return fd;
}

/* ---- jobs ---- */

/* struct pair: the two ranks of a job. */
struct pair {
    int fd[2];
    uint32_t group[2];
    uint64_t sequence; /* of the next call */
};

static bool join_pair(struct hostile *me, struct pair *p, uint32_t number)
{
    struct td_reply reply;
    char name[40];
    snprintf(name, sizeof name, "hostile%u", number);
    *p = (struct pair){.fd = {-1, -1}};
    for (uint32_t i = 0; i < 2; i++) {
        struct td_request q = {.kind = TD_REQUEST_JOIN, .id = ++last_id};
        q.u.join.name = name;
        q.u.join.size = 2;
        q.u.join.rank = i;
        q.u.join.timeout_ns = LONG_NS;
        if ((p->fd[i] = hostile_open("hostile")) < 0 || !hostile_send(p->fd[i], &q, -1))
            return false;
    }
    for (uint32_t i = 0; i < 2; i++) {
        if (!hostile_hear(p->fd[i], &reply) || reply.kind != TD_REPLY_JOINED)
            return false;
        p->group[i] = reply.u.joined.group;
        me->answered++;
    }
    return true;
}

static void end_pair(const struct pair *p)
{
    for (uint32_t i = 0; i < 2; i++)
        if (p->fd[i] >= 0)
            close(p->fd[i]);
}

static uint32_t join_pairs(struct hostile *me, struct pair *p, uint32_t most)
{
    static uint32_t number;
    uint32_t n = 0;
    while (n < most && join_pair(me, &p[n], ++number))
        n++;
    if (n < most)
        end_pair(&p[n]);
    return n;
}

static bool send_call(struct pair *p, uint32_t i, struct td_request q)
{
    q.kind = TD_REQUEST_OPERATION;
    q.id = ++last_id;
    q.u.operation.group = p->group[i];
    q.u.operation.sequence = p->sequence;
    q.u.operation.timeout_ns = LONG_NS;
    return hostile_send(p->fd[i], &q, -1);
}

/* end_call reads the replies to a call of both ranks. It returns false if a connection has ended.
 * *plan: the number of the plan that they agreed on; 0: none. */
static bool end_call(struct hostile *me, struct pair *p, uint64_t *plan)
{
    struct td_reply reply;
    bool refused = false;
    *plan = 0;
    for (uint32_t i = 0; i < 2; i++) {
        do
            if (!hostile_hear(p->fd[i], &reply))
                return false;
        while (reply.id == 0);
        count(me, &reply);
        refused = refused || reply.refused;
        *plan = reply.kind == TD_REPLY_PLANNED ? reply.u.planned.plan : *plan;
    }
    p->sequence += !refused;
    return true;
}

static struct td_request move(const char *from, const char *to, uint64_t size, uint32_t schedule)
{
    struct td_request q = {.kind = TD_REQUEST_OPERATION};
    q.u.operation.call.kind = TD_KIND_PLAN_REDIST;
    q.u.operation.description.from = from;
    q.u.operation.description.to = to;
    q.u.operation.description.redist =
        (struct td_redist){.dimensions = 1, .schedule = schedule, .element = 1, .size = {size}};
    return q;
}

/* ---- the kinds ---- */

static void connects(struct hostile *me)
{
    int fd[CROWD];
    while (lasts(me)) {
        uint32_t n = open_many(fd, CONNECTIONS);
        me->answered += n;
        close_all_of(fd, n);
        for (n = 0; n < CROWD && (fd[n] = reach()) >= 0; n++)
            continue; /* these say nothing */
        close_all_of(fd, n);
    }
}

static void regions(struct hostile *me)
{
    static const uint64_t sizes[] = {4 * MIB, 4096, 64 * MIB, MIB};
    int fd[CONNECTIONS];
    uint32_t n = open_many(fd, CONNECTIONS);
    struct td_reply reply;
    for (uint32_t round = 0; lasts(me) && n > 0; round++) {
        uint64_t size = sizes[round % 4];
        struct td_request q = {.kind = TD_REQUEST_REGION, .u.region = {.region = 1, .bytes = size}};
        uint32_t sent = 0;
        for (; sent < n && sent * size < 400 * (uint64_t)MIB; sent++) {
            int shared = hostile_memory(size);
            q.id = ++last_id;
            bool good = shared >= 0 && hostile_send(fd[sent], &q, shared);
            if (shared >= 0)
                close(shared);
            if (!good)
                break;
        }
        for (uint32_t i = 0; i < sent && hostile_hear(fd[i], &reply); i++)
            count(me, &reply);
        q = (struct td_request){.kind = TD_REQUEST_UNREGION, .u.unregion.region = 1};
        for (uint32_t i = 0; i < sent && ask(me, fd[i], q, -1, &reply); i++)
            continue;
    }
    close_all_of(fd, n);
}

static void groups(struct hostile *me)
{
    static const uint64_t member[] = {0, 1};
    struct td_reply reply;
    while (lasts(me)) {
        struct pair p;
        if (join_pairs(me, &p, 1) == 0)
            return;
        for (uint64_t number = 1; number <= GROUPS && lasts(me); number++) {
            struct td_request q = {.kind = TD_REQUEST_GROUP};
            q.u.make.number = number;
            q.u.make.members = 2;
            q.u.make.member = member;
            for (uint32_t i = 0; i < 2; i++) {
                q.id = ++last_id;
                q.u.make.group = p.group[i];
                (void)hostile_send(p.fd[i], &q, -1);
            }
            bool good = true;
            for (uint32_t i = 0; i < 2 && good; i++) {
                if ((good = hostile_hear(p.fd[i], &reply)))
                    count(me, &reply);
                good = good && reply.kind == TD_REPLY_JOINED;
            }
            if (!good)
                break;
        }
        end_pair(&p); /* with all groups */
    }
}

/* layout writes a layout of one axis. */
static const char *layout(char text[64])
{
    static const uint64_t block[] = {1, 2, 7, 64, 5003, 104729, 1000003, 1ull << 40};
    uint64_t b = block[random_below(&seed, 8)] + random_below(&seed, 40);
    snprintf(text, 64, random_below(&seed, 3) ? "cyclic(%llu)" : "block(%llu)",
             (unsigned long long)b);
    return text;
}

static void plans(struct hostile *me)
{
    char from[64], to[64];
    while (lasts(me)) {
        struct pair p[4];
        uint32_t n = join_pairs(me, p, 4);
        uint64_t plan = 0;
        bool good = n > 0;
        for (uint32_t i = 0; i < 400 && good && lasts(me); i++) { /* they are kept until the end */
            struct td_request q =
                move(layout(from), layout(to), 1ull << (20 + random_below(&seed, 40)), i % 6);
            good = send_call(&p[i % n], 0, q) && send_call(&p[i % n], 1, q) &&
                   end_call(me, &p[i % n], &plan);
        }
        for (uint32_t i = 0; i < n; i++)
            end_pair(&p[i]);
        if (n == 0)
            return;
    }
}

static void bombs(struct hostile *me)
{
    static struct pair p[JOBS];
    uint32_t n = join_pairs(me, p, JOBS);
    uint64_t plan = 0;
    bool good = n > 0;
    while (lasts(me) && good) {
        struct td_request q = move("cyclic(900001)", "cyclic(900007)", 1ull << 62, 0);
        for (uint32_t i = 0; i < n && good; i++)
            good = send_call(&p[i], 0, q) && send_call(&p[i], 1, q);
        for (uint32_t i = 0; i < n && good; i++) {
            good = end_call(me, &p[i], &plan);
            struct td_request end = {.kind = TD_REQUEST_UNPLAN};
            end.u.unplan.plan = plan;
            for (uint32_t k = 0; plan && k < 2 && good; k++) {
                end.u.unplan.group = p[i].group[k];
                good = hostile_send(p[i].fd[k], &end, -1); /* id 0: no reply */
            }
        }
    }
    for (uint32_t i = 0; i < n; i++)
        end_pair(&p[i]);
}

/* flood sends requests for the status that may wait unread. */
static void flood(struct hostile *me, bool reads)
{
    int fd[CONNECTIONS];
    uint32_t n = open_many(fd, CONNECTIONS);
    for (uint32_t i = 0; i < n; i++)
        fcntl(fd[i], F_SETFL, O_NONBLOCK);
    while (lasts(me) && n > 0) {
        for (uint32_t i = 0; i < n; i++) {
            struct td_request q = {.kind = TD_REQUEST_STATUS, .id = ++last_id};
            struct td_reply reply;
            q.u.status.section = 1 + (uint32_t)random_below(&seed, 20);
            for (int k = 0; k < 4 && hostile_send(fd[i], &q, -1); k++)
                continue;
            while (reads && hostile_hear(fd[i], &reply))
                count(me, &reply);
        }
        poll(NULL, 0, reads ? 0 : 1);
    }
    close_all_of(fd, n);
}

static void status_requests(struct hostile *me)
{
    flood(me, true);
}

static void unread_replies(struct hostile *me)
{
    flood(me, false);
}

static void names(struct hostile *me)
{
    /* NOLINTBEGIN(misc-misleading-bidirectional): hostile names have such characters */
    static const char *const pieces[] = {
        "\x1b[31m", "\n",      "\r",           "\xc2\x9b", "\xe2\x80\xa8",
        "\xff",     "caf\xe9", "\xe2\x80\xae", "a",        "0123456789"};
    /* NOLINTEND(misc-misleading-bidirectional) */
    while (lasts(me)) {
        char text[2][200];
        for (int k = 0; k < 2; k++) {
            text[k][0] = '\0';
            for (uint64_t i = 0, all = 1 + random_below(&seed, 12); i < all; i++)
                strncat(text[k], pieces[random_below(&seed, 10)], 12);
        }
        struct td_request q = {.kind = TD_REQUEST_JOIN};
        struct td_reply reply;
        q.u.join.name = text[0];
        q.u.join.size = 2;
        q.u.join.rank = -1;
        q.u.join.timeout_ns = 1000000;
        int fd = hostile_open(text[1]);
        if (fd < 0)
            fd = hostile_open("hostile");
        if (fd < 0)
            return;
        (void)ask(me, fd, q, -1, &reply);
        close(fd);
    }
}

static void transforms(struct hostile *me)
{
    enum { MOST = 1 << 20 };
    const uint64_t half = 16 * (uint64_t)MOST;
    static uint64_t points = 1000;
    struct pair p;
    struct td_reply reply;
    uint64_t plan = 0;
    if (join_pairs(me, &p, 1) == 0)
        return;
    bool good = true;
    for (uint32_t i = 0; i < 2 && good; i++) {
        struct td_request q = {.kind = TD_REQUEST_REGION,
                               .u.region = {.region = 1, .bytes = 2 * half}};
        int shared = hostile_memory(2 * half);
        good = ask(me, p.fd[i], q, shared, &reply);
        close(shared);
    }
    while (lasts(me) && good) {
        struct td_request q = {.kind = TD_REQUEST_OPERATION};
        points = points * 21 / 20 % MOST + 17;
        q.u.operation.call.kind = TD_KIND_PLAN_FFT;
        q.u.operation.description.from = q.u.operation.description.to = "";
        q.u.operation.description.fft = (struct td_fft){.dimensions = 1,
                                                        .type = TD_TYPE_COMPLEX_DOUBLE,
                                                        .sign = -1,
                                                        .size = {points},
                                                        .transform = {1}};
        good = send_call(&p, 0, q) && send_call(&p, 1, q) && end_call(me, &p, &plan);
        if (!good || plan == 0)
            continue;
        struct td_request go = {.kind = TD_REQUEST_OPERATION};
        go.u.operation.call = (struct td_call){.kind = TD_KIND_FFT, .plan = plan};
        go.u.operation.source = (struct td_place){.region = 1, .bytes = half};
        go.u.operation.destination = (struct td_place){.region = 1, .offset = half, .bytes = half};
        good = send_call(&p, 0, go) && send_call(&p, 1, go) && end_call(me, &p, &(uint64_t){0});
        for (uint32_t k = 0; k < 2 && good; k++) {
            struct td_request end = {.kind = TD_REQUEST_UNPLAN};
            end.u.unplan.group = p.group[k];
            end.u.unplan.plan = plan;
            good = hostile_send(p.fd[k], &end, -1);
        }
    }
    end_pair(&p);
}

const struct hostile_kind hostile_kinds[HOSTILE_KINDS] = {
    {"connects", connects},
    {"regions", regions},
    {"groups", groups},
    {"plans", plans},
    {"bombs", bombs},
    {"status requests", status_requests},
    {"unread replies", unread_replies},
    {"names", names},
    {"transforms of new lengths", transforms},
};
