/* SPDX-License-Identifier: Apache-2.0 */
/* players: ranks on one node, each a process that the test starts. */
#ifndef TD_TESTS_PLAYERS_H
#define TD_TESTS_PLAYERS_H

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "daemons.h"

enum { PLAYERS = 4, GOOD = 42 /* exit code */ };

extern pid_t player[PLAYERS];
/* of the process itself */
extern torus_context *context;
extern torus_group *world;

/* The ranks tell the test what they have done: shared memory. */
struct told {
    _Atomic uint32_t ready, go, calls[PLAYERS];
    _Atomic int error[PLAYERS];
    double at[PLAYERS];
    char text[PLAYERS][512];
};
extern struct told *told;

/* HOLDS ends the process of a rank if a condition fails: cmocka works in the test's process only.
 */
#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s: %s\n", __func__, __LINE__, #condition,                     \
                    context ? torus_last_error(context) : "");                                     \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)
#define WELL(call) HOLDS((call) == TORUS_OK)

/* open_and_join makes the calling process a rank of a job. */
void open_and_join(const char *job, uint32_t rank, uint32_t ranks);
/* begin starts the processes of a job. Each calls `play` and ends. finish waits for them, except
 * for those whose `player` is 0. */
void begin(uint32_t ranks, void (*play)(uint32_t rank));
void finish(uint32_t ranks);
void pause_ms(long ms);
void await(const _Atomic uint32_t *count, uint32_t wanted);
/* report tells the test how a call ended. assert_ended expects, of all ranks but one, this error
 * with these words, at most a second after `since`. */
void report(uint32_t rank, int error);
void assert_ended(uint32_t but, double since, int error, const char *words);
/* kill_player kills a rank of begin(PLAYERS, ...) in a call that the others repeat. It expects that
 * their calls end because of this death, lets them go and waits for them. */
void kill_player(uint32_t victim);

#endif
