/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that try to stop the daemon from serving others: they pass descriptors whose close()
 * sleeps, keep all places, read no replies, and give back memory that they have shared. */
#include "raw.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seeds.h"

enum { LINGER_SECONDS = 8 };

/* ---- descriptors whose close() sleeps ---- */

static int far_end = -1;

/* lingering returns a socket whose last close() sleeps, because its far end reads nothing. */
static int lingering(void)
{
    static uint8_t junk[65536];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    (void)connect(fd, (struct sockaddr *)&address, sizeof address);
    far_end = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(far_end >= 0);
    while (send(fd, junk, sizeof junk, MSG_NOSIGNAL) > 0)
        continue;
    struct linger l = {.l_onoff = 1, .l_linger = LINGER_SECONDS};
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l), 0);
    close(listener);
    return fd;
}

/* expect_service checks that a new client is served at once. */
static void expect_service(void)
{
    double before = seconds();
    int fd = raw_open();
    raw_send(fd, (struct td_request){.kind = TD_REQUEST_HELLO, .id = 1}, NULL, 0);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (poll(&p, 1, 2 * LINGER_SECONDS * 1000) != 1)
        fail_msg("the daemon serves nobody");
    close(fd);
    double took = seconds() - before;
    if (took > LINGER_SECONDS / 2.0)
        fail_msg("the daemon served nobody for %.1f s", took);
}

/* hold_daemon stops the daemon, so that this process can close its descriptors before the daemon
 * reads what was sent. */
static void hold_daemon(void)
{
    int status = 0;
    kill(daemon_pid[0], SIGSTOP);
    assert_int_equal(waitpid(daemon_pid[0], &status, WUNTRACED), daemon_pid[0]);
}

static void a_lingering_socket_delays_nobody(void **state)
{
    (void)state;
    const struct td_request hello = {.kind = TD_REQUEST_HELLO, .id = 1};
    const struct td_request region = {
        .kind = TD_REQUEST_REGION, .id = 2, .u.region = {.region = 1, .bytes = 4096}};
    start(1, "");
    for (int i = 0; i < 3; i++) {
        int fd = i == 1 ? raw_greeted() : raw_open(), passed = lingering();
        int many[RAW_PASS_MAX];
        for (int k = 0; k < RAW_PASS_MAX; k++)
            many[k] = passed;
        hold_daemon();
        if (i == 0)
            raw_send(fd, hello, &passed, 1);
        else if (i == 1)
            raw_send(fd, region, &passed, 1);
        else
            raw_send(fd, hello, many, RAW_PASS_MAX);
        close(passed);
        kill(daemon_pid[0], SIGCONT);
        expect_service();
        close(fd);
        close(far_end);
    }
    stop();
}

/* The connection is closed while a request with the socket is still unread. */
static void an_unread_lingering_socket_delays_nobody(void **state)
{
    (void)state;
    const struct td_request hello = {.kind = TD_REQUEST_HELLO, .id = 1};
    start(1, "");
    int fd = raw_open(), passed = lingering();
    hold_daemon();
    assert_int_equal(send(fd, "garbage", 7, 0), 7);
    raw_send(fd, hello, &passed, 1);
    close(passed);
    kill(daemon_pid[0], SIGCONT);
    expect_service();
    close(fd);
    expect_service();
    close(far_end);
    stop();
}

/* ---- a file system that does not answer ---- */

static void fuse_reply(int fuse, uint64_t unique, const void *body, size_t size)
{
    struct {
        struct fuse_out_header header;
        uint8_t body[256];
    } out = {.header = {.unique = unique, .len = (uint32_t)(sizeof out.header + size)}};
    if (size > 0)
        memcpy(out.body, body, size);
    (void)!write(fuse, &out, out.header.len);
}

