/* SPDX-License-Identifier: Apache-2.0 */
#include "memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "limits.h"
#include "standard.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* since Linux 6.3 */
#endif

/* create returns a new file, or -1. With vm.memfd_noexec = 2 the kernel refuses a file that could
 * be executed; older kernels do not know the flag. */
static int create(const char *name)
{
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);
    return td_standard_avoid(fd < 0 && errno == EINVAL ? memfd_create(name, flags) : fd);
}

/* populate allocates all pages of a file. It returns false with errno. */
static bool populate(int fd, uint64_t bytes)
{
    int failed = 0;
    do
        failed = fallocate(fd, 0, 0, (off_t)bytes);
    while (failed && errno == EINTR);
    return !failed;
}

int td_memory_file(const char *name, uint64_t bytes, bool populated, int seals, char *why,
                   size_t why_bytes)
{
    bool fits = bytes <= td_limit_file_bytes(); /* else ftruncate would raise SIGXFSZ */
    int fd = fits ? create(name) : -1;
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0 && (!populated || populate(fd, bytes)) &&
        fcntl(fd, F_ADD_SEALS, seals) == 0)
        return fd;
    td_limit_why(fits ? errno : EFBIG, why, why_bytes);
    if (fd >= 0)
        close(fd);
    return -1;
}
