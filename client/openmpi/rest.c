/* SPDX-License-Identifier: Apache-2.0 */
#include "rest.h"

/* A rank of the same program that computes beside this one makes some yields slow, but seldom 16
 * in turn. Looks that do not yield take 20 ns each, and a reading of the clock 5 ns. */
enum { LOOKS_PER_CLOCK = 16, LOOKS_PER_SLEEP = 16, YIELDS = 16 };

/* Two ticks of a kernel with 250 a second: a slice or more. */
#define LONG_NS 8000000

/* The yields after a rest cost some 30 ms. */
#define LEAST_NS 100000000
#define MOST_NS 1600000000

enum tm_rest_act tm_rest_next(struct tm_rest *r)
{
    if (r->looks > 0) {
        r->looks--;
        return r->rests ? TM_REST_LOOK : TM_REST_LEAVE;
    }
    if (r->rests)
        return TM_REST_SLEEP;
    return r->yields > 0 ? TM_REST_YIELD : TM_REST_CLOCK;
}

void tm_rest_clock(struct tm_rest *r, int64_t now)
{
    if (r->looked_at && now - r->looked_at >= LONG_NS)
        r->yields = YIELDS;
    else
        r->looks = LOOKS_PER_CLOCK;
    r->looked_at = now;
}

/* begin starts a rest that is longer than the one before. */
static void begin(struct tm_rest *r, int64_t now)
{
    r->rests = true;
    r->looks = LOOKS_PER_SLEEP;
    r->length_ns = r->length_ns == 0        ? LEAST_NS
                   : r->length_ns < MOST_NS ? 2 * r->length_ns
                                            : MOST_NS;
    r->ends_at = now + r->length_ns;
}

void tm_rest_yielded(struct tm_rest *r, int64_t now, int64_t took_ns, int64_t slow_ns)
{
    r->yield_ns += took_ns;
    r->yields--;
    if (r->yields > 0)
        return;
    bool slow = r->yield_ns >= YIELDS * slow_ns;
    r->yield_ns = 0;
    r->looked_at = now;
    if (slow) {
        begin(r, now);
        return;
    }
    r->looks = LOOKS_PER_CLOCK;
    r->length_ns = 0;
}

void tm_rest_slept(struct tm_rest *r, int64_t now)
{
    if (now < r->ends_at) {
        r->looks = LOOKS_PER_SLEEP;
        return;
    }
    r->rests = false;
    r->yields = YIELDS;
}
