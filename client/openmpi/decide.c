/* SPDX-License-Identifier: Apache-2.0 */
#include "decide.h"

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"

#include "caller.h"

/* Bytes from which torusd is faster between hosts (docs/performance.md). */
enum { BETWEEN_BCAST_BYTES = 65536, BETWEEN_BYTES = 1 << 20 };

enum { BYTES_OF_A_CALL = 4096 };

/* bytes_of returns the bytes of one rank, or of one block, of a call that has one count. Ranks use
 * the arguments that they have: MPI makes the packed bytes equal. */
static size_t bytes_of(const struct tm_args *a, int rank)
{
    bool by_source =
        (a->kind == TM_GATHER && rank != a->root) || (a->kind == TM_SCATTER && rank == a->root);
    if (by_source)
        return (size_t)a->scount * a->stype->super.size;
    return (size_t)a->rcount * a->rtype->super.size;
}

/* has_lists returns true if the request to the daemon holds a number for each rank. */
static bool has_lists(enum tm_kind kind)
{
    return kind > TM_BARRIER;
}

/* is_slower returns true if Open MPI's own modules are faster than torusd, as docs/performance.md
 * has measured. On one node, blocking calls without lists meet in shared memory. Between nodes
 * short calls take two messages through daemons. */
static bool is_slower(const struct tm_args *a, enum tm_form form, size_t bytes, bool one_node)
{
    if (one_node)
        return form != TM_BLOCKING || has_lists(a->kind);
    if (has_lists(a->kind) || a->kind == TM_BARRIER)
        return true;
    return bytes < (a->kind == TM_BCAST ? BETWEEN_BCAST_BYTES : BETWEEN_BYTES);
}

enum tm_reason tm_decide(const struct tm_args *a, enum tm_form form,
                         struct ompi_communicator_t *comm, enum tm_reason of_comm, bool one_node)
{
    size_t bytes = 0;
    if (of_comm != TM_TAKEN)
        return of_comm;
    if (tm_parameters.left[a->kind])
        return TM_LEAVE;
    if (!tm_caller_is_program(a->kind, form, a->caller))
        return TM_INTERNAL;
    if (has_lists(a->kind) && (unsigned)ompi_comm_size(comm) > tm_parameters.list_ranks)
        return TM_RANKS;
    if (a->kind < TM_BARRIER) {
        size_t most = tm_parameters.most[a->kind];
        bytes = bytes_of(a, ompi_comm_rank(comm));
        if (bytes < tm_parameters.least[a->kind] || (most > 0 && bytes > most))
            return TM_BYTES;
    }
    return tm_parameters.all || !is_slower(a, form, bytes, one_node) ? TM_TAKEN : TM_SLOWER;
}

bool tm_is_short(const struct tm_args *a, enum tm_form form, struct ompi_communicator_t *comm,
                 bool one_node)
{
    if (tm_parameters.all || !one_node || form != TM_BLOCKING)
        return false;
    return (a->kind == TM_BCAST || a->kind == TM_REDUCE) &&
           bytes_of(a, ompi_comm_rank(comm)) < tm_parameters.short_bytes;
}

uint64_t tm_weight(const struct tm_args *a, struct ompi_communicator_t *comm)
{
    return a->kind < TM_BARRIER ? 1 + bytes_of(a, ompi_comm_rank(comm)) / BYTES_OF_A_CALL : 1;
}
