/* SPDX-License-Identifier: Apache-2.0 */
/* links: the links of the machine, as the nodes at both ends tell. */
#ifndef TORUSCTL_INSPECT_LINKS_H
#define TORUSCTL_INSPECT_LINKS_H

#include "rounds.h"

/* ins_links returns the links [{from, to, neighbours, state, since_ns, packets, bytes,
 * repeated_packets, resumes, silent_ns, busy_ns, busy_bytes,
 * session_sent_packets, session_received_packets, error}] of all nodes that answer, one
 * for each direction; NULL if the connection is lost. */
json_t *ins_links(struct ins_machine *m);
/* ins_link_is_dead returns true if a link was up before, or its node is not heard, and it is not
 * up. */
bool ins_link_is_dead(const json_t *link);
/* ins_link_say_once removes the time of silence of nodes (silent_ns) that the sentence of a link
 * tells, too: the age of the one and that of the other differ, as the daemon and its link may have
 * ended at different times. */
void ins_link_say_once(struct ins_machine *m, const json_t *links);
/* ins_link_print_dead prints a sentence of each dead link. */
void ins_link_print_dead(const json_t *links);

#endif
