/* SPDX-License-Identifier: Apache-2.0 */
#include "limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH = 4096 };

/* value_of returns a soft limit; UINT64_MAX: none. */
static uint64_t value_of(__rlimit_resource_t resource)
{
    struct rlimit limit;
    bool known = getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return known ? limit.rlim_cur : UINT64_MAX;
}

/* An error of the system, and the limit of a process that causes it. */
static const struct cause {
    int error;
    __rlimit_resource_t resource;
    const char *before, *after; /* the value of the limit, in a sentence */
} causes[] = {
    {EMFILE, RLIMIT_NOFILE, "this process may have",
     "descriptors (RLIMIT_NOFILE): raise ulimit -n, or LimitNOFILE="},
    {EFBIG, RLIMIT_FSIZE, "a file of this process may have",
     "bytes (RLIMIT_FSIZE): raise ulimit -f, or LimitFSIZE="},
    {ENOMEM, RLIMIT_AS, "this process may map",
     "bytes of memory (RLIMIT_AS): raise ulimit -v, or LimitAS="},
    {ENOMEM, RLIMIT_DATA, "this process may have",
     "bytes of private memory (RLIMIT_DATA): raise ulimit -d, or LimitDATA="},
    {EAGAIN, RLIMIT_MEMLOCK, "this process may lock",
     "bytes of memory (RLIMIT_MEMLOCK): raise ulimit -l, or LimitMEMLOCK="}, /* after mlockall() */
};

/* name_limits writes ": this process may ..." for each limit that causes an error. */
static void name_limits(int error, char *text, size_t bytes)
{
    size_t at = 0;
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        const struct cause *c = &causes[i];
        uint64_t most = value_of(c->resource);
        if (c->error == error && most != UINT64_MAX && at < bytes)
            at += (size_t)snprintf(text + at, bytes - at, ": %s %" PRIu64 " %s of its unit",
                                   c->before, most, c->after);
    }
}

const char *td_limit_why(int error, char *text, size_t bytes)
{
    size_t at = (size_t)snprintf(text, bytes, "%s", strerror(error));
    if (at >= bytes)
        return text;
    if (error == ENFILE)
        snprintf(text + at, bytes - at, ": the machine has reached fs.file-max: raise it");
    else
        name_limits(error, text + at, bytes - at);
    return text;
}

const char *td_limit_no_memory(const char *what)
{
    static _Thread_local char text[TD_LIMIT_TEXT];
    size_t at = (size_t)snprintf(text, sizeof text, "no memory for %s", what);
    if (at < sizeof text)
        name_limits(ENOMEM, text + at, sizeof text - at);
    return text;
}

uint64_t td_limit_file_bytes(void)
{
    return value_of(RLIMIT_FSIZE);
}

/* left_of returns what a limit leaves of it. */
static uint64_t left_of(__rlimit_resource_t resource, uint64_t used)
{
    uint64_t most = value_of(resource);
    return most == UINT64_MAX ? most : used < most ? most - used : 0;
}

/* struct memory: of this process, in bytes. */
struct memory {
    uint64_t all, resident, shared; /* shared: of the resident bytes */
    uint64_t private;               /* resident or not */
};

/* memory_now returns what this process has; zeros: unknown. */
static struct memory memory_now(void)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    struct memory m = {0};
    FILE *f = fopen("/proc/self/statm", "re"); /* in pages: proc(5) */
    if (!f || fscanf(f, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %*u %*u %" SCNu64, &m.all, &m.resident,
                     &m.shared, &m.private) != 4)
        m = (struct memory){0};
    if (f)
        fclose(f);
    return (struct memory){m.all * page, m.resident * page, m.shared * page, m.private * page};
}

uint64_t td_limit_space_bytes(void)
{
    if (value_of(RLIMIT_AS) == UINT64_MAX && value_of(RLIMIT_DATA) == UINT64_MAX)
        return UINT64_MAX;
    struct memory now = memory_now();
    uint64_t space = left_of(RLIMIT_AS, now.all), data = left_of(RLIMIT_DATA, now.private);
    return space < data ? space : data;
}

/* ---- memory cgroups ---- */

/* lower lowers *least to the number in a file, if it has one: without a limit, version 2 has the
 * word max there and version 1 a number larger than any memory. */
static void lower(const char *path, uint64_t *least)
{
    uint64_t value = 0;
    FILE *f = fopen(path, "re");
    if (f && fscanf(f, "%" SCNu64, &value) == 1 && value < *least)
        *least = value;
    if (f)
        fclose(f);
}

/* lower_all lowers *least to the limits of a cgroup and those above it. */
static void lower_all(const char *root, char *group, const char *file, uint64_t *least)
{
    char path[PATH];
    for (char *end = group + strlen(group); end; end = strrchr(group, '/')) {
        *end = '\0';
        if (snprintf(path, sizeof path, "%s%s/%s", root, group, file) < (int)sizeof path)
            lower(path, least);
    }
}

uint64_t td_limit_memory_bytes(bool *cgroup)
{
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t least = machine;
    char line[PATH / 2];
    FILE *f = fopen("/proc/self/cgroup", "re");
    while (f && fgets(line, sizeof line, f)) { /* HIERARCHY:CONTROLLERS:/PATH */
        char *controllers = strchr(line, ':'),
             *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        if (strcmp(group, "/") == 0)
            group[0] = '\0';
        if (strcmp(line, "0") == 0 || strncmp(line, "0:", 2) == 0)
            lower_all("/sys/fs/cgroup", group, "memory.max", &least);
        else if (strcmp(controllers + 1, "memory") == 0)
            lower_all("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes", &least);
    }
    if (f)
        fclose(f);
    *cgroup = least < machine;
    return least;
}

/* available returns how much memory the machine can give, without swapping; UINT64_MAX: unknown. */
static uint64_t available(void)
{
    char line[PATH / 2];
    uint64_t kib = UINT64_MAX / 1024;
    FILE *f = fopen("/proc/meminfo", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib * 1024;
}

uint64_t td_limit_memory_left(void)
{
    bool cgroup = false;
    struct memory now = memory_now();
    uint64_t most = td_limit_memory_bytes(&cgroup), own = now.resident - now.shared;
    uint64_t left = own < most ? most - own : 0;
    uint64_t machine = available(), space = td_limit_space_bytes();
    left = machine < left ? machine : left;
    return space < left ? space : left;
}
