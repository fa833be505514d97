/* SPDX-License-Identifier: Apache-2.0 */
/* lock: several threads use one context at once (torus_open_options.threads).
 *
 * Each public function holds the context's lock from its beginning to its end (TL_GUARD), except
 * while it waits for a reply. One of the waiting threads, the reader, waits for the socket and
 * handles what arrives, for all of them; the others wait for the reader. So no thread polls, and a
 * thread that does not wait is never held up by one that does.
 *
 * A context without threads has no lock: TL_GUARD then notes the thread that is inside, and refuses
 * the calls of other threads. Two threads that enter in the same instant may both pass. In a forked
 * child TL_GUARD takes no lock, because the calls there only return TORUS_ERR_FORKED.
 * Owns: the lock. Invariant: only the thread that holds the lock reads or writes the context. */
#ifndef TORUS_LOCK_H
#define TORUS_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* tl_lock_new returns a lock, NULL if memory or system resources run out. */
struct tl_lock *tl_lock_new(void);

/* struct tl_use: which thread uses a context. */
struct tl_use {
    struct tl_lock *lock;    /* NULL: one thread at a time uses the context */
    _Atomic uintptr_t owner; /* without a lock: pthread_self of the thread inside; 0: none */
    void *last;              /* memory that is freed when the thread inside leaves; NULL: none */
};

/* TL_GUARD holds the context's lock until the end of the enclosing block. A thread that has the
 * lock may take it again: public functions call each other, and callbacks call them. `context` may
 * be NULL. If the context has no lock and another thread is inside, the enclosing function returns
 * the error of tl_intruder (context.h); after TL_GUARD_ELSE, it returns `value`. */
#define TL_GUARD(context)                                                                          \
    TL_GUARD_BEGIN(context)                                                                        \
    if (intrudes)                                                                                  \
    return tl_intruder(context)
#define TL_GUARD_ELSE(context, value)                                                              \
    TL_GUARD_BEGIN(context)                                                                        \
    if (intrudes && tl_intruder(context) != 0)                                                     \
    return value
#define TL_GUARD_BEGIN(context)                                                                    \
    bool intrudes = false;                                                                         \
    __attribute__((cleanup(tl_guard_end), unused)) struct tl_use *guard = tl_guard_begin(          \
        (context) ? (struct tl_use *)(uintptr_t) & (context)->use : NULL, &intrudes);

/* tl_lock_enter takes the lock, once more if this thread has it. It returns false in a forked
 * child. */
bool tl_lock_enter(struct tl_lock *lock);
/* tl_lock_leave gives it up; with the outermost guard, it frees use->last. */
void tl_lock_leave(struct tl_use *use);

/* tl_guard_begin returns `use` if tl_guard_end is due, else NULL. */
static inline struct tl_use *tl_guard_begin(struct tl_use *use, bool *intrudes)
{
    if (!use)
        return NULL;
    if (use->lock)
        return tl_lock_enter(use->lock) ? use : NULL;
    uintptr_t self = (uintptr_t)pthread_self();
    uintptr_t owner = atomic_load_explicit(&use->owner, memory_order_relaxed);
    *intrudes = owner != 0 && owner != self;
    if (owner != 0)
        return NULL;
    atomic_store_explicit(&use->owner, self, memory_order_relaxed);
    return use;
}

static inline void tl_guard_end(struct tl_use **guard)
{
    struct tl_use *use = *guard;
    if (!use)
        return;
    if (use->lock) {
        tl_lock_leave(use);
        return;
    }
    void *last = use->last;
    atomic_store_explicit(&use->owner, 0, memory_order_relaxed);
    if (last)
        free(last);
}

/* tl_use_free frees the lock and `memory`, which holds `use`. If the calling thread is inside, both
 * end with its outermost guard. */
void tl_use_free(struct tl_use *use, void *memory);

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
/* tl_lock_bare returns the calling thread's note that its last error was of no context. */
bool *tl_lock_bare(void);

#endif
