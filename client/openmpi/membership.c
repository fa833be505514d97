/* SPDX-License-Identifier: Apache-2.0 */
#include "membership.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "ompi/communicator/communicator.h"
#include "ompi/group/group.h"
#include "ompi/mca/rte/rte.h"
#include "ompi/proc/proc.h"
#include "opal/mca/pmix/pmix.h"
#include "opal/util/error.h"
#include "opal/util/output.h"

#include "group.h"
#include "waiting.h"

enum { NOT_A_MEMBER = -1 };

/* struct record: a rank as the others see it. The bytes are published: no padding, no pointers. */
struct record {
    uint32_t usable;     /* it has a daemon, and uses it */
    uint32_t version;    /* of the component's rules */
    uint64_t library;    /* torus_version */
    uint64_t machine;    /* hash of the machine of its daemon */
    uint64_t parameters; /* tm_parameters_hash */
    uint64_t nonce;      /* for the name of the job: that of its first rank counts */
    uint64_t node;       /* of the daemon */
    uint64_t daemon;     /* torus_incarnation */
};

static struct {
    uint64_t *node; /* by rank of MPI_COMM_WORLD: of its daemon */
    int32_t *rank;  /* by rank of MPI_COMM_WORLD: its rank in this rank's job, or NOT_A_MEMBER */
    uint32_t ranks, size; /* of MPI_COMM_WORLD; of the job */
    uint32_t own;         /* this rank in the job */
    uint32_t jobid;
    char name[160];
    torus_group *world;
    int error; /* of the join; TORUS_PENDING: not complete */
    char text[512];
    struct tm_event joined;
    torus_group *made;
} table = {.error = TORUS_PENDING};

/* ---- the daemon of this rank ---- */

/* block_of returns the index of the daemon for `item` of `items`, if `count` daemons get blocks of
 * items and the first ones get one more each. */
static uint32_t block_of(uint32_t item, uint32_t items, uint32_t count)
{
    uint32_t each = items / count, more = items % count;
    if (item < more * (each + 1))
        return item / (each + 1);
    return more + (item - more * (each + 1)) / each;
}

/* socket_of writes the path of this rank's daemon if TORUS_SOCKETS lists several, with colons
 * between them, as torusctl emulate does. Else it returns NULL: torus_open chooses. */
static const char *socket_of(uint32_t rank, uint32_t ranks, char *path, size_t bytes)
{
    const char *list = secure_getenv("TORUS_SOCKETS");
    uint32_t count = 1;
    if (!list || !list[0] || ranks == 0)
        return NULL;
    for (const char *p = list; *p; p++)
        count += *p == ':';
    if (count > ranks)
        count = ranks;
    for (uint32_t skip = block_of(rank, ranks, count); skip > 0; skip--)
        list = strchr(list, ':') + 1;
    snprintf(path, bytes, "%.*s", (int)strcspn(list, ":"), list);
    return path;
}

/* open_context returns false if no daemon serves this rank. */
static bool open_context(uint32_t rank, uint32_t ranks)
{
    char path[256];
    const struct torus_open_options options = {
        .size = sizeof options, .socket = socket_of(rank, ranks, path, sizeof path), .threads = 1};
    int error = torus_open(&tm_context, &options);
    if (error == TORUS_OK && tm_waiting_start())
        return true;
    tm_verbose(1, "torusd is not used by rank %u: %s", rank, torus_last_error(tm_context));
    torus_close(tm_context);
    tm_context = NULL;
    return false;
}

/* machine_hash returns a hash of the machine that the daemon belongs to. */
static uint64_t machine_hash(void)
{
    uint32_t size[TORUS_DIMENSIONS_MAX] = {0};
    int wrap[TORUS_DIMENSIONS_MAX] = {0};
    int dimensions = torus_shape(tm_context, size, wrap);
    const char *name = tm_parameters.machine ? tm_parameters.machine : "";
    uint64_t hash = tm_hash_add(TM_HASH_START, &dimensions, sizeof dimensions);
    hash = tm_hash_add(hash, size, sizeof size);
    hash = tm_hash_add(hash, wrap, sizeof wrap);
    return tm_hash_add(hash, name, strlen(name));
}

/* ---- the records ---- */

/* no_table ends the job: a rank without the table that the others have would make them wait. */
static _Noreturn void no_table(const char *why)
{
    static char format[] = "coll:torus: %s. The ranks cannot agree which of them use torusd";
    ompi_rte_abort(OMPI_ERROR, format, why);
}

/* receive reads what a rank has published. A rank without the component has published nothing: if
 * MPI_Init has collected all records, PMIx need not look elsewhere for it. Else PMIx looks for a
 * while, and its error can be of this rank alone. */
