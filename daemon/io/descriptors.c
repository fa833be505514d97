/* SPDX-License-Identifier: Apache-2.0 */
#include "descriptors.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    RECOUNT_MS = 200,
    LACKING_MS = 10, /* between two counts while descriptors lack: some may have been closed */
};

uint64_t td_descriptors_limit(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : UINT64_MAX;
}

/* lowest_free returns the lowest number without a descriptor: without /proc, at least so many are
 * in use. */
static uint64_t lowest_free(void)
{
    int lowest = dup(STDERR_FILENO);
    if (lowest < 0)
        return td_descriptors_limit();
    close(lowest);
    return (uint64_t)lowest;
}

uint64_t td_descriptors_used(void)
{
    struct stat folder;
    uint64_t count = 0;
    if (stat("/proc/self/fd", &folder) == 0 && folder.st_size > 0) /* Linux 6.2 counts them */
        return (uint64_t)folder.st_size;
    DIR *d = opendir("/proc/self/fd");
    if (!d)
        return lowest_free();
    while (readdir(d))
        count++;
    closedir(d);
    return count > 3 ? count - 3 : 0; /* . and .., and that of the folder */
}

/* left returns what a limit leaves of it. */
static uint64_t left(uint64_t used)
{
    uint64_t limit = td_descriptors_limit();
    return limit > used ? limit - used : 0;
}

uint64_t td_descriptors_free(void)
{
    return left(td_descriptors_used());
}

bool td_descriptors_has(struct td_descriptors *d, uint64_t count, uint64_t reserve, uint64_t now_ms)
{
    bool lacks = left(d->used + d->taken) < count + reserve;
    if (d->counted_ms == 0 || now_ms - d->counted_ms >= (lacks ? LACKING_MS : RECOUNT_MS)) {
        *d = (struct td_descriptors){.used = td_descriptors_used(), .counted_ms = now_ms};
        d->counted_ms += now_ms == 0;
        lacks = left(d->used) < count + reserve;
    }
    return !lacks;
}

void td_descriptors_take(struct td_descriptors *d, uint64_t count)
{
    d->taken += count;
}

void td_descriptors_text(char *text, size_t bytes)
{
    uint64_t used = td_descriptors_used(), limit = td_descriptors_limit();
    snprintf(text, bytes,
             "%llu of %llu descriptors are in use%s; raise LimitNOFILE of torusd.service",
             (unsigned long long)used, (unsigned long long)limit,
             used < limit ? ", and the others are reserved" : "");
}
