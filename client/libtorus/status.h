/* SPDX-License-Identifier: Apache-2.0 */
/* status: the daemon's state, for torusctl. Not part of the public library. */
#ifndef TORUS_STATUS_H
#define TORUS_STATUS_H

#include "torus/torus.h"
#include "model/message.h"

/* tl_status_page asks for one page of a section (enum td_status_section), from `cursor` on. The
 * rows are valid until the next call on the context. */
int tl_status_page(torus_context *c, uint32_t section, uint64_t cursor, struct td_reply *reply);

#endif
