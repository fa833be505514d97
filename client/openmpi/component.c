/* SPDX-License-Identifier: Apache-2.0 */
#include "component.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "opal/mca/base/mca_base_pvar.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/util/output.h"

#include "membership.h"
#include "module.h"
#include "waiting.h"

/* The creation of a group takes as long as some hundred short calls. */
enum { AFTER_CALLS = 256 };

/* Open MPI makes longer broadcasts and reductions no faster than torusd. */
enum { SHORT_BYTES = 1024 };

/* A sleep takes 50 us more than it asks for, and a time slice takes some milliseconds. */
enum { REST_US = 20, REST_MOST_US = 100, REST_AFTER_US = 1000 };

struct tm_parameters tm_parameters;
struct tm_counters tm_counters;
torus_context *tm_context;
bool tm_threads;

const char *const tm_kind_names[TM_KINDS] = {
#define X(name, constant) #name,
    TM_KINDS_SIZED(X) TM_KINDS_LISTED(X)
#undef X
};
static const struct {
    const char *name, *text;
} reasons[TM_REASON_COUNT] = {{NULL, NULL},
#define X(name, constant, text) {#name, text},
                              TM_REASONS(X)
#undef X
};

void tm_verbose(int level, const char *format, ...)
{
    char text[1024];
    va_list list;
    if (tm_parameters.verbose < level)
        return;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    opal_output(0, "coll:torus: %s", text);
}

uint64_t tm_hash_add(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ p[i]) * 0x100000001b3u;
    return hash;
}

unsigned tm_after(void)
{
    if (tm_parameters.after >= 0)
        return (unsigned)tm_parameters.after;
    return tm_parameters.all ? 0 : AFTER_CALLS;
}

uint64_t tm_parameters_hash(void)
{
    const struct tm_parameters *p = &tm_parameters;
    uint64_t hash = tm_hash_add(TM_HASH_START, &p->priority, sizeof p->priority);
    hash = tm_hash_add(hash, &p->all, sizeof p->all);
    hash = tm_hash_add(hash, &p->after, sizeof p->after);
    hash = tm_hash_add(hash, &p->communicators, sizeof p->communicators);
    hash = tm_hash_add(hash, &p->persistent, sizeof p->persistent);
    hash = tm_hash_add(hash, &p->list_ranks, sizeof p->list_ranks);
    hash = tm_hash_add(hash, &p->short_bytes, sizeof p->short_bytes);
    hash = tm_hash_add(hash, p->left, sizeof p->left);
    hash = tm_hash_add(hash, p->least, sizeof p->least);
    return tm_hash_add(hash, p->most, sizeof p->most);
}

void tm_count(enum tm_kind kind, enum tm_reason reason)
{
    if (reason != TM_TAKEN) {
        __atomic_fetch_add(&tm_counters.fell[reason], 1, __ATOMIC_RELAXED);
        return;
    }
    __atomic_fetch_add(&tm_counters.taken[kind], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&tm_counters.all_taken, 1, __ATOMIC_RELAXED);
}

/* ---- parameters ---- */

/* mark sets left[] from the names in `leave`. It returns the first unknown name, or NULL. */
static const char *mark(struct tm_parameters *p)
{
    static char unknown[64];
    const char *rest = p->leave ? p->leave : "";
    while (*rest) {
        size_t length = strcspn(rest, ",");
        bool found = length == 0;
        for (int k = 0; k < TM_KINDS; k++)
            if (strlen(tm_kind_names[k]) == length && strncmp(tm_kind_names[k], rest, length) == 0)
                p->left[k] = found = true;
        if (!found) {
            snprintf(unknown, sizeof unknown, "%.*s", (int)length, rest);
            return unknown;
        }
        rest += length + (rest[length] == ',');
    }
    return NULL;
}

static int register_variable(const char *name, const char *text, mca_base_var_type_t type,
                             void *storage)
{
    return mca_base_component_var_register(&mca_coll_torus_component.collm_version, name, text,
                                           type, NULL, 0, 0, OPAL_INFO_LVL_3,
                                           MCA_BASE_VAR_SCOPE_LOCAL, storage);
}

