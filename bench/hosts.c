/* SPDX-License-Identifier: Apache-2.0 */
#include "hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* run runs hosts.sh and returns true if it succeeds. */
static bool run(const char *const *arguments)
{
    pid_t pid = fork();
    int status = -1;
    if (pid == 0) {
        execv(HOSTS, (char *const *)arguments);
        _exit(127);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

bool hosts_up(const char *bench, uint32_t hosts, const char *rate)
{
    char count[16];
    snprintf(count, sizeof count, "%u", hosts);
    const char *up[] = {HOSTS, "up", HOSTS_PREFIX, count, rate, NULL};
    if (run(up))
        return true;
    fprintf(stderr, "%s: %s could not make %u hosts: it needs root and free names %s*\n", bench,
            HOSTS, hosts, HOSTS_PREFIX);
    hosts_down();
    return false;
}

void hosts_down(void)
{
    const char *down[] = {HOSTS, "down", HOSTS_PREFIX, NULL};
    run(down);
}

double hosts_rate(const char *rate)
{
    static const struct {
        const char *unit;
        double bits;
    } units[] = {{"gbit", 1e9}, {"mbit", 1e6}, {"kbit", 1e3}};
    enum { FRAME = 1538, PAYLOAD = 1448 }; /* bytes; a frame with preamble and gap */
    char *unit = NULL;
    double number = strtod(rate, &unit);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(unit, units[i].unit) == 0)
            return number * units[i].bits / 8 * PAYLOAD / FRAME;
    return 0;
}