/* serve_fuse serves a file system with one file. It answers nothing that the daemon asks. */
static void serve_fuse(int fuse, pid_t daemon)
{
    static _Alignas(8) uint8_t bytes[FUSE_MIN_READ_BUFFER + 65536];
    const struct fuse_in_header *q = (const void *)bytes;
    while (read(fuse, bytes, sizeof bytes) > 0) {
        struct fuse_init_out init = {
            .major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION, .max_write = 4096};
        struct fuse_attr attr = {.ino = q->nodeid,
                                 .mode =
                                     q->nodeid == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0644,
                                 .nlink = 1};
        struct fuse_attr_out attributes = {.attr = attr};
        struct fuse_entry_out entry = {.nodeid = 2,
                                       .attr = {.ino = 2, .mode = S_IFREG | 0644, .nlink = 1}};
        struct fuse_open_out opened = {.fh = 1};
        if ((pid_t)q->pid == daemon)
            continue;
        if (q->opcode == FUSE_INIT)
            fuse_reply(fuse, q->unique, &init, sizeof init);
        else if (q->opcode == FUSE_GETATTR)
            fuse_reply(fuse, q->unique, &attributes, sizeof attributes);
        else if (q->opcode == FUSE_LOOKUP)
            fuse_reply(fuse, q->unique, &entry, sizeof entry);
        else if (q->opcode == FUSE_OPEN)
            fuse_reply(fuse, q->unique, &opened, sizeof opened);
        else if (q->opcode != FUSE_RELEASE && q->opcode != FUSE_FORGET)
            fuse_reply(fuse, q->unique, NULL, 0);
    }
}

static void a_file_system_that_does_not_answer_delays_nobody(void **state)
{
    (void)state;
    const struct td_request hello = {.kind = TD_REQUEST_HELLO, .id = 1};
    const struct td_request region = {
        .kind = TD_REQUEST_REGION, .id = 2, .u.region = {.region = 1, .bytes = 4096}};
    char place[100], path[120], options[100];
    int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (fuse < 0)
        skip();
    start(1, "");
    snprintf(place, sizeof place, "%s/fuse", folder);
    snprintf(path, sizeof path, "%s/file", place);
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
    assert_int_equal(mkdir(place, 0755), 0);
    if (mount("test", place, "fuse", 0, options) != 0) {
        rmdir(place);
        stop();
        skip();
    }
    pid_t server = fork();
    if (server == 0) {
        alarm(60); /* if the test fails */
        serve_fuse(fuse, daemon_pid[0]);
        _exit(0);
    }
    close(fuse);
    for (int i = 0; i < 2; i++) {
        int passed = open(path, O_RDONLY | O_CLOEXEC), fd = i ? raw_greeted() : raw_open();
        assert_true(passed >= 0);
        hold_daemon();
        raw_send(fd, i ? region : hello, &passed, 1);
        close(passed);
        kill(daemon_pid[0], SIGCONT);
        expect_service();
        close(fd);
    }
    kill(server, SIGKILL); /* ends what the daemon waits for */
    assert_int_equal(waitpid(server, NULL, 0), server);
    umount2(place, MNT_DETACH);
    rmdir(place);
    stop();
}

/* ---- places ---- */

enum { NOBODY = 65534, SOMEBODY = 65533, SILENT = 1100, STATUSES = 200 };

/* as_user runs `run` in a child process of a user, and returns its pid. The child ends when the
 * pipe is closed. */
