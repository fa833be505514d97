/* SPDX-License-Identifier: Apache-2.0 */
#include "partial_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_BYTES = 4096, NONCE_DIGITS = 8 };
static const char ending[] = ".part";

static char name[NAME_BYTES]; /* empty: none */
static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
enum { SIGNALS = sizeof signals / sizeof signals[0] };
static struct sigaction before[SIGNALS];

static void on_signal(int number)
{
    unlink(name);
    signal(number, SIG_DFL);
    raise(number);
}

bool partial_file_begin(const char *out, uint32_t nonce)
{
    if (snprintf(name, sizeof name, "%s.%08x%s", out, nonce, ending) >= (int)sizeof name) {
        name[0] = '\0';
        return false;
    }
    for (int i = 0; i < SIGNALS; i++) {
        struct sigaction action = {.sa_handler = on_signal};
        sigaction(signals[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) /* ignored, for example by nohup */
            sigaction(signals[i], &action, NULL);
    }
    return true;
}

const char *partial_file_name(void)
{
    return name;
}

bool partial_file_hold(int fd)
{
    struct stat st;
    flock(fd, LOCK_SH); /* without file locks, no job sweeps */
    return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

/* is_part returns true if ENTRY is OUT.NONCE.part. */
static bool is_part(const char *entry, const char *out)
{
    size_t length = strlen(out);
    if (strncmp(entry, out, length) != 0 || entry[length] != '.')
        return false;
    const char *nonce = entry + length + 1;
    return strspn(nonce, "0123456789abcdef") == NONCE_DIGITS &&
           strcmp(nonce + NONCE_DIGITS, ending) == 0;
}

void partial_file_sweep(const char *out)
{
    char folder[NAME_BYTES];
    const char *slash = strrchr(out, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - out + 1) : 2, slash ? out : "./");
    DIR *d = opendir(folder);
    for (struct dirent *e = NULL; d && (e = readdir(d));) {
        if (!is_part(e->d_name, slash ? slash + 1 : out))
            continue;
        int fd = openat(dirfd(d), e->d_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
            unlinkat(dirfd(d), e->d_name, 0);
        if (fd >= 0)
            close(fd);
    }
    if (d)
        closedir(d);
}

bool partial_file_finish(const char *out)
{
    return rename(name, out) == 0;
}

void partial_file_end(void)
{
    if (!name[0])
        return;
    unlink(name);
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &before[i], NULL);
    name[0] = '\0';
}
