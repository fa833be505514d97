/* SPDX-License-Identifier: Apache-2.0 */
#include "types.h"

#include "ompi/datatype/ompi_datatype.h"
#include "ompi/datatype/ompi_datatype_internal.h"
#include "ompi/op/op.h"

/* by_bytes returns the type of an integer, a float or a complex number of a size. */
static int by_bytes(size_t bytes, const int type[5])
{
    for (int i = 0; i < 5; i++)
        if (bytes == (size_t)1 << i)
            return type[i];
    return TORUS_OPAQUE;
}

static const int integers[5] = {TORUS_INT8, TORUS_INT16, TORUS_INT32, TORUS_INT64, TORUS_OPAQUE};
static const int naturals[5] = {TORUS_UINT8, TORUS_UINT16, TORUS_UINT32, TORUS_UINT64,
                                TORUS_OPAQUE};
static const int floats[5] = {TORUS_OPAQUE, TORUS_OPAQUE, TORUS_FLOAT, TORUS_DOUBLE,
                              TORUS_LONG_DOUBLE};
static const int complexes[5] = {TORUS_OPAQUE, TORUS_OPAQUE, TORUS_OPAQUE, TORUS_COMPLEX_FLOAT,
                                 TORUS_COMPLEX_DOUBLE};

int tm_type(const struct ompi_datatype_t *t)
{
    if (!ompi_datatype_is_predefined(t))
        return TORUS_OPAQUE;
    switch (t->id) {
    case OMPI_DATATYPE_MPI_INT8_T:
    case OMPI_DATATYPE_MPI_INT16_T:
    case OMPI_DATATYPE_MPI_INT32_T:
    case OMPI_DATATYPE_MPI_INT64_T:
    case OMPI_DATATYPE_MPI_LONG:
    case OMPI_DATATYPE_MPI_AINT:
    case OMPI_DATATYPE_MPI_COUNT:
    case OMPI_DATATYPE_MPI_OFFSET:
    case OMPI_DATATYPE_MPI_INTEGER:
    case OMPI_DATATYPE_MPI_LOGICAL:
    case OMPI_DATATYPE_MPI_CHARACTER:
        return by_bytes(t->super.size, integers);
    case OMPI_DATATYPE_MPI_UINT8_T:
    case OMPI_DATATYPE_MPI_UINT16_T:
    case OMPI_DATATYPE_MPI_UINT32_T:
    case OMPI_DATATYPE_MPI_UINT64_T:
    case OMPI_DATATYPE_MPI_UNSIGNED_LONG:
        return by_bytes(t->super.size, naturals);
    case OMPI_DATATYPE_MPI_FLOAT:
    case OMPI_DATATYPE_MPI_DOUBLE:
    case OMPI_DATATYPE_MPI_LONG_DOUBLE:
    case OMPI_DATATYPE_MPI_REAL:
    case OMPI_DATATYPE_MPI_DOUBLE_PRECISION:
        return by_bytes(t->super.size, floats);
    case OMPI_DATATYPE_MPI_COMPLEX8:
    case OMPI_DATATYPE_MPI_COMPLEX16:
    case OMPI_DATATYPE_MPI_COMPLEX:
    case OMPI_DATATYPE_MPI_DOUBLE_COMPLEX:
    case OMPI_DATATYPE_MPI_C_COMPLEX:
    case OMPI_DATATYPE_MPI_C_FLOAT_COMPLEX:
    case OMPI_DATATYPE_MPI_C_DOUBLE_COMPLEX:
        return by_bytes(t->super.size, complexes);
    case OMPI_DATATYPE_MPI_C_BOOL:
        return t->super.size == 1 ? TORUS_BOOL : TORUS_OPAQUE;
    case OMPI_DATATYPE_MPI_2INT:
    case OMPI_DATATYPE_MPI_2INTEGER:
        return t->super.size == sizeof(struct torus_int32_int) ? TORUS_INT32_INT : TORUS_OPAQUE;
    case OMPI_DATATYPE_MPI_FLOAT_INT:
        return TORUS_FLOAT_INT;
    case OMPI_DATATYPE_MPI_DOUBLE_INT:
        return TORUS_DOUBLE_INT;
    case OMPI_DATATYPE_MPI_LONG_INT:
        return sizeof(long) == sizeof(int64_t) ? TORUS_INT64_INT : TORUS_OPAQUE;
    case OMPI_DATATYPE_MPI_SHORT_INT:
        return TORUS_INT16_INT;
    case OMPI_DATATYPE_MPI_LONG_DOUBLE_INT:
        return sizeof(long double) == 16 ? TORUS_LONG_DOUBLE_INT : TORUS_OPAQUE;
    default:
        return TORUS_OPAQUE;
    }
}

/* enum class: what an operator needs of a type. */
enum class { NUMBER, ORDERED, BITS, PLACED };

static enum class class_of(int type) {
    if (type >= TORUS_INT32_INT && type <= TORUS_LONG_DOUBLE_INT) return PLACED;
    if (type == TORUS_COMPLEX_FLOAT || type == TORUS_COMPLEX_DOUBLE) return NUMBER;
    if (type == TORUS_FLOAT || type == TORUS_DOUBLE || type == TORUS_LONG_DOUBLE) return ORDERED;
    return BITS;
}

bool tm_op(struct ompi_op_t *op, const struct ompi_datatype_t *type, int *made_type, int *made_op)
{
    static const struct {
        int mpi, torus;
        enum class least; /* types of this class and later ones of NUMBER .. BITS, or PLACED */
    } ops[] = {
        {OMPI_OP_MAX, TORUS_MAX, ORDERED},      {OMPI_OP_MIN, TORUS_MIN, ORDERED},
        {OMPI_OP_SUM, TORUS_SUM, NUMBER},       {OMPI_OP_PROD, TORUS_PROD, NUMBER},
        {OMPI_OP_LAND, TORUS_LAND, BITS},       {OMPI_OP_BAND, TORUS_BAND, BITS},
        {OMPI_OP_LOR, TORUS_LOR, BITS},         {OMPI_OP_BOR, TORUS_BOR, BITS},
        {OMPI_OP_LXOR, TORUS_LXOR, BITS},       {OMPI_OP_BXOR, TORUS_BXOR, BITS},
        {OMPI_OP_MAXLOC, TORUS_MAXLOC, PLACED}, {OMPI_OP_MINLOC, TORUS_MINLOC, PLACED},
    };
    int made = tm_type(type);
    if (!ompi_op_is_intrinsic(op) || made == TORUS_OPAQUE)
        return false;
    enum class class = class_of(made);
    bool logic =
        op->op_type == OMPI_OP_LAND || op->op_type == OMPI_OP_LOR || op->op_type == OMPI_OP_LXOR;
    if (made == TORUS_BOOL && !logic)
        return false;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if ((int)op->op_type == ops[i].mpi) {
            *made_type = made;
            *made_op = ops[i].torus;
            return ops[i].least == PLACED || class == PLACED ? ops[i].least == class
                                                             : ops[i].least <= class;
        }
    return false;
}
