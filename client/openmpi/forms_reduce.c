/* SPDX-License-Identifier: Apache-2.0 */
#include "forms_reduce.h"

#include "forms.h"

#define PARAMETERS                                                                                 \
    (const void *sbuf, void *rbuf, int count, struct ompi_datatype_t *type, struct ompi_op_t *op)
#define VALUES (sbuf, rbuf, count, type, op)
#define ARGS .sbuf = sbuf, .rbuf = rbuf, .rcount = count, .rtype = type, .op = op

TM_FORMS(allreduce, iallreduce, PARAMETERS, VALUES, .kind = TM_ALLREDUCE, ARGS)
TM_FORMS(scan, iscan, PARAMETERS, VALUES, .kind = TM_SCAN, ARGS)
TM_FORMS(exscan, iexscan, PARAMETERS, VALUES, .kind = TM_EXSCAN, ARGS)
TM_FORMS(reduce_scatter_block, ireduce_scatter_block, PARAMETERS, VALUES,
         .kind = TM_REDUCE_SCATTER_BLOCK, ARGS)

TM_FORMS(reduce, ireduce,
         (const void *sbuf, void *rbuf, int count, struct ompi_datatype_t *type,
          struct ompi_op_t *op, int root),
         (sbuf, rbuf, count, type, op, root), .kind = TM_REDUCE, ARGS, .root = root)

TM_FORMS(reduce_scatter, ireduce_scatter,
         (const void *sbuf, void *rbuf, const int *counts, struct ompi_datatype_t *type,
          struct ompi_op_t *op),
         (sbuf, rbuf, counts, type, op), .kind = TM_REDUCE_SCATTER, .sbuf = sbuf, .rbuf = rbuf,
         .rcounts = counts, .rtype = type, .op = op)

void tm_forms_reduce(mca_coll_base_module_t *module)
{
    TM_SET(module, allreduce, iallreduce);
    TM_SET(module, scan, iscan);
    TM_SET(module, exscan, iexscan);
    TM_SET(module, reduce_scatter_block, ireduce_scatter_block);
    TM_SET(module, reduce, ireduce);
    TM_SET(module, reduce_scatter, ireduce_scatter);
}
