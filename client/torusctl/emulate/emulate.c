/* SPDX-License-Identifier: Apache-2.0 */
/* torusctl emulate: daemons and ranks of a torus on this machine.
 *
 * This process, the keeper, holds a pipe that every daemon watches; a daemon stops when the pipe
 * closes. The janitor (janitor.h) ends all other processes. Therefore nothing remains, even if this
 * process or the janitor is killed with SIGKILL. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capacity.h"
#include "model/settings.h"
#include "model/layout.h"
#include "janitor.h"
#include "torusctl/torusctl.h"
#include "base/quantity.h"

enum {
    SETTINGS_MAX = 64,
    LINE_BYTES = 8192,
    LOG_LINES = 20,
    READY_SECONDS = 30,
    STOP_SECONDS = 10,
};

struct stream { /* output of a rank, printed line by line */
    int fd;
    FILE *to;
    char line[LINE_BYTES];
    size_t length;
};

struct rank {
    pid_t pid; /* 0: ended */
    uint32_t node;
    struct stream stream[2];
};

struct emulation {
    struct td_topology topology;
    uint32_t ranks, ranks_per_node;
    bool tcp, verbose, keep_going;
    const char *settings[SETTINGS_MAX];
    int settings_count;
    char **command;
    char folder[64], job[32], daemon[PATH_MAX];
    int life[2]; /* pipe that the daemons watch */
    struct janitor janitor;
    int notify;
    unsigned base_port;
    pid_t *daemons; /* list in memory shared with the janitor */
    struct rank *rank;
    uint32_t running;
    int code;
    int signals;
    int interrupted;
    bool served;      /* all daemons have been ready */
    bool daemon_lost; /* a daemon ended by itself */
};

/* ---- options ---- */

static const char *number(const char *text, uint32_t *value)
{
    char *end = NULL;
    unsigned long n = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || n == 0 || n > TD_JOB_RANKS_MAX)
        return "the number of ranks must be 1 to 16384";
    *value = (uint32_t)n;
    return NULL;
}

/* add_setting adds a line to the daemons' configuration. It returns NULL or the error. */
static const char *add_setting(struct emulation *e, const char *key, const char *value)
{
    char *setting = NULL;
    if (e->settings_count == SETTINGS_MAX)
        return "at most 64 settings";
    if (asprintf(&setting, "%s%s", key, value) < 0)
        return "no memory for a setting";
    /* remove blanks around '=', so that is_set can compare keys */
    char *to = strpbrk(setting, " \t="), *from = to;
    if (to) {
        from += strspn(from, " \t");
        if (*from == '=') {
            *to++ = '=';
            from += 1 + strspn(from + 1, " \t");
            memmove(to, from, strlen(from) + 1);
        }
    }
    e->settings[e->settings_count++] = setting;
    return NULL;
}

static bool is_set(const struct emulation *e, const char *key)
{
    size_t length = strlen(key);
    for (int i = 0; i < e->settings_count; i++)
        if (strncmp(e->settings[i], key, length) == 0 && e->settings[i][length] == '=')
            return true;
    return false;
}

static const char *parse_option(struct emulation *e, int argc, char **argv, int *i)
{
    const char *name = argv[*i], *value = *i + 1 < argc ? argv[*i + 1] : NULL;
    if (strcmp(name, "--verbose") == 0) {
        e->verbose = true;
        return NULL;
    }
    if (strcmp(name, "--keep-going") == 0) {
        e->keep_going = true;
        return NULL;
    }
    if (!value)
        return ctl_no_option(name);
    (*i)++;
    if (strcmp(name, "--ranks") == 0)
        return number(value, &e->ranks);
    if (strcmp(name, "--ranks-per-node") == 0)
        return number(value, &e->ranks_per_node);
    if (strcmp(name, "--daemon") == 0) {
        snprintf(e->daemon, sizeof e->daemon, "%s", value);
        return NULL;
    }
    if (strcmp(name, "--transport") == 0) {
        e->tcp = strcmp(value, "tcp") == 0;
        return e->tcp || strcmp(value, "ipc") == 0 ? NULL : "--transport must be ipc or tcp";
    }
    if (strcmp(name, "--set") == 0) {
        if (!strchr(value, '.') || !strchr(value, '='))
            return "--set needs SECTION.KEY=VALUE";
        return add_setting(e, "", value);
    }
    if (strcmp(name, "--fabric") == 0) {
        if (strcmp(value, "direct") != 0 && strcmp(value, "routed") != 0)
            return "--fabric must be direct or routed";
        return add_setting(e, "torus.fabric=", value);
    }
    if (strcmp(name, "--link-rate") == 0) {
        uint64_t rate = 0;
        if (!td_quantity_parse_rate(value, &rate))
            return "--link-rate needs bytes per second, such as 5MB/s";
        return add_setting(e, "torus.link_rate=", value);
    }
    if (strcmp(name, "--link-latency") == 0)
        return add_setting(e, "torus.link_latency=", value);
    return ctl_no_option(name);
}

