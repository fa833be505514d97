/* SPDX-License-Identifier: Apache-2.0 */
#include "deadline.h"

#include <errno.h>
#include <poll.h>
#include <time.h>

#include "torus/torus.h"

int64_t tl_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int tl_poll(const int *fd, unsigned count, short events, int64_t deadline_ns)
{
    struct pollfd p[2];
    for (;;) {
        struct timespec left = {0}, *wait = NULL;
        if (deadline_ns >= 0) {
            int64_t ns = deadline_ns - tl_now_ns();
            ns = ns < 0 ? 0 : ns;
            left = (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
            wait = &left;
        }
        for (unsigned i = 0; i < count; i++)
            p[i] = (struct pollfd){.fd = fd[i], .events = events};
        int ready = ppoll(p, count, wait, NULL);
        if (ready > 0)
            return TORUS_OK;
        if (ready == 0)
            return TORUS_PENDING;
        if (errno != EINTR)
            return TORUS_ERR_SYSTEM;
    }
}
