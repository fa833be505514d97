/* SPDX-License-Identifier: Apache-2.0 */
/* fft_rank: a rank of either side, which executes orders of the driver. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "fft.h"
#include "reach.h"

static struct part in, out;

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint64_t row_numbers(const struct problem *p)
{
    return 2 * points_of(p) / p->size[0];
}

static const char *plan(const struct order *order, struct outcome *outcome)
{
    const char *failed = side_prepare(&order->problem);
    if (!failed)
        failed = side_barrier();
    outcome->begin_ns = now_ns();
    if (!failed)
        failed = side_plan(&order->problem);
    outcome->end_ns = now_ns();
    if (!failed)
        failed = side_parts(&in, &out);
    uint64_t row = row_numbers(&order->problem);
    for (uint64_t i = 0; !failed && i < in.count * row; i++)
        in.data[i] = value_of(in.first * row + i);
    if (!failed)
        memset(out.data, 0, out.count * row * sizeof(double));
    return failed;
}

static const char *run(const struct order *order, struct outcome *outcome)
{
    const char *failed = side_barrier();
    outcome->begin_ns = now_ns();
    for (uint32_t i = 0; i < order->times && !failed; i++)
        failed = side_run();
    outcome->end_ns = now_ns();
    return failed;
}

static const char *write_result(const struct order *order)
{
    uint64_t row = row_numbers(&order->problem) * sizeof(double), left = out.count * row;
    int fd = open(order->file, O_WRONLY | O_CLOEXEC);
    const char *at = (const char *)out.data;
    off_t place = (off_t)(out.first * row);
    while (fd >= 0 && left > 0) {
        ssize_t put = pwrite(fd, at, left, place);
        if (put <= 0)
            break;
        at += put;
        place += put;
        left -= (uint64_t)put;
    }
    if (fd >= 0)
        close(fd);
    return left ? "cannot write the result" : NULL;
}

static void obey(const struct order *order, struct outcome *outcome)
{
    const char *failed = NULL;
    switch ((enum order_kind)order->kind) {
    case ORDER_PLAN:
        failed = plan(order, outcome);
        break;
    case ORDER_RUN:
        failed = run(order, outcome);
        break;
    case ORDER_SETTLE:
        outcome->begin_ns = now_ns();
        failed = side_settle(order->times);
        outcome->end_ns = now_ns();
        break;
    case ORDER_WRITE:
        failed = write_result(order);
        break;
    }
    outcome->failed = failed != NULL;
    if (failed)
        snprintf(outcome->text, sizeof outcome->text, "%s", failed);
}

int main(void)
{
    struct handshake handshake;
    struct order order;
    const char *failed = side_open(&handshake.rank, &handshake.ranks);
    int fd = failed ? -1 : reach_driver("FFT_SOCKET");
    if (fd < 0) {
        fprintf(
            stderr, "bench fft: %s\n",
            failed
                ? failed
                : "cannot connect to FFT_SOCKET: run ./dev bench fft, which starts this program");
        return 1;
    }
    bool well = send(fd, &handshake, sizeof handshake, MSG_NOSIGNAL) == sizeof handshake;
    while (well && recv(fd, &order, sizeof order, 0) == sizeof order) {
        struct outcome outcome = {0};
        obey(&order, &outcome);
        well = send(fd, &outcome, sizeof outcome, MSG_NOSIGNAL) == sizeof outcome;
    }
    close(fd);
    side_close();
    return well ? 0 : 1;
}