static const char *parse(struct emulation *e, int argc, char **argv)
{
    static char text[200];
    const char *shape = NULL, *wrong = NULL, *why = NULL;
    size_t position = 0;
    int i = 1;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (argv[i][0] != '-' && !shape)
            shape = argv[i];
        else if (argv[i][0] != '-')
            return "expected one shape, then -- and the command";
        else if ((wrong = parse_option(e, argc, argv, &i)))
            return wrong;
    }
    if (!shape)
        return "missing shape, such as 3x3";
    if (td_topology_parse(&e->topology, shape, &position, &why) != TD_OK) {
        snprintf(text, sizeof text, "shape %s, character %zu: %s", shape, position + 1, why);
        return text;
    }
    if (i + 1 >= argc)
        return "missing command after --";
    e->command = argv + i + 1;
    uint32_t nodes = e->topology.nodes;
    if (e->ranks == 0)
        e->ranks = e->ranks_per_node ? e->ranks_per_node * nodes : nodes;
    if ((is_set(e, "torus.link_rate") || is_set(e, "torus.link_latency")) &&
        !is_set(e, "torus.fabric"))
        return "--link-rate and --link-latency need --fabric routed";
    if (e->ranks > TD_JOB_RANKS_MAX)
        return "the number of ranks must be 1 to 16384";
    if (e->ranks_per_node && e->ranks > e->ranks_per_node * nodes) {
        snprintf(text, sizeof text, "%u ranks do not fit on %u nodes with %u each", e->ranks, nodes,
                 e->ranks_per_node);
        return text;
    }
    return NULL;
}

static uint32_t node_of(const struct emulation *e, uint32_t rank)
{
    uint32_t nodes = e->topology.nodes;
    if (e->ranks_per_node)
        return rank / e->ranks_per_node;
    for (uint32_t n = 0; n < nodes; n++) {
        struct td_range r = td_share(e->ranks, nodes, n);
        if (rank < r.begin + r.count)
            return n;
    }
    return nodes - 1;
}

/* ---- folder ---- */

static void endpoint(const struct emulation *e, uint32_t node, char *text, size_t bytes)
{
    if (e->tcp)
        snprintf(text, bytes, "tcp://127.0.0.1:%u", e->base_port + 2 * node);
    else
        snprintf(text, bytes, "ipc://%s/p%u", e->folder, node);
}

/* write_settings writes the settings of the command line, and defaults for an emulation: daemons on
 * one machine would disturb each other's measurements. */
static void write_settings(const struct emulation *e, FILE *f)
{
    if (!is_set(e, "node.state_directory"))
        fprintf(f, "[node]\nstate_directory = %s\n", e->folder);
    if (!is_set(e, "fft.effort"))
        fprintf(f, "[fft]\neffort = estimate\n");
    for (int i = 0; i < e->settings_count; i++) {
        const char *dot = strchr(e->settings[i], '.');
        fprintf(f, "[%.*s]\n%s\n", (int)(dot - e->settings[i]), e->settings[i], dot + 1);
    }
}

