/* SPDX-License-Identifier: Apache-2.0 */
/* scheduling: pthread_setschedparam, in place of the C library's. Each thread of ZeroMQ asks for
 * the scheduling that it already has, and aborts the process if that is refused. The sandbox of
 * torusd.service refuses all calls that set scheduling, so this function asks the system only for a
 * change. Nothing in torusd asks for one. Owns: nothing. */
#include <errno.h>
#include <pthread.h>

int pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *wanted)
{
    struct sched_param has;
    int own = 0, error = pthread_getschedparam(thread, &own, &has);
    if (error)
        return error;
    return policy == own && wanted->sched_priority == has.sched_priority ? 0 : EPERM;
}
