/* SPDX-License-Identifier: Apache-2.0 */
#include "ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "forming.h"
#include "model/layout.h"
#include "signals.h"

bool ranks_ask(const struct emulation *e, const char *option)
{
    for (char **at = e->command + 1; *at && strcmp(*at, "--") != 0; at++)
        if (strcmp(*at, option) == 0)
            return true;
    return false;
}

static uint32_t node_of(const struct emulation *e, uint32_t rank)
{
    uint32_t nodes = e->topology.nodes;
    if (nodes == 0)
        return 0; /* of the daemon here */
    if (e->ranks_per_node)
        return rank / e->ranks_per_node;
    for (uint32_t n = 0; n < nodes; n++) {
        struct td_range r = td_share(e->ranks, nodes, n);
        if (rank < r.begin + r.count)
            return n;
    }
    return nodes - 1;
}

static void set_number(const char *name, uint32_t value)
{
    char text[16];
    snprintf(text, sizeof text, "%u", value);
    setenv(name, text, 1);
}

/* set_sockets lists the sockets of all nodes, for a program that starts ranks of its own. */
static void set_sockets(const struct emulation *e)
{
    size_t room = e->topology.nodes * (sizeof e->folder + 16), at = 0;
    char *text = malloc(room);
    for (uint32_t n = 0; text && n < e->topology.nodes; n++)
        at += (size_t)snprintf(text + at, room - at, "%s%s/s%u", n ? ":" : "", e->folder, n);
    if (text)
        setenv("TORUS_SOCKETS", text, 1);
    free(text);
}

/* set_places tells a rank of an emulated torus where its daemon is, and the others. */
static void set_places(const struct emulation *e, uint32_t node)
{
    char path[128];
    snprintf(path, sizeof path, "%s/s%u", e->folder, node);
    setenv("TORUS_SOCKET", path, 1);
    set_sockets(e);
    set_number("TORUS_NODE", node);
}

/* set_socket tells a rank of torusctl run where its daemon is; NULL: where the library looks. It
 * forgets the places of an emulated torus that this command may run in. */
static void set_socket(const char *socket)
{
    if (socket) {
        setenv("TORUS_SOCKET", socket, 1);
        unsetenv("TORUS_SOCKETS");
        unsetenv("TORUS_NODE");
    }
}

/* set_environment tells rank i who it is. */
static void set_environment(const struct emulation *e, uint32_t i)
{
    if (e->topology.nodes)
        set_places(e, e->rank[i].node);
    else
        set_socket(e->socket);
    setenv("TORUS_JOB", e->job, 1);
    set_number("TORUS_SIZE", e->size);
    if (e->ranks == e->size)
        set_number("TORUS_RANK", i);
    else
        unsetenv("TORUS_RANK"); /* the daemons number the ranks */
    unsetenv("NOTIFY_SOCKET");
}

/* run_command makes this process, a child of `parent`, rank i. out and err are the pipes for its
 * output, or -1. It does not return. */
static _Noreturn void run_command(const struct emulation *e, uint32_t i, pid_t parent, int out,
                                  int err)
{
    signals_restore();
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    if (out >= 0) {
        dup2(out, 1);
        dup2(err, 2);
    }
    int nothing = i > 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
    if (nothing >= 0)
        dup2(nothing, 0); /* only rank 0 reads standard input */
    set_environment(e, i);
    execvp(e->command[0], e->command);
    int error = errno;
    bool of_all = error == ENOENT || error == ENOTDIR || error == EACCES || error == ENOEXEC;
    if (i == 0 || !of_all) /* the other ranks cannot run it either: say it once */
        fprintf(stderr, "torusctl: cannot run %s: %s\n", e->command[0], strerror(error));
    _exit(error == ENOENT ? 127 : 126); /* as shells do */
}

static bool start(struct emulation *e, uint32_t i)
{
    struct rank *r = &e->rank[i];
    int out[2] = {-1, -1}, err[2] = {-1, -1};
    bool pipes = e->ranks > 1;
    r->node = node_of(e, i);
    if (pipes && (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0))
        return false;
    pid_t parent = getpid();
    r->pid = fork();
    if (r->pid == 0)
        run_command(e, i, parent, out[1], err[1]);
    enum output_form form = e->prefixed ? OUTPUT_NUMBERED : i == 0 ? OUTPUT_PLAIN : OUTPUT_NONE;
    r->output[0] = (struct output){.fd = out[0], .to = stdout, .form = form};
    r->output[1] = (struct output){.fd = err[0], .to = stderr};
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

bool ranks_start(struct emulation *e)
{
    for (uint32_t i = 0; i < e->ranks; i++)
        if (!start(e, i))
            return false;
    return true;
}

/* say_killed reports that a signal has ended rank i, unless this process sent that signal. */
static void say_killed(const struct emulation *e, uint32_t i, int status)
{
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (number == 0 || e->sent >> number & 1)
        return;
    fprintf(stderr, "[%u] torusctl: killed by signal %d (%s)%s\n", i, number, strsignal(number),
            WCOREDUMP(status) ? ", core dumped" : "");
}

void ranks_end(struct emulation *e, pid_t pid, int status)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    for (uint32_t i = 0; i < e->ranks; i++) {
        if (e->rank[i].pid != pid)
            continue;
        say_killed(e, i, status);
        kill(-pid, SIGKILL); /* remaining children of the rank */
        e->rank[i].pid = 0;
        e->running--;
        forming_note(e, i, code);
        if (e->code == 0)
            e->code = code;
    }
}

void ranks_signal(struct emulation *e, int number)
{
    e->sent |= UINT64_C(1) << number;
    for (uint32_t i = 0; i < e->ranks; i++)
        if (e->rank[i].pid > 0)
            kill(-e->rank[i].pid, number);
}
