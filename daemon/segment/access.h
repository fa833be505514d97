/* SPDX-License-Identifier: Apache-2.0 */
/* access: every access of the protocol to memory that processes share. The step machine
 * (tests/segment) replaces this file by one that orders the accesses itself. Pure. */
#ifndef TD_SEGMENT_ACCESS_H
#define TD_SEGMENT_ACCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t td_access_load(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_acquire);
}

/* td_access_swap sets the word to `to` if it is *from, and returns true; else it sets *from to the
 * word. It is a release of what this process wrote before, and an acquire. */
static inline bool td_access_swap(_Atomic uint64_t *word, uint64_t *from, uint64_t to)
{
    return atomic_compare_exchange_strong_explicit(word, from, to, memory_order_seq_cst,
                                                   memory_order_seq_cst);
}

/* td_access_swap_relaxed orders nothing. Only a planted bug uses it. */
static inline bool td_access_swap_relaxed(_Atomic uint64_t *word, uint64_t *from, uint64_t to)
{
    return atomic_compare_exchange_strong_explicit(word, from, to, memory_order_relaxed,
                                                   memory_order_relaxed);
}

static inline uint32_t td_access_look(const _Atomic uint32_t *word)
{
    return atomic_load_explicit(word, memory_order_seq_cst);
}

static inline void td_access_set(_Atomic uint32_t *word, uint32_t value)
{
    atomic_store_explicit(word, value, memory_order_seq_cst);
}

static inline void td_access_add(_Atomic uint32_t *word, uint32_t value)
{
    atomic_fetch_add_explicit(word, value, memory_order_seq_cst);
}

/* td_access_read and td_access_write are for hints: they order nothing. */
static inline uint64_t td_access_read(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static inline void td_access_write(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

/* td_access_count counts one up that no other process counts. It orders nothing. */
static inline void td_access_count(_Atomic uint64_t *word)
{
    atomic_store_explicit(word, atomic_load_explicit(word, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

/* td_access_sum adds to a sum that orders nothing. */
static inline void td_access_sum(_Atomic uint64_t *word, uint64_t value)
{
    atomic_fetch_add_explicit(word, value, memory_order_relaxed);
}

/* td_access_note and td_access_noted: a note that the next release publishes. */
static inline void td_access_note(_Atomic uint32_t *word, uint32_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

static inline uint32_t td_access_noted(const _Atomic uint32_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

/* td_access_copy_in and td_access_copy_out move the bytes of a line. A process that was stopped may
 * read a line while a later call overwrites it, and discards what it has read: so nothing depends
 * on the order or the size of these accesses. ThreadSanitizer cannot know that; for it they are
 * atomic. */
static inline void td_access_copy_in(uint8_t *to, const void *from, size_t bytes)
{
#ifdef __SANITIZE_THREAD__
    for (size_t i = 0; i < bytes; i++)
        __atomic_store_n(to + i, ((const uint8_t *)from)[i], __ATOMIC_RELAXED);
#else
    memcpy(to, from, bytes);
#endif
}

static inline void td_access_copy_out(void *to, const uint8_t *from, size_t bytes)
{
#ifdef __SANITIZE_THREAD__
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)to)[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
#else
    memcpy(to, from, bytes);
#endif
}

#endif
