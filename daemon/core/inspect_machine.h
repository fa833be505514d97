/* SPDX-License-Identifier: Apache-2.0 */
/* inspect_machine: the sections of the status that tell of the machine: links, groups, and what the
 * driver knows of the daemon and its host. Reads, never changes. Pure. */
#ifndef TD_CORE_INSPECT_MACHINE_H
#define TD_CORE_INSPECT_MACHINE_H

#include "inspect_page.h"

/* td_inspect_links lists the nodes that this one connects to, and what went there. */
void td_inspect_links(struct td_page *page);
/* td_inspect_groups lists the groups of the page's user that have ranks here. */
void td_inspect_groups(struct td_page *page);
/* td_inspect_facts lists what the driver tells of a section. */
void td_inspect_facts(struct td_page *page, uint32_t section);

#endif
