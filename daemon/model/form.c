/* SPDX-License-Identifier: Apache-2.0 */
#include "form.h"

/* ---- checks ---- */

/* Bound of every distance and size in a form: sums of TD_FORM_LEVELS_MAX of them do not overflow.
 */
#define FAR ((int64_t)1 << 55)
static const char *const TOO_FAR = "it spans more than 2^55 bytes";
_Static_assert(TD_FORM_LEVELS_MAX <= 16, "positions do not overflow");

/* struct extent: positions of the data of a loop, from the beginning of the turn around it. */
struct extent {
    int64_t low, high;
    uint32_t levels; /* of loops, this one included */
};

static bool is_far(int64_t distance)
{
    return distance > FAR || distance < -FAR;
}

/* add_turns writes the extent of all turns of a loop to *e, which has that of one turn. */
static bool add_turns(const struct td_form_loop *l, struct extent *e)
{
    int64_t last = 0;
    if (l->count > (uint64_t)FAR || is_far(l->at) ||
        __builtin_mul_overflow((int64_t)l->count - 1, l->stride, &last) || is_far(last))
        return false;
    e->low += l->at + (last < 0 ? last : 0);
    e->high += l->at + (last < 0 ? 0 : last);
    return true;
}

/* join adds up a list of loops, from index `first` to `end`: the bytes of their data and their
 * extent. Their own extents are known. */
static const char *join(const struct td_form *f, const struct extent *of, uint32_t first,
                        uint32_t end, uint64_t *bytes, struct extent *e)
{
    *bytes = 0;
    *e = (struct extent){INT64_MAX, INT64_MIN, 0};
    uint32_t i = first;
    for (; i < end; i += 1 + f->loop[i].inner) {
        uint64_t more = 0;
        if (__builtin_mul_overflow(f->loop[i].count, f->loop[i].bytes, &more) ||
            __builtin_add_overflow(*bytes, more, bytes) || *bytes > (uint64_t)FAR)
            return TOO_FAR;
        e->low = of[i].low < e->low ? of[i].low : e->low;
        e->high = of[i].high > e->high ? of[i].high : e->high;
        e->levels = of[i].levels > e->levels ? of[i].levels : e->levels;
    }
    return i == end ? NULL : "its loops do not nest";
}

/* check_loop checks a loop and writes its extent. Those of the loops inside are known. */
static const char *check_loop(const struct td_form *f, uint32_t i, struct extent *of)
{
    const struct td_form_loop *l = &f->loop[i];
    uint64_t bytes = l->bytes;
    const char *wrong = NULL;
    if (l->count == 0 || l->bytes == 0)
        return "a loop has no turns or no bytes";
    if (l->bytes > (uint64_t)FAR)
        return TOO_FAR;
    of[i] = (struct extent){0, (int64_t)l->bytes, 0};
    if (l->inner >= f->loops - i)
        wrong = "its loops do not nest";
    else if (l->inner)
        wrong = join(f, of, i + 1, i + 1 + l->inner, &bytes, &of[i]);
    if (wrong)
        return wrong;
    if (bytes != l->bytes)
        return "the bytes of its loops do not add up";
    if (++of[i].levels > TD_FORM_LEVELS_MAX)
        return "its loops nest too deep";
    return add_turns(l, &of[i]) ? NULL : TOO_FAR;
}

const char *td_form_check(const struct td_form *form, uint64_t bytes, uint64_t *span)
{
    struct extent of[TD_FORM_LOOPS_MAX], all;
    uint64_t sum = 0, last = 0;
    *span = 0;
    if (form->loops == 0 || form->loops > TD_FORM_LOOPS_MAX)
        return "it has no loops or too many";
    const char *wrong = NULL;
    for (uint32_t i = form->loops; !wrong && i-- > 0;)
        wrong = check_loop(form, i, of);
    if (!wrong)
        wrong = join(form, of, 0, form->loops, &sum, &all);
    if (wrong)
        return wrong;
    if (sum != form->bytes)
        return "the bytes of its loops do not add up";
    if (all.low < 0)
        return "some of its data is before its beginning";
    if (__builtin_mul_overflow((bytes - 1) / form->bytes, form->extent, &last) ||
        last > INT64_MAX / 2)
        return "the elements span more than 2^62 bytes";
    if (form->extent > (uint64_t)FAR)
        return TOO_FAR;
    *span = last + (uint64_t)all.high;
    return NULL;
}

