/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on a daemon by a process with network reach: without a key, with the key of another
 * place, with a copied key of a live place, and with connections that are never finished; and by a
 * local process without rights (attack_local.h). Meanwhile four ranks on a 2x2 torus check every
 * result. No result is wrong, no daemon ends, their memory stays bounded, and the log counts every
 * attempt. TORUS_TEST_ATTACK_SECONDS: how long the attackers go on; without it, one round. */
#include "attack_local.h"
#include "daemons.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include "wire/handshake.h"

enum {
    RANKS = 4,
    TARGET = 0,    /* the daemon that is attacked */
    THIEF = 3,     /* the place whose key was stolen */
    ATTEMPTS = 20, /* of each kind */
    CROWD = 1000,  /* connections at a time */
    IMPOSTOR = 9,  /* number of the files of a second daemon */
    BODY_BYTES = 1024,
    SESSION_BYTES = 8,
};

#if defined(__SANITIZE_ADDRESS__)
enum { GROWTH_MB = 600 }; /* freed memory is kept for a while */
#else
enum { GROWTH_MB = 150 };
#endif

/* ---- the workload ---- */

static pthread_t worker;
static atomic_bool ends, works;
static atomic_uint rounds;
static char wrong[200];

/* one_round runs an allreduce and an all-to-all of some packets. It returns false with `wrong`. */
static bool one_round(torus_context **c, torus_group **g, uint64_t round)
{
    enum { COUNT = 40000 };
    static uint32_t out[RANKS][RANKS * COUNT], in[RANKS][RANKS * COUNT];
    torus_request *r[RANKS];
    uint64_t mine[RANKS], sum[RANKS];
    for (uint32_t i = 0; i < RANKS; i++) {
        mine[i] = round * (i + 1);
        int error = torus_iallreduce(g[i], &mine[i], &sum[i], 1, TORUS_UINT64, TORUS_SUM, &r[i]);
        if (error != TORUS_OK)
            return false;
    }
    for (uint32_t i = 0; i < RANKS; i++)
        if (torus_wait(r[i], 20 * (int64_t)SECOND) != TORUS_OK || sum[i] != round * 10) {
            snprintf(wrong, sizeof wrong, "allreduce %u: %.150s", i, torus_last_error(c[i]));
            return false;
        }
    for (uint32_t i = 0; i < RANKS; i++) {
        for (uint32_t k = 0; k < RANKS * COUNT; k++)
            out[i][k] = (uint32_t)round * 7919 + i * 104729 + k;
        if (torus_ialltoall(g[i], out[i], in[i], COUNT, TORUS_UINT32, &r[i]) != TORUS_OK)
            return false;
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        if (torus_wait(r[i], 20 * (int64_t)SECOND) != TORUS_OK) {
            snprintf(wrong, sizeof wrong, "alltoall %u: %.150s", i, torus_last_error(c[i]));
            return false;
        }
        for (uint32_t k = 0; k < RANKS * COUNT; k++)
            if (in[i][k] != (uint32_t)round * 7919 + k / COUNT * 104729 + i * COUNT + k % COUNT) {
                snprintf(wrong, sizeof wrong, "alltoall: element %u of rank %u", k, i);
                return false;
            }
    }
    return true;
}

static void *work(void *unused)
{
    torus_context *c[RANKS];
    torus_group *g[RANKS];
    (void)unused;
    join_all(c, g, RANKS);
    works = true;
    for (uint64_t round = 1; !ends; round++, rounds++)
        if (!one_round(c, g, round)) {
            if (!wrong[0])
                snprintf(wrong, sizeof wrong, "a call was refused: %.150s", torus_last_error(c[0]));
            break;
        }
    close_all(c, RANKS);
    return NULL;
}

/* progress waits until the workload has done some more rounds. */
static void progress(void)
{
    unsigned from = rounds;
    for (int tries = 0; rounds < from + 3 && !wrong[0]; tries++) {
        if (tries == 3000)
            fail_msg("the workload makes no progress");
        poll(NULL, 0, 5);
    }
    if (wrong[0])
        fail_msg("%s", wrong);
}

static uint64_t memory_mb(uint32_t node)
{
    char path[64];
    unsigned long pages = 0, resident = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)daemon_pid[node]);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%lu %lu", &pages, &resident), 2);
    fclose(f);
    return resident * 4096 / 1000000;
}