static bool write_config(const struct emulation *e, uint32_t node)
{
    char path[128], text[128], shape[128];
    uint32_t c[TD_DIMENSIONS_MAX];
    snprintf(path, sizeof path, "%s/c%u", e->folder, node);
    FILE *f = fopen(path, "we");
    if (!f)
        return false;
    td_topology_print(&e->topology, shape, sizeof shape);
    td_topology_coordinates(&e->topology, node, c);
    fprintf(f, "[node]\nsocket = %s/s%u\ncoordinates = ", e->folder, node);
    for (uint32_t d = 0; d < e->topology.dimensions; d++)
        fprintf(f, "%s%u", d ? "," : "", c[d]);
    fprintf(f, "\n[torus]\nshape = %s\n[peers]\nendpoints =\n", shape);
    for (uint32_t n = 0; n < e->topology.nodes; n++) {
        endpoint(e, n, text, sizeof text);
        fprintf(f, "  %s\n", text);
    }
    write_settings(e, f);
    return fclose(f) == 0;
}

static bool make_folder(struct emulation *e)
{
    snprintf(e->folder, sizeof e->folder, "/tmp/torus.XXXXXX");
    if (!mkdtemp(e->folder))
        return false;
    snprintf(e->job, sizeof e->job, "emulate%s", strchr(e->folder, '.'));
    return true;
}

static bool write_configs(const struct emulation *e)
{
    for (uint32_t n = 0; n < e->topology.nodes; n++)
        if (!write_config(e, n))
            return false;
    return true;
}

static bool port_is_unused(unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    bool unused = bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    return unused;
}

/* choose_ports finds consecutive unused ports, two per node, below the kernel's ephemeral ports. */
static bool choose_ports(struct emulation *e)
{
    enum { FIRST = 10000, END = 32768, TRIES = 100 };
    unsigned ports = 2 * e->topology.nodes, random = 0;
    for (int i = 0; i < TRIES; i++) {
        if (getrandom(&random, sizeof random, 0) != sizeof random)
            random = (unsigned)getpid() + (unsigned)i * 1000;
        e->base_port = FIRST + random % (END - FIRST - ports);
        unsigned port = 0;
        while (port < ports && port_is_unused(e->base_port + port))
            port++;
        if (port == ports)
            return true;
    }
    errno = EADDRINUSE;
    return false;
}

/* ---- processes ---- */

/* restore_signals resets the signal handling of a child. */
static void restore_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGTTOU, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static pid_t start_daemon(struct emulation *e, uint32_t node)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    char config[128], log[128], fd[16], notify[128];
    restore_signals();
    setpgid(0, 0); /* an interrupt from the terminal goes to the ranks only */
    snprintf(config, sizeof config, "%s/c%u", e->folder, node);
    snprintf(log, sizeof log, "%s/l%u", e->folder, node);
    snprintf(fd, sizeof fd, "%d", e->life[0]);
    snprintf(notify, sizeof notify, "%s/notify", e->folder);
    fcntl(e->life[0], F_SETFD, 0);
    setenv("NOTIFY_SOCKET", notify, 1);
    unsetenv("WATCHDOG_USEC");
    int out = e->verbose ? -1 : open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (out >= 0) {
        dup2(out, 1);
        dup2(out, 2);
    }
    int in = open("/dev/null", O_RDONLY);
    dup2(in, 0);
    execl(e->daemon, "torusd", "--config", config, "--watch-fd", fd, (char *)NULL);
    fprintf(stderr, "torusctl: cannot start %s: %s\n", e->daemon, strerror(errno));
    _exit(127);
}

/* show_log prints the end of a daemon's log. */
static void show_log(const struct emulation *e, uint32_t node)
{
    static char line[LOG_LINES][512];
    char path[128];
    unsigned lines = 0;
    snprintf(path, sizeof path, "%s/l%u", e->folder, node);
    FILE *f = fopen(path, "re");
    while (f && fgets(line[lines % LOG_LINES], sizeof line[0], f))
        lines++;
    for (unsigned i = lines > LOG_LINES ? lines - LOG_LINES : 0; i < lines; i++)
        fprintf(stderr, "node %u: %s", node, line[i % LOG_LINES]);
    if (f)
        fclose(f);
}

