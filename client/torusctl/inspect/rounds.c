/* SPDX-License-Identifier: Apache-2.0 */
#include "rounds.h"

#include <libsmartcols.h>
#include <stdio.h>

#include "base/quantity.h"
#include "inspect.h"
#include "torusctl/torusctl.h"

/* is_deaf returns true, and says so, if the daemon of this node has not answered. */
static bool is_deaf(const struct ins_machine *m, const char *name)
{
    for (size_t i = 0; i < json_array_size(m->silent); i++) {
        const json_t *s = json_array_get(m->silent, i);
        if (ins_number(s, "node") != torus_node(m->c))
            continue;
        fprintf(stderr, "torusctl %s: the daemon of this node: %s\n", name, ins_string(s, "error"));
        return true;
    }
    return false;
}

int ins_run_with(const char *name, const struct ins_choices *o, const char *word,
                 ins_round_fn *round)
{
    int code = EXIT_WELL;
    torus_context *c = tool_open(o->socket, o->patience_s, &code);
    for (bool first = true; c && (first || (o->watch && code != INS_LOST)); first = false) {
        struct ins_machine m;
        if (!first)
            ins_pause();
        ins_machine_begin(&m, c, o->timeout_s, o->here);
        m.compact = o->watch;
        code = round(&m, o, word);
        if (code != INS_LOST && is_deaf(&m, name))
            code = EXIT_FAILED;
        ins_machine_end(&m);
        if (code == INS_LOST)
            fprintf(stderr, "torusctl %s: %s\n", name, tool_error(c));
        if (fflush(stdout) != 0)
            break;
    }
    torus_close(c);
    return code == INS_LOST ? EXIT_FAILED : code;
}

int ins_run(int argc, char **argv, bool word, ins_round_fn *round)
{
    struct ins_choices o;
    const char *found = NULL, *wrong = ins_read_choices(argc, argv, &o, word ? &found : NULL);
    if (wrong)
        return tool_usage(argv[0], tool_no_option(wrong));
    return ins_run_with(argv[0], &o, found, round);
}

json_t *ins_begin(const struct ins_machine *m, int version)
{
    return json_pack("{s:i s:i}", "version", version, "node", (int)torus_node(m->c));
}

void ins_end(const struct ins_machine *m, json_t *all)
{
    json_object_set(all, "silent", m->silent);
    json_object_set(all, "absent", m->absent);
    json_dumpf(all, stdout, m->compact ? JSON_COMPACT : JSON_INDENT(2));
    putchar('\n');
    json_decref(all);
}

void ins_print_answers(const struct ins_machine *m, const char *rest)
{
    char text[80];
    printf("%s: %s\n", ins_machine_answers(m, text, sizeof text), rest);
    ins_machine_print_silent(m);
}

void ins_bytes_text(char *text, size_t bytes, json_int_t count)
{
    td_quantity_print((uint64_t)count, text, bytes);
}

struct libscols_table *ins_table(const char *const *names)
{
    struct libscols_table *t = scols_new_table();
    for (; *names; names++)
        scols_table_new_column(t, *names + (**names == '>'), 0,
                               **names == '>' ? SCOLS_FL_RIGHT : 0);
    return t;
}

void ins_table_add(struct libscols_table *t, const struct ins_cells *cells)
{
    struct libscols_line *line = scols_table_new_line(t, NULL);
    for (size_t i = 0; i < scols_table_get_ncols(t); i++)
        scols_line_set_data(line, i, cells->text[i]);
}

void ins_table_print(struct libscols_table *t)
{
    scols_print_table(t);
    scols_unref_table(t);
}
