/* SPDX-License-Identifier: Apache-2.0 */
/* letter: a datagram in memory that two processes share, for a receiver that looks for it without a
 * system call. There is room for one. Everything else takes the socket between the two.
 *
 * A letter is AWAY: its receiver does not look, so the sender takes the socket; LOOKING: the sender
 * may put a datagram; or FULL: the receiver has to take it. Each side changes the state by
 * compare-and-swap, so a receiver that is about to sleep either finds the datagram, or has made its
 * sender take the socket.
 *
 * Letters and the socket keep one order: a letter says how many datagrams its sender had sent by
 * the socket before. It is due when its receiver has received these, and then before any later one.
 * The receiver copies a letter before it reads it, and believes nothing of its state: a process
 * that writes nonsense there disturbs its own connection. Borrows: the memory. Pure. */
#ifndef TD_SEGMENT_LETTER_H
#define TD_SEGMENT_LETTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TD_LETTER_BYTES = 1984 };

/* struct td_letter: a letter of zeros is AWAY. */
struct td_letter {
    _Atomic uint64_t state;
    _Atomic uint64_t after; /* datagrams that the sender had sent by the socket */
    _Atomic uint64_t bytes;
    uint8_t rest[40];
    uint8_t data[TD_LETTER_BYTES];
};

/* struct td_letters: both directions of a connection. */
struct td_letters {
    struct td_letter request, reply;
};

/* td_letter_put puts a datagram if the receiver looks for it; else it returns false: the datagram
 * takes the socket. `sent`: datagrams that the sender has sent by the socket. */
bool td_letter_put(struct td_letter *l, uint64_t sent, const void *bytes, size_t size);
/* td_letter_look tells the sender that the receiver looks. */
void td_letter_look(struct td_letter *l);
/* td_letter_is_due returns true if a letter comes before all datagrams after the first `received`
 * ones. td_letter_is_full returns true if there is one, due or not. */
bool td_letter_is_due(const struct td_letter *l, uint64_t received);
bool td_letter_is_full(const struct td_letter *l);
/* td_letter_take copies the letter that is due, at most `room` bytes, and returns its size; 0: none
 * is due. `looks`: the receiver looks for the next one. */
size_t td_letter_take(struct td_letter *l, uint64_t received, bool looks, void *to, size_t room);
/* td_letter_leave ends the looking. It returns false if a letter has come meanwhile. */
bool td_letter_leave(struct td_letter *l);

#endif
