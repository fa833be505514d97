/* SPDX-License-Identifier: Apache-2.0 */
#include "forms_rooted.h"

#include "forms.h"

TM_FORMS(bcast, ibcast, (void *buffer, int count, struct ompi_datatype_t *type, int root),
         (buffer, count, type, root), .kind = TM_BCAST, .rbuf = buffer, .rcount = count,
         .rtype = type, .root = root)

TM_FORMS(gather, igather,
         (const void *sbuf, int scount, struct ompi_datatype_t *stype, void *rbuf, int rcount,
          struct ompi_datatype_t *rtype, int root),
         (sbuf, scount, stype, rbuf, rcount, rtype, root), .kind = TM_GATHER, .sbuf = sbuf,
         .scount = scount, .stype = stype, .rbuf = rbuf, .rcount = rcount, .rtype = rtype,
         .root = root)

TM_FORMS(gatherv, igatherv,
         (const void *sbuf, int scount, struct ompi_datatype_t *stype, void *rbuf,
          const int *rcounts, const int *displs, struct ompi_datatype_t *rtype, int root),
         (sbuf, scount, stype, rbuf, rcounts, displs, rtype, root), .kind = TM_GATHERV,
         .sbuf = sbuf, .scount = scount, .stype = stype, .rbuf = rbuf, .rcounts = rcounts,
         .rdispls = displs, .rtype = rtype, .root = root)

TM_FORMS(scatter, iscatter,
         (const void *sbuf, int scount, struct ompi_datatype_t *stype, void *rbuf, int rcount,
          struct ompi_datatype_t *rtype, int root),
         (sbuf, scount, stype, rbuf, rcount, rtype, root), .kind = TM_SCATTER, .sbuf = sbuf,
         .scount = scount, .stype = stype, .rbuf = rbuf, .rcount = rcount, .rtype = rtype,
         .root = root)

TM_FORMS(scatterv, iscatterv,
         (const void *sbuf, const int *scounts, const int *displs, struct ompi_datatype_t *stype,
          void *rbuf, int rcount, struct ompi_datatype_t *rtype, int root),
         (sbuf, scounts, displs, stype, rbuf, rcount, rtype, root), .kind = TM_SCATTERV,
         .sbuf = sbuf, .scounts = scounts, .sdispls = displs, .stype = stype, .rbuf = rbuf,
         .rcount = rcount, .rtype = rtype, .root = root)

void tm_forms_rooted(mca_coll_base_module_t *module)
{
    TM_SET(module, bcast, ibcast);
    TM_SET(module, gather, igather);
    TM_SET(module, gatherv, igatherv);
    TM_SET(module, scatter, iscatter);
    TM_SET(module, scatterv, iscatterv);
}
