/* SPDX-License-Identifier: Apache-2.0 */
/* signals: the signals of the keeper and of its children. */
#ifndef TORUSCTL_SIGNALS_H
#define TORUSCTL_SIGNALS_H

/* signals_open blocks the signals that the keeper handles and returns a signalfd of them. */
int signals_open(void);
/* signals_restore resets the signal handling of a child. */
void signals_restore(void);

#endif
