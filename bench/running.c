/* SPDX-License-Identifier: Apache-2.0 */
#include "running.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { START_MS = 60000, ARGUMENTS = 48 };

static int listen_at(char *path, size_t size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(path, size, "/tmp/torus-bench.%d.sock", (int)getpid());
    strcpy(address.sun_path, path);
    unlink(path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        listen(fd, RUNNING_RANKS_MAX) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* execute executes a command in this process. */
static void execute(const struct launch *l, const char *const *command)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    execvp(command[0], (char *const *)command);
    fprintf(stderr, "%s: cannot run %s: %s\n", l->bench, command[0], strerror(errno));
    _exit(127);
}

/* run_on_hosts executes the launcher of the side for ranks on hosts. */
static void run_on_hosts(const struct launch *l, const char *program, const char *nodes,
                         const char *each)
{
    const char *torusd[] = {HOSTS, "torusd", l->hosts, nodes, each, l->security, program, NULL};
    const char *others[] = {
        HOSTS, l->launcher == PLAIN ? "plain" : "mpi", l->hosts, nodes, each, program, NULL};
    execute(l, l->launcher == EMULATE ? torusd : others);
}

/* run_plainly starts the ranks as processes of this one, and waits for their ends. */
static void run_plainly(const struct launch *l, const char *program)
{
    const char *command[] = {program, NULL};
    char number[16];
    close_range(3, ~0u, 0); /* it executes nothing: the other sides' sockets would stay open */
    setenv("BENCH_INTERFACE", "lo", 1);
    for (uint32_t i = 0; i < l->nodes * l->ranks_per_node; i++) {
        snprintf(number, sizeof number, "%u", i);
        setenv("BENCH_RANK", number, 1);
        if (fork() == 0)
            execute(l, command);
    }
    while (wait(NULL) > 0)
        continue;
    _exit(0);
}

/* run executes the launcher of the side in this process. */
static void run(const struct launch *l)
{
    char program[512], ctl[512], nodes[16], each[16], all[16];
    snprintf(program, sizeof program, "%s/%s", l->folder, l->program);
    snprintf(ctl, sizeof ctl, "%s/torusctl", l->folder);
    snprintf(nodes, sizeof nodes, "%u", l->nodes);
    snprintf(each, sizeof each, "%u", l->ranks_per_node);
    snprintf(all, sizeof all, "%u", l->nodes * l->ranks_per_node);
    setenv("BENCH_SIZE", all, 1);
    if (l->hosts)
        run_on_hosts(l, program, nodes, each);
    if (l->launcher == PLAIN)
        run_plainly(l, program);
    /* without keys, because Open MPI's TCP has none either */
    const char *torusd[ARGUMENTS] = {
        ctl,           "emulate", nodes,   "--ranks-per-node",     each, "--ranks", all,
        "--transport", "tcp",     "--set", "security.insecure=yes"};
    const char *mpi[ARGUMENTS] = {"mpirun",
                                  "--allow-run-as-root",
                                  "--oversubscribe",
                                  "--bind-to",
                                  "none",
                                  "--mca",
                                  "mpi_yield_when_idle",
                                  "1",
                                  "-n",
                                  all,
                                  "--mca",
                                  "pml",
                                  "ob1",
                                  "--mca",
                                  "btl",
                                  l->nodes > 1 ? "tcp,self" : "vader,self",
                                  "--mca",
                                  "btl_tcp_if_include",
                                  "lo",
                                  program};
    /* MPICH's waiting ranks never give up their processor, whatever the options */
    const char *mpich[ARGUMENTS] = {"mpirun.mpich", "-n", all, program};
    unsigned count = 11;
    if (l->setting) {
        torusd[count++] = "--set";
        torusd[count++] = l->setting;
    }
    torusd[count++] = "--";
    torusd[count] = program;
    execute(l, l->launcher == EMULATE ? torusd : l->launcher == MPIRUN_OPENMPI ? mpi : mpich);
}

/* remove_folder removes a folder of files. */
static void remove_folder(const char *path)
{
    char file[512];
    DIR *folder = opendir(path);
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(file);
    }
    if (folder)
        closedir(folder);
    rmdir(path);
}

bool running_readable(int fd, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int ready = 0;
    do
        ready = poll(&p, 1, timeout_ms);
    while (ready < 0 && errno == EINTR);
    return ready > 0;
}

/* comes returns true if a rank connects before the side ends and within START_MS. */
static bool comes(struct running *r, int listener)
{
    for (int waited_ms = 0; waited_ms < START_MS; waited_ms += 100) {
        if (running_readable(listener, 100))
            return true;
        if (waitpid(r->pid, NULL, WNOHANG) != 0) {
            r->pid = 0;
            return false;
        }
    }
    return false;
}

/* accept_ranks waits until all ranks have identified themselves. */
static bool accept_ranks(struct running *r, int listener)
{
    for (uint32_t i = 0; i < r->ranks; i++) {
        struct handshake handshake;
        int fd = comes(r, listener) ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
        if (fd < 0 || !running_readable(fd, START_MS) ||
            recv(fd, &handshake, sizeof handshake, 0) != sizeof handshake ||
            handshake.ranks != r->ranks || handshake.rank >= r->ranks ||
            r->fd[handshake.rank] >= 0) {
            if (fd >= 0)
                close(fd);
            return false;
        }
        r->fd[handshake.rank] = fd;
    }
    return true;
}

bool running_start(struct running *r, const struct launch *l)
{
    char path[100];
    *r = (struct running){.side = l->side, .ranks = l->nodes * l->ranks_per_node};
    for (uint32_t i = 0; i < RUNNING_RANKS_MAX; i++)
        r->fd[i] = -1;
    int listener = listen_at(path, sizeof path);
    if (listener < 0) {
        fprintf(stderr, "%s: no socket at %s: %s\n", l->bench, path, strerror(errno));
        return false;
    }
    setenv(l->socket, path, 1);
    if (l->launcher == PLAIN) {
        strcpy(r->store, "/tmp/torus-bench.XXXXXX");
        if (!mkdtemp(r->store))
            r->store[0] = '\0';
        setenv("BENCH_STORE", r->store, 1);
    }
    r->pid = fork();
    if (r->pid == 0)
        run(l);
    bool well = r->pid > 0 && accept_ranks(r, listener);
    close(listener);
    unlink(path);
    if (!well)
        fprintf(stderr, "%s: the ranks of %s did not connect\n", l->bench, l->side);
    return well;
}

void running_stop(struct running *r)
{
    for (uint32_t i = 0; i < RUNNING_RANKS_MAX; i++)
        if (r->pid > 0 && r->fd[i] >= 0)
            close(r->fd[i]);
    if (r->pid > 0)
        waitpid(r->pid, NULL, 0);
    if (r->store[0])
        remove_folder(r->store);
    *r = (struct running){0};
}