static pid_t as_user(uid_t uid, void (*run)(void), int ends[2])
{
    char byte = 0;
    int ready[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (setuid(uid) != 0)
            _exit(127);
        close(ends[1]);
        close(ready[0]);
        run();
        if (write(ready[1], &byte, 1) == 1)
            (void)!read(ends[0], &byte, 1);
        _exit(0);
    }
    close(ends[0]);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static void end_user(pid_t pid, const int ends[2])
{
    int code = 0;
    close(ends[1]);
    assert_int_equal(waitpid(pid, &code, 0), pid);
    assert_true(WIFEXITED(code) && WEXITSTATUS(code) == 0);
}

static void open_silent(void)
{
    for (int i = 0; i < SILENT; i++)
        (void)raw_open();
}

static void get_in(void)
{
    close(raw_greeted());
}

static void needs_root(void)
{
    if (geteuid() != 0)
        skip();
}

static void silent_connections_of_one_user_lock_nobody_out(void **state)
{
    (void)state;
    int silent[2], other[2];
    needs_root();
    start(1, "");
    assert_int_equal(chmod(folder, 0755), 0);
    int before = descriptors_of(daemon_pid[0]);
    pid_t pid = as_user(NOBODY, open_silent, silent);
    expect_service(); /* of root */
    end_user(as_user(SOMEBODY, get_in, other), other);
    assert_in_range(descriptors_of(daemon_pid[0]), before,
                    before + 1470); /* 720 pairs, and the pipe's */
    for (double end = seconds() + 15; descriptors_of(daemon_pid[0]) > before + 10;) { /* no HELLO */
        assert_true(seconds() < end);
        poll(NULL, 0, 50);
    }
    end_user(pid, silent);
    stop();
}

/* ---- replies that nobody reads ---- */

static long memory_of_daemon(void)
{
    char path[64], line[128];
    long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)daemon_pid[0]);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (strncmp(line, "VmRSS:", 6) == 0)
            kib = strtol(line + 6, NULL, 10);
    fclose(f);
    return kib;
}

