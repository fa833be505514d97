/* SPDX-License-Identifier: Apache-2.0 */
#include "daemons.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "wire/key.h"

char folder[64];
uint32_t nodes, columns;
pid_t daemon_pid[NODES_MAX];
rlim_t descriptors;
char status_line[400];
bool (*cabled)(uint32_t from, uint32_t to);
static int notify_fd = -1;

int descriptors_of(pid_t pid)
{
    char path[64];
    int count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *d = opendir(path);
    assert_non_null(d);
    while (readdir(d))
        count++;
    closedir(d);
    return count;
}

double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- daemons ---- */

bool keyless, wants_tcp;
unsigned base_port;

/* choose_ports finds an unused range of ports for all nodes and one more. */
static void choose_ports(void)
{
    enum { FIRST = 10000, END = 30000, TRIES = 100 };
    for (int tries = 0; tries < TRIES; tries++) {
        uint32_t random = 0;
        td_key_random((uint8_t *)&random, sizeof random);
        base_port = FIRST + random % (END - FIRST);
        unsigned port = 0;
        for (bool unused = true; unused && port < 2 * (nodes + 1); port += unused) {
            struct sockaddr_in a = {.sin_family = AF_INET,
                                    .sin_port = htons((uint16_t)(base_port + port)),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
            int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
            unused = bind(fd, (struct sockaddr *)&a, sizeof a) == 0;
            close(fd);
        }
        if (port == 2 * (nodes + 1))
            return;
    }
    fail_msg("no range of ports is unused");
}

void print_place(FILE *f, uint32_t node)
{
    if (columns)
        fprintf(f, "%u,%u", node / columns, node % columns);
    else
        fprintf(f, "%u", node);
}

void make_key(uint32_t node, const char *name, char digits[TD_KEY_TEXT])
{
    char path[128];
    uint8_t secret[TD_KEY_BYTES], public_key[TD_KEY_BYTES];
    snprintf(path, sizeof path, "%s/%s%u", folder, name, node);
    td_key_random(secret, sizeof secret);
    td_key_public(secret, public_key);
    td_key_print(public_key, digits);
    assert_true(td_key_write(path, secret, true));
}

/* make_keys makes the keys of all nodes and the list of peers, once a folder. */
static void make_keys(void)
{
    char path[128], digits[TD_KEY_TEXT];
    snprintf(path, sizeof path, "%s/peers", folder);
    if (access(path, F_OK) == 0)
        return;
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (uint32_t n = 0; n < nodes; n++) {
        make_key(n, "k", digits);
        print_place(f, n);
        fprintf(f, " %s\n", digits);
    }
    assert_int_equal(fclose(f), 0);
}

void write_config(uint32_t node, const char *more)
{
    char path[128];
    snprintf(path, sizeof path, "%s/c%u", folder, node);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "[node]\nsocket = %s/s%u\n", folder, node);
    if (columns)
        fprintf(f, "coordinates = %u,%u\n[torus]\nshape = %ux%u\n", node / columns, node % columns,
                nodes / columns, columns);
    else
        fprintf(f, "coordinates = %u\n[torus]\nshape = %u\n", node, nodes);
    fprintf(f, "[peers]\nendpoints =\n");
    for (uint32_t n = 0; n < nodes; n++)
        if (wants_tcp)
            fprintf(f, " tcp://127.0.0.1:%u\n", base_port + 2 * n);
        else if (cabled && cabled(node, n))
            fprintf(f, " ipc://%s/r%u.%u\n", folder, node, n);
        else
            fprintf(f, " ipc://%s/p%u\n", folder, n);
    if (!keyless) {
        make_keys();
        fprintf(f, "[security]\nkey = %s/k%u\npeers = %s/peers\n", folder, node, folder);
    }
    fprintf(f, "%s", more);
    fclose(f);
}

/* pass_listener makes a socket the one that LISTEN_FDS announces. */
static void pass_listener(int listener)
{
    char self[16];
    snprintf(self, sizeof self, "%d", (int)getpid());
    setenv("LISTEN_PID", self, 1);
    setenv("LISTEN_FDS", "1", 1);
    if (listener == SD_LISTEN_FDS_START)
        fcntl(listener, F_SETFD, 0);
    else
        dup2(listener, SD_LISTEN_FDS_START);
}

