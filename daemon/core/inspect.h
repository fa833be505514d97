/* SPDX-License-Identifier: Apache-2.0 */
/* inspect: what torusctl may see. Reads, never changes.
 * Who sees what: a job shows to its owner, to root and to the daemon's own uid (the driver puts the
 * torus group's members among them). */
#ifndef TD_CORE_INSPECT_H
#define TD_CORE_INSPECT_H

#include "core/membership/client.h"

/* td_inspect_sees_all returns true if a client may see the jobs of all users. */
bool td_inspect_sees_all(const struct td_core *core, const struct td_client *client);
/* td_inspect_page fills in a page of a section for a user on another node; the page fits
 * TD_PAGE_BYTES_MAX. It returns false if the section is unknown. */
bool td_inspect_page(struct td_core *core, uint64_t uid, bool sees_all, uint32_t section,
                     uint64_t cursor, struct td_reply *reply);
/* td_inspect_reply answers a STATUS request with one page. */
void td_inspect_reply(struct td_core *core, const struct td_client *client,
                      const struct td_request *request);

#endif
