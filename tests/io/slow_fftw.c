/* SPDX-License-Identifier: Apache-2.0 */
/* slow_fftw: a library to preload into a daemon. FFTW's calls wait while a file exists:
 * $TORUS_TEST_BLOCK.execute.PID blocks the executions of process PID, .plan.PID its planner. The
 * calls that wait are noted in a file beside it, .waits.PID. */
#include <dlfcn.h>
#include <fcntl.h>
#include <fftw3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void name(char *path, size_t size, const char *what)
{
    const char *base = getenv("TORUS_TEST_BLOCK");
    snprintf(path, size, "%s.%s.%ld", base ? base : "/nowhere", what, (long)getpid());
}

static void wait_here(const char *what)
{
    enum { POLL_US = 2000 };
    char block[200], waits[200];
    name(block, sizeof block, what);
    name(waits, sizeof waits, "waits");
    if (access(block, F_OK) != 0)
        return;
    int fd = open(waits, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    while (access(block, F_OK) == 0)
        usleep(POLL_US);
}

void fftw_execute_dft(fftw_plan plan, fftw_complex *in, fftw_complex *out)
{
    wait_here("execute");
    /* a cast from dlsym's pointer to a function's is what dlsym is for */
    void (*real)(fftw_plan, fftw_complex *, fftw_complex *) = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "fftw_execute_dft");
    real(plan, in, out);
}

fftw_plan fftw_plan_guru64_dft(int rank, const fftw_iodim64 *dims, int loops,
                               const fftw_iodim64 *loop, fftw_complex *in, fftw_complex *out,
                               int sign, unsigned flags)
{
    wait_here("plan");
    fftw_plan (*real)(int, const fftw_iodim64 *, int, const fftw_iodim64 *, fftw_complex *,
                      fftw_complex *, int, unsigned) = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "fftw_plan_guru64_dft");
    return real(rank, dims, loops, loop, in, out, sign, flags);
}
