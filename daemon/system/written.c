/* SPDX-License-Identifier: Apache-2.0 */
#include "written.h"

#include <errno.h>
#include <unistd.h>

#include "limits.h"

bool td_written_close(FILE *file, const char *program, const char *path)
{
    char why[TD_LIMIT_TEXT];
    int error = errno; /* of fopen */
    if (file) {
        bool failed = ferror(file) != 0;
        error = fflush(file) != 0 ? errno : 0;
        if (failed && error == 0 && write(fileno(file), "", 1) < 0)
            error = errno; /* of the earlier failure, which stdio has forgotten */
        if (fclose(file) != 0 && error == 0)
            error = errno;
        if (!failed && error == 0)
            return true;
    }
    fprintf(stderr, "%s: cannot write %s%s%s\n", program, path, error ? ": " : " completely",
            error ? td_limit_why(error, why, sizeof why) : "");
    return false;
}

int td_written_end(const char *program, int code)
{
    bool written = td_written_close(stdout, program, "standard output");
    return code == 0 && !written ? 1 : code;
}
