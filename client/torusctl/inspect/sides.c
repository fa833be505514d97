/* SPDX-License-Identifier: Apache-2.0 */
#include "sides.h"

#include <stdio.h>

#include "inspect.h"
#include "rows.h"

/* ---- merging ---- */

static json_t *row_json(const struct td_status_row *row)
{
    return ins_row(row, TD_ROW_SIDE);
}

/* add_rank puts a rank in its place of a list in order. */
static void add_rank(json_t *ranks, json_t *rank)
{
    size_t at = json_array_size(ranks);
    while (at > 0 && json_integer_value(json_array_get(ranks, at - 1)) > json_integer_value(rank))
        at--;
    json_array_insert(ranks, at, rank);
}

/* side_of finds the side of a call, or adds one. */
static json_t *side_of(json_t *sides, const json_t *call)
{
    json_t *s = NULL;
    size_t i = 0;
    json_array_foreach(sides, i, s) if (json_equal(json_object_get(s, "call"), call)) return s;
    s = json_pack("{s:O s:[] s:i}", "call", call, "ranks", "count", 0);
    json_array_append_new(sides, s);
    return s;
}

/* is_before returns true if a side has fewer ranks than another one, or as many and lower ones. */
static bool is_before(const json_t *a, const json_t *b)
{
    json_int_t x = ins_number(a, "count"), y = ins_number(b, "count");
    const json_t *first[] = {json_array_get(json_object_get(a, "ranks"), 0),
                             json_array_get(json_object_get(b, "ranks"), 0)};
    return x != y ? x < y : json_integer_value(first[0]) < json_integer_value(first[1]);
}

json_t *ins_sides_of(const json_t *rows, json_int_t instance)
{
    json_t *sides = json_array(), *sorted = json_array(), *row = NULL, *rank = NULL;
    size_t i = 0, k = 0;
    json_array_foreach(rows, i, row)
    {
        if (ins_number(row, "instance") != instance)
            continue;
        json_t *s = side_of(sides, json_object_get(row, "call"));
        json_array_foreach(json_object_get(row, "rank"), k, rank)
            add_rank(json_object_get(s, "ranks"), rank);
        json_object_set_new(s, "count",
                            json_integer(ins_number(s, "count") + ins_number(row, "count")));
    }
    json_array_foreach(sides, i, row)
    {
        for (k = 0; k < i && !is_before(row, json_array_get(sorted, k));)
            k++;
        json_array_insert(sorted, k, row);
    }
    json_decref(sides);
    return sorted;
}

json_t *ins_sides(struct ins_machine *m, json_int_t instance)
{
    json_t *rows = ins_machine_rows(m, TD_STATUS_SIDES, row_json);
    json_t *sides = ins_sides_of(rows, instance);
    json_decref(rows);
    return sides;
}

/* ---- text ---- */

void ins_sides_print(const json_t *sides, json_int_t size)
{
    json_int_t known = 0;
    size_t count = json_array_size(sides), i = 0;
    const json_t *s = NULL;
    json_array_foreach(sides, i, s) known += ins_number(s, "count");
    json_array_foreach(sides, i, s)
    {
        json_int_t ranks = ins_number(s, "count");
        char runs[100];
        bool rest = count > 1 && i + 1 == count && known == size && 2 * ranks > size;
        ins_rank_runs(runs, sizeof runs, json_object_get(s, "ranks"));
        if (rest)
            printf("  the other %lld ranks", (long long)ranks);
        else
            printf("  %s %s", ins_rank_word(runs), runs);
        if (!rest && ranks > (json_int_t)json_array_size(json_object_get(s, "ranks")))
            printf(" (%lld in all)", (long long)ranks);
        printf(" called %s\n", ins_string(s, "call"));
    }
    if (count && known + 1 == size)
        puts("  of the other rank it is not known what it called");
    else if (count && known < size)
        printf("  of the other %lld ranks it is not known what they called\n",
               (long long)(size - known));
}