/* number_before returns the number that ends right before a place in a line. */
static uint64_t number_before(const char *line, const char *at)
{
    while (at > line && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return strtoull(at, NULL, 10);
}

/* counted returns the sum of the lines with some words in the log of a daemon that has ended, and
 * of the numbers before other words: of the events that have no line. */
static uint64_t counted(uint32_t node, const char *words, const char *with, const char *others)
{
    char path[128], line[1024];
    uint64_t sum = 0;
    snprintf(path, sizeof path, "%s/l%u", folder, node);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        const char *more = strstr(line, with) ? strstr(line, others) : NULL;
        sum += strstr(line, words) != NULL;
        sum += more ? number_before(line, more) : 0;
    }
    fclose(f);
    return sum;
}

/* ---- attackers ---- */

static void *context;
static uint64_t attempts; /* that the log must count */

static void read_secret(const char *name, uint8_t secret[TD_KEY_BYTES])
{
    char path[128], line[200];
    bool found = false;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (strncmp(line, "secret ", 7) == 0)
            found = td_key_read(line + 7, TD_KEY_TEXT - 1, secret);
    fclose(f);
    assert_true(found);
}

static void must(int result)
{
    if (result < 0)
        fail_msg("%s", zmq_strerror(errno));
}

/* dealer returns a DEALER with a secret key (NULL: none) that expects the target's
 * public key, or another one. */
static void *dealer(const uint8_t *secret, bool expects_target)
{
    uint8_t public_key[TD_KEY_BYTES], server_secret[TD_KEY_BYTES], server[TD_KEY_BYTES];
    int none = 0, never = -1;
    void *s = zmq_socket(context, ZMQ_DEALER);
    assert_non_null(s);
    must(zmq_setsockopt(s, ZMQ_LINGER, &none, sizeof none));
    must(zmq_setsockopt(s, ZMQ_RECONNECT_IVL, &never, sizeof never));
    if (secret) {
        read_secret("k0", server_secret);
        if (!expects_target)
            td_key_random(server_secret, sizeof server_secret);
        td_key_public(server_secret, server);
        td_key_public(secret, public_key);
        must(zmq_setsockopt(s, ZMQ_CURVE_SECRETKEY, secret, TD_KEY_BYTES));
        must(zmq_setsockopt(s, ZMQ_CURVE_PUBLICKEY, public_key, TD_KEY_BYTES));
        must(zmq_setsockopt(s, ZMQ_CURVE_SERVERKEY, server, TD_KEY_BYTES));
    }
    return s;
}

static void reach_target(void *s)
{
    char endpoint[64];
    snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%u", base_port + 2 * TARGET);
    must(zmq_connect(s, endpoint));
}

/* greet sends a handshake that says that it is `node`, with guessed settings. */
static void greet(void *s, uint32_t node)
{
    uint8_t body[BODY_BYTES] = {0};
    struct td_handshake g = {.major = TD_WIRE_PEER_MAJOR,
                             .minor = TD_WIRE_PEER_MINOR,
                             .node = node,
                             .incarnation = 4711,
                             .session = 4712,
                             .seals = 8,
                             .ciphers = 3,
                             .has_random = true,
                             .shape = "2x2"};
    size_t size = td_wire_encode_handshake(&g, body + SESSION_BYTES, sizeof body - SESSION_BYTES);
    assert_true(size > 0);
    zmq_send(s, body, size + SESSION_BYTES, ZMQ_DONTWAIT);
}

/* expect_refusal receives the reply to a handshake. It tells nothing of the settings. */
static void expect_refusal(void *s, const char *words)
{
    static struct td_wire_memory memory;
    struct td_handshake a;
    const char *why = NULL;
    zmq_msg_t m;
    int timeout_ms = 5000;
    zmq_msg_init(&m);
    must(zmq_setsockopt(s, ZMQ_RCVTIMEO, &timeout_ms, sizeof timeout_ms));
    must(zmq_msg_recv(&m, s, 0));
    const uint8_t *body = zmq_msg_data(&m);
    assert_int_equal(td_wire_decode_handshake(body + SESSION_BYTES,
                                              zmq_msg_size(&m) - SESSION_BYTES, &memory, &a, &why),
                     TD_OK);
    assert_false(a.accepted);
    if (!strstr(a.text, words))
        fail_msg("%s: not %s", a.text, words);
    assert_string_equal(a.shape, "");
    assert_true(a.terms.count == 0 && a.incarnation == 0 && a.node == 0 && !a.has_random);
    zmq_msg_close(&m);
}

