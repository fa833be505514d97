/* SPDX-License-Identifier: Apache-2.0 */
#include "error.h"

#include <stdio.h>

#include "component.h"

enum { ERRORS_MAX = 32 };

/* code_of returns the code for an error of libtorus, which it makes at the first use. */
static int code_of(int error)
{
    static int made[ERRORS_MAX];
    int index = -error, initialized = 0, finalized = 0;
    if (error >= 0 || index >= ERRORS_MAX)
        return MPI_ERR_OTHER;
    if (made[index])
        return made[index];
    PMPI_Initialized(&initialized);
    PMPI_Finalized(&finalized);
    int class = error == TORUS_ERR_NO_MEMORY ? MPI_ERR_NO_MEM : MPI_ERR_OTHER, code = 0;
    if (!initialized || finalized || PMPI_Add_error_code(class, &code) != MPI_SUCCESS)
        return class;
    made[index] = code;
    return code;
}

int tm_error(int error, const char *text)
{
    char sentence[MPI_MAX_ERROR_STRING];
    if (error == TORUS_OK)
        return OMPI_SUCCESS;
    int code = code_of(error);
    snprintf(sentence, sizeof sentence, "torusd: %s",
             text && text[0] ? text : torus_strerror(error));
    tm_verbose(1, "%s", sentence);
    if (code > MPI_ERR_LASTCODE)
        PMPI_Add_error_string(code, sentence);
    return code;
}
