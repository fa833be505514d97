/* SPDX-License-Identifier: Apache-2.0 */
/* test_letters: two real threads exchange numbered datagrams by a letter and a socket. Each arrives
 * once and in order. What a letter announces lies in plain memory, so that ThreadSanitizer sees an
 * access that the letter does not order. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "random.h"
#include "segment/letter.h"

enum { DATAGRAMS = 40000, RING = 8 };

static struct td_letter letter;
static int end[2];
static uint64_t data[RING]; /* plain: of the last RING datagrams */
static _Atomic uint64_t taken;
static uint64_t letters;

static void *send_all(void *unused)
{
    uint64_t sent = 0, random = 1;
    (void)unused;
    for (uint64_t n = 0; n < DATAGRAMS; n++) {
        while (n - taken >= RING)
            sched_yield();
        data[n % RING] = n;
        if (td_letter_put(&letter, sent, &n, sizeof n)) {
            letters++;
        } else if (send(end[0], &n, sizeof n, 0) == sizeof n) {
            sent++;
        }
        if (random_below(&random, 4) == 0)
            sched_yield();
    }
    return NULL;
}

static uint64_t expected, read_from, wrong;

static void deliver(uint64_t number)
{
    wrong += number != expected || data[number % RING] != number;
    expected++;
    taken = expected;
}

static bool take(bool looks)
{
    uint64_t number = 0;
    bool took = td_letter_take(&letter, read_from, looks, &number, sizeof number) > 0;
    if (took)
        deliver(number);
    return took;
}

static bool read_socket(bool waits)
{
    uint64_t number = 0;
    if (recv(end[1], &number, sizeof number, waits ? 0 : MSG_DONTWAIT) != sizeof number)
        return false;
    (void)take(true); /* it was sent before */
    read_from++;
    deliver(number);
    return true;
}

static void receive_all(void)
{
    uint64_t random = 2;
    while (expected < DATAGRAMS && wrong == 0) {
        td_letter_look(&letter);
        for (uint64_t i = random_below(&random, 64); i > 0; i--) {
            if (!take(true))
                (void)read_socket(false);
            sched_yield();
        }
        while (!td_letter_leave(&letter))
            if (!take(false))
                (void)read_socket(false);
        if (expected < DATAGRAMS && !read_socket(true))
            wrong++; /* nothing for the time limit of the socket: one is lost */
    }
}

int main(void)
{
    pthread_t thread;
    struct timeval most = {.tv_sec = 20};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, end) != 0 ||
        setsockopt(end[1], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) != 0 ||
        pthread_create(&thread, NULL, send_all, NULL) != 0)
        return 1;
    receive_all();
    if (wrong == 0)
        pthread_join(thread, NULL);
    printf("%d datagrams, %llu of them by letter, %llu wrong\n", DATAGRAMS,
           (unsigned long long)letters, (unsigned long long)wrong);
    return wrong > 0 || letters == 0;
}