/* ask_without_reading sends requests until the daemon reads no more of them, and reads no reply. */
static void ask_without_reading(void)
{
    static const struct td_request status = {
        .kind = TD_REQUEST_STATUS, .id = 2, .u.status.section = TD_STATUS_CLIENTS};
    static uint8_t request[256];
    size_t size = td_wire_encode_request(&status, request, sizeof request);
    static const struct td_request hello = {
        .kind = TD_REQUEST_HELLO,
        .id = 1,
        .u.hello.program = "a program with a long name, so that the rows of STATUS are long"};
    int fd[STATUSES];
    for (int i = 0; i < STATUSES; i++) {
        fd[i] = raw_open();
        assert_int_equal(raw_ask(fd[i], hello, -1).kind, TD_REPLY_WELCOME);
    }
    double start = seconds(), last = start;
    while (seconds() - last < 1 && seconds() - start < 30)
        for (int i = 0; i < STATUSES; i++)
            if (send(fd[i], request, size, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
                last = seconds();
}

static void unread_replies_are_bounded(void **state)
{
    (void)state;
    int ends[2];
    needs_root();
    start(1, "[limits]\nunread = 16 MiB\n");
    assert_int_equal(chmod(folder, 0755), 0);
    expect_service();
    long before = memory_of_daemon();
    pid_t pid = as_user(NOBODY, ask_without_reading, ends);
    long after = memory_of_daemon();
    expect_service();
    end_user(pid, ends);
    if (after - before > 40 * 1024)
        fail_msg("unread replies took %ld KiB", after - before);
    assert_in_range(logged(0, "does not read"), 0, 20);
    stop();
}

/* ---- memory ---- */

static int shared_memory(size_t bytes)
{
    int fd = memfd_create("test", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fallocate(fd, 0, 0, (off_t)bytes), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    return fd;
}

static void regions_are_refused_before_the_kernel_has_no_maps(void **state)
{
    (void)state;
    struct td_request q = {.kind = TD_REQUEST_REGION, .id = 2, .u.region.bytes = 4096};
    struct td_reply reply = {0};
    int fd = -1;
    start(1, "");
    for (uint32_t i = 0; reply.error == TD_OK && i < 70000; i++) {
        if (i % 10000 == 0)
            fd = raw_greeted(); /* left open */
        q.u.region.region = i + 1;
        int memory = shared_memory(4096);
        reply = raw_ask(fd, q, memory);
        close(memory);
    }
    assert_int_equal(reply.error, TD_ERR_BUSY);
    assert_non_null(strstr(reply.text, "raise [limits] regions"));
    expect_service();
    stop();
}

static void shared_memory_cannot_be_given_back(void **state)
{
    (void)state;
    const size_t bytes = 1 << 20;
    struct td_request q = {
        .kind = TD_REQUEST_REGION, .id = 2, .u.region = {.region = 1, .bytes = bytes}};
    start(1, "");
    int fd = raw_greeted(), memory = shared_memory(bytes);
    uint8_t *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    assert_true(base != MAP_FAILED);
    assert_int_equal(raw_ask(fd, q, memory).kind, TD_REPLY_DONE);
    base[5000] = 1; /* its own mapping stays writable */
    assert_int_equal(fallocate(memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 65536), -1);
    assert_int_equal(madvise(base, 65536, MADV_REMOVE), -1);
    assert_int_equal(ftruncate(memory, 0), -1);

    q.u.region.region = 2;
    assert_non_null(strstr(raw_ask(fd, q, memory).text, "share it once"));
    int sealed = shared_memory(bytes);
    assert_int_equal(fcntl(sealed, F_ADD_SEALS, F_SEAL_SEAL), 0);
    assert_non_null(strstr(raw_ask(fd, q, sealed).text, "without F_SEAL_SEAL"));
    close(memory);
    close(sealed);
    munmap(base, bytes);
    stop();
}

/* A client makes a hole while the daemon looks at its memory, and a page elsewhere for it. */
static void holes_made_meanwhile_are_noticed(void **state)
{
    (void)state;
    enum { TRIES = 300, BYTES = 1 << 20 };
    struct td_request q = {.kind = TD_REQUEST_REGION, .id = 2, .u.region.bytes = BYTES};
    uint32_t accepted = 0;
    start(1, "");
    int fd = raw_greeted();
    for (uint32_t i = 0; i < TRIES; i++) {
        struct stat st;
        struct td_reply reply;
        int memory = shared_memory(BYTES);
        q.u.region.region = i + 1;
        raw_send(fd, q, &memory, 1);
        for (uint32_t k = 0; k < i % 50; k++)
            (void)!getppid(); /* a little later each time */
        (void)!fallocate(memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096);
        (void)!fallocate(memory, i % 2 ? FALLOC_FL_KEEP_SIZE : 0, BYTES, 4096);
        assert_true(raw_reply(fd, &reply));
        accepted += reply.error == TD_OK;
        assert_int_equal(fstat(memory, &st), 0);
        assert_true(reply.error != TD_OK || (st.st_size == BYTES && st.st_blocks * 512 == BYTES));
        close(memory);
    }
    print_message("%u of %d accepted\n", accepted, TRIES);
    close(fd);
    stop();
}

/* ---- memory whose lock its client holds ---- */

static void must(bool good);
static void work(void);

enum { BLOCKED = 6, BLOCKED_BYTES = 1 << 20 };

/* struct blocked: a file that a thread writes to, from a page that nobody makes. */
struct blocked {
    int file;
    uint8_t *page;
};

/* write_for_ever holds the lock of the file's inode until the process ends. */
static void *write_for_ever(void *argument)
{
    const struct blocked *b = argument;
    (void)!pwrite(b->file, b->page, 1, 0);
    return NULL;
}

/* faults_by returns a descriptor that hears of faults in pages, which then wait for ever; -1: this
 * system does not allow that. */
static int faults_by(uint8_t *pages, size_t bytes)
{
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register r = {.range = {(uintptr_t)pages, bytes},
                                .mode = UFFDIO_REGISTER_MODE_MISSING};
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    if (fd >= 0 && (ioctl(fd, UFFDIO_API, &api) != 0 || ioctl(fd, UFFDIO_REGISTER, &r) != 0))
        return -1;
    return fd;
}

static uint8_t *fault_pages(void)
{
    return mmap(NULL, (size_t)BLOCKED * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                -1, 0);
}

/* share_blocked shares files while threads hold their locks, as user NOBODY. It runs as root. */
static void share_blocked(void)
{
    static struct blocked b[BLOCKED];
    struct td_request q = {
        .kind = TD_REQUEST_REGION, .id = 2, .u.region = {.region = 1, .bytes = BLOCKED_BYTES}};
    pthread_t thread;
    struct uffd_msg fault;
    uint8_t *pages = fault_pages();
    int faults = faults_by(pages, (size_t)BLOCKED * 4096);
    must(faults >= 0 && setuid(NOBODY) == 0);
    for (int i = 0; i < BLOCKED; i++) {
        int fd = raw_greeted();
        b[i] = (struct blocked){shared_memory(BLOCKED_BYTES), pages + (size_t)i * 4096};
        must(pthread_create(&thread, NULL, write_for_ever, &b[i]) == 0);
        must(read(faults, &fault, sizeof fault) == sizeof fault); /* the lock is held */
        raw_send(fd, q, &b[i].file, 1);
    }
}

static void skip_without_faults(void)
{
    uint8_t *pages = fault_pages();
    int fd = faults_by(pages, (size_t)BLOCKED * 4096);
    munmap(pages, (size_t)BLOCKED * 4096);
    if (fd < 0)
        skip();
    close(fd);
}

/* kill_user ends a process of as_user, whatever it does. */
static void kill_user(pid_t pid, const int ends[2])
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(ends[1]);
}

/* The daemon waits for the locks on threads, four of one user, and others are served. */
static void memory_that_its_client_locks_delays_nobody(void **state)
{
    (void)state;
    int ends[2], other[2];
    needs_root();
    skip_without_faults();
    start(1, "");
    assert_int_equal(chmod(folder, 0755), 0);
    expect_service();
    int before = descriptors_of(daemon_pid[0]);
    pid_t pid = as_user(0, share_blocked, ends);
    double began = seconds();
    end_user(as_user(SOMEBODY, work, other), other);
    end_user(as_user(0, work, other), other);
    assert_true(seconds() - began < LINGER_SECONDS);
    kill_user(pid, ends);
    for (double end = seconds() + 15; descriptors_of(daemon_pid[0]) > before;) {
        assert_true(seconds() < end);
        poll(NULL, 0, 20);
    }
    end_user(as_user(NOBODY, work, other), other);
    stop();
}

/* The kernel ends no process with a thread that waits for such a lock. The daemon says whose it is.
 */
static void a_daemon_stops_although_memory_is_locked(void **state)
{
    (void)state;
    int ends[2];
    needs_root();
    skip_without_faults();
    start(1, "");
    assert_int_equal(chmod(folder, 0755), 0);
    pid_t pid = as_user(0, share_blocked, ends);
    expect_service();
    kill(daemon_pid[0], SIGTERM);
    wait_logged(0, "before processes of user 65534 give up");
    kill_user(pid, ends);
    stop();
}

/* Requests that follow a REGION before its reply find the region, and are answered in order. */
static void requests_after_a_region_wait_for_it(void **state)
{
    (void)state;
    enum { REGIONS = 40, BYTES = 1 << 20 };
    struct td_request q = {.kind = TD_REQUEST_REGION, .u.region.bytes = BYTES};
    struct td_request drop = {.kind = TD_REQUEST_UNREGION};
    struct td_request status = {.kind = TD_REQUEST_STATUS, .u.status.section = TD_STATUS_CLIENTS};
    start(1, "");
    int fd = raw_greeted();
    for (uint32_t i = 1; i <= REGIONS; i++) {
        int memory = shared_memory(BYTES);
        q.id = 3 * (uint64_t)i;
        drop.id = q.id + 1;
        status.id = q.id + 2;
        q.u.region.region = drop.u.unregion.region = i;
        raw_send(fd, q, &memory, 1);
        raw_send(fd, drop, NULL, 0);
        raw_send(fd, status, NULL, 0);
        close(memory);
    }
    for (uint64_t id = 3; id < 3 * (REGIONS + 1); id++) {
        struct td_reply reply;
        assert_true(raw_reply(fd, &reply));
        assert_int_equal(reply.id, id);
        assert_int_equal(reply.error, TD_OK);
    }
    close(fd);
    stop();
}

/* ---- plans ---- */

enum { PAIR = 2, POINTS = 20011, TRANSFORMS = 80 };

/* struct pair: a job of at most two ranks, each with a connection of its own. */
struct pair {
    int fd[PAIR];
    uint32_t ranks, group;
    uint64_t next;
};

/* must ends a process of as_user, for which assertions would go on with the next test. */
static void must(bool good)
{
    if (!good)
        _exit(1);
}

static struct pair join_ranks(const char *name, uint32_t ranks)
{
    struct pair p = {.ranks = ranks};
    struct td_request q = {.kind = TD_REQUEST_JOIN, .id = 2};
    q.u.join.name = name;
    q.u.join.size = ranks;
    q.u.join.timeout_ns = 60000000000;
    for (uint32_t r = 0; r < ranks; r++) {
        q.u.join.rank = r;
        p.fd[r] = raw_greeted();
        raw_send(p.fd[r], q, NULL, 0);
    }
    for (uint32_t r = 0; r < ranks; r++) {
        struct td_reply reply;
        must(raw_reply(p.fd[r], &reply) && reply.kind == TD_REPLY_JOINED);
        p.group = reply.u.joined.group;
    }
    return p;
}

/* call_all makes all ranks call, and returns the reply of the last one. */
static struct td_reply call_all(struct pair *p, struct td_request q)
{
    struct td_reply reply = {0};
    q.kind = TD_REQUEST_OPERATION;
    q.id = 3;
    q.u.operation.group = p->group;
    q.u.operation.sequence = p->next;
    q.u.operation.timeout_ns = 60000000000;
    for (uint32_t r = 0; r < p->ranks; r++)
        raw_send(p->fd[r], q, NULL, 0);
    for (uint32_t r = 0; r < p->ranks; r++)
        must(raw_reply(p->fd[r], &reply));
    p->next += !reply.refused;
    return reply;
}

static struct td_reply plan_layouts(struct pair *p, unsigned block)
{
    char from[32], to[32];
    struct td_request q = {.u.operation.call.kind = TD_KIND_PLAN_REDIST};
    snprintf(from, sizeof from, "cyclic(%u)", block);
    snprintf(to, sizeof to, "cyclic(%u)", block - 2);
    q.u.operation.description.redist =
        (struct td_redist){.dimensions = 1, .element = 1, .size = {1ull << 45}};
    q.u.operation.description.from = from;
    q.u.operation.description.to = to;
    return call_all(p, q);
}

/* take_by_plans takes all memory that one user may have, by plans with large tables. */
static void take_by_plans(void)
{
    struct pair p = join_ranks("large", PAIR);
    struct td_reply reply;
    for (unsigned block = 20029; block > 100; block /= 3) {
        for (unsigned i = 0; (reply = plan_layouts(&p, block - 2 * i)).error == TD_OK; i++)
            must(i < 1000);
        must(reply.error == TD_ERR_NO_MEMORY && strstr(reply.text, "user 65534 has ") &&
             strstr(reply.text, "raise [limits] memory or share"));
    }
    struct td_request barrier = {.u.operation.call.kind = TD_KIND_BARRIER};
    must(call_all(&p, barrier).error == TD_OK);
}

/* transform plans and executes a transform of a length in the first region. */
static void transform(struct pair *p, uint64_t points)
{
    struct td_request q = {.u.operation.call.kind = TD_KIND_PLAN_FFT};
    struct td_fft *fft = &q.u.operation.description.fft;
    *fft = (struct td_fft){
        .type = TD_TYPE_COMPLEX_DOUBLE, .sign = TD_FFT_FORWARD, .dimensions = 1, .size = {points}};
    td_fft_all(fft);
    q.u.operation.description.from = q.u.operation.description.to = "";
    struct td_reply reply = call_all(p, q);
    must(reply.kind == TD_REPLY_PLANNED);
    struct td_request x = {.u.operation.call = {.kind = TD_KIND_FFT, .plan = reply.u.planned.plan}};
    x.u.operation.source = (struct td_place){.region = 1, .bytes = 16 * points};
    x.u.operation.destination =
        (struct td_place){.region = 1, .offset = POINTS * 32, .bytes = 16 * points};
    must(call_all(p, x).error == TD_OK);
}

static struct pair join_to_transform(const char *name)
{
    size_t bytes = POINTS * 64;
    int fd = shared_memory(bytes);
    struct pair p = join_ranks(name, 1);
    struct td_request q = {.kind = TD_REQUEST_REGION, .id = 4};
    q.u.region.region = 1;
    q.u.region.bytes = bytes;
    must(raw_ask(p.fd[0], q, fd).error == TD_OK);
    close(fd);
    return p;
}

static void work(void)
{
    struct pair two = join_ranks("small", PAIR), one = join_to_transform("lines");
    struct td_request barrier = {.u.operation.call.kind = TD_KIND_BARRIER};
    must(call_all(&two, barrier).error == TD_OK);
    must(plan_layouts(&two, 101).kind == TD_REPLY_PLANNED);
    transform(&one, 1000);
}

static void plans_of_one_user_leave_memory_to_others(void **state)
{
    (void)state;
    int ends[2], other[2];
    needs_root();
    start(1, "[limits]\nmemory = 8 MiB\n");
    assert_int_equal(chmod(folder, 0755), 0);
    pid_t pid = as_user(NOBODY, take_by_plans, ends);
    end_user(as_user(SOMEBODY, work, other), other);
    end_user(as_user(0, work, other), other);
    end_user(pid, ends);
    end_user(as_user(NOBODY, work, other), other);
    stop();
}

/* transform_lengths transforms prime and other lengths, each of which needs a plan of FFTW. */
static void transform_lengths(void)
{
    struct pair p = join_to_transform("lengths");
    for (uint64_t i = 0; i < TRANSFORMS; i++)
        transform(&p, POINTS + i);
}

/* The plans have some 60 MiB together. */
static void plans_of_new_lengths_have_a_limit(void **state)
{
    (void)state;
    int ends[2], other[2];
    needs_root();
    start(1, "[limits]\nplans = 4 MiB\n");
    assert_int_equal(chmod(folder, 0755), 0);
    end_user(as_user(SOMEBODY, work, other), other);
    long before = memory_of_daemon();
    pid_t pid = as_user(NOBODY, transform_lengths, ends);
    long after = memory_of_daemon();
    end_user(as_user(SOMEBODY, work, other), other);
    end_user(pid, ends);
    if (!SEEDS_SANITIZED && after - before > 24 * 1024) /* a sanitizer keeps freed memory */
        fail_msg("plans took %ld KiB", after - before);
    stop();
}

/* ---- descriptors that nobody reads ---- */

enum { GREEDY = 10, GREED = 700 };

/* struct greedy: a rank that asks for the descriptor of another rank's memory, again and again. */
struct greedy {
    int owner, fd;
    uint32_t asked, answered;
};

static struct greedy join_greedy(int number)
{
    char name[32];
    snprintf(name, sizeof name, "greedy %d", number);
    struct pair p = join_ranks(name, PAIR);
    struct td_request q = {
        .kind = TD_REQUEST_REGION, .id = 2, .u.region = {.region = 1, .bytes = 4096}};
    int memory = shared_memory(4096);
    must(raw_ask(p.fd[0], q, memory).error == TD_OK);
    close(memory);
    struct greedy g = {.owner = p.fd[0], .fd = p.fd[1]};
    q = (struct td_request){.kind = TD_REQUEST_PEER_REGION, .id = 5};
    q.u.peer_region.group = p.group;
    q.u.peer_region.region = 1;
    static uint8_t request[256];
    size_t size = td_wire_encode_request(&q, request, sizeof request);
    for (double last = seconds(); g.asked < GREED && seconds() - last < 0.3;) {
        if (send(g.fd, request, size, MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
            g.asked++;
            last = seconds();
        } else {
            poll(NULL, 0, 5);
        }
    }
    return g;
}

/* read_greedy reads the replies that have come, each of which has a descriptor. */
static void read_greedy(struct greedy *g)
{
    struct pollfd p = {.fd = g->fd, .events = POLLIN};
    struct td_reply reply;
    while (poll(&p, 1, 0) == 1) {
        int fd = raw_reply_with(g->fd, &reply);
        assert_int_equal(reply.kind, TD_REPLY_PEER_REGION);
        assert_true(fd >= 0);
        close(fd);
        g->answered++;
    }
}

/* take_segment joins a job and checks that its segment comes. */
static void take_segment(void)
{
    struct td_request q = {.kind = TD_REQUEST_JOIN, .id = 2};
    struct td_reply reply;
    q.u.join.name = "honest";
    q.u.join.size = 1;
    q.u.join.timeout_ns = 60000000000;
    int fd = raw_greeted();
    raw_send(fd, q, NULL, 0);
    int segment = raw_reply_with(fd, &reply);
    must(reply.kind == TD_REPLY_JOINED && reply.u.joined.has_segment && segment >= 0);
}

/* Clients that ask for descriptors and read nothing get few, and all when they read. */
static void unread_descriptors_are_bounded(void **state)
{
    (void)state;
    struct greedy g[GREEDY];
    int other[2];
    needs_root();
    start(1, "");
    assert_int_equal(chmod(folder, 0755), 0);
    expect_service();
    int before = descriptors_of(daemon_pid[0]);
    for (int i = 0; i < GREEDY; i++)
        g[i] = join_greedy(i);
    /* two connections and their processes, a region, and a reply that waits */
    assert_in_range(descriptors_of(daemon_pid[0]), before, before + GREEDY * 6 + 10);
    end_user(as_user(SOMEBODY, take_segment, other), other);
    end_user(as_user(0, take_segment, other), other);
    hold_daemon();
    for (int i = 0; i < GREEDY; i++) {
        read_greedy(&g[i]);
        assert_in_range(g[i].answered, 1, 20);
    }
    kill(daemon_pid[0], SIGCONT);
    for (int i = 0; i < GREEDY; i++)
        for (double end = seconds() + 20; g[i].answered < g[i].asked; poll(NULL, 0, 2)) {
            assert_true(seconds() < end);
            read_greedy(&g[i]);
        }
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_lingering_socket_delays_nobody, clean_up),
        cmocka_unit_test_teardown(an_unread_lingering_socket_delays_nobody, clean_up),
        cmocka_unit_test_teardown(a_file_system_that_does_not_answer_delays_nobody, clean_up),
        cmocka_unit_test_teardown(silent_connections_of_one_user_lock_nobody_out, clean_up),
        cmocka_unit_test_teardown(unread_replies_are_bounded, clean_up),
        cmocka_unit_test_teardown(regions_are_refused_before_the_kernel_has_no_maps, clean_up),
        cmocka_unit_test_teardown(shared_memory_cannot_be_given_back, clean_up),
        cmocka_unit_test_teardown(holes_made_meanwhile_are_noticed, clean_up),
        cmocka_unit_test_teardown(memory_that_its_client_locks_delays_nobody, clean_up),
        cmocka_unit_test_teardown(a_daemon_stops_although_memory_is_locked, clean_up),
        cmocka_unit_test_teardown(requests_after_a_region_wait_for_it, clean_up),
        cmocka_unit_test_teardown(unread_descriptors_are_bounded, clean_up),
        cmocka_unit_test_teardown(plans_of_one_user_leave_memory_to_others, clean_up),
        cmocka_unit_test_teardown(plans_of_new_lengths_have_a_limit, clean_up),
    };
    cmocka_set_test_filter(getenv("TORUS_TEST_CASE"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