static int open_notify(const struct emulation *e)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/notify", e->folder);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    return -1;
}

/* ended_daemon returns the node of the daemon that had this pid, and marks it as ended; UINT32_MAX
 * if no daemon had it. */
static uint32_t ended_daemon(struct emulation *e, pid_t pid)
{
    for (uint32_t n = 0; n < e->topology.nodes; n++)
        if (e->daemons[n] == pid) {
            e->daemons[n] = 0;
            return n;
        }
    return UINT32_MAX;
}

/* all_alive returns false if a daemon has ended before it was ready. It prints the log of the first
 * one only, because the others often have the same reason. */
static bool all_alive(struct emulation *e)
{
    pid_t pid = 0;
    bool all = true;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
        uint32_t node = ended_daemon(e, pid);
        if (node == UINT32_MAX)
            continue;
        if (all) {
            fprintf(stderr, "torusctl: the daemon of node %u did not start; its log ends with:\n",
                    node);
            show_log(e, node);
        }
        all = false;
    }
    return all;
}

static bool wait_ready(struct emulation *e)
{
    uint32_t ready = 0;
    double until = ctl_seconds() + READY_SECONDS;
    while (ready < e->topology.nodes) {
        char text[512];
        struct pollfd p[2] = {{.fd = e->notify, .events = POLLIN},
                              {.fd = e->signals, .events = POLLIN}};
        double left = until - ctl_seconds();
        if (left > 0 && poll(p, 2, (int)(left * 1000) + 1) < 0)
            continue;
        if (left <= 0) {
            fprintf(stderr, "torusctl: %u of %u daemons were not ready after %d s\n",
                    e->topology.nodes - ready, e->topology.nodes, READY_SECONDS);
            return false;
        }
        if (p[0].revents) {
            ssize_t size = recv(e->notify, text, sizeof text - 1, 0);
            text[size > 0 ? size : 0] = '\0';
            ready += strstr(text, "READY=1") != NULL;
        }
        if (p[1].revents) {
            struct signalfd_siginfo info;
            if (read(e->signals, &info, sizeof info) == sizeof info && info.ssi_signo != SIGCHLD) {
                e->code = 128 + (int)info.ssi_signo;
                return false;
            }
            if (!all_alive(e))
                return false;
        }
    }
    return true;
}

static void set_number(const char *name, uint32_t value)
{
    char text[16];
    snprintf(text, sizeof text, "%u", value);
    setenv(name, text, 1);
}

static bool start_rank(struct emulation *e, uint32_t i)
{
    struct rank *r = &e->rank[i];
    int out[2] = {-1, -1}, err[2] = {-1, -1};
    bool pipes = e->ranks > 1;
    r->node = node_of(e, i);
    if (pipes && (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0))
        return false;
    pid_t parent = getpid();
    r->pid = fork();
    if (r->pid == 0) {
        char socket_path[128];
        restore_signals();
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        if (pipes) {
            dup2(out[1], 1);
            dup2(err[1], 2);
        }
        int nothing = i > 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
        if (nothing >= 0)
            dup2(nothing, 0); /* only rank 0 reads standard input */
        snprintf(socket_path, sizeof socket_path, "%s/s%u", e->folder, r->node);
        setenv("TORUS_SOCKET", socket_path, 1);
        setenv("TORUS_JOB", e->job, 1);
        set_number("TORUS_RANK", i);
        set_number("TORUS_SIZE", e->ranks);
        set_number("TORUS_NODE", r->node);
        unsetenv("NOTIFY_SOCKET");
        execvp(e->command[0], e->command);
        int error = errno;
        fprintf(stderr, "torusctl: cannot run %s: %s\n", e->command[0], strerror(error));
        _exit(error == ENOENT ? 127 : 126); /* as shells do */
    }
    r->stream[0] = (struct stream){.fd = out[0], .to = stdout};
    r->stream[1] = (struct stream){.fd = err[0], .to = stderr};
    if (pipes) {
        close(out[1]);
        close(err[1]);
    }
    if (r->pid < 0) {
        r->pid = 0;
        return false;
    }
    setpgid(r->pid, r->pid); /* in both processes, so that the group exists before any signal */
    e->running++;
    return true;
}