/* watch returns a socket that hears when the connection of a DEALER fails. */
static void *watch(void *s, int number)
{
    char endpoint[32];
    int timeout_ms = 5000, none = 0;
    snprintf(endpoint, sizeof endpoint, "inproc://watch%d", number);
    must(zmq_socket_monitor(s, endpoint, ZMQ_EVENT_DISCONNECTED));
    void *monitor = zmq_socket(context, ZMQ_PAIR);
    must(zmq_setsockopt(monitor, ZMQ_LINGER, &none, sizeof none));
    must(zmq_setsockopt(monitor, ZMQ_RCVTIMEO, &timeout_ms, sizeof timeout_ms));
    must(zmq_connect(monitor, endpoint));
    return monitor;
}

/* attack_with opens connections whose handshakes fail in ZeroMQ: nothing reaches the daemon. */
static void attack_with(const uint8_t *secret, bool expects_target)
{
    static int number;
    void *s[ATTEMPTS], *monitor[ATTEMPTS];
    for (int i = 0; i < ATTEMPTS; i++) {
        s[i] = dealer(secret, expects_target);
        monitor[i] = watch(s[i], number++);
        reach_target(s[i]);
        greet(s[i], 1);
    }
    for (int i = 0; i < ATTEMPTS; i++) {
        zmq_msg_t m;
        zmq_msg_init(&m);
        must(zmq_msg_recv(&m, monitor[i], 0));
        zmq_msg_close(&m);
        zmq_socket_monitor(s[i], NULL, 0);
        zmq_close(s[i]);
        zmq_close(monitor[i]);
    }
    attempts += ATTEMPTS;
}

static void claim(uint32_t node, const char *words)
{
    uint8_t stolen[TD_KEY_BYTES];
    char name[16];
    snprintf(name, sizeof name, "k%d", THIEF);
    read_secret(name, stolen);
    for (int i = 0; i < ATTEMPTS; i++) {
        void *s = dealer(stolen, true);
        reach_target(s);
        greet(s, node);
        expect_refusal(s, words);
        zmq_close(s);
    }
    attempts += ATTEMPTS;
}

