/* SPDX-License-Identifier: Apache-2.0 */
#include "select.h"

#include "collectives.h"

/* payload_bytes returns what one rank brings to, or takes from, a call that can ride. */
static uint64_t payload_bytes(const struct td_call *call)
{
    return call->count * td_type_bytes(call->type);
}

static void compile_alltoall(struct td_program *p)
{
    enum td_alltoall chosen = p->group->slots == 1 ? TD_ALLTOALL_RANDOM : p->tuning.alltoall;
    switch (chosen) {
    case TD_ALLTOALL_PHASED:
        td_alltoall_phased_compile(p);
        return;
    case TD_ALLTOALL_PAIRWISE:
        td_alltoall_pairwise_compile(p);
        return;
    case TD_ALLTOALL_TWO_PHASE:
        td_alltoall_two_phase_compile(p);
        return;
    case TD_ALLTOALL_AUTO:
    case TD_ALLTOALL_RANDOM:
    case TD_ALLTOALLS:
        break;
    }
    td_alltoall_random_compile(p);
}

void td_select_compile(const struct td_compile_input *in, struct td_program *out)
{
    const struct td_call *call = in->call;
    *out = (struct td_program){.group = in->group,
                               .topology = in->topology,
                               .tuning = *in->tuning,
                               .slot = in->slot,
                               .call = *call,
                               .seed = in->seed};
    if (in->fft)
        out->fft = *in->fft;
    switch ((enum td_kind)call->kind) {
    case TD_KIND_BROADCAST:
        if (payload_bytes(call) > TD_RIDE_BYTES_MAX) {
            td_bcast_compile(out);
            return;
        }
        break;
    case TD_KIND_ALLREDUCE:
        if (payload_bytes(call) > TD_RIDE_BYTES_MAX) {
            td_reduce_exchange_compile(out);
            return;
        }
        break;
    case TD_KIND_ALLTOALL:
        if (payload_bytes(call) > 0) {
            compile_alltoall(out);
            return;
        }
        break;
    case TD_KIND_FFT:
        td_fft_compile(out);
        return;
    case TD_KIND_BARRIER:
    case TD_KIND_PLAN_FFT:
    case TD_KIND_MAX:
        break;
    }
    td_tree_combine_compile(out);
}
