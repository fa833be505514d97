/* SPDX-License-Identifier: Apache-2.0 */
#include "forms_neighbours.h"

#include "forms.h"

#define PARAMETERS                                                                                 \
    (const void *sbuf, int scount, struct ompi_datatype_t *stype, void *rbuf, int rcount,          \
     struct ompi_datatype_t *rtype)
#define VALUES (sbuf, scount, stype, rbuf, rcount, rtype)
#define ARGS                                                                                       \
    .sbuf = sbuf, .scount = scount, .stype = stype, .rbuf = rbuf, .rcount = rcount, .rtype = rtype

TM_FORMS(neighbor_allgather, ineighbor_allgather, PARAMETERS, VALUES, .kind = TM_NEIGHBOR_ALLGATHER,
         ARGS)
TM_FORMS(neighbor_alltoall, ineighbor_alltoall, PARAMETERS, VALUES, .kind = TM_NEIGHBOR_ALLTOALL,
         ARGS)

TM_FORMS(neighbor_allgatherv, ineighbor_allgatherv,
         (const void *sbuf, int scount, struct ompi_datatype_t *stype, void *rbuf,
          const int *rcounts, const int *displs, struct ompi_datatype_t *rtype),
         (sbuf, scount, stype, rbuf, rcounts, displs, rtype), .kind = TM_NEIGHBOR_ALLGATHERV,
         .sbuf = sbuf, .scount = scount, .stype = stype, .rbuf = rbuf, .rcounts = rcounts,
         .rdispls = displs, .rtype = rtype)

TM_FORMS(neighbor_alltoallv, ineighbor_alltoallv,
         (const void *sbuf, const int *scounts, const int *sdispls, struct ompi_datatype_t *stype,
          void *rbuf, const int *rcounts, const int *rdispls, struct ompi_datatype_t *rtype),
         (sbuf, scounts, sdispls, stype, rbuf, rcounts, rdispls, rtype),
         .kind = TM_NEIGHBOR_ALLTOALLV, .sbuf = sbuf, .scounts = scounts, .sdispls = sdispls,
         .stype = stype, .rbuf = rbuf, .rcounts = rcounts, .rdispls = rdispls, .rtype = rtype)

TM_FORMS(neighbor_alltoallw, ineighbor_alltoallw,
         (const void *sbuf, const int *scounts, const MPI_Aint *sdispls,
          struct ompi_datatype_t *const *stypes, void *rbuf, const int *rcounts,
          const MPI_Aint *rdispls, struct ompi_datatype_t *const *rtypes),
         (sbuf, scounts, sdispls, stypes, rbuf, rcounts, rdispls, rtypes),
         .kind = TM_NEIGHBOR_ALLTOALLW, .sbuf = sbuf, .scounts = scounts, .soffsets = sdispls,
         .stypes = stypes, .rbuf = rbuf, .rcounts = rcounts, .roffsets = rdispls, .rtypes = rtypes)

void tm_forms_neighbours(mca_coll_base_module_t *module)
{
    TM_SET(module, neighbor_allgather, ineighbor_allgather);
    TM_SET(module, neighbor_allgatherv, ineighbor_allgatherv);
    TM_SET(module, neighbor_alltoall, ineighbor_alltoall);
    TM_SET(module, neighbor_alltoallv, ineighbor_alltoallv);
    TM_SET(module, neighbor_alltoallw, ineighbor_alltoallw);
}
