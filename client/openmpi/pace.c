/* SPDX-License-Identifier: Apache-2.0 */
#include "pace.h"

/* A short call through torusd takes 10 us more, which is 2 % of this time. */
#define CALL_NS 500000

/* A slow row costs up to a time slice for each of its calls, so it is short until rows are quick.
 */
enum { ROW_LEAST = 16, ROW_MOST = 256, TAKEN_LEAST = 256, TAKEN_MOST = 16384 };

static uint32_t twice(uint32_t calls, uint32_t most)
{
    return calls < most / 2 ? 2 * calls : most;
}

/* begin_row begins with the call that asks. */
static void begin_row(struct tm_pace *p, uint32_t calls, int64_t now)
{
    p->leaves = true;
    p->row = calls;
    p->left = calls - 1;
    p->began = now;
}

bool tm_pace_ends(struct tm_pace *p, int64_t now)
{
    if (p->left > 0) {
        p->left--;
        return false;
    }
    if (p->leaves)
        return true;
    begin_row(p, ROW_LEAST, now);
    return false;
}

bool tm_pace_is_slow(const struct tm_pace *p, int64_t now)
{
    return now - p->began > (int64_t)p->row * CALL_NS;
}

void tm_pace_next(struct tm_pace *p, bool slow, int64_t now)
{
    if (!slow) {
        p->taken /= 2;
        begin_row(p, twice(p->row, ROW_MOST), now);
        return;
    }
    p->leaves = false;
    p->taken = p->taken < TAKEN_LEAST ? TAKEN_LEAST : twice(p->taken, TAKEN_MOST);
    p->left = p->taken - 1;
}
