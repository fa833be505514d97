/* SPDX-License-Identifier: Apache-2.0 */
#include "form.h"

#include <stdlib.h>
#include <string.h>

/* struct frame: one level of a walk over the loops of a type. */
struct frame {
    const struct tl_type *type;
    size_t next;    /* of its loops */
    uint32_t outer; /* loop of the form that this level is inside */
};

/* add_loops writes the loops of a type, and returns their number; 0: they exceed a limit. */
static uint32_t add_loops(const struct tl_type *type, struct td_form_loop *loop)
{
    struct frame stack[TD_FORM_LEVELS_MAX], *f = stack;
    uint32_t loops = 0;
    *f = (struct frame){type, 0, 0};
    while (true) {
        if (f->next == f->type->loops) {
            if (f == stack)
                return loops;
            loop[f->outer].inner = loops - f->outer - 1;
            f--;
            continue;
        }
        const struct tl_loop *l = &f->type->loop[f->next++];
        bool deep = l->inner && f == stack + TD_FORM_LEVELS_MAX - 1;
        if (loops == TD_FORM_LOOPS_MAX || deep)
            return 0;
        loop[loops] = (struct td_form_loop){.at = l->at - (f == stack ? type->first : 0),
                                            .stride = l->count > 1 ? l->step : 0,
                                            .count = l->count,
                                            .bytes = l->inner ? l->inner->bytes : l->bytes};
        if (l->inner) {
            f[1] = (struct frame){l->inner, 0, loops};
            f++;
        }
        loops++;
    }
}

static struct td_form *make(const struct tl_type *type)
{
    struct td_form_loop loop[TD_FORM_LOOPS_MAX] = {
        {.count = 1, .bytes = type->bytes}}; /* of a type without loops */
    uint64_t span = 0;
    uint32_t loops = type->loops ? add_loops(type, loop) : 1;
    struct td_form *form = loops && type->bytes ? malloc(td_form_size(loops)) : NULL;
    if (!form)
        return NULL;
    *form = (struct td_form){
        .bytes = type->bytes, .extent = (uint64_t)tl_type_extent(type), .loops = loops};
    memcpy(form->loop, loop, loops * sizeof *loop);
    if (!td_form_check(form, type->bytes, &span))
        return form;
    free(form);
    return NULL;
}

const struct td_form *tl_form_of(struct tl_type *type)
{
    if (!type->form && !type->has_no_form) {
        type->form = make(type);
        type->has_no_form = !type->form;
    }
    return type->form;
}