/* register_bytes registers the least and the greatest size of each operation whose size all ranks
 * know. */
static void register_bytes(void)
{
    char name[64], text[160];
    for (int k = 0; k < TM_BARRIER; k++) {
        tm_parameters.least[k] = 0;
        tm_parameters.most[k] = 0;
        snprintf(name, sizeof name, "%s_least", tm_kind_names[k]);
        snprintf(text, sizeof text,
                 "Fewest bytes of one rank or block for which %s goes through torusd",
                 tm_kind_names[k]);
        register_variable(name, text, MCA_BASE_VAR_TYPE_SIZE_T, &tm_parameters.least[k]);
        snprintf(name, sizeof name, "%s_most", tm_kind_names[k]);
        snprintf(text, sizeof text,
                 "Most bytes of one rank or block for which %s goes through torusd; 0: no limit",
                 tm_kind_names[k]);
        register_variable(name, text, MCA_BASE_VAR_TYPE_SIZE_T, &tm_parameters.most[k]);
    }
}

/* register_limits registers when a communicator becomes a group, and what keeps a process below the
 * daemon's limits: both kinds of groups together stay below [limits] groups_per_process, and a list
 * fits a request to the daemon (64 KiB). */
static void register_limits(void)
{
    tm_parameters.after = -1;
    register_variable(
        "after",
        "Calls that a communicator makes before it is a group of torusd, each 4 KiB of "
        "a call count as one more; negative: 256, or 0 with coll_torus_all",
        MCA_BASE_VAR_TYPE_INT, &tm_parameters.after);
    tm_parameters.communicators = 768;
    register_variable("communicators",
                      "Communicators whose number (context id) is at least this stay with Open MPI",
                      MCA_BASE_VAR_TYPE_UNSIGNED_INT, &tm_parameters.communicators);
    tm_parameters.persistent = 250;
    register_variable("persistent",
                      "Most persistent collectives of one process that exist at once; further ones "
                      "stay with Open MPI",
                      MCA_BASE_VAR_TYPE_UNSIGNED_INT, &tm_parameters.persistent);
    tm_parameters.list_ranks = 1024;
    register_variable("list_ranks",
                      "Most ranks of a communicator whose calls with lists go through torusd",
                      MCA_BASE_VAR_TYPE_UNSIGNED_INT, &tm_parameters.list_ranks);
}

/* register_rests registers how ranks wait for messages beside other processes (rest.h). */
static void register_rests(void)
{
    tm_parameters.rest_us = REST_US;
    register_variable("rest",
                      "Microseconds that a rank sleeps at a time, at most 100, while it waits for "
                      "messages of Open MPI beside processes that compute; 0: it only yields",
                      MCA_BASE_VAR_TYPE_UNSIGNED_INT, &tm_parameters.rest_us);
    tm_parameters.rest_after_us = REST_AFTER_US;
    register_variable("rest_after",
                      "Microseconds that 16 yields in turn take, in the mean, from which on a rank "
                      "sleeps so",
                      MCA_BASE_VAR_TYPE_UNSIGNED_INT, &tm_parameters.rest_after_us);
}

/* register_counters makes the counters readable through MPI_T. */
static void register_counters(void)
{
    const mca_base_component_t *component = &mca_coll_torus_component.collm_version;
    const int flags = MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS;
    mca_base_component_pvar_register(
        component, "taken", "Collectives that went through torusd", OPAL_INFO_LVL_4,
        MPI_T_PVAR_CLASS_COUNTER, MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL, MPI_T_BIND_NO_OBJECT,
        flags, NULL, NULL, NULL, &tm_counters.all_taken);
    for (int r = TM_TAKEN + 1; r < TM_REASON_COUNT; r++) {
        char name[64];
        snprintf(name, sizeof name, "fell_%s", reasons[r].name);
        mca_base_component_pvar_register(
            component, name, reasons[r].text, OPAL_INFO_LVL_4, MPI_T_PVAR_CLASS_COUNTER,
            MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL, MPI_T_BIND_NO_OBJECT, flags, NULL, NULL,
            NULL, &tm_counters.fell[r]);
    }
}

