/* SPDX-License-Identifier: Apache-2.0 */
#include "events.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"

#define REPEATED_NS ((uint64_t)10000000000)

/* error_name returns the name of an error that an operator looks for, or NULL: others concern the
 * caller alone. */
static const char *error_name(td_err error)
{
    switch ((int)error) {
    case TD_ERR_NO_MEMORY:
        return "NO_MEMORY";
    case TD_ERR_TIMEOUT:
        return "TIMEOUT";
    case TD_ERR_MISMATCH:
        return "MISMATCH";
    case TD_ERR_RANK_FAILED:
        return "RANK_FAILED";
    case TD_ERR_NODE_FAILED:
        return "NODE_FAILED";
    case TD_ERR_INTERNAL:
        return "INTERNAL";
    case TD_ERR_PARTITIONED:
        return "PARTITIONED";
    default:
        return NULL;
    }
}

/* is_new returns true if no line with this hash was logged in the last REPEATED_NS, and keeps it.
 */
static bool is_new(struct td_events *e, uint64_t now_ns, uint64_t hash)
{
    for (uint32_t i = 0; i < TD_EVENTS_KEPT; i++)
        if (e->line[i] == hash && e->at_ns[i] && now_ns - e->at_ns[i] < REPEATED_NS)
            return false;
    e->line[e->next] = hash;
    e->at_ns[e->next] = now_ns;
    e->next = (e->next + 1) % TD_EVENTS_KEPT;
    return true;
}

void td_events_reply(struct td_events *e, uint64_t now_ns, uint64_t pid, uint64_t uid,
                     const struct td_reply *r)
{
    const char *error = r->error == TD_OK ? NULL : error_name(r->error);
    if (error && is_new(e, now_ns, td_hash_bytes(r->text, strlen(r->text))))
        td_log_rated(&e->failures, now_ns, TD_LOG_INFO, "%s, told to process %llu of user %llu: %s",
                     error, (unsigned long long)pid, (unsigned long long)uid, r->text);
    if (r->kind != TD_REPLY_JOINED || r->error != TD_OK || !r->u.joined.job ||
        !is_new(e, now_ns, td_hash_add(TD_HASH_START, r->u.joined.instance) ^ r->u.joined.group))
        return;
    char group[40] = "";
    if (r->u.joined.index)
        snprintf(group, sizeof group, "group %u of ", r->u.joined.index);
    td_log_rated(&e->jobs, now_ns, TD_LOG_INFO,
                 "%sjob %s formed: %u ranks; process %llu of user %llu is rank %u", group,
                 r->u.joined.job, r->u.joined.size, (unsigned long long)pid,
                 (unsigned long long)uid, r->u.joined.rank);
}
