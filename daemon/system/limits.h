/* SPDX-License-Identifier: Apache-2.0 */
/* limits: the limits that the operating system sets for this process, and sentences that name them.
 * Owns: nothing. */
#ifndef TD_SYSTEM_LIMITS_H
#define TD_SYSTEM_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TD_LIMIT_TEXT = 320 };

/* td_limit_why writes the reason of an error of the system to text, and returns text. If a limit is
 * the cause, it names the limit, its value and the command that raises it: "Too many open files:
 * this process may have 256 descriptors (RLIMIT_NOFILE): raise ulimit -n, or LimitNOFILE= of its
 * unit". */
const char *td_limit_why(int error, char *text, size_t bytes);

/* td_limit_no_memory returns "no memory for WHAT", and the limit of this process if it has one. The
 * text is valid until this thread calls again. */
const char *td_limit_no_memory(const char *what);

/* td_limit_file_bytes returns how large this process may make a file; UINT64_MAX: no limit. */
uint64_t td_limit_file_bytes(void);

/* td_limit_space_bytes returns how much memory this process may still map, whether it uses it or
 * not; UINT64_MAX: no limit. */
uint64_t td_limit_space_bytes(void);

/* td_limit_memory_bytes returns how many bytes of memory this process can have: the memory of the
 * machine, or the limit of a memory cgroup that this process is in. A process that uses more is
 * killed. *cgroup is true if it is the limit of a cgroup. */
uint64_t td_limit_memory_bytes(bool *cgroup);

/* td_limit_memory_left returns how many more bytes this process can have now, at most: what its
 * private memory leaves of td_limit_memory_bytes, what the machine has available, and
 * td_limit_space_bytes. Memory that it shares may be charged to others. */
uint64_t td_limit_memory_left(void);

#endif