/* ---- output ---- */

static void print_line(struct stream *s, uint32_t rank)
{
    fprintf(s->to, "[%u] ", rank);
    fwrite(s->line, 1, s->length, s->to); /* it may hold any byte */
    putc('\n', s->to);
    fflush(s->to);
    s->length = 0;
}

/* forward prints the complete lines of a stream, each after its rank. */
static void forward(struct stream *s, uint32_t rank)
{
    char bytes[4096];
    ssize_t size = read(s->fd, bytes, sizeof bytes);
    if (size < 0 && errno == EINTR)
        return;
    for (ssize_t i = 0; i < size; i++) {
        if (bytes[i] == '\n' || s->length == sizeof s->line)
            print_line(s, rank);
        if (bytes[i] != '\n')
            s->line[s->length++] = bytes[i];
    }
    if (size > 0)
        return;
    if (s->length)
        print_line(s, rank);
    close(s->fd);
    s->fd = -1;
}

/* ---- running ---- */

static void signal_ranks(struct emulation *e, int number)
{
    for (uint32_t i = 0; i < e->ranks; i++)
        if (e->rank[i].pid > 0)
            kill(-e->rank[i].pid, number);
}

static void reap(struct emulation *e)
{
    int status = 0;
    pid_t pid = 0;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        uint32_t node = ended_daemon(e, pid);
        if (node != UINT32_MAX) {
            fprintf(stderr, "torusctl: the daemon of node %u ended (%s %d)\n", node,
                    WIFEXITED(status) ? "code" : "signal",
                    WIFEXITED(status) ? code : WTERMSIG(status));
            show_log(e, node);
            e->daemon_lost = true;
        }
        for (uint32_t i = 0; i < e->ranks; i++) {
            if (e->rank[i].pid != pid)
                continue;
            kill(-pid, SIGKILL); /* remaining children of the rank */
            e->rank[i].pid = 0;
            e->running--;
            if (e->code == 0)
                e->code = code;
        }
    }
}

/* handle_signal passes a signal to the ranks; the second one kills them. */
static void handle_signal(struct emulation *e)
{
    struct signalfd_siginfo info;
    if (read(e->signals, &info, sizeof info) != sizeof info)
        return;
    if (info.ssi_signo == SIGCHLD) {
        reap(e);
        return;
    }
    bool kill_now = e->interrupted++ || info.ssi_signo == JANITOR_LOST;
    signal_ranks(e, kill_now ? SIGKILL : (int)info.ssi_signo);
    if (e->code == 0)
        e->code = 128 + (int)info.ssi_signo;
}

static bool is_ours(const struct emulation *e, pid_t pid)
{
    for (uint32_t n = 0; n < e->topology.nodes; n++)
        if (e->daemons[n] == pid)
            return true;
    for (uint32_t i = 0; i < e->ranks; i++)
        if (e->rank[i].pid == pid)
            return true;
    return false;
}

/* kill_orphans kills processes that ranks have left in other process groups. As the subreaper, this
 * process has become their parent. Their children become its children in turn. */
static void kill_orphans(const struct emulation *e)
{
    FILE *f = fopen("/proc/thread-self/children", "re");
    int pid = 0;
    while (f && fscanf(f, "%d", &pid) == 1)
        if (!is_ours(e, pid))
            kill(pid, SIGKILL);
    if (f)
        fclose(f);
}

static bool any_stream(const struct emulation *e)
{
    for (uint32_t i = 0; i < e->ranks; i++)
        if (e->rank[i].stream[0].fd >= 0 || e->rank[i].stream[1].fd >= 0)
            return true;
    return false;
}

