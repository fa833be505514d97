/* SPDX-License-Identifier: Apache-2.0 */
/* lock: several threads use one context at once (torus_open_options.threads).
 *
 * Each public function holds the context's lock from its beginning to its end (TL_GUARD), except
 * while it waits for a reply. One of the waiting threads, the reader, waits for the socket and
 * handles what arrives, for all of them; the others wait for the reader. So no thread polls, and a
 * thread that does not wait is never held up by one that does.
 *
 * A context without threads has no lock: TL_GUARD is then one comparison. In a forked child
 * TL_GUARD takes no lock, because the calls there only return TORUS_ERR_FORKED.
 * Owns: the lock. Invariant: only the thread that holds the lock reads or writes the context. */
#ifndef TORUS_LOCK_H
#define TORUS_LOCK_H

#include <stdbool.h>
#include <stdint.h>

/* tl_lock_new returns a lock, NULL if memory or system resources run out. tl_lock_free accepts
 * NULL; no thread holds or awaits the lock. */
struct tl_lock *tl_lock_new(void);
void tl_lock_free(struct tl_lock *lock);

/* TL_GUARD holds the context's lock until the end of the enclosing block. A thread that has the
 * lock may take it again: public functions call each other, and callbacks call them. `context` may
 * be NULL. */
#define TL_GUARD(context)                                                                          \
    __attribute__((cleanup(tl_guard_end), unused)) struct tl_lock *guard =                         \
        tl_guard_begin((context) ? (context)->lock : NULL)
struct tl_lock *tl_guard_begin(struct tl_lock *lock);
void tl_guard_end(struct tl_lock **lock);

/* tl_lock_read makes the calling thread the reader, and returns true. If another thread is, it
 * waits until that one has handled something, or until deadline_ns (CLOCK_MONOTONIC; -1: none), and
 * returns false. */
bool tl_lock_read(struct tl_lock *lock, int64_t deadline_ns);
/* tl_lock_unread ends that, and wakes the other waiting threads. */
void tl_lock_unread(struct tl_lock *lock);

/* tl_lock_poll gives up the lock while the reader waits until `fd` is readable, or until
 * tl_lock_wake. It returns what tl_poll does. */
int tl_lock_poll(struct tl_lock *lock, int fd, int64_t deadline_ns);
/* tl_lock_wake makes the waiting threads look again: a thread that does not wait has handled or
 * kept a reply. */
void tl_lock_wake(struct tl_lock *lock);

/* tl_lock_give gives up the lock, however often the thread has taken it; tl_lock_take takes it
 * again as often: `depth`, as tl_lock_give has returned it. */
uint32_t tl_lock_give(struct tl_lock *lock);
void tl_lock_take(struct tl_lock *lock, uint32_t depth);
/* tl_lock_await gives up the lock until another thread calls tl_lock_wake, or has handled
 * something. */
void tl_lock_await(struct tl_lock *lock);

/* tl_lock_text returns the calling thread's room for the sentence of its last error, TD_TEXT_MAX
 * bytes. */
char *tl_lock_text(void);

#endif