void start_daemon(uint32_t node)
{
    start_daemon_with(node, -1);
}

void start_daemon_with(uint32_t node, int listener)
{
    char config[128], notify[128], log[128];
    snprintf(config, sizeof config, "%s/c%u", folder, node);
    snprintf(notify, sizeof notify, "%s/notify", folder);
    snprintf(log, sizeof log, "%s/l%u", folder, node);
    daemon_pid[node] = fork();
    if (daemon_pid[node] == 0) {
        setenv("NOTIFY_SOCKET", notify, 1);
        int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
        dup2(fd, 2);
        if (listener >= 0)
            pass_listener(listener);
        struct rlimit most = {.rlim_cur = descriptors, .rlim_max = descriptors};
        if (descriptors && setrlimit(RLIMIT_NOFILE, &most) != 0)
            _exit(127);
        execl(TORUSD, "torusd", "--config", config, (char *)NULL);
        _exit(127);
    }
}

/* heard receives one notification. It returns true if it reports readiness. */
bool heard(void)
{
    char text[512];
    struct pollfd p = {.fd = notify_fd, .events = POLLIN};
    if (poll(&p, 1, 30000) != 1)
        fail_msg("no news; the last status was: %s", status_line);
    ssize_t size = recv(notify_fd, text, sizeof text - 1, 0);
    assert_true(size > 0);
    text[size] = '\0';
    if (strncmp(text, "STATUS=", 7) == 0)
        snprintf(status_line, sizeof status_line, "%s", text + 7);
    return strstr(text, "READY=1") != NULL;
}

bool hears(int ms, const char *line, bool *told)
{
    char text[512];
    struct pollfd p = {.fd = notify_fd, .events = POLLIN};
    if (poll(&p, 1, ms) != 1)
        return false;
    ssize_t size = recv(notify_fd, text, sizeof text - 1, 0);
    assert_true(size > 0);
    text[size] = '\0';
    if (line)
        *told = strncmp(text, line, strlen(line)) == 0 || strstr(text, line) != NULL;
    return true;
}

void wait_ready(uint32_t count)
{
    while (count)
        count -= heard();
}

void wait_status(const char *line)
{
    while (strcmp(status_line, line) != 0)
        heard();
}

void prepare(uint32_t count)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    nodes = count;
    strcpy(folder, "/tmp/mishap.XXXXXX");
    assert_non_null(mkdtemp(folder));
    if (wants_tcp)
        choose_ports();
    snprintf(address.sun_path, sizeof address.sun_path, "%s/notify", folder);
    notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(notify_fd, (struct sockaddr *)&address, sizeof address), 0);
}

void start_all(const char *more)
{
    for (uint32_t n = 0; n < nodes; n++) {
        write_config(n, more);
        start_daemon(n);
    }
    wait_ready(nodes);
}

void start(uint32_t count, const char *more)
{
    const char *limit = getenv("TORUS_TEST_NODES"), *fabric = getenv("TORUS_TEST_FABRIC"),
               *segments = getenv("TORUS_TEST_SEGMENTS"), *express = getenv("TORUS_TEST_EXPRESS");
    char all[1024];
    uint32_t most = limit ? (uint32_t)atoi(limit) : count;
    prepare(most < count ? most : count);
    snprintf(all, sizeof all, "%s\n", more);
    if (fabric && !strstr(more, "fabric ="))
        snprintf(all + strlen(all), sizeof all - strlen(all), "[torus]\nfabric = %s\n", fabric);
    if (segments && !strstr(more, "segments ="))
        snprintf(all + strlen(all), sizeof all - strlen(all), "[node]\nsegments = %s\n", segments);
    if (express && !strstr(more, "express ="))
        snprintf(all + strlen(all), sizeof all - strlen(all), "[network]\nexpress = %s\n", express);
    start_all(all);
}

