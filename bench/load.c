/* SPDX-License-Identifier: Apache-2.0 */
#include "load.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* jiffies reads the busy time and the total time of the machine, in ticks. */
static bool jiffies(double *busy, double *all)
{
    double t[8] = {0};
    FILE *f = fopen("/proc/stat", "re");
    bool well = f && fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &t[0], &t[1], &t[2], &t[3],
                            &t[4], &t[5], &t[6], &t[7]) == 8;
    if (f)
        fclose(f);
    *busy = t[0] + t[1] + t[2] + t[5] + t[6] + t[7];
    *all = *busy + t[3] + t[4];
    return well;
}

double cpus_taken(void)
{
    double busy[2], all[2];
    if (!jiffies(&busy[0], &all[0]))
        return 0;
    nanosleep(&(struct timespec){.tv_nsec = 700000000}, NULL);
    if (!jiffies(&busy[1], &all[1]) || all[1] <= all[0])
        return 0;
    return (busy[1] - busy[0]) / (all[1] - all[0]) * (double)sysconf(_SC_NPROCESSORS_ONLN);
}
