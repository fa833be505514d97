/* SPDX-License-Identifier: Apache-2.0 */
/* inspect: what the commands share that show the state of daemons. Rows become JSON objects; the
 * text for people is made from them. */
#ifndef TORUSCTL_INSPECT_H
#define TORUSCTL_INSPECT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "model/request.h"
#include "torus/torus.h"

/* ---- rows ---- */

/* ins_rows returns all rows of a section of the status (enum td_status_section) as `row_json`
 * makes them; NULL on an error, which torus_last_error has. */
json_t *ins_rows(torus_context *c, uint32_t section,
                 json_t *(*row_json)(const struct td_status_row *row));
/* ins_text returns a text of a daemon as a JSON string, shown as plain text (base/text.h): rows
 * become text for people and JSON through it. */
json_t *ins_text(const char *text);
/* ins_ranks returns the list of the ranks of a group of `size` whose bit in a set is `value`. */
json_t *ins_ranks(const struct td_bitmap *set, uint32_t size, bool value);
/* ins_number returns the integer with this key, 0 without it; ins_string the string, or "". */
json_int_t ins_number(const json_t *object, const char *key);
const char *ins_string(const json_t *object, const char *key);
/* ins_find returns the object of a list whose integer `key` is `value`, or NULL; the list owns it.
 * ins_has returns true if a list has an equal value. */
json_t *ins_find(const json_t *list, const char *key, json_int_t value);
bool ins_has(const json_t *list, const json_t *value);
/* ins_numbers returns the numbers below `end` of a text such as 1,3-5, and at most `most` of them.
 */
json_t *ins_numbers(const char *text, json_int_t end, size_t most);
/* ins_has_number returns true if a list has this integer. */
bool ins_has_number(const json_t *list, json_int_t number);
/* ins_is_rank returns true if the row of a process is that of a rank of a job, and not of another
 * group; ins_is_stopped if it says that the process is stopped. */
bool ins_is_rank(const json_t *client);
bool ins_is_stopped(const json_t *process);
/* ins_print prints an object as JSON, and a newline. */
void ins_print(const json_t *all);

/* ---- text ---- */

enum { INS_HOST_BYTES = 128, INS_NODE_NAME_BYTES = INS_HOST_BYTES + 40 };
/* ins_host returns the host of a node as its endpoint names it, "" on an emulated machine. `peers`:
 * those of this node (TD_STATUS_PEERS), whose own endpoint is not among them. */
json_t *ins_host(const json_t *peers, json_int_t node);
/* ins_node_name writes "node 3 (host c)", or "node 3" if the host is not known, and returns it. */
const char *ins_node_name(char *text, size_t bytes, const json_t *peers, json_int_t node);

/* ins_duration writes a time in ns as 12us, 340ms, 12.5s, 2.5m or 3.0h. */
void ins_duration(char *text, size_t bytes, json_int_t ns);
/* ins_clock writes the local time of `ns` ago, such as 03:12:45, with the date if it is a day or
 * more. For ages that have just come (ins_machine_rows); others have a moment: ins_moment. */
void ins_clock(char *text, size_t bytes, json_int_t ns);
/* ins_unix_ns returns the present time in ns since 1970. */
json_int_t ins_unix_ns(void);
/* ins_moment writes the local time of `unix_ns` with at most 9 `digits` of a second, such as
 * 03:12:45.125, with the date if it is a day or more ago. */
void ins_moment(char *text, size_t bytes, json_int_t unix_ns, int digits);
/* ins_ago writes how long before `unix_ns` something was, and the local time then: "12.5s ago, at
 * 03:12:45.125". */
void ins_ago(char *text, size_t bytes, json_int_t unix_ns, json_int_t ns);
/* ins_scope writes that a list has what a user may see, " that user 1000 may see", or nothing for
 * root, who sees all, and returns it. Only the daemons know which other users do. */
const char *ins_scope(char *text, size_t bytes, json_int_t uid);
/* ins_rank_runs writes ranks as 0-3,7, or 0-3,7 and 5 more. */
void ins_rank_runs(char *text, size_t bytes, const json_t *list);
/* ins_missing_ranks writes the missing ranks of a job. A process that joined without a rank
 * receives one when the job is complete; until then fewer processes are missing than ranks: "2
 * ranks of 0-2". ins_missing_words writes "rank 3", "ranks 0-2" or "2 ranks of 0-2".
 * ins_is_one_missing returns true if this is one rank. */
void ins_missing_ranks(char *text, size_t bytes, const json_t *job);
void ins_missing_words(char *text, size_t bytes, const json_t *job);
bool ins_is_one_missing(const json_t *job);
/* ins_rank_word returns "rank", or "ranks" if ins_rank_runs has written several. */
const char *ins_rank_word(const char *ranks);

#endif
