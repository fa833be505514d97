/* SPDX-License-Identifier: Apache-2.0 */
#include "attack_local.h"

#include "daemons.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wire/client.h"

enum {
    NOBODY = 65534,
    CROWD = 900,     /* connections at a time: more than the share of a user */
    PASSED = 253,    /* descriptors of one message (SCM_MAX_FD) */
    GUESSES = 40,    /* numbers of groups, regions and plans */
    PATIENCE = 30000 /* ms for a reply, beside any load */
};

static struct local_attack *me;
static pid_t victim, process; /* the daemon, and a rank */
static pid_t attacker;

static void breach(const char *format, const char *what)
{
    if (!me->breach[0])
        snprintf(me->breach, sizeof me->breach, format, what);
}

/* ---- what the kernel denies ---- */

/* denied notes an attempt that must fail. */
static void denied(bool succeeded, const char *what)
{
    me->denied++;
    if (succeeded)
        breach("it succeeded: %s", what);
}

static void try_file(const char *name, int flags)
{
    char path[160], what[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, flags | O_CLOEXEC, 0600);
    snprintf(what, sizeof what, "open %s with flags %x", path, (unsigned)flags);
    denied(fd >= 0, what);
    if (fd >= 0)
        close(fd);
}

static void try_files(void)
{
    char path[160];
    try_file("k0", O_RDONLY);
    try_file("k0", O_WRONLY);
    try_file("c0", O_WRONLY);
    try_file("peers", O_WRONLY);
    try_file("l0", O_WRONLY | O_APPEND);
    try_file("mine", O_WRONLY | O_CREAT);
    snprintf(path, sizeof path, "%s/s0", folder);
    denied(unlink(path) == 0, "unlink of the socket");
    denied(rename(path, "/tmp/torus-stolen") == 0, "rename of the socket");
    denied(chmod(path, 0600) == 0, "chmod of the socket");
    denied(symlink("/etc/passwd", path) == 0, "a link in place of the socket");
    denied(rmdir(folder) == 0, "rmdir of the folder");
}

static void try_process(pid_t pid, const char *who)
{
    static const char *const files[] = {"mem", "fd/0", "maps", "environ", "oom_score_adj"};
    char path[64];
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, files[i]);
        int fd = open(path, (i < 4 ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
        denied(fd >= 0, path);
        if (fd >= 0)
            close(fd);
    }
    char byte = 0;
    struct iovec here = {&byte, 1}, there = {(void *)(uintptr_t)&me, 1};
    denied(process_vm_readv(pid, &here, 1, &there, 1, 0) >= 0, who);
    denied(process_vm_writev(pid, &here, 1, &there, 1, 0) >= 0, who);
    denied(ptrace(PTRACE_ATTACH, pid, NULL, NULL) == 0, who);
    denied(kill(pid, SIGSTOP) == 0, who);
    denied(kill(pid, SIGTERM) == 0, who);
    denied(setpriority(PRIO_PROCESS, (id_t)pid, 19) == 0, who);
    struct rlimit none = {0, 0};
    denied(prlimit(pid, RLIMIT_NOFILE, &none, NULL) == 0, who);
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd >= 0) {
        denied(syscall(SYS_pidfd_getfd, pidfd, 3, 0) >= 0, who);
        denied(syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) == 0, who);
        close(pidfd);
    }
}

/* ---- the socket of clients ---- */

static uint8_t bytes[TD_DATAGRAM_MAX + 1];
static struct td_wire_memory memory;

