/* SPDX-License-Identifier: Apache-2.0 */
/* facts: what daemons tell by name: their settings, and the hosts that they run on. */
#ifndef TORUSCTL_INSPECT_FACTS_H
#define TORUSCTL_INSPECT_FACTS_H

#include "rounds.h"

/* ins_facts returns the facts [{name, value, unit, source, reloads, at}] of a section (SETTINGS or
 * HOST) of all nodes that answer; NULL if the connection is lost. */
json_t *ins_facts(struct ins_machine *m, uint32_t section);
/* ins_setting returns a number of this node's settings, such as "network.heartbeat" in ns; 0: its
 * daemon does not say. */
json_int_t ins_setting(struct ins_machine *m, const char *name);
/* ins_setting_text writes a setting of this node, such as "torus.fabric"; "": its daemon does not
 * say. */
void ins_setting_text(struct ins_machine *m, const char *name, char *text, size_t bytes);
/* ins_loop returns how long the loop of this node's daemon worked on one event: an object of the
 * facts "event_...", without this word, and with _ns behind times. */
json_t *ins_loop(struct ins_machine *m);
/* ins_fact returns the value of a fact of a node, or "". */
const char *ins_fact(const json_t *facts, uint32_t node, const char *name);
/* ins_fact_of returns a fact of a node, or NULL. */
const json_t *ins_fact_of(const json_t *facts, uint32_t node, const char *name);
/* ins_fact_text writes the value of a fact for people: 64 KiB, 500ms. */
void ins_fact_text(char *text, size_t bytes, const json_t *fact);

#endif
