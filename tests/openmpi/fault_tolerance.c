/* SPDX-License-Identifier: Apache-2.0 */
/* fault_tolerance: preloaded, it makes Open MPI look as if its fault tolerance (ULFM) was enabled.
 */
#include <stdbool.h>

extern const bool ompi_ftmpi_enabled;
const bool ompi_ftmpi_enabled = true;
