/* SPDX-License-Identifier: Apache-2.0 */
/* process: notices the death of the process that opened a connection.
 *
 * The end of the connection does not tell it: a child that the process forked keeps the socket
 * open, and so does one that it passed the socket to. A pidfd is readable as soon as all threads of
 * the process have ended, even before its parent waits for it.
 * The process that connected owns the ranks of the connection, whoever else has the socket.
 *
 * The kernel gives a pidfd of exactly that process (SO_PEERPIDFD, Linux 6.5). An older kernel gives
 * its number only. If the process has died and the number belongs to another one by then, the
 * connection ends at the end of either its socket or that other process: its owner is dead, so
 * neither comes too early.
 * Owns: the pidfd. */
#ifndef TD_IO_CLIENTS_PROCESS_H
#define TD_IO_CLIENTS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct td_process {
    uv_poll_t poll;
    int fd; /* -1: not watched */
    void (*ended)(void *user);
    void (*closed)(void *user);
    void *user;
};

/* td_process_state returns the state of a process of this PID namespace, a letter of proc(5). X:
 * no such process. 0: the state cannot be read. */
char td_process_state(uint64_t pid);
/* td_process_watch calls `ended` once, when the process at the other end of a connected Unix socket
 * has ended. It returns false if that cannot be noticed: its process number is unknown (a container
 * of another PID namespace, on a kernel before 6.5), or no descriptor is left. td_process_unwatch
 * follows in either case. */
bool td_process_watch(struct td_process *process, uv_loop_t *uv, int socket, int pid,
                      void (*ended)(void *user), void *user);
/* td_process_unwatch stops watching and calls `closed`, at once or from the loop, when the memory
 * of the watch may be freed. */
void td_process_unwatch(struct td_process *process, void (*closed)(void *user));

#endif
