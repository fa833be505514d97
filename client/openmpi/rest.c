/* SPDX-License-Identifier: Apache-2.0 */
#include "rest.h"

enum { LOOKS_LEAST = 8, LOOKS_MOST = 64, LOOKS_PER_SLEEP = 16, YIELDS = 4 };

/* The yields that end a rest cost some 10 ms. */
#define LEAST_NS 100000000
#define MOST_NS 1600000000

enum tm_rest_act tm_rest_next(struct tm_rest *r)
{
    if (r->looks > 0) {
        r->looks--;
        return r->rests ? TM_REST_LOOK : TM_REST_LEAVE;
    }
    return r->rests ? TM_REST_SLEEP : TM_REST_YIELD;
}

/* begin starts a rest that is longer than the one before. */
static void begin(struct tm_rest *r, int64_t now)
{
    r->rests = true;
    r->between = 0;
    r->looks = LOOKS_PER_SLEEP;
    r->length = r->length == 0 ? LEAST_NS : r->length < MOST_NS ? 2 * r->length : MOST_NS;
    r->ends = now + r->length;
}

void tm_rest_yielded(struct tm_rest *r, int64_t now, int64_t took_ns, int64_t slow_ns)
{
    bool goes_on = r->yields > 0 || r->length > 0 || took_ns >= slow_ns;
    r->yields += goes_on;
    r->yield_ns += goes_on ? took_ns : 0;
    if (goes_on && r->yields < YIELDS)
        return;
    bool slow = goes_on && r->yield_ns >= YIELDS * slow_ns;
    r->yields = 0;
    r->yield_ns = 0;
    if (slow) {
        begin(r, now);
        return;
    }
    r->between = r->between == 0           ? LOOKS_LEAST
                 : r->between < LOOKS_MOST ? 2 * r->between
                                           : LOOKS_MOST;
    r->looks = r->between;
    r->length = 0;
}

void tm_rest_slept(struct tm_rest *r, int64_t now)
{
    r->rests = now < r->ends;
    r->looks = r->rests ? LOOKS_PER_SLEEP : 0;
}
