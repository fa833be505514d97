/* SPDX-License-Identifier: Apache-2.0 */
/* moves_mpi: the side_ functions for ScaLAPACK. Its matrices are column-major: axis 1 is its rows.
 */
#include <mpi.h>
#include <stdlib.h>

#include "moves.h"

/* ScaLAPACK has no header for these. A descriptor is: type, context, rows, columns, block rows,
 * block columns, first row, first column, leading dimension. */
int Csys2blacs_handle(MPI_Comm comm);
void Cblacs_gridmap(int *context, int *map, int leading, int rows, int columns);
void Cblacs_gridexit(int context);
void Cpdgemr2d(int rows, int columns, double *from, int row, int column, int *from_descriptor,
               double *to, int to_row, int to_column, int *to_descriptor, int context);

enum { NO_CONTEXT = -1 };

static int rank, ranks, all = NO_CONTEXT, grid[2] = {NO_CONTEXT, NO_CONTEXT}, descriptor[2][9];
static double *part[2];
static struct move now;

static const char *told(int error)
{
    return error == MPI_SUCCESS ? NULL : "MPI failed";
}

/* make_grid makes the grid of a half, of which all ranks know. */
static const char *make_grid(const struct half *h, int *context)
{
    int count = (int)(h->parts[0] * h->parts[1]), *map = malloc((size_t)count * sizeof *map);
    if (!map)
        return "no memory";
    for (int i = 0; i < count; i++)
        map[i] = (int)h->first + i;
    *context = Csys2blacs_handle(MPI_COMM_WORLD);
    Cblacs_gridmap(context, map, (int)h->parts[1], (int)h->parts[1], (int)h->parts[0]);
    free(map);
    return NULL;
}

const char *side_open(uint32_t *own, uint32_t *count)
{
    int error = MPI_Init(NULL, NULL);
    if (error == MPI_SUCCESS)
        error = MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (error == MPI_SUCCESS)
        error = MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    *own = (uint32_t)rank;
    *count = (uint32_t)ranks;
    const struct half whole = {.parts = {1, (uint32_t)ranks}};
    return error == MPI_SUCCESS ? make_grid(&whole, &all) : told(error);
}

void side_close(void)
{
    MPI_Finalize();
}

const char *side_barrier(void)
{
    return told(MPI_Barrier(MPI_COMM_WORLD));
}

static bool is_member(const struct half *h)
{
    return rank >= (int)h->first && rank < (int)(h->first + h->parts[0] * h->parts[1]);
}

/* side_plan: there is nothing to plan but the grids. */
const char *side_plan(const struct move *m, const uint64_t elements[2], double *out[2])
{
    for (int i = 0; i < 2; i++) {
        const struct half *h = &m->half[i];
        if (grid[i] != NO_CONTEXT)
            Cblacs_gridexit(grid[i]);
        const char *failed = make_grid(h, &grid[i]);
        if (failed)
            return failed;
        if (!is_member(h))
            grid[i] = NO_CONTEXT;
        uint32_t place = is_member(h) ? ((uint32_t)rank - h->first) % h->parts[1] : 0;
        uint64_t block = h->block[1], round = block * h->parts[1], rest = m->size[1] % round;
        uint64_t skip = place * block, last = rest < skip ? 0 : rest - skip;
        uint64_t lead = m->size[1] / round * block + (last < block ? last : block);
        const int d[9] = {
            1, grid[i], (int)m->size[1],     (int)m->size[0], (int)block, (int)h->block[0],
            0, 0,       lead ? (int)lead : 1};
        for (int k = 0; k < 9; k++)
            descriptor[i][k] = d[k];
        if (part[i])
            MPI_Free_mem(part[i]);
        if (MPI_Alloc_mem((MPI_Aint)(elements[i] * sizeof(double) + 1), MPI_INFO_NULL, &part[i]) !=
            MPI_SUCCESS)
            return "no memory";
        out[i] = part[i];
    }
    now = *m;
    return NULL;
}

const char *side_run(void)
{
    Cpdgemr2d((int)now.size[1], (int)now.size[0], part[0], 1, 1, descriptor[0], part[1], 1, 1,
              descriptor[1], all);
    return NULL;
}
