/* SPDX-License-Identifier: Apache-2.0 */
#include "standard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

void td_standard_start(void)
{
    /* open returns the lowest free number, so the numbers below `fd` are in use */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    signal(SIGXFSZ, SIG_IGN);
}

void td_standard_restore(void)
{
    signal(SIGXFSZ, SIG_DFL);
}

int td_standard_avoid(int fd)
{
    int saved = errno;
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int error = copy >= 0 ? saved : errno == EINVAL ? EMFILE : errno; /* the limit is 3 or less */
    close(fd);
    errno = error;
    return copy;
}
