/* SPDX-License-Identifier: Apache-2.0 */
/* kinds: the collectives of MPI, and the reasons for which a call goes to Open MPI's own modules.
 *
 * A kind stands for the blocking, the non-blocking and the persistent form. */
#ifndef TORUS_OPENMPI_KINDS_H
#define TORUS_OPENMPI_KINDS_H

/* TM_KINDS_SIZED: X(name, constant). All ranks give these calls the same number of bytes. */
#define TM_KINDS_SIZED(X)                                                                          \
    X(bcast, BCAST)                                                                                \
    X(reduce, REDUCE)                                                                              \
    X(allreduce, ALLREDUCE)                                                                        \
    X(reduce_scatter_block, REDUCE_SCATTER_BLOCK)                                                  \
    X(scan, SCAN)                                                                                  \
    X(exscan, EXSCAN)                                                                              \
    X(gather, GATHER)                                                                              \
    X(scatter, SCATTER)                                                                            \
    X(allgather, ALLGATHER)                                                                        \
    X(alltoall, ALLTOALL)

/* TM_KINDS_LISTED: the others. Ranks cannot compare the bytes without a message. */
#define TM_KINDS_LISTED(X)                                                                         \
    X(barrier, BARRIER)                                                                            \
    X(reduce_scatter, REDUCE_SCATTER)                                                              \
    X(gatherv, GATHERV)                                                                            \
    X(scatterv, SCATTERV)                                                                          \
    X(allgatherv, ALLGATHERV)                                                                      \
    X(alltoallv, ALLTOALLV)                                                                        \
    X(alltoallw, ALLTOALLW)                                                                        \
    X(neighbor_allgather, NEIGHBOR_ALLGATHER)                                                      \
    X(neighbor_allgatherv, NEIGHBOR_ALLGATHERV)                                                    \
    X(neighbor_alltoall, NEIGHBOR_ALLTOALL)                                                        \
    X(neighbor_alltoallv, NEIGHBOR_ALLTOALLV)                                                      \
    X(neighbor_alltoallw, NEIGHBOR_ALLTOALLW)

enum tm_kind {
#define X(name, constant) TM_##constant,
    TM_KINDS_SIZED(X) TM_KINDS_LISTED(X)
#undef X
        TM_KINDS
};

/* enum tm_form: forms of a collective. */
enum tm_form { TM_BLOCKING, TM_NONBLOCKING, TM_PERSISTENT, TM_FORM_COUNT };

/* TM_REASONS: X(name, constant, text). */
#define TM_REASONS(X)                                                                              \
    X(foreign, FOREIGN, "the communicator has a process of another job")                           \
    X(member, MEMBER, "a rank has no daemon, or another machine, version or parameter")            \
    X(leave, LEAVE, "coll_torus_leave names the operation")                                        \
    X(bytes, BYTES, "fewer or more bytes than coll_torus_OPERATION_least and _most")               \
    X(slower, SLOWER, "Open MPI is faster, and coll_torus_all is not set")                         \
    X(few, FEW, "the communicator has made fewer calls than coll_torus_after")                     \
    X(ranks, RANKS, "a list of counts of more ranks than coll_torus_list_ranks")                   \
    X(groups, GROUPS,                                                                              \
      "more communicators or persistent calls than coll_torus_communicators and "                  \
      "coll_torus_persistent")                                                                     \
    X(internal, INTERNAL, "Open MPI makes the call for itself")

enum tm_reason {
    TM_TAKEN,
#define X(name, constant, text) TM_##constant,
    TM_REASONS(X)
#undef X
        TM_REASON_COUNT
};

#endif