static int reach(unsigned port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* garbage sends bytes to a port. What is no beginning of a handshake ends the connection. */
static void garbage(unsigned port)
{
    static const char zmtp[] = "\377\0\0\0\0\0\0\0\1\177\3\1NULL";
    uint8_t noise[ATTEMPTS][700];
    td_key_random(noise[0], sizeof noise);
    memcpy(noise[0], "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 28);
    memcpy(noise[1], zmtp, sizeof zmtp);
    memcpy(noise[2], "PKGR\5\0\0\0hello", 13);
    memcpy(noise[3], "PKGS\5\0\0\0", 8);
    memcpy(noise[4], "PKGR\377\377\377\377", 8);
    for (int i = 0; i < ATTEMPTS; i++) {
        int fd = reach(port);
        assert_true(fd >= 0);
        (void)!send(fd, noise[i], sizeof noise[i], MSG_NOSIGNAL);
        poll(NULL, 0, 5);
        close(fd);
    }
    attempts += ATTEMPTS;
}

/* crowd opens many connections, sends the beginning of a handshake on half of them, and holds all.
 */
static void crowd(unsigned port)
{
    static int fd[CROWD];
    uint64_t before = memory_mb(TARGET);
    int opened = 0;
    for (int i = 0; i < CROWD; i++) {
        fd[i] = reach(port);
        opened += fd[i] >= 0;
        if (i % 20 == 0) /* what does not fit the system's queue would never reach the daemon */
            poll(NULL, 0, 5);
        if (fd[i] >= 0 && i % 2)
            (void)!send(fd[i], "\377\0\0\0", 4, MSG_NOSIGNAL);
    }
    progress();
    assert_true(memory_mb(TARGET) <= before + GROWTH_MB);
    for (int i = 0; i < CROWD; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    attempts += (uint64_t)opened;
}

/* start_impostor starts a second daemon with a copy of all that a node has, on another port. */
static void start_impostor(uint32_t node)
{
    char path[128];
    snprintf(path, sizeof path, "%s/c%d", folder, IMPOSTOR);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "[node]\nsocket = %s/s%d\ncoordinates = ", folder, IMPOSTOR);
    print_place(f, node);
    fprintf(f, "\n[torus]\nshape = 2x2\n[peers]\nlisten = tcp://127.0.0.1:%u\nendpoints =\n",
            base_port + 2 * RANKS);
    for (uint32_t n = 0; n < nodes; n++)
        fprintf(f, " tcp://127.0.0.1:%u\n", base_port + 2 * n);
    fprintf(f, "[security]\nkey = %s/k%u\npeers = %s/peers\n", folder, node, folder);
    fclose(f);
    start_daemon(IMPOSTOR);
    wait_ready(1);
}

static void second_daemon(void)
{
    start_impostor(THIEF);
    wait_logged(TARGET, "a live daemon is node 3 already");
    wait_logged(IMPOSTOR, "a live daemon has this place");
    progress();
    assert_int_equal(logged(TARGET, "link to node 3 is down"), 0);
    assert_int_equal(logged(IMPOSTOR, "node 0 is up"), 0);
    attempts++;
    kill(daemon_pid[IMPOSTOR], SIGKILL);
    waitpid(daemon_pid[IMPOSTOR], NULL, 0);
    daemon_pid[IMPOSTOR] = 0;
}

static void raise_descriptors(void)
{
    struct rlimit most;
    getrlimit(RLIMIT_NOFILE, &most);
    most.rlim_cur = most.rlim_max;
    setrlimit(RLIMIT_NOFILE, &most);
}

/* attack_once lets the attacker of the network try everything once. */
static void attack_once(const uint8_t *own)
{
    attack_with(NULL, true); /* no key */
    attack_with(own, true);  /* a key that is not in the list */
    attack_with(own, false); /* a key, and another daemon expected */
    progress();
    claim(1, "belongs to another node");
    claim(THIEF, "a live daemon has this place");
    progress();
    garbage(base_port);
    garbage(base_port + 1);
    progress();
    crowd(base_port);
    crowd(base_port + 1);
    progress();
    second_daemon();
}

/* attack attacks for some time, at least for a round of both attackers. It returns the growth of
 * the daemon that grew most since the first round, in MB. */
static uint64_t attack(const uint8_t *own, const struct local_attack *local, double duration)
{
    uint64_t first[RANKS] = {0}, growth = 0;
    double until = seconds() + duration;
    for (unsigned round = 0; round == 0 || seconds() < until; round++) {
        attack_once(own);
        while (round == 0 && local->rounds == 0 && !local->breach[0])
            progress();
        for (uint32_t n = 0; n < RANKS; n++)
            first[n] = round == 0 ? memory_mb(n) : first[n];
    }
    for (uint32_t n = 0; n < RANKS; n++) {
        uint64_t now = memory_mb(n);
        printf("node %u: %u MB after the first round, %u MB in the end\n", n, (unsigned)first[n],
               (unsigned)now);
        growth = now > first[n] + growth ? now - first[n] : growth;
    }
    return growth;
}

/* check_log ends the attacked daemon and checks that its log has counted everything, in few lines.
 */
static void check_log(const struct local_attack *local, double duration)
{
    int code = 0;
    assert_int_equal(logged(TARGET, "is down"), 0);
    kill(daemon_pid[TARGET], SIGTERM); /* it logs its last summary */
    assert_int_equal(waitpid(daemon_pid[TARGET], &code, 0), daemon_pid[TARGET]);
    assert_true(WIFEXITED(code) && WEXITSTATUS(code) == 0);
    daemon_pid[TARGET] = 0;
    uint64_t peers = counted(TARGET, "turned away a peer", " more ", " more connections of peers");
    uint64_t clients = counted(TARGET, "turned away process ", "turned away process",
                               " such lines were suppressed");
    printf(
        "network: %u attempts, %u counted; local: %u rounds, %u expelled, %u counted, %u refused, "
        "%u denied\n",
        (unsigned)attempts, (unsigned)peers, local->rounds, local->expelled, (unsigned)clients,
        local->refused, local->denied);
    assert_true(peers >= attempts);
    assert_true(clients >= local->expelled);
    assert_true(local->has_rights || local->denied > 0);
    assert_true(logged(TARGET, "turned away a peer") < 60 + (int)duration); /* lines */
    assert_true(logged(TARGET, "turned away process") < 20 + (int)duration);
    assert_true(logged(TARGET, "key ") > 0);
}

static void attackers_change_no_result_and_are_counted(void **state)
{
    (void)state;
    uint8_t own[TD_KEY_BYTES];
    const char *time = getenv("TORUS_TEST_ATTACK_SECONDS");
    double duration = time ? atof(time) : 0;
    raise_descriptors();
    columns = 2;
    wants_tcp = true;
    start(RANKS, "");
    struct local_attack *local = local_attack_start(daemon_pid[TARGET], getpid());
    context = zmq_ctx_new();
    td_key_random(own, sizeof own);
    assert_int_equal(pthread_create(&worker, NULL, work, NULL), 0);
    while (!works)
        poll(NULL, 0, 1);
    uint64_t growth = attack(own, local, duration);
    local_attack_end(local);
    ends = true;
    pthread_join(worker, NULL);
    if (wrong[0])
        fail_msg("%s", wrong);
    zmq_ctx_term(context);
    printf("%u rounds of the workload; growth %u MB\n", (unsigned)rounds, (unsigned)growth);
    assert_true(growth <= GROWTH_MB);
    check_log(local, duration);
    stop();
}

/* send_all sends bytes until the other end closes. It returns false then. */
static bool send_all(int fd, const uint8_t *bytes, size_t size)
{
    while (size) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        bytes += sent;
        size -= (size_t)sent;
    }
    return true;
}

/* begin_endless connects as a DEALER without keys: the greeting of ZMTP 3.0, then READY. */
static int begin_endless(void)
{
    static const uint8_t ready[] = "\4\51\5READY\13Socket-Type\0\0\0\6DEALER\10Identity\0\0\0";
    uint8_t greeting[64] = {0xff, [9] = 0x7f, [10] = 3, [12] = 'N', 'U', 'L', 'L'};
    struct timeval patience = {.tv_sec = 1};
    int fd = reach(base_port);
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience), 0);
    assert_int_equal(sizeof ready - 2, ready[1]);
    assert_true(send_all(fd, greeting, sizeof greeting) && send_all(fd, ready, sizeof ready));
    uint8_t theirs[64 + sizeof ready - sizeof "DEALER" + sizeof "ROUTER"]; /* they come first */
    assert_int_equal(recv(fd, theirs, sizeof theirs, MSG_WAITALL), sizeof theirs);
    return fd;
}