static int register_all(void)
{
    tm_parameters.priority = 60;
    register_variable("priority", "Priority of the component; negative: it takes no communicator",
                      MCA_BASE_VAR_TYPE_INT, &tm_parameters.priority);
    tm_parameters.verbose = 0;
    register_variable("verbose",
                      "1: say why torusd is not used, and count calls at the end; 2: also say "
                      "which communicators are taken",
                      MCA_BASE_VAR_TYPE_INT, &tm_parameters.verbose);
    tm_parameters.leave = NULL;
    register_variable("leave",
                      "Operations that Open MPI's own modules make, with commas between them, such "
                      "as barrier,alltoallv",
                      MCA_BASE_VAR_TYPE_STRING, &tm_parameters.leave);
    tm_parameters.machine = NULL;
    register_variable("machine",
                      "Name of the machine of daemons, if several have the same shape: ranks with "
                      "different names do not use torusd together",
                      MCA_BASE_VAR_TYPE_STRING, &tm_parameters.machine);
    tm_parameters.all = false;
    register_variable("all",
                      "Take also the calls that Open MPI's own modules make faster: short ones "
                      "between nodes, and those that go through the daemon on one node",
                      MCA_BASE_VAR_TYPE_BOOL, &tm_parameters.all);
    tm_parameters.short_bytes = SHORT_BYTES;
    register_variable(
        "short",
        "Blocking broadcasts and reductions of fewer bytes on one node stay with Open "
        "MPI while they follow each other quickly; 0: none",
        MCA_BASE_VAR_TYPE_SIZE_T, &tm_parameters.short_bytes);
    register_limits();
    register_rests();
    register_bytes();
    register_counters();
    return OMPI_SUCCESS;
}

/* ---- life ---- */

static int open_component(void)
{
    const char *unknown = mark(&tm_parameters);
    if (unknown)
        tm_verbose(0,
                   "coll_torus_leave names %s, which is no collective; the names are those of "
                   "MPI's functions in lower case, such as alltoallv",
                   unknown);
    if (tm_parameters.rest_us > REST_MOST_US)
        tm_parameters.rest_us = REST_MOST_US;
    tm_membership_publish();
    return OMPI_SUCCESS;
}

static int close_component(void)
{
    if (tm_parameters.verbose >= 1 && tm_context) {
        char text[512];
        int at = snprintf(text, sizeof text, "%llu call%s went through torusd",
                          tm_counters.all_taken, tm_counters.all_taken == 1 ? "" : "s");
        for (int r = TM_TAKEN + 1; r < TM_REASON_COUNT; r++)
            if (tm_counters.fell[r] && at < (int)sizeof text)
                at += snprintf(text + at, sizeof text - (size_t)at, "; %llu fell back (%s)",
                               tm_counters.fell[r], reasons[r].name);
        tm_verbose(1, "%s", text);
    }
    tm_waiting_stop();
    torus_close(tm_context);
    tm_context = NULL;
    tm_membership_free();
    return OMPI_SUCCESS;
}

/* init_query never fails: a rank without a daemon counts the calls that fall back. */
static int init_query(bool progress_threads, bool threads)
{
    (void)progress_threads;
    tm_threads = threads;
    return OMPI_SUCCESS;
}

mca_coll_base_component_t mca_coll_torus_component = {
    .collm_version =
        {
            MCA_COLL_BASE_VERSION_2_0_0,
            .mca_component_name = "torus",
            MCA_BASE_MAKE_VERSION(component, TORUS_VERSION_MAJOR, TORUS_VERSION_MINOR,
                                  TORUS_VERSION_PATCH),
            .mca_open_component = open_component,
            .mca_close_component = close_component,
            .mca_register_component_params = register_all,
        },
    .collm_data = {MCA_BASE_METADATA_PARAM_CHECKPOINT},
    .collm_init_query = init_query,
    .collm_comm_query = tm_module_query,
};