static void run(struct emulation *e)
{
    struct pollfd *p = calloc(2 * (size_t)e->ranks + 1, sizeof *p);
    while (p && (e->running || any_stream(e))) {
        p[0] = (struct pollfd){.fd = e->signals, .events = POLLIN};
        for (uint32_t i = 0; i < 2 * e->ranks; i++)
            p[i + 1] = (struct pollfd){.fd = e->rank[i / 2].stream[i % 2].fd, .events = POLLIN};
        if (poll(p, 2 * (nfds_t)e->ranks + 1, -1) < 0)
            continue;
        for (uint32_t i = 0; i < 2 * e->ranks; i++)
            if (p[i + 1].fd >= 0 && p[i + 1].revents)
                forward(&e->rank[i / 2].stream[i % 2], i / 2);
        if (p[0].revents)
            handle_signal(e);
        if (!e->running)
            kill_orphans(e); /* they may hold the pipes open */
    }
    free(p);
}

/* ---- shutdown ---- */

static uint32_t daemons_left(const struct emulation *e)
{
    uint32_t left = 0;
    for (uint32_t n = 0; n < e->topology.nodes; n++)
        left += e->daemons[n] > 0;
    return left;
}

static void kill_daemons(const struct emulation *e, int number)
{
    for (uint32_t n = 0; n < e->topology.nodes; n++)
        if (e->daemons[n] > 0)
            kill(e->daemons[n], number);
}

static void reap_stopped(struct emulation *e, bool killed)
{
    int status = 0;
    pid_t pid = 0;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        uint32_t node = ended_daemon(e, pid);
        if (node == UINT32_MAX || killed || !e->served ||
            (WIFEXITED(status) && WEXITSTATUS(status) == 0))
            continue;
        fprintf(stderr, "torusctl: the daemon of node %u did not stop cleanly\n", node);
        show_log(e, node);
        e->code = e->code ? e->code : EXIT_FAILED;
    }
}

static void stop_all(struct emulation *e)
{
    reap(e); /* processes that have ended by now were not asked to stop */
    signal_ranks(e, SIGKILL);
    kill_orphans(e);
    kill_daemons(e, SIGTERM);
    double until = ctl_seconds() + STOP_SECONDS;
    bool killed = false;
    for (reap_stopped(e, killed); daemons_left(e); reap_stopped(e, killed)) {
        struct pollfd p = {.fd = e->signals, .events = POLLIN};
        struct signalfd_siginfo info;
        double left = until - ctl_seconds();
        if (left <= 0 && !killed) {
            fprintf(stderr, "torusctl: killed %u daemons that did not stop\n", daemons_left(e));
            kill_daemons(e, SIGKILL);
            killed = true;
        }
        if (poll(&p, 1, left > 0 ? (int)(left * 1000) + 1 : 1000) > 0 &&
            read(e->signals, &info, sizeof info) < 0)
            continue;
    }
    if (e->code == 0 && (killed || (e->daemon_lost && !e->keep_going)))
        e->code = EXIT_FAILED;
    close(e->life[1]);
    janitor_clean_up(&e->janitor);
}

/* find_daemon looks for torusd beside torusctl, in ../sbin, and in PATH. */
static bool find_daemon(struct emulation *e)
{
    if (e->daemon[0])
        return access(e->daemon, X_OK) == 0;
    char self[PATH_MAX], places[3 * PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(self, '/'), *rest = NULL;
    if (slash)
        *slash = '\0';
    const char *path = getenv("PATH");
    snprintf(places, sizeof places, "%s:%s/../sbin:%.*s:/usr/sbin", self, self, PATH_MAX / 2,
             path ? path : "");
    for (char *at = strtok_r(places, ":", &rest); at; at = strtok_r(NULL, ":", &rest)) {
        int size = snprintf(e->daemon, sizeof e->daemon, "%s/torusd", at);
        if (size < (int)sizeof e->daemon && access(e->daemon, X_OK) == 0)
            return true;
    }
    return false;
}

static void prepare_signals(struct emulation *e)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, JANITOR_LOST);
    sigprocmask(SIG_BLOCK, &set, NULL);
    e->signals = signalfd(-1, &set, SFD_CLOEXEC);
    signal(SIGPIPE, SIG_IGN);
}

/* prepare creates the folder, the janitor, the pipe and the configurations. It returns false with
 * errno. */