static int reach(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/s0", folder);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    breach("the socket of clients: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

/* hear reads one reply. It returns false at the end of the connection. */
static bool hear(int fd, struct td_reply *reply, int ms)
{
    const char *why = NULL;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (poll(&p, 1, ms) != 1) {
        breach("no reply came in time%s", "");
        return false;
    }
    ssize_t size = recv(fd, bytes, sizeof bytes, 0);
    if (size <= 0)
        return false;
    if (td_wire_decode_reply(bytes, (size_t)size, &memory, reply, &why) != TD_OK) {
        breach("a malformed reply: %s", why);
        return false;
    }
    me->expelled += reply->kind == TD_REPLY_ERROR && reply->id == 0;
    me->refused += reply->id != 0 && reply->error != TD_OK;
    return true;
}

/* until_end reads all replies, and closes the connection. */
static void until_end(int fd)
{
    struct td_reply reply;
    while (hear(fd, &reply, PATIENCE + 3000))
        continue;
    close(fd);
}

static void ask(int fd, struct td_request q)
{
    size_t size = td_wire_encode_request(&q, bytes, sizeof bytes);
    (void)!send(fd, bytes, size, MSG_NOSIGNAL);
}

static void pass(int fd, struct td_request q, int passed, uint32_t count)
{
    struct iovec part = {.iov_base = bytes,
                         .iov_len = td_wire_encode_request(&q, bytes, sizeof bytes)};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(PASSED * sizeof(int))] = {0};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = CMSG_SPACE(count * sizeof passed)};
    struct cmsghdr *h = CMSG_FIRSTHDR(&m);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(count * sizeof passed);
    for (uint32_t i = 0; i < count; i++)
        memcpy(CMSG_DATA(h) + i * sizeof passed, &passed, sizeof passed);
    (void)!sendmsg(fd, &m, MSG_NOSIGNAL);
}

static const struct td_request hello = {
    .kind = TD_REQUEST_HELLO, .id = 1, .u.hello.program = "attacker"};

static int greeted(void)
{
    struct td_reply reply;
    int fd = reach();
    if (fd < 0)
        return -1;
    ask(fd, hello);
    if (hear(fd, &reply, PATIENCE) && reply.kind == TD_REPLY_WELCOME)
        return fd;
    close(fd);
    return -1;
}

/* garbage sends what is no request; each ends its connection. */
static void garbage(void)
{
    for (int i = 0; i < 12; i++) {
        int fd = i % 2 ? greeted() : reach();
        if (fd < 0)
            return;
        size_t size = td_wire_encode_request(&hello, bytes, sizeof bytes);
        size_t length = i < 2 ? 1 : i < 4 ? 7 : i < 6 ? size : i < 8 ? 1000 : sizeof bytes;
        td_key_random(bytes + (i < 6 ? 4 : 8), 60);
        if (i >= 10)
            bytes[4] = 200; /* another version */
        (void)!send(fd, bytes, length, MSG_NOSIGNAL);
        if (i < 6 || length < TD_DATAGRAM_MAX)
            shutdown(fd, SHUT_WR);
        until_end(fd);
    }
    int fd = reach(); /* a request before HELLO */
    if (fd < 0)
        return;
    ask(fd, (struct td_request){.kind = TD_REQUEST_STATUS, .id = 2, .u.status.section = 1});
    until_end(fd);
}

/* descriptors passes files that are no memory, and more of them than a message needs. */
static void descriptors_of_all_kinds(void)
{
    const struct td_request region = {
        .kind = TD_REQUEST_REGION, .id = 2, .u.region = {.region = 1, .bytes = 4096}};
    int file[4] = {open("/dev/null", O_RDWR | O_CLOEXEC), socket(AF_UNIX, SOCK_STREAM, 0),
                   memfd_create("unsealed", MFD_CLOEXEC), open("/proc/self/maps", O_RDONLY)};
    struct td_reply reply;
    for (int i = 0; i < 4; i++) {
        int fd = greeted();
        if (fd < 0 || file[i] < 0)
            continue;
        pass(fd, region, file[i], i == 1 ? PASSED : 1);
        if (!hear(fd, &reply, PATIENCE) || reply.error == TD_OK)
            breach("a file that is no shared memory was accepted%s", "");
        close(fd);
    }
    for (int i = 0; i < 4; i++)
        if (file[i] >= 0)
            close(file[i]);
}

/* guess names groups, regions, plans and requests of others. */
static void guess(void)
{
    struct td_reply reply;
    int fd = greeted();
    for (uint32_t i = 0; fd >= 0 && i < GUESSES; i++) {
        struct td_request q = {.id = 10 + i};
        switch (i % 4) {
        case 0:
            q.kind = TD_REQUEST_OPERATION;
            q.u.operation.group = 1 + i / 4;
            q.u.operation.call.kind = TD_KIND_BARRIER;
            break;
        case 1:
            q.kind = TD_REQUEST_LEAVE;
            q.u.leave.group = 1 + i / 4;
            break;
        case 2:
            q.kind = TD_REQUEST_SHRINK;
            q.u.shrink.group = 1 + i / 4;
            break;
        default:
            q.kind = TD_REQUEST_GROUP;
            q.u.make.group = 1 + i / 4;
            break;
        }
        ask(fd, q);
        if (!hear(fd, &reply, PATIENCE)) {
            close(fd);
            fd = greeted();
        } else if (reply.id == q.id && reply.error == TD_OK) {
            breach("a group of another user was used%s", "");
        }
    }
    if (fd >= 0)
        close(fd);
}

