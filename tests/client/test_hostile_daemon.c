/* SPDX-License-Identifier: Apache-2.0 */
/* The library with a daemon that breaks the protocol, on a thread of this test. Each case is one
 * lie: the call that meets it returns TORUS_ERR_PROTOCOL with the reason, and the connection is
 * over. tests/fuzz/fuzz_replies.c tries any others. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "seeds.h"
#include "segment/letter.h"
#include "segment/segment.h"
#include "torus/torus.h"
#include "wire/client.h"

enum { RANK = 0, SIZE = 2, GROUP = 7, REFUSED = 77 };

/* struct lie: what the daemon says instead. */
struct lie {
    const char *name;
    const char *words; /* of the library's sentence */
    enum td_request_kind at;
    void (*tell)(struct td_reply *r, int *file);
};

static char folder[] = "/tmp/torus.hostile.XXXXXX";
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static int listener;
static const struct lie *lie;

/* ---- lies ---- */

static int sealed(size_t bytes, unsigned seals)
{
    int fd = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return fd >= 0 && ftruncate(fd, (off_t)bytes) == 0 && fcntl(fd, F_ADD_SEALS, seals) == 0 ? fd
                                                                                             : -1;
}

static void other_kind(struct td_reply *r, int *file)
{
    (void)file;
    *r = (struct td_reply){.kind = TD_REPLY_ROOM, .id = r->id, .text = ""};
    r->kind = TD_REPLY_PLANNED;
}

static void unknown_id(struct td_reply *r, int *file)
{
    (void)file;
    r->id = UINT64_MAX;
}

static void large_rank(struct td_reply *r, int *file)
{
    r->u.joined.rank = 100000;
    r->u.joined.has_segment = true;
    *file = sealed(td_segment_bytes(SIZE), F_SEAL_SHRINK);
}

static void other_rank(struct td_reply *r, int *file)
{
    (void)file;
    r->u.joined.rank = 1;
}

static void large_size(struct td_reply *r, int *file)
{
    (void)file;
    r->u.joined.size = UINT32_MAX;
}

static void no_size(struct td_reply *r, int *file)
{
    (void)file;
    r->u.joined.size = 0;
}

static void other_size(struct td_reply *r, int *file)
{
    (void)file;
    r->u.joined.size = 1000;
}

static void segment_that_shrinks(struct td_reply *r, int *file)
{
    r->u.joined.has_segment = true;
    *file = sealed(td_segment_bytes(SIZE), F_SEAL_GROW);
}

static void letters_that_shrink(struct td_reply *r, int *file)
{
    r->u.joined.has_letters = true;
    *file = sealed(sizeof(struct td_letters), F_SEAL_GROW);
}

static void segment_that_is_a_device(struct td_reply *r, int *file)
{
    r->u.joined.has_segment = true;
    *file = open("/dev/zero", O_RDWR | O_CLOEXEC);
}

static void error_without_reason(struct td_reply *r, int *file)
{
    (void)file;
    r->error = TD_ERR_BUSY; /* of a reply that says that all is well */
}

static void refusal_of_no_call(struct td_reply *r, int *file)
{
    (void)file;
    r->kind = TD_REPLY_NO_ROOM;
    r->error = TD_ERR_BUSY;
    r->refused = true;
}

static void lost_ranks_with_this_one(struct td_reply *r, int *file)
{
    static const uint8_t lost[] = {1};
    (void)file;
    r->u.joined.lost = (struct td_bitmap){lost, 1};
    r->u.joined.size = 1;
}

static void too_many_lost_ranks(struct td_reply *r, int *file)
{
    static const uint8_t lost[TD_BITMAP_BYTES_MAX];
    (void)file;
    r->u.joined.lost = (struct td_bitmap){lost, sizeof lost};
}

static void number_of_another_group(struct td_reply *r, int *file)
{
    (void)file;
    r->u.joined.group = GROUP;
}

/* ---- the daemon ---- */

