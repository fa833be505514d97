/* SPDX-License-Identifier: Apache-2.0 */
#include "janitor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "torusctl/torusctl.h"

enum { GRACE_SECONDS = 10, INHERITED_MAX = 64, LOOK_NS = 100000000 };

/* Children that this process had before main(), from a shell that called exec. They are not killed.
 */
static pid_t inherited[INHERITED_MAX];
static size_t inherited_count;

static void remove_folder(const char *folder)
{
    DIR *d = opendir(folder);
    struct dirent *entry = NULL;
    while (d && (entry = readdir(d)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(d), entry->d_name, 0);
    if (d)
        closedir(d);
    rmdir(folder);
}

static FILE *open_children(void)
{
    return fopen("/proc/thread-self/children", "re");
}

static void remember_inherited(void)
{
    FILE *f = open_children();
    while (f && inherited_count < INHERITED_MAX &&
           fscanf(f, "%d", &inherited[inherited_count]) == 1)
        inherited_count++;
    if (f)
        fclose(f);
}

static bool is_among(pid_t pid, const pid_t *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == pid)
            return true;
    return false;
}

/* kill_children kills all children except daemons within their time limit, and returns the number
 * of children. */
static unsigned kill_children(const struct janitor *j, bool spare)
{
    unsigned found = 0;
    int pid = 0;
    FILE *f = open_children();
    while (f && fscanf(f, "%d", &pid) == 1) {
        if (is_among(pid, inherited, inherited_count))
            continue;
        found++;
        if (!spare || !is_among(pid, j->daemons, j->count))
            kill(pid, SIGKILL);
    }
    if (f)
        fclose(f);
    return found;
}

void janitor_clean_up(const struct janitor *j)
{
    struct timespec look = {.tv_nsec = LOOK_NS};
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    double begin = tool_seconds(), passed = 0;
    /* The children of a child that ends become children of this process, so repeat until none is
     * left. A process that cannot be killed, such as another user's, is given up after a while. */
    while (kill_children(j, passed < GRACE_SECONDS) && passed < 2 * GRACE_SECONDS) {
        bool ended = false;
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ended = true;
        if (!ended)
            sigtimedwait(&child, NULL, &look);
        passed = tool_seconds() - begin;
    }
    if (j->folder)
        remove_folder(j->folder);
}

bool janitor_init(struct janitor *j, const char *folder, uint32_t daemons)
{
    *j = (struct janitor){.folder = folder, .count = daemons};
    void *shared = mmap(NULL, (daemons + 1) * sizeof *j->daemons, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    j->daemons = shared == MAP_FAILED ? NULL : shared;
    return j->daemons != NULL;
}

/* ended waits for a signal and forwards it. It returns true if the keeper has ended. */
static bool ended(const sigset_t *signals, pid_t keeper, int *status)
{
    int number = sigwaitinfo(signals, NULL);
    if (number > 0 && number != SIGCHLD)
        kill(keeper, number);
    for (pid_t pid = 0; (pid = waitpid(-1, status, WNOHANG)) > 0;)
        if (pid == keeper)
            return true;
    return false;
}

/* watch is the main loop of the janitor; it does not return. */
static _Noreturn void watch(const struct janitor *j, const sigset_t *signals, pid_t keeper)
{
    int status = 0;
    while (!ended(signals, keeper, &status))
        continue;
    if (WIFEXITED(status))
        exit(WEXITSTATUS(status)); /* the keeper has cleaned up */
    fprintf(stderr, "torusctl: signal %d ended torusctl %s\n", WTERMSIG(status),
            j->folder ? "emulate" : "run");
    janitor_clean_up(j);
    exit(128 + WTERMSIG(status));
}

bool janitor_fork(const struct janitor *j)
{
    sigset_t signals, before;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, JANITOR_LOST); /* blocked until the keeper reads its signalfd */
    sigprocmask(SIG_BLOCK, &signals, &before);
    remember_inherited();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t janitor = getpid(), keeper = fork();
    if (keeper > 0) {
        sigdelset(&signals, JANITOR_LOST);
        setpgid(keeper, keeper);
        watch(j, &signals, keeper);
    }
    if (keeper < 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        return false;
    }
    inherited_count = 0;
    setpgid(0, 0);            /* the janitor forwards the terminal's interrupt, once */
    signal(SIGTTOU, SIG_IGN); /* the keeper writes to the terminal from the background */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, JANITOR_LOST);
    if (getppid() != janitor)
        raise(JANITOR_LOST);
    return true;
}
