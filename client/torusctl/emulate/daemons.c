/* SPDX-License-Identifier: Apache-2.0 */
#include "daemons.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "signals.h"
#include "torusctl/find_daemon.h"
#include "torusctl/torusctl.h"

enum { LOG_LINES = 20, READY_SECONDS = 30 };

bool daemons_find(struct emulation *e)
{
    if (e->daemon[0])
        return access(e->daemon, X_OK) == 0;
    return ctl_find_daemon(e->daemon, sizeof e->daemon);
}

bool daemons_open_notify(struct emulation *e)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/notify", e->folder);
    e->notify = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return e->notify >= 0 && bind(e->notify, (struct sockaddr *)&address, sizeof address) == 0;
}

static pid_t start(struct emulation *e, uint32_t node)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    char config[128], log[128], fd[16], notify[128];
    signals_restore();
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

void daemons_start(struct emulation *e)
{
    for (uint32_t n = 0; n < e->topology.nodes; n++)
        e->daemons[n] = start(e, n);
}

void daemons_show_log(const struct emulation *e, uint32_t node)
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

uint32_t daemons_mark_ended(struct emulation *e, pid_t pid)
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
        uint32_t node = daemons_mark_ended(e, pid);
        if (node == UINT32_MAX)
            continue;
        if (all) {
            fprintf(stderr, "torusctl: the daemon of node %u did not start; its log ends with:\n",
                    node);
            daemons_show_log(e, node);
        }
        all = false;
    }
    return all;
}

bool daemons_wait_ready(struct emulation *e)
{
    uint32_t ready = 0;
    double until = tool_seconds() + READY_SECONDS;
    while (ready < e->topology.nodes) {
        char text[512];
        struct pollfd p[2] = {{.fd = e->notify, .events = POLLIN},
                              {.fd = e->signals, .events = POLLIN}};
        double left = until - tool_seconds();
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

void daemons_signal(const struct emulation *e, int number)
{
    for (uint32_t n = 0; n < e->topology.nodes; n++)
        if (e->daemons[n] > 0)
            kill(e->daemons[n], number);
}

uint32_t daemons_count(const struct emulation *e)
{
    uint32_t left = 0;
    for (uint32_t n = 0; n < e->topology.nodes; n++)
        left += e->daemons[n] > 0;
    return left;
}