static void send_reply(int fd, const struct td_reply *r, int file)
{
    static uint8_t bytes[TD_DATAGRAM_MAX];
    struct iovec part = {bytes, td_wire_encode_reply(r, bytes, sizeof bytes)};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (file >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        *rights = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(rights), &file, sizeof file);
    }
    if (sendmsg(fd, &message, MSG_NOSIGNAL) < 0)
        perror("hostile daemon");
}

static void reply_to(int fd, const struct td_request *q)
{
    int file = -1;
    struct td_reply r = {.kind = TD_REPLY_DONE, .id = q->id, .text = ""};
    if (q->kind == TD_REQUEST_HELLO) {
        r.kind = TD_REPLY_WELCOME;
        r.u.welcome.topology.dimensions = 1;
        r.u.welcome.topology.size[0] = r.u.welcome.topology.nodes = 1;
        r.u.welcome.region_bytes_max = 1 << 30;
    } else if (q->kind == TD_REQUEST_JOIN || q->kind == TD_REQUEST_SHRINK ||
               q->kind == TD_REQUEST_GROUP) {
        r.kind = TD_REPLY_JOINED;
        r.u.joined.group = q->kind == TD_REQUEST_JOIN ? GROUP : GROUP + 1;
        r.u.joined.rank = RANK;
        r.u.joined.size = SIZE;
    }
    if (q->kind == lie->at)
        lie->tell(&r, &file);
    if (q->id)
        send_reply(fd, &r, file);
    if (file >= 0) {
        (void)!ftruncate(file, 0);
        close(file);
    }
}

static void *run_daemon(void *unused)
{
    static struct td_wire_memory memory;
    static uint8_t bytes[TD_DATAGRAM_MAX];
    const char *why = NULL;
    int fd = accept(listener, NULL, NULL);
    for (;;) {
        static struct td_request q;
        ssize_t size = recv(fd, bytes, sizeof bytes, 0);
        if (size <= 0 || td_wire_decode_request(bytes, (size_t)size, &memory, &q, &why) != TD_OK)
            break;
        reply_to(fd, &q);
    }
    close(fd);
    return unused;
}

/* ---- the process ---- */

/* play opens a context, joins, makes a group, shrinks, and calls, until one of these fails. */
static int play(torus_context **c)
{
    struct torus_join_options o = {.size = sizeof o, .name = "job", .ranks = SIZE, .rank_set = 1};
    torus_group *world = NULL, *made = NULL;
    double x[2] = {0};
    int error = torus_open(c, NULL);
    if (error == TORUS_OK)
        error = torus_join(*c, &o, &world);
    if (error == TORUS_OK && lie->at == TD_REQUEST_SHRINK)
        error = torus_shrink(world, &made);
    if (error == TORUS_OK && lie->at == TD_REQUEST_GROUP)
        error = torus_dup(world, &made);
    if (error == TORUS_OK)
        error = torus_allreduce(world, x, x + 1, 1, TORUS_DOUBLE, TORUS_SUM);
    return error;
}