/* A message whose parts never end would be buffered by ZeroMQ, whose limit is one of parts. It is
 * sent to a daemon without keys, because this needs no CURVE; the answer is the same with keys. */
static void a_message_without_end_ends_its_connection(void **state)
{
    (void)state;
    enum { PART = 4000, LONG_HEAD = 9, MORE_LONG = 3, UNTIL_MB = 2000 };
    static uint8_t parts[64][LONG_HEAD + PART];
    columns = 2;
    wants_tcp = keyless = true;
    start(RANKS, "[security]\ninsecure = yes\n");
    for (int i = 0; i < 64; i++) {
        parts[i][0] = MORE_LONG;
        parts[i][LONG_HEAD - 2] = PART >> 8;
        parts[i][LONG_HEAD - 1] = PART & 0xff;
    }
    uint64_t before = memory_mb(TARGET), most = before, sent = 0;
    int fd = begin_endless();
    while (sent < UNTIL_MB * (uint64_t)1000000 && send_all(fd, parts[0], sizeof parts)) {
        uint64_t now = memory_mb(TARGET);
        most = now > most ? now : most;
        sent += sizeof parts;
    }
    close(fd);
    printf("ended after %u MB, which took %u MB\n", (unsigned)(sent / 1000000),
           (unsigned)(most - before));
    assert_true(sent < UNTIL_MB * (uint64_t)1000000);
    assert_true(most - before < UNTIL_MB / 2); /* how much depends on when the daemon looks */
    wait_logged(TARGET, "its message has no end");
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(attackers_change_no_result_and_are_counted, clean_up),
        cmocka_unit_test_teardown(a_message_without_end_ends_its_connection, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
