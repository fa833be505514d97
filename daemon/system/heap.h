/* SPDX-License-Identifier: Apache-2.0 */
/* heap: how much freed memory malloc keeps for the next call instead of returning it to the system.
 * Owns: nothing. */
#ifndef TD_SYSTEM_HEAP_H
#define TD_SYSTEM_HEAP_H

/* td_heap_keep makes malloc reuse the memory of packets. Otherwise the system would take the pages
 * back and clear them each time, which costs a fifth of the time of a large all-to-all. What is
 * larger than any packet, such as tables of FFTW, goes back when it is freed. */
void td_heap_keep(void);

/* td_heap_return returns the free memory at the end of the calling thread's heap, which malloc_trim
 * returns of the first thread alone. It counts on td_heap_keep, and suspends it meanwhile: other
 * threads that free much in this time return memory, too. Call it when there is little to do. */
void td_heap_return(void);

#endif