static void a_lie_ends_the_connection(void **state)
{
    (void)state;
    static const struct lie lies[] = {
        {"no welcome", "kind 5 to", TD_REQUEST_HELLO, other_kind},
        {"id", "no request has id", TD_REQUEST_HELLO, unknown_id},
        {"rank", "out of range", TD_REQUEST_JOIN, large_rank},
        {"other rank", "rank 1 of a group of size 2, where 0 of 2", TD_REQUEST_JOIN, other_rank},
        {"size", "out of range", TD_REQUEST_JOIN, large_size},
        {"size 0", "out of range", TD_REQUEST_JOIN, no_size},
        {"other size", "of a group of size 1000", TD_REQUEST_JOIN, other_size},
        {"segment", "sealed against shrinking", TD_REQUEST_JOIN, segment_that_shrinks},
        {"letters", "sealed against shrinking", TD_REQUEST_JOIN, letters_that_shrink},
        {"device", "sealed against shrinking", TD_REQUEST_JOIN, segment_that_is_a_device},
        {"join kind", "expects kind 4", TD_REQUEST_JOIN, other_kind},
        {"refusal", "refused", TD_REQUEST_JOIN, refusal_of_no_call},
        {"error", "with error", TD_REQUEST_JOIN, error_without_reason},
        {"call kind", "expects kind 3", TD_REQUEST_OPERATION, other_kind},
        {"call id", "no request has id", TD_REQUEST_OPERATION, unknown_id},
        {"region", "kind 5 to", TD_REQUEST_REGION, other_kind},
        {"lost", "lost ranks of a group of size 2", TD_REQUEST_SHRINK, lost_ranks_with_this_one},
        {"all lost", "2048 bytes of lost ranks", TD_REQUEST_SHRINK, too_many_lost_ranks},
        {"group", "number 7, which another one has", TD_REQUEST_GROUP, number_of_another_group},
        {"group size", "of a group of size 1000", TD_REQUEST_GROUP, other_size},
    };
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        pthread_t daemon_thread;
        torus_context *c = NULL;
        lie = &lies[i];
        assert_int_equal(pthread_create(&daemon_thread, NULL, run_daemon, NULL), 0);
        int error = play(&c);
        const char *text = torus_last_error(c);
        bool is_memory = lies[i].at == TD_REQUEST_REGION; /* its error may be that of no memory */
        if (error == TORUS_OK || (error != TORUS_ERR_PROTOCOL && !is_memory) ||
            !strstr(text, "malformed reply of torusd") || !strstr(text, lies[i].words))
            fail_msg("%s: error %d, %s", lies[i].name, error, text);
        assert_null(torus_alloc(c, 1)); /* the connection is over */
        assert_non_null(strstr(torus_last_error(c), "had sent a malformed reply"));
        torus_close(c);
        pthread_join(daemon_thread, NULL);
    }
}

/* ---- a program that has the rights of another user ---- */

/* open_elsewhere is the program: it returns 0 if it does not use TORUS_SOCKET. */
static int open_elsewhere(void)
{
    torus_context *c = NULL;
    if (!getauxval(AT_SECURE))
        return REFUSED;
    (void)torus_open(&c, NULL);
    const char *path = getenv("TORUS_SOCKET");
    bool used = path && strstr(torus_last_error(c), path);
    torus_close(c);
    return used;
}

static void a_setuid_program_ignores_the_environment(void **state)
{
    enum { NOBODY = 65534 };
    char program[64], copy[128];
    int code = 0;
    (void)state;
    if (SEEDS_SANITIZED) {
        print_message("the leak sanitizer cannot look into a setuid program\n");
        skip();
    }
    if (geteuid() != 0)
        skip();
    snprintf(program, sizeof program, "%s/program", folder);
    snprintf(copy, sizeof copy, "cp /proc/%d/exe %s", (int)getpid(), program);
    assert_int_equal(system(copy), 0); /* NOLINT(cert-env33-c) */
    assert_int_equal(chown(program, NOBODY, NOBODY), 0);
    assert_int_equal(chmod(program, 04755), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    setenv("TORUS_SOCKET", "/nowhere/of-another-user", 1);
    pid_t child = fork();
    if (child == 0) {
        execl(program, program, "--setuid", (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &code, 0), child);
    setenv("TORUS_SOCKET", address.sun_path, 1);
    unlink(program);
    if (WIFEXITED(code) && WEXITSTATUS(code) == REFUSED)
        skip(); /* the file system has no setuid programs */
    assert_true(WIFEXITED(code));
    assert_int_equal(WEXITSTATUS(code), 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--setuid") == 0)
        return open_elsewhere();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lie_ends_the_connection),
        cmocka_unit_test(a_setuid_program_ignores_the_environment),
    };
    if (!mkdtemp(folder))
        return 1;
    snprintf(address.sun_path, sizeof address.sun_path, "%s/s", folder);
    listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    setenv("TORUS_SOCKET", address.sun_path, 1);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, 1) != 0)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(address.sun_path);
    rmdir(folder);
    return failed;
}
