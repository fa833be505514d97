/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <fftw3.h>
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fft_driver.h"

static size_t bytes_of(const struct problem *p)
{
    return (size_t)points_of(p) * sizeof(fftw_complex);
}

double *reference_make(const struct problem *p)
{
    int size[FFT_DIMENSIONS];
    for (uint32_t d = 0; d < p->dimensions; d++)
        size[d] = (int)p->size[d];
    fftw_complex *array = fftw_malloc(bytes_of(p));
    fftw_plan plan =
        array ? fftw_plan_dft((int)p->dimensions, size, array, array, FFTW_FORWARD, FFTW_ESTIMATE)
              : NULL;
    double *numbers = (double *)array;
    for (uint64_t i = 0; plan && i < 2 * points_of(p); i++)
        numbers[i] = value_of(i);
    if (plan)
        fftw_execute(plan);
    fftw_destroy_plan(plan);
    return plan ? numbers : NULL;
}

bool result_file(const char *path, const struct problem *p)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool well = fd >= 0 && ftruncate(fd, (off_t)bytes_of(p)) == 0;
    if (fd >= 0)
        close(fd);
    return well;
}

bool result_errors(const char *path, const struct problem *p, const double *reference,
                   struct errors *errors)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    const double *result =
        fd >= 0 ? mmap(NULL, bytes_of(p), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (fd >= 0)
        close(fd);
    if (result == MAP_FAILED)
        return false;
    double most = 0, largest = 0, difference = 0, norm = 0;
    for (uint64_t i = 0; i < 2 * points_of(p); i += 2) {
        double re = result[i] - reference[i], im = result[i + 1] - reference[i + 1];
        double off = re * re + im * im;
        double size = reference[i] * reference[i] + reference[i + 1] * reference[i + 1];
        most = off > most || off != off ? off : most;
        largest = size > largest ? size : largest;
        difference += off;
        norm += size;
    }
    munmap((void *)(uintptr_t)result, bytes_of(p));
    *errors = (struct errors){sqrt(most / largest), sqrt(difference / norm)};
    return true;
}