static void receive(uint32_t rank, const char *key, struct record *record)
{
    const opal_process_name_t name = {.jobid = table.jobid, .vpid = rank};
    opal_value_t *value = NULL, *hint = OBJ_NEW(opal_value_t);
    opal_list_t hints;
    OBJ_CONSTRUCT(&hints, opal_list_t);
    hint->key = strdup(OPAL_PMIX_IMMEDIATE);
    hint->type = OPAL_BOOL;
    hint->data.flag = opal_pmix_collect_all_data && !opal_pmix_base_async_modex;
    opal_list_append(&hints, &hint->super);
    int error = opal_pmix.get(&name, key, &hints, &value);
    if (error == OPAL_SUCCESS && value) {
        if (value->type == OPAL_BYTE_OBJECT && value->data.bo.size == sizeof *record)
            memcpy(record, value->data.bo.bytes, sizeof *record);
        OBJ_RELEASE(value);
    }
    OPAL_LIST_DESTRUCT(&hints);
    if (error != OPAL_SUCCESS && error != OPAL_ERR_NOT_FOUND) {
        char why[400];
        snprintf(
            why, sizeof why,
            "cannot read what rank %u has published (%s). If a rank lacks the component, leave "
            "it out on all ranks (--mca coll ^torus), or let MPI_Init collect the records "
            "(--mca pmix_base_async_modex 0 --mca pmix_base_collect_data 1)",
            (unsigned)rank, opal_strerror(error));
        no_table(why);
    }
}

static bool together(const struct record *a, const struct record *b)
{
    return a->usable && b->usable && a->version == b->version && a->library == b->library &&
           a->machine == b->machine && a->parameters == b->parameters;
}

/* nonce returns a number that another job with the same name is unlikely to have. */
static uint64_t nonce(void)
{
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        number = (uint64_t)getpid();
    return number;
}

