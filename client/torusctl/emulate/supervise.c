/* SPDX-License-Identifier: Apache-2.0 */
#include "supervise.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemons.h"
#include "forming.h"
#include "ranks.h"
#include "torusctl/torusctl.h"

enum {
    STOP_SECONDS = 10,
    RANKS_SECONDS = 5, /* from a signal to the end of the ranks */
};

static void reap(struct emulation *e)
{
    int status = 0;
    pid_t pid = 0;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        uint32_t node = daemons_mark_ended(e, pid);
        if (node != UINT32_MAX) {
            fprintf(stderr, "torusctl: the daemon of node %u ended (%s %d)\n", node,
                    WIFEXITED(status) ? "code" : "signal",
                    WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
            daemons_show_log(e, node);
            e->daemon_lost = true;
        }
        ranks_end(e, pid, status);
    }
}

/* handle_signal passes a signal to the ranks, also to those that are stopped; the second one kills
 * them. */
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
    ranks_signal(e, kill_now ? SIGKILL : (int)info.ssi_signo);
    ranks_signal(e, SIGCONT);
    if (e->interrupted == 1)
        e->kill_at_s = tool_seconds() + RANKS_SECONDS;
    if (e->code == 0)
        e->code = 128 + (int)info.ssi_signo;
}

/* kill_late kills the ranks that a signal has not ended in time. */
static void kill_late(struct emulation *e)
{
    if (e->kill_at_s == 0 || tool_seconds() < e->kill_at_s || e->running == 0)
        return;
    fprintf(stderr, "torusctl: killed ranks that did not end within %d s of the signal: %u\n",
            RANKS_SECONDS, e->running);
    ranks_signal(e, SIGKILL);
    e->kill_at_s = 0;
}

/* wait_ms returns the time until the next thing to do without an event, in milliseconds; -1: there
 * is none. */
static int wait_ms(const struct emulation *e)
{
    int forming = forming_wait_ms(e);
    double left = e->kill_at_s - tool_seconds();
    int kills = e->kill_at_s == 0 || !e->running ? -1 : left > 0 ? (int)(left * 1000) + 1 : 0;
    return forming < 0 || (kills >= 0 && kills < forming) ? kills : forming;
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

static bool any_output(const struct emulation *e)
{
    for (uint32_t i = 0; i < e->ranks; i++)
        if (e->rank[i].output[0].fd >= 0 || e->rank[i].output[1].fd >= 0)
            return true;
    return false;
}

void supervise_run(struct emulation *e)
{
    struct pollfd *p = calloc(2 * (size_t)e->ranks + 1, sizeof *p);
    while (p && (e->running || any_output(e))) {
        p[0] = (struct pollfd){.fd = e->signals, .events = POLLIN};
        for (uint32_t i = 0; i < 2 * e->ranks; i++)
            p[i + 1] = (struct pollfd){.fd = e->rank[i / 2].output[i % 2].fd, .events = POLLIN};
        int ready = poll(p, 2 * (nfds_t)e->ranks + 1, wait_ms(e));
        for (uint32_t i = 0; ready > 0 && i < 2 * e->ranks; i++)
            if (p[i + 1].fd >= 0 && p[i + 1].revents)
                output_forward(&e->rank[i / 2].output[i % 2], i / 2);
        if (ready > 0 && p[0].revents)
            handle_signal(e);
        if (!e->running)
            kill_orphans(e); /* they may hold the pipes open */
        forming_check(e);
        kill_late(e);
    }
    forming_end(e);
    free(p);
}

static void reap_stopped(struct emulation *e, bool killed)
{
    int status = 0;
    pid_t pid = 0;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        uint32_t node = daemons_mark_ended(e, pid);
        if (node == UINT32_MAX || killed || !e->served ||
            (WIFEXITED(status) && WEXITSTATUS(status) == 0))
            continue;
        fprintf(stderr, "torusctl: the daemon of node %u did not stop cleanly\n", node);
        daemons_show_log(e, node);
        e->code = e->code ? e->code : EXIT_FAILED;
    }
}

void supervise_stop(struct emulation *e)
{
    reap(e); /* processes that have ended by now were not asked to stop */
    ranks_signal(e, SIGKILL);
    kill_orphans(e);
    daemons_signal(e, SIGTERM);
    double until = tool_seconds() + STOP_SECONDS;
    bool killed = false;
    for (reap_stopped(e, killed); daemons_count(e); reap_stopped(e, killed)) {
        struct pollfd p = {.fd = e->signals, .events = POLLIN};
        struct signalfd_siginfo info;
        double left = until - tool_seconds();
        if (left <= 0 && !killed) {
            fprintf(stderr, "torusctl: killed daemons that did not stop: %u\n", daemons_count(e));
            daemons_signal(e, SIGKILL);
            killed = true;
        }
        if (poll(&p, 1, left > 0 ? (int)(left * 1000) + 1 : 1000) > 0 &&
            read(e->signals, &info, sizeof info) < 0)
            continue;
    }
    if (e->code == 0 && (killed || (e->daemon_lost && !e->keep_going)))
        e->code = EXIT_FAILED;
    if (e->life[1] >= 0)
        close(e->life[1]);
    janitor_clean_up(&e->janitor);
}
