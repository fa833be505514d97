/* SPDX-License-Identifier: Apache-2.0 */
#include "facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "inspect.h"

static json_t *row_json(const struct td_status_row *row)
{
    const struct td_row_fact *r = &row->u.fact;
    if (row->kind != TD_ROW_FACT)
        return NULL;
    return json_pack("{s:o s:o s:o s:s s:b}", "name", ins_text(r->name), "value",
                     ins_text(r->value), "unit", ins_text(r->unit), "source",
                     r->is_set ? "file" : "default", "reloads", r->reloads);
}

json_t *ins_facts(struct ins_machine *m, uint32_t section)
{
    size_t silent = json_array_size(m->silent);
    json_t *facts = ins_machine_rows(m, section, row_json);
    if (facts && json_array_size(m->silent) > silent)
        ins_add_silence(m);
    return facts;
}

void ins_setting_text(struct ins_machine *m, const char *name, char *text, size_t bytes)
{
    json_t *facts = ins_rows(m->c, TD_STATUS_SETTINGS, row_json);
    text[0] = '\0';
    for (size_t i = 0; i < json_array_size(facts); i++) {
        const json_t *f = json_array_get(facts, i);
        if (strcmp(ins_string(f, "name"), name) == 0)
            snprintf(text, bytes, "%s", ins_string(f, "value"));
    }
    json_decref(facts);
}

json_int_t ins_setting(struct ins_machine *m, const char *name)
{
    char text[64];
    ins_setting_text(m, name, text, sizeof text);
    return strtoll(text, NULL, 10);
}

json_t *ins_loop(struct ins_machine *m)
{
    static const char prefix[] = "event_";
    json_t *facts = ins_rows(m->c, TD_STATUS_HOST, row_json), *loop = json_object();
    for (size_t i = 0; i < json_array_size(facts); i++) {
        const json_t *f = json_array_get(facts, i);
        const char *name = ins_string(f, "name"), *value = ins_string(f, "value");
        bool is_time = strcmp(ins_string(f, "unit"), "ns") == 0;
        char key[64];
        if (strncmp(name, prefix, sizeof prefix - 1) != 0)
            continue;
        snprintf(key, sizeof key, "%s%s", name + sizeof prefix - 1, is_time ? "_ns" : "");
        json_object_set_new(loop, key,
                            is_time ? json_integer(strtoll(value, NULL, 10)) : json_string(value));
    }
    json_decref(facts);
    return loop;
}

const json_t *ins_fact_of(const json_t *facts, uint32_t node, const char *name)
{
    for (size_t i = 0; i < json_array_size(facts); i++) {
        const json_t *f = json_array_get(facts, i);
        if (ins_number(f, "at") == node && strcmp(ins_string(f, "name"), name) == 0)
            return f;
    }
    return NULL;
}

const char *ins_fact(const json_t *facts, uint32_t node, const char *name)
{
    return ins_string(ins_fact_of(facts, node, name), "value");
}

void ins_fact_text(char *text, size_t bytes, const json_t *fact)
{
    const char *value = ins_string(fact, "value"), *unit = ins_string(fact, "unit");
    char *end = NULL;
    unsigned long long number = strtoull(value, &end, 10);
    bool is_number = value[0] && !*end;
    if (is_number && strcmp(unit, "bytes") == 0)
        td_quantity_print(number, text, bytes);
    else if (is_number && strcmp(unit, "bytes/s") == 0 && number)
        td_quantity_print_rate((double)number, text, bytes);
    else if (is_number && strcmp(unit, "ns") == 0)
        ins_duration(text, bytes, (json_int_t)number);
    else
        snprintf(text, bytes, "%s", value);
}