static bool prepare(struct emulation *e)
{
    e->rank = calloc(e->ranks, sizeof *e->rank);
    if (!e->rank || !janitor_init(&e->janitor, e->folder, e->topology.nodes) || !make_folder(e))
        return false;
    e->daemons = e->janitor.daemons;
    for (uint32_t i = 0; i < e->ranks; i++)
        e->rank[i].stream[0].fd = e->rank[i].stream[1].fd = -1;
    if (!janitor_fork(&e->janitor)) {
        rmdir(e->folder);
        return false;
    }
    prepare_signals(e);
    if (pipe2(e->life, O_CLOEXEC) == 0 && (!e->tcp || choose_ports(e)) && write_configs(e) &&
        (e->notify = open_notify(e)) >= 0)
        return true;
    int error = errno;
    janitor_clean_up(&e->janitor);
    errno = error;
    return false;
}

/* can_carry returns false, with a message, if this machine is too slow for the link rate: the
 * measured times would mislead. */
static bool can_carry(const struct emulation *e)
{
    static const char key[] = "torus.link_rate=";
    char text[300];
    for (int i = 0; i < e->settings_count; i++) {
        uint64_t rate = 0;
        if (strncmp(e->settings[i], key, sizeof key - 1) != 0 ||
            !td_quantity_parse_rate(e->settings[i] + sizeof key - 1, &rate) ||
            ctl_links_fit(&e->topology, rate, text, sizeof text))
            continue;
        fprintf(stderr, "torusctl emulate: %s\n", text);
        return false;
    }
    return true;
}

static int run_emulate(int argc, char **argv)
{
    static struct emulation e;
    const char *wrong = parse(&e, argc, argv);
    if (wrong)
        return ctl_usage("emulate", wrong);
    if (!find_daemon(&e)) {
        fprintf(stderr,
                "torusctl: cannot find torusd beside torusctl or in PATH: give --daemon PATH\n");
        return EXIT_FAILED;
    }
    if (!can_carry(&e))
        return EXIT_FAILED;
    if (!prepare(&e)) {
        fprintf(stderr, "torusctl: cannot prepare the emulation in %s: %s\n",
                e.folder[0] ? e.folder : "/tmp", strerror(errno));
        return EXIT_FAILED;
    }
    for (uint32_t n = 0; n < e.topology.nodes; n++)
        e.daemons[n] = start_daemon(&e, n);
    bool good = e.served = wait_ready(&e);
    close(e.notify); /* no reader from now on: a daemon must not block on a full socket */
    for (uint32_t i = 0; good && i < e.ranks; i++)
        good = start_rank(&e, i);
    if (good)
        run(&e);
    else if (e.code == 0)
        e.code = EXIT_FAILED;
    stop_all(&e);
    free(e.rank);
    return e.code;
}

const struct ctl_command ctl_command_emulate = {
    .name = "emulate",
    .arguments = "SHAPE [options] -- COMMAND ...",
    .what = "run COMMAND once per rank on an emulated torus of daemons",
    .options =
        "  --ranks N            number of ranks (default: one per node)\n"
        "  --ranks-per-node R   maximum number of ranks per node\n"
        "  --transport ipc|tcp  connections between daemons (default ipc)\n"
        "  --fabric direct|routed   route of packets (default direct)\n"
        "  --link-rate RATE     rate of each direction of a link, such as 5MB/s; for routed\n"
        "  --link-latency TIME  delay of a packet on a link, such as 50us; for routed\n"
        "  --set SECTION.KEY=VALUE  a setting of the daemons' configuration\n"
        "  --keep-going         ignore a daemon that ends by itself in the exit code\n"
        "  --daemon PATH        the torusd to run (default: the one beside torusctl, or in PATH)\n"
        "  --verbose            show the daemons' logs\n"
        "\n"
        "Each rank has TORUS_SOCKET, TORUS_JOB, TORUS_RANK, TORUS_SIZE and TORUS_NODE in its\n"
        "environment. The exit code is the first nonzero exit code of a rank. No process and no\n"
        "file remains.\n",
    .run = run_emulate,
};
