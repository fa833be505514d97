/* SPDX-License-Identifier: Apache-2.0 */
/* handover: tells the thread sanitizer of an order that it cannot see, since ZeroMQ is not built with
 * it: what was written before a message was sent is read after ZeroMQ has taken it. */
#ifndef TD_IO_HANDOVER_H
#define TD_IO_HANDOVER_H

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define TD_HAND_OVER(object) __tsan_release(object)
#define TD_TAKE_OVER(object) __tsan_acquire(object)
#else
#define TD_HAND_OVER(object) ((void)(object))
#define TD_TAKE_OVER(object) ((void)(object))
#endif

#endif
