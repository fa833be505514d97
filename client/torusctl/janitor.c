/* SPDX-License-Identifier: Apache-2.0 */
#include "janitor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "torusctl.h"

enum { GRACE_SECONDS = 10 };

struct entry {
    enum janitor_entry kind;
    pid_t pid;
};

struct house { /* what the janitor knows */
    pid_t *groups;
    struct pollfd *daemons;
    size_t group_count, daemon_count;
};

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

/* read_books keeps the ranks' groups and descriptors of the daemons until the end of the pipe. */
static void read_books(struct house *h, int books)
{
    struct entry entry;
    ssize_t size = 0;
    while ((size = read(books, &entry, sizeof entry)) == sizeof entry ||
           (size < 0 && errno == EINTR)) {
        if (size < 0)
            continue;
        if (entry.kind == JANITOR_DAEMON)
            h->daemons[h->daemon_count++] =
                (struct pollfd){.fd = pidfd_open(entry.pid, 0), .events = POLLIN};
        else if (entry.kind == JANITOR_RANK)
            h->groups[h->group_count++] = entry.pid;
        for (size_t i = 0; entry.kind == JANITOR_RANK_ENDED && i < h->group_count; i++)
            if (h->groups[i] == entry.pid)
                h->groups[i--] = h->groups[--h->group_count];
    }
}

static void clean_up(struct house *h, const char *folder)
{
    for (size_t i = 0; i < h->group_count; i++)
        kill(-h->groups[i], SIGKILL);
    double until = ctl_seconds() + GRACE_SECONDS;
    for (size_t i = 0; i < h->daemon_count; i++) {
        double left = until - ctl_seconds();
        struct pollfd *daemon = &h->daemons[i];
        if (daemon->fd >= 0 && poll(daemon, 1, left > 0 ? (int)(left * 1000) : 0) == 0)
            pidfd_send_signal(daemon->fd, SIGKILL, NULL, 0);
    }
    remove_folder(folder);
}

bool janitor_start(struct janitor *j, const char *folder, uint32_t ranks, uint32_t daemons)
{
    int ends[2];
    struct house h = {.groups = calloc(ranks, sizeof *h.groups),
                      .daemons = calloc(daemons, sizeof *h.daemons)};
    *j = (struct janitor){.pid = -1, .books = -1};
    if (h.groups && h.daemons && pipe2(ends, O_CLOEXEC) == 0) {
        j->books = ends[1];
        j->pid = fork();
        if (j->pid == 0) {
            setsid();
            /* hold nothing of the terminal, of pipes, or of the daemons' end of file */
            dup2(ends[0], 0);
            close_range(1, ~0u, 0);
            read_books(&h, 0);
            clean_up(&h, folder);
            _exit(0);
        }
        close(ends[0]);
    }
    free(h.groups);
    free(h.daemons);
    return j->pid > 0;
}

void janitor_book(const struct janitor *j, enum janitor_entry kind, pid_t pid)
{
    struct entry entry = {kind, pid}; /* goes whole into the pipe, or the janitor is gone */
    while (write(j->books, &entry, sizeof entry) < 0 && errno == EINTR)
        continue;
}

void janitor_end(struct janitor *j)
{
    close(j->books);
    while (waitpid(j->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}
