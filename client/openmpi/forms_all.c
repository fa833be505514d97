/* SPDX-License-Identifier: Apache-2.0 */
#include "forms_all.h"

#include "forms.h"

TM_FORMS(allgather, iallgather,
         (const void *sbuf, int scount, struct ompi_datatype_t *stype, void *rbuf, int rcount,
          struct ompi_datatype_t *rtype),
         (sbuf, scount, stype, rbuf, rcount, rtype), .kind = TM_ALLGATHER, .sbuf = sbuf,
         .scount = scount, .stype = stype, .rbuf = rbuf, .rcount = rcount, .rtype = rtype)

TM_FORMS(allgatherv, iallgatherv,
         (const void *sbuf, int scount, struct ompi_datatype_t *stype, void *rbuf,
          const int *rcounts, const int *displs, struct ompi_datatype_t *rtype),
         (sbuf, scount, stype, rbuf, rcounts, displs, rtype), .kind = TM_ALLGATHERV, .sbuf = sbuf,
         .scount = scount, .stype = stype, .rbuf = rbuf, .rcounts = rcounts, .rdispls = displs,
         .rtype = rtype)

TM_FORMS(alltoall, ialltoall,
         (const void *sbuf, int scount, struct ompi_datatype_t *stype, void *rbuf, int rcount,
          struct ompi_datatype_t *rtype),
         (sbuf, scount, stype, rbuf, rcount, rtype), .kind = TM_ALLTOALL, .sbuf = sbuf,
         .scount = scount, .stype = stype, .rbuf = rbuf, .rcount = rcount, .rtype = rtype)

TM_FORMS(alltoallv, ialltoallv,
         (const void *sbuf, const int *scounts, const int *sdispls, struct ompi_datatype_t *stype,
          void *rbuf, const int *rcounts, const int *rdispls, struct ompi_datatype_t *rtype),
         (sbuf, scounts, sdispls, stype, rbuf, rcounts, rdispls, rtype), .kind = TM_ALLTOALLV,
         .sbuf = sbuf, .scounts = scounts, .sdispls = sdispls, .stype = stype, .rbuf = rbuf,
         .rcounts = rcounts, .rdispls = rdispls, .rtype = rtype)

TM_FORMS(alltoallw, ialltoallw,
         (const void *sbuf, const int *scounts, const int *sdispls,
          struct ompi_datatype_t *const *stypes, void *rbuf, const int *rcounts, const int *rdispls,
          struct ompi_datatype_t *const *rtypes),
         (sbuf, scounts, sdispls, stypes, rbuf, rcounts, rdispls, rtypes), .kind = TM_ALLTOALLW,
         .sbuf = sbuf, .scounts = scounts, .sdispls = sdispls, .stypes = stypes, .rbuf = rbuf,
         .rcounts = rcounts, .rdispls = rdispls, .rtypes = rtypes)

/* The barrier has no parameters before the communicator. */
#define BARRIER                                                                                    \
    TM_MODULE;                                                                                     \
    const struct tm_args args = {.kind = TM_BARRIER, TM_CALLER}

static int barrier(struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    BARRIER;
    return tm_form_takes(m, &args, TM_BLOCKING)
               ? tm_form_run(m, &args)
               : m->previous.coll_barrier(comm, m->previous.coll_barrier_module);
}

static int ibarrier(struct ompi_communicator_t *comm, ompi_request_t **request,
                    mca_coll_base_module_t *module)
{
    BARRIER;
    return tm_form_takes(m, &args, TM_NONBLOCKING)
               ? tm_form_start(m, &args, request)
               : m->previous.coll_ibarrier(comm, request, m->previous.coll_ibarrier_module);
}

static int barrier_init(struct ompi_communicator_t *comm, struct ompi_info_t *info,
                        ompi_request_t **request, mca_coll_base_module_t *module)
{
    BARRIER;
    return tm_form_takes(m, &args, TM_PERSISTENT)
               ? tm_form_init(m, &args, request)
               : m->previous.coll_barrier_init(comm, info, request,
                                               m->previous.coll_barrier_init_module);
}

void tm_forms_all(mca_coll_base_module_t *module)
{
    TM_SET(module, allgather, iallgather);
    TM_SET(module, allgatherv, iallgatherv);
    TM_SET(module, alltoall, ialltoall);
    TM_SET(module, alltoallv, ialltoallv);
    TM_SET(module, alltoallw, ialltoallw);
    TM_SET(module, barrier, ibarrier);
}
