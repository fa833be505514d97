/* SPDX-License-Identifier: Apache-2.0 */
/* seeds: the number of seeded cases of a test: few under a sanitizer, many if TORUS_TEST_LONG is
 * set. Fewer seeds leave out no kind of case; they only draw fewer cases of each kind. */
#ifndef TD_TESTS_SEEDS_H
#define TD_TESTS_SEEDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { SEEDS_SANITIZED = true };
#else
enum { SEEDS_SANITIZED = false };
#endif

/* seeds_long returns true if the environment asks for the long run: TORUS_TEST_LONG=1. */
static inline bool seeds_long(void)
{
    const char *value = getenv("TORUS_TEST_LONG");
    return value && *value && strcmp(value, "0") != 0;
}

/* seeds_count returns the number of seeds of this run and prints it: `sanitized` under a sanitizer,
 * `most` in the long run, else `usual`. */
static inline uint64_t seeds_count(uint64_t usual, uint64_t sanitized, uint64_t most)
{
    uint64_t count = seeds_long() ? most : SEEDS_SANITIZED ? sanitized : usual;
    printf("%llu seeds%s\n", (unsigned long long)count,
           seeds_long()      ? " (TORUS_TEST_LONG)"
           : SEEDS_SANITIZED ? " (sanitized build)"
                             : "");
    return count;
}

/* seeds_pick returns true if case `number` of an exhaustive test is to run: all of them, but under
 * a sanitizer each `step`th. The step shares no factor with the lengths of the loops that number
 * the cases, so that all values of each loop occur. */
static inline bool seeds_pick(uint64_t number, uint64_t step)
{
    return seeds_long() || !SEEDS_SANITIZED || number % step == 0;
}

/* seeds_one returns true if the environment names one case: TORUS_TEST_CASE=SEED. */
static inline bool seeds_one(uint64_t *seed)
{
    const char *value = getenv("TORUS_TEST_CASE");
    *seed = value ? strtoull(value, NULL, 10) : 0;
    return value != NULL;
}

/* seeds_run calls `run` for the seeds 1 .. seeds_count, or for the one that the environment names.
 */
static inline void seeds_run(void (*run)(uint64_t seed), uint64_t usual, uint64_t sanitized,
                             uint64_t most)
{
    uint64_t one = 0, count = 0;
    if (seeds_one(&one)) {
        run(one);
        return;
    }
    count = seeds_count(usual, sanitized, most);
    for (uint64_t seed = 1; seed <= count; seed++)
        run(seed);
}

#endif
