/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon_program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

FILE *ins_daemon_run(const char *daemon, const char *file, const char *option, bool errors_too,
                     pid_t *pid)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return NULL;
    *pid = fork();
    if (*pid == 0) {
        const char *const with_file[] = {"torusd", "--config", file, option, NULL};
        const char *const without[] = {"torusd", option, NULL};
        dup2(ends[1], 1);
        if (errors_too)
            dup2(ends[1], 2);
        execv(daemon, (char **)(uintptr_t)(file ? with_file : without));
        _exit(127);
    }
    close(ends[1]);
    FILE *f = *pid > 0 ? fdopen(ends[0], "re") : NULL;
    if (!f)
        close(ends[0]);
    return f;
}

int ins_daemon_end(FILE *f, pid_t pid)
{
    int status = 0;
    if (f)
        fclose(f);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

/* drop removes a text from the beginnings of lines. */
static void drop(char *lines, const char *before)
{
    size_t length = strlen(before);
    for (char *line = lines; line && *line;) {
        if (strncmp(line, before, length) == 0)
            memmove(line, line + length, strlen(line) - length + 1);
        line = strchr(line, '\n');
        line += line != NULL;
    }
}

bool ins_daemon_check(const char *daemon, const char *file, char *text, size_t bytes)
{
    pid_t pid = 0;
    FILE *f = ins_daemon_run(daemon, file, "--check-config", true, &pid);
    size_t length = f ? fread(text, 1, bytes - 1, f) : 0;
    text[length] = '\0';
    while (length > 0 && text[length - 1] == '\n')
        text[--length] = '\0';
    if (length == 0)
        snprintf(text, bytes, "%s does not run", daemon);
    drop(text, "torusd: ");
    return ins_daemon_end(f, pid) == 0;
}
