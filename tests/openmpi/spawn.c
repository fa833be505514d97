/* SPDX-License-Identifier: Apache-2.0 */
/* spawn: processes of two jobs. The communicator of both is left to Open MPI; that of the children
 * alone is not. */
#include "check.h"

enum { CHILDREN = 2 };

int main(int argc, char **argv)
{
    MPI_Comm parent = MPI_COMM_NULL, inter = MPI_COMM_NULL, merged = MPI_COMM_NULL;
    int sum = 0, size = 0, codes[CHILDREN];
    begin(&argc, &argv);
    now = "spawn";
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        WELL(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                            &inter, codes));
    } else {
        inter = parent;
    }
    WELL(MPI_Intercomm_merge(inter, parent != MPI_COMM_NULL, &merged));
    MPI_Comm_size(merged, &size);
    WELL(MPI_Allreduce(&(int){1}, &sum, 1, MPI_INT, MPI_SUM, merged));
    CHECK(sum == size);
    WELL(MPI_Allreduce(&(int){1}, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == ranks);
    WELL(MPI_Comm_free(&merged));
    WELL(MPI_Comm_disconnect(&inter));
    if (parent == MPI_COMM_NULL)
        return end();
    MPI_Finalize();
    return 0;
}
