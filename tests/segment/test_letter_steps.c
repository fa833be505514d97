/* SPDX-License-Identifier: Apache-2.0 */
/* test_letter_steps: all orders in which a sender and a receiver can make their accesses to a
 * letter and to the socket beside it. Every datagram is received once, in the order in which it was
 * sent, and no receiver sleeps while one waits for it.
 *
 * usage: test_letter_steps [--bug]: with --bug some order must go wrong.
 *
 * Both sides run as coroutines that stop before each access. A run follows a list of choices; the
 * next run changes the last choice that can be changed. */
#define TD_SEGMENT_ACCESS_H /* instead of access.h */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

static void stop_here(void);

static uint64_t td_access_load(const _Atomic uint64_t *word)
{
    stop_here();
    return *word;
}

static bool td_access_swap(_Atomic uint64_t *word, uint64_t *from, uint64_t to)
{
    stop_here();
    return atomic_compare_exchange_strong(word, from, to);
}

/* only the side that owns the letter reads and writes these: their order does not matter */
static uint64_t td_access_read(const _Atomic uint64_t *word)
{
    return *word;
}

static void td_access_write(_Atomic uint64_t *word, uint64_t value)
{
    *word = value;
}

static void td_access_copy_in(uint8_t *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

static void td_access_copy_out(void *to, const uint8_t *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

#include "segment/letter.c" /* NOLINT(bugprone-suspicious-include) */

enum { SENDER, RECEIVER, SIDES, DATAGRAMS = 3, LOOKS = 2, CHOICES_MAX = 200, STACK = 65536 };

static struct td_letter letter;
static uint8_t socket_queue[DATAGRAMS], got[DATAGRAMS + 1];
static unsigned queued, read_from, received, wrong;
static bool asleep, ended[SIDES];
static ucontext_t main_context, side_context[SIDES];
static char stack[SIDES][STACK];
static int running;
static uint8_t choice[CHOICES_MAX], options[CHOICES_MAX];
static unsigned choices, at;

static void stop_here(void)
{
    swapcontext(&side_context[running], &main_context);
}

static void send_all(void)
{
    uint64_t sent = 0;
    for (unsigned i = 1; i <= DATAGRAMS; i++) {
        uint8_t n = (uint8_t)i;
        if (td_letter_put(&letter, sent, &n, 1))
            continue;
        stop_here();
        socket_queue[queued++] = n;
        sent++;
    }
    ended[SENDER] = true;
}

static void deliver(uint8_t number)
{
    if (received < DATAGRAMS)
        got[received++] = number;
    else
        wrong++;
}

/* take delivers the letter that is due; `looks`: the receiver goes on looking. */
static bool take(bool looks)
{
    uint8_t number = 0;
    bool took = td_letter_take(&letter, read_from, looks, &number, 1) > 0;
    if (took)
        deliver(number);
    return took;
}

/* read_socket delivers the next datagram, after the letter that was sent before it. */
static bool read_socket(void)
{
    stop_here();
    if (read_from == queued)
        return false;
    uint8_t number = socket_queue[read_from];
    (void)take(true);
    read_from++;
    deliver(number);
    return true;
}

static void receive_all(void)
{
    while (received < DATAGRAMS) {
        td_letter_look(&letter);
        for (int i = 0; i < LOOKS; i++)
            if (!take(true))
                (void)read_socket();
        while (!td_letter_leave(&letter))
            if (!take(false))
                (void)read_socket();
        while (received < DATAGRAMS && !read_socket()) {
            asleep = true; /* until the socket has something */
            stop_here();
            asleep = false;
        }
    }
    ended[RECEIVER] = true;
}

/* choose returns the side that goes on. A receiver that sleeps goes on once the socket has
 * something. -1: none can. */
static int choose(void)
{
    bool can[SIDES] = {!ended[SENDER], !ended[RECEIVER] && (!asleep || read_from < queued)};
    if (!can[SENDER] && !can[RECEIVER])
        return -1;
    if (!can[SENDER] || !can[RECEIVER])
        return can[SENDER] ? SENDER : RECEIVER;
    if (at >= CHOICES_MAX)
        return SENDER;
    if (at == choices) {
        choice[choices] = 0;
        options[choices++] = SIDES;
    }
    return choice[at++];
}

/* prepare makes the context in which a side runs. */
static void prepare(int side, void (*body)(void))
{
    getcontext(&side_context[side]);
    side_context[side].uc_stack.ss_sp = stack[side];
    side_context[side].uc_stack.ss_size = STACK;
    side_context[side].uc_link = &main_context;
    makecontext(&side_context[side], body, 0);
}

static void run(void)
{
    memset(&letter, 0, sizeof letter);
    memset(got, 0, sizeof got);
    queued = read_from = received = at = 0;
    asleep = ended[SENDER] = ended[RECEIVER] = false;
    prepare(SENDER, send_all);
    prepare(RECEIVER, receive_all);
    while ((running = choose()) >= 0)
        swapcontext(&main_context, &side_context[running]);
    wrong += received < DATAGRAMS; /* one is lost, and the receiver sleeps */
    for (unsigned i = 0; i < received; i++)
        wrong += got[i] != i + 1;
}

/* next_order changes the last choice that can be changed. It returns false after the last order. */
static bool next_order(void)
{
    while (choices > 0 && choice[choices - 1] + 1 == options[choices - 1])
        choices--;
    if (choices == 0)
        return false;
    choice[choices - 1]++;
    return true;
}

int main(int count, char **argument)
{
    bool bug = count > 1 && strcmp(argument[1], "--bug") == 0;
    uint64_t orders = 0;
    do {
        run();
        orders++;
    } while (wrong == 0 && next_order());
    printf("%llu orders, %u wrong\n", (unsigned long long)orders, wrong);
    return bug ? wrong == 0 : wrong > 0;
}