/* show_log copies the log of a daemon to stderr. */
static void show_log(uint32_t node)
{
    char path[128], line[512];
    snprintf(path, sizeof path, "%s/l%u", folder, node);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        fprintf(stderr, "node %u: %s", node, line);
    if (f)
        fclose(f);
}

static void remove_folder(void)
{
    DIR *d = opendir(folder);
    for (struct dirent *e = NULL; d && (e = readdir(d));)
        unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    rmdir(folder);
}

/* stop ends the daemons and checks that each exited cleanly and left no socket. */
void stop(void)
{
    close(notify_fd);
    for (uint32_t n = 0; n < nodes; n++) {
        int code = 0;
        if (!daemon_pid[n])
            continue;
        kill(daemon_pid[n], SIGTERM);
        assert_int_equal(waitpid(daemon_pid[n], &code, 0), daemon_pid[n]);
        if (code != 0)
            show_log(n);
        assert_true(WIFEXITED(code));
        assert_int_equal(WEXITSTATUS(code), 0);
        daemon_pid[n] = 0;
        char path[128];
        snprintf(path, sizeof path, "%s/s%u", folder, n);
        assert_int_not_equal(access(path, F_OK), 0);
    }
    remove_folder();
}

int clean_up(void **state)
{
    (void)state;
    columns = 0;
    descriptors = 0;
    keyless = wants_tcp = false;
    for (uint32_t n = 0; n < NODES_MAX; n++)
        if (daemon_pid[n] > 0) {
            kill(daemon_pid[n], SIGKILL);
            waitpid(daemon_pid[n], NULL, 0);
            daemon_pid[n] = 0;
        }
    remove_folder(); /* that of a test that has not stopped its daemons */
    return 0;
}

/* ---- clients ---- */

torus_context *open_at(uint32_t node)
{
    char path[128];
    torus_context *c = NULL;
    snprintf(path, sizeof path, "%s/s%u", folder, node);
    struct torus_open_options o = {.size = sizeof o, .socket = path};
    assert_int_equal(torus_open(&c, &o), TORUS_OK);
    return c;
}

struct torus_join_options as(uint32_t ranks, int32_t rank)
{
    return (struct torus_join_options){.size = sizeof(struct torus_join_options),
                                       .name = "job",
                                       .ranks = ranks,
                                       .rank = rank,
                                       .rank_set = 1};
}

/* join_all joins `count` ranks, rank i on node i % nodes. */
void join_all(torus_context **c, torus_group **g, uint32_t count)
{
    torus_request *r[NODES_MAX];
    for (uint32_t i = 0; i < count; i++) {
        struct torus_join_options o = as(count, (int32_t)i);
        c[i] = open_at(i % nodes);
        assert_int_equal(torus_ijoin(c[i], &o, &g[i], &r[i]), TORUS_OK);
    }
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(torus_wait(r[i], 20 * (int64_t)SECOND), TORUS_OK);
}

void barrier_all(torus_group **g, uint32_t count)
{
    torus_request *r[NODES_MAX];
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(torus_ibarrier(g[i], &r[i]), TORUS_OK);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(torus_wait(r[i], 20 * (int64_t)SECOND), TORUS_OK);
}

void close_all(torus_context **c, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        torus_close(c[i]);
}

void assert_says(torus_context *c, const char *part)
{
    if (!strstr(torus_last_error(c), part))
        fail_msg("'%s' does not say '%s'", torus_last_error(c), part);
}

/* logged counts the lines of a daemon's log that contain the words. */
int logged(uint32_t node, const char *words)
{
    char path[128], line[1024];
    int count = 0;
    snprintf(path, sizeof path, "%s/l%u", folder, node);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        count += strstr(line, words) != NULL;
    if (f)
        fclose(f);
    return count;
}

void wait_logged(uint32_t node, const char *words)
{
    for (int tries = 0; logged(node, words) == 0; tries++) {
        if (tries == 1000) {
            show_log(node);
            fail_msg("the log of node %u does not say '%s'", node, words);
        }
        poll(NULL, 0, 10);
    }
}
