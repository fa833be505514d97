/* SPDX-License-Identifier: Apache-2.0 */
/* rounds: what the commands share that ask all nodes: options, the rounds of --watch, the head of a
 * JSON object, and tables. */
#ifndef TORUSCTL_INSPECT_ROUNDS_H
#define TORUSCTL_INSPECT_ROUNDS_H

#include "collect.h"

/* An ins_round_fn asks the nodes once, and prints what they say. It returns the exit code, or
 * INS_LOST if the connection to the daemon is lost (torus_last_error). `word`: the argument without
 * a dash, or NULL. */
typedef int ins_round_fn(struct ins_machine *m, const struct ins_choices *o, const char *word);
enum { INS_LOST = -1 };

/* ins_run reads the options of a command, argv[0], and runs its rounds: one, or with --watch one
 * per second. `word`: the command takes an argument without a dash. It returns the exit code of the
 * last round. */
int ins_run(int argc, char **argv, bool word, ins_round_fn *round);
/* ins_run_with runs rounds with options that have been read. */
int ins_run_with(const char *name, const struct ins_choices *o, const char *word,
                 ins_round_fn *round);
/* ins_begin returns an object with the version of its keys, and the node that was asked. */
json_t *ins_begin(const struct ins_machine *m, int version);
/* ins_end adds the nodes that have not answered, prints the object as JSON (on one line with
 * --watch), and frees it. */
void ins_end(const struct ins_machine *m, json_t *all);
/* ins_print_answers prints how many of the nodes have answered, such as "4 of 4 nodes", and in the
 * next lines which have not. `rest`: the rest of the line. */
void ins_print_answers(const struct ins_machine *m, const char *rest);
/* ins_bytes_text writes a count of bytes such as 64 KiB. */
void ins_bytes_text(char *text, size_t bytes, json_int_t count);

/* ---- tables ---- */

struct libscols_table;
enum { INS_CELL_BYTES = 300, INS_COLUMNS_MAX = 12 };
/* struct ins_cells: the texts of a line. */
struct ins_cells {
    char text[INS_COLUMNS_MAX][INS_CELL_BYTES];
};
/* ins_table returns a table with the columns `names`, up to NULL; a name with > before it is that
 * of a column of numbers. ins_table_add adds a line. ins_table_print prints the table and frees it.
 */
struct libscols_table *ins_table(const char *const *names);
void ins_table_add(struct libscols_table *table, const struct ins_cells *cells);
void ins_table_print(struct libscols_table *table);

#endif