static int by_node(const void *x, const void *y)
{
    const struct record *a = *(const struct record *const *)x,
                        *b = *(const struct record *const *)y;
    if (a->machine != b->machine)
        return a->machine < b->machine ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

/* drop_strangers makes ranks unusable whose daemons claim one node of one machine: these are
 * machines of the same shape, which know nothing of each other, and their ranks would never meet.
 * It returns false if memory runs out. */
static bool drop_strangers(struct record *record)
{
    struct record **sorted = calloc(table.ranks, sizeof *sorted);
    size_t count = 0;
    if (!sorted)
        return false;
    for (uint32_t r = 0; r < table.ranks; r++)
        if (record[r].usable)
            sorted[count++] = &record[r];
    qsort(sorted, count, sizeof *sorted, by_node);
    for (size_t begin = 0, end = 0; begin < count; begin = end) {
        bool one = true;
        for (end = begin; end < count && by_node(&sorted[begin], &sorted[end]) == 0; end++)
            one = one && sorted[end]->daemon == sorted[begin]->daemon;
        if (!one)
            tm_verbose(1,
                       "node %u has several daemons: machines of the same shape need different "
                       "values of coll_torus_machine",
                       (unsigned)sorted[begin]->node);
        for (size_t i = begin; i < end && !one; i++)
            sorted[i]->usable = 0;
    }
    free(sorted);
    return true;
}

/* find_job sets the ranks of this rank's job. */
static void find_job(const struct record *record, uint32_t own)
{
    const char *space = secure_getenv("PMIX_NAMESPACE");
    uint32_t lowest = own;
    table.size = 0;
    for (uint32_t r = 0; r < table.ranks; r++) {
        bool member = together(&record[r], &record[own]);
        table.node[r] = record[r].node;
        table.rank[r] = member ? (int32_t)table.size++ : NOT_A_MEMBER;
        if (member && r < lowest)
            lowest = r;
    }
    table.own = (uint32_t)table.rank[own];
    snprintf(table.name, sizeof table.name, "mpi-%.80s-%08x-%u", space ? space : "0",
             (unsigned)record[lowest].nonce, lowest);
}

/* ---- the job ---- */

static void on_joined(torus_request *request, int error, void *user)
{
    (void)user;
    snprintf(table.text, sizeof table.text, "%s", torus_request_error(request));
    table.error = error;
    tm_post(&table.joined);
}

static void after_join(void *user)
{
    (void)user;
    if (table.error == TORUS_OK)
        table.world = table.made;
    else
        tm_verbose(1, "cannot join job %s: %s", table.name, table.text);
    tm_groups_advance();
}

static void join(void)
{
    torus_request *request = NULL;
    const struct torus_join_options options = {.size = sizeof options,
                                               .name = table.name,
                                               .ranks = table.size,
                                               .rank = (int32_t)table.own,
                                               .rank_set = 1};
    table.joined.run = after_join;
    tm_expect();
    int error = torus_ijoin(tm_context, &options, &table.made, &request);
    if (error == TORUS_OK)
        error = torus_set_callback(request, on_joined, NULL);
    if (error != TORUS_OK) {
        snprintf(table.text, sizeof table.text, "%s", torus_last_error(tm_context));
        table.error = error;
        tm_post(&table.joined);
    }
}

/* is_fault_tolerant returns true if this Open MPI repairs communicators after deaths (ULFM): it
 * then ends, agrees on and shrinks them by means that torusd does not know, so the component steps
 * aside. The variable is Open MPI's own; 4.1 lacks it. */
static bool is_fault_tolerant(void)
{
    const bool *enabled = dlsym(RTLD_DEFAULT, "ompi_ftmpi_enabled");
    if (enabled && *enabled)
        tm_verbose(1, "torusd is not used: fault tolerance (ULFM) is enabled");
    return enabled && *enabled;
}

void tm_membership_publish(void)
{
    uint32_t own = OMPI_PROC_MY_NAME->vpid, ranks = ompi_process_info.num_procs;
    int error = OPAL_SUCCESS;
    struct record mine = {.version = TM_VERSION,
                          .library = (uint64_t)torus_version(),
                          .parameters = tm_parameters_hash(),
                          .nonce = nonce()};
    if (!opal_pmix.put || ranks < 2)
        return;
    if (tm_parameters.priority >= 0 && !is_fault_tolerant() && open_context(own, ranks)) {
        mine.usable = 1;
        mine.machine = machine_hash();
        mine.node = torus_node(tm_context);
        mine.daemon = torus_incarnation(tm_context);
    }
    OPAL_MODEX_SEND(error, OPAL_PMIX_GLOBAL, &mca_coll_torus_component.collm_version, &mine,
                    sizeof mine);
    if (error != OPAL_SUCCESS)
        tm_verbose(1, "torusd is not used by rank %u: PMIx does not publish it (%d)", own, error);
}

void tm_membership_init(struct ompi_communicator_t *world)
{
    uint32_t own = (uint32_t)ompi_comm_rank(world);
    struct record *record = NULL;
    table.ranks = (uint32_t)ompi_comm_size(world);
    table.jobid = ompi_group_get_proc_name(world->c_local_group, (int)own).jobid;
    table.rank = calloc(table.ranks, sizeof *table.rank);
    table.node = calloc(table.ranks, sizeof *table.node);
    record = calloc(table.ranks, sizeof *record);
    char *key = mca_base_component_to_string(&mca_coll_torus_component.collm_version);
    if (!table.rank || !table.node || !record || !key)
        no_table("no memory for the table of ranks");
    /* a rank without a daemon is in no job, whatever others have */
    for (uint32_t r = 0; r < table.ranks && table.ranks > 1 && tm_context; r++)
        receive(r, key, &record[r]);
    free(key);
    if (!drop_strangers(record))
        no_table("no memory for the table of ranks");
    find_job(record, own);
    free(record);
    tm_verbose(2, "rank %u of %u is rank %u of %u of job %s", own, table.ranks, table.own,
               table.size, table.name);
    if (tm_context && table.size > 1)
        join();
}

void tm_membership_free(void)
{
    free(table.rank);
    free(table.node);
    table.rank = NULL;
    table.node = NULL;
    table.world = NULL;
    table.size = 0;
}

uint32_t tm_membership_size(void)
{
    return table.size;
}

torus_group *tm_membership_world(int *error, const char **text)
{
    *error = table.error == TORUS_PENDING ? TORUS_OK : table.error;
    *text = table.text;
    return table.world;
}

enum tm_reason tm_membership_ranks(struct ompi_communicator_t *comm, uint32_t *ranks,
                                   bool *one_node)
{
    uint64_t first = 0;
    *one_node = true;
    int size = ompi_comm_size(comm);
    enum tm_reason reason = table.rank ? TM_TAKEN : TM_MEMBER;
    for (int r = 0; r < size && table.rank; r++) {
        opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, r);
        if (name.jobid != table.jobid || name.vpid >= table.ranks)
            return TM_FOREIGN;
        if (r == 0)
            first = table.node[name.vpid];
        *one_node = *one_node && table.node[name.vpid] == first;
        if (table.rank[name.vpid] == NOT_A_MEMBER)
            reason = TM_MEMBER;
        else
            ranks[r] = (uint32_t)table.rank[name.vpid];
    }
    return reason;
}