/* look asks for the jobs and operations of others, and joins their job by its name. */
static void look(const char *job)
{
    struct td_reply reply;
    int fd = greeted();
    for (uint32_t section = TD_STATUS_CLIENTS; fd >= 0 && section <= TD_STATUS_OPERATIONS;
         section++) {
        ask(fd, (struct td_request){
                    .kind = TD_REQUEST_STATUS, .id = section, .u.status.section = section});
        if (!hear(fd, &reply, PATIENCE))
            break;
        for (uint32_t i = 0; reply.kind == TD_REPLY_STATUS && i < reply.u.status.rows; i++) {
            const struct td_status_row *row = &reply.u.status.row[i];
            if (row->kind == TD_ROW_JOB || row->kind == TD_ROW_OPERATION ||
                (row->kind == TD_ROW_CLIENT && strcmp(row->u.client.program, "attacker") != 0))
                breach("a row of another user was shown%s", "");
        }
    }
    if (fd < 0)
        return;
    struct td_request q = {.kind = TD_REQUEST_JOIN, .id = 50};
    q.u.join.name = job;
    q.u.join.size = 4; /* as that of the workload */
    q.u.join.rank = 0;
    q.u.join.timeout_ns = SECOND / 50;
    ask(fd, q);
    if (hear(fd, &reply, PATIENCE) && reply.kind == TD_REPLY_JOINED)
        breach("it joined the job of another user%s", "");
    close(fd);
}

/* crowd holds many connections, most of which say nothing until they are expelled. */
static void crowd(void)
{
    int fd[CROWD];
    for (int i = 0; i < CROWD; i++) {
        fd[i] = i % 4 ? reach() : greeted();
        if (fd[i] >= 0 && i % 8 == 0) /* it reads no replies */
            for (int k = 0; k < 300; k++) {
                struct td_request q = {
                    .kind = TD_REQUEST_STATUS, .id = 1, .u.status.section = TD_STATUS_PEERS};
                size_t size = td_wire_encode_request(&q, bytes, sizeof bytes);
                if (send(fd[i], bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
                    break;
            }
    }
    for (int i = 0; i < CROWD; i++)
        if (fd[i] >= 0 && i % 4)
            until_end(fd[i]);
        else if (fd[i] >= 0)
            close(fd[i]);
}

/* ---- life ---- */

/* become gives up all rights. It returns false if the process could not. */
static bool become_nobody(void)
{
    if (getuid() != 0) {
        me->has_rights = true;
        return true;
    }
    return setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
           setresuid(NOBODY, NOBODY, NOBODY) == 0;
}

static void attack(const char *job)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!become_nobody())
        breach("it cannot become another user: %s", strerror(errno));
    while (!me->ends && !me->breach[0]) {
        if (!me->has_rights) {
            try_files();
            try_process(victim, "an access to the daemon");
            try_process(process, "an access to a rank");
        }
        garbage();
        descriptors_of_all_kinds();
        guess();
        look(job);
        crowd();
        me->rounds++;
    }
}

struct local_attack *local_attack_start(pid_t daemon, pid_t rank)
{
    me = mmap(NULL, sizeof *me, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(me, MAP_FAILED);
    assert_int_equal(chmod(folder, 0755), 0);
    victim = daemon;
    process = rank;
    attacker = fork();
    if (attacker == 0) {
        close_range(3, ~0u, 0); /* of the ranks, which another user has not */
        attack("job");
        _exit(0);
    }
    assert_true(attacker > 0);
    return me;
}

void local_attack_end(struct local_attack *a)
{
    int code = 0;
    a->ends = true;
    assert_int_equal(waitpid(attacker, &code, 0), attacker);
    if (a->breach[0])
        fail_msg("the local attacker: %s", a->breach);
    assert_true(WIFEXITED(code) && WEXITSTATUS(code) == 0);
}