/* ---- positions ---- */

void td_form_seek(struct td_form_cursor *c, const struct td_form *form, uint64_t byte)
{
    uint64_t rest = byte % form->bytes;
    uint32_t loop = 0, end = form->loops;
    c->form = form;
    c->byte = byte;
    c->origin = (int64_t)(byte / form->bytes * form->extent);
    int64_t at = c->origin;
    for (c->level = 0;; c->level++) {
        while (rest >= form->loop[loop].count * form->loop[loop].bytes) {
            rest -= form->loop[loop].count * form->loop[loop].bytes;
            loop += 1 + form->loop[loop].inner;
        }
        const struct td_form_loop *l = &form->loop[loop];
        uint64_t turn = rest / l->bytes;
        rest -= turn * l->bytes;
        at += l->at + (int64_t)turn * l->stride;
        c->levels[c->level] = (struct td_form_level){loop, end, turn, at};
        if (l->inner == 0)
            break;
        end = loop + 1 + l->inner;
        loop++;
    }
    c->at = at + (int64_t)rest;
    c->left = form->loop[loop].bytes - rest;
}

/* descend goes from the current turn to its first run. */
static void descend(struct td_form_cursor *c)
{
    const struct td_form_loop *loop = c->form->loop;
    struct td_form_level *level = &c->levels[c->level];
    for (; loop[level->loop].inner; c->level++, level++)
        level[1] =
            (struct td_form_level){level->loop + 1, level->loop + 1 + loop[level->loop].inner, 0,
                                   level->at + loop[level->loop + 1].at};
    c->at = level->at;
    c->left = loop[level->loop].bytes;
}

void td_form_settle(struct td_form_cursor *c)
{
    if (c->left)
        return;
    const struct td_form_loop *loop = c->form->loop;
    for (;; c->level--) {
        struct td_form_level *level = &c->levels[c->level];
        const struct td_form_loop *l = &loop[level->loop];
        uint32_t next = level->loop + 1 + l->inner;
        if (++level->turn < l->count) {
            level->at += l->stride;
            break;
        }
        bool first = next == level->end; /* of the next element */
        if (first && c->level > 0)
            continue;
        if (first) {
            c->origin += (int64_t)c->form->extent;
            next = 0;
        }
        int64_t around = c->level ? c->levels[c->level - 1].at : c->origin;
        *level = (struct td_form_level){next, level->end, 0, around + loop[next].at};
        break;
    }
    descend(c);
}

uint64_t td_form_runs(const struct td_form_cursor *c, int64_t *stride)
{
    const struct td_form_level *level = &c->levels[c->level];
    const struct td_form_loop *l = &c->form->loop[level->loop];
    *stride = l->stride;
    return c->left == l->bytes ? l->count - level->turn : 1;
}

struct td_form_turns td_form_turns(const struct td_form_cursor *c, uint64_t bytes, uint64_t enough)
{
    const struct td_form_loop *loop = c->form->loop;
    struct td_form_turns best = {0, 0, 0};
    bool begins = c->left == loop[c->levels[c->level].loop].bytes;
    for (uint32_t k = c->level;; k--) {
        const struct td_form_level *around = k ? &c->levels[k - 1] : NULL;
        const struct td_form_loop *l = around ? &loop[around->loop] : NULL;
        begins = begins && c->levels[k].turn == 0 &&
                 c->levels[k].loop == (around ? around->loop + 1 : 0);
        if (!begins)
            return best;
        struct td_form_turns t = {0, c->form->bytes, (int64_t)c->form->extent};
        if (l)
            t = (struct td_form_turns){0, l->bytes, l->stride};
        t.count = bytes / t.bytes;
        if (l && l->count - around->turn < t.count)
            t.count = l->count - around->turn;
        best = t.count > best.count ? t : best;
        if (k == 0 || best.count >= enough)
            return best;
    }
}

void td_form_skip(struct td_form_cursor *c, uint64_t bytes, uint64_t runs)
{
    c->byte += bytes;
    if (runs > 1) {
        struct td_form_level *level = &c->levels[c->level];
        int64_t forward = (int64_t)(runs - 1) * c->form->loop[level->loop].stride;
        level->turn += runs - 1;
        level->at += forward;
        c->at += forward;
        bytes -= (runs - 1) * c->left;
    }
    c->at += (int64_t)bytes;
    c->left -= bytes;
}
