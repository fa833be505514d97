/* SPDX-License-Identifier: Apache-2.0 */
/* waiting: progress of torusd inside Open MPI, and of Open MPI inside calls of libtorus.
 *
 * Open MPI calls tm_progress from opal_progress. It never waits for another rank; beside processes
 * that compute it sleeps instead of Open MPI's yield (rest.h). A blocking call of libtorus runs
 * opal_progress as its idle function, so messages and one-sided operations proceed meanwhile. */
#ifndef TORUS_OPENMPI_WAITING_H
#define TORUS_OPENMPI_WAITING_H

#include <stdbool.h>

/* struct tm_event: work that a callback of libtorus leaves to tm_progress. */
struct tm_event {
    struct tm_event *next;
    void (*run)(void *user); /* it holds no lock, and may run code of the program */
    void *user;
};

/* tm_waiting_start registers the progress function and the idle function. */
bool tm_waiting_start(void);
void tm_waiting_stop(void);

/* tm_lock protects the lists of this component. No function of libtorus or Open MPI is called
 * meanwhile. */
void tm_lock(void);
void tm_unlock(void);

/* tm_expect tells tm_progress to look for replies until as many calls of tm_post. */
void tm_expect(void);
/* tm_post runs event->run in the next tm_progress. It is called once for each tm_expect. */
void tm_post(struct tm_event *event);

/* tm_progress handles replies and runs the events that were posted. It returns their number, or
 * without any 1 if Open MPI is not to yield. */
int tm_progress(void);

/* tm_wait_until returns when done(user) is true; it alternates progress with short sleeps. */
void tm_wait_until(bool (*done)(void *user), void *user);

#endif
