/* SPDX-License-Identifier: Apache-2.0 */
#include "notify.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

/* send_now sends without blocking. sd_notify blocks if its reader does not read, which would stall
 * the daemon. A line may be lost instead. */
static bool send_now(const char *text)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!path || !path[0] || strlen(path) >= sizeof address.sun_path)
        return false;
    strcpy(address.sun_path, path);
    if (path[0] == '@') /* abstract socket */
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    bool sent = sendto(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL,
                       (const struct sockaddr *)&address, length) >= 0;
    close(fd);
    return sent;
}

bool td_notify_enabled(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    return path && path[0];
}

void td_notify_ready(void)
{
    sd_notify(0, "READY=1");
}

static bool reload_ends; /* READY=1 is due */

void td_notify_reloading(void)
{
    char line[64];
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(line, sizeof line, "RELOADING=1\nMONOTONIC_USEC=%llu",
             (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000);
    reload_ends = send_now(line);
}

void td_notify_reloaded(void)
{
    reload_ends = reload_ends && !send_now("READY=1");
}

void td_notify_stopping(void)
{
    send_now("STOPPING=1");
}

void td_notify_draining(unsigned seconds)
{
    char line[64];
    snprintf(line, sizeof line, "EXTEND_TIMEOUT_USEC=%u000000", seconds);
    send_now(line);
}

void td_notify_status(const char *text)
{
    static char last[300];
    char line[310];
    td_notify_reloaded();
    if (strncmp(text, last, sizeof last - 1) == 0)
        return;
    strcpy(line, "STATUS=");
    td_text_show(text, line + strlen(line), sizeof last);
    if (send_now(line)) /* on failure the next event retries */
        snprintf(last, sizeof last, "%s", text);
}

uint64_t td_notify_watchdog_ns(void)
{
    uint64_t period_us = 0;
    return sd_watchdog_enabled(0, &period_us) > 0 ? period_us * 1000 / 2 : 0;
}

void td_notify_feed(void)
{
    send_now("WATCHDOG=1");
}
