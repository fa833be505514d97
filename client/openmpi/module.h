/* SPDX-License-Identifier: Apache-2.0 */
/* module: the collectives of one communicator.
 *
 * A module keeps the functions and modules that had served the communicator before; calls that are
 * not taken go there.
 * Owns: the torus group of the communicator; retains the previous modules. */
#ifndef TORUS_OPENMPI_MODULE_H
#define TORUS_OPENMPI_MODULE_H

#include "component.h"
#include "decide.h"
#include "group.h"
#include "pace.h"

struct tm_module {
    mca_coll_base_module_t super;
    mca_coll_base_comm_coll_t previous;
    enum tm_reason reason; /* TM_TAKEN: its calls are taken */
    bool one_node;         /* all its ranks use one daemon */
    struct ompi_communicator_t *comm;
    uint32_t *ranks;        /* of the job */
    struct tm_group *group; /* NULL: not begun, or no memory */
    bool begun;             /* the creation of the group: after coll_torus_after calls */
    uint64_t calls;         /* that could be taken, by tm_weight */
    struct tm_pace pace;
};
typedef struct tm_module tm_module_t;
OBJ_CLASS_DECLARATION(tm_module_t);

/* tm_module_query returns a module for an intracommunicator of several ranks, else NULL. For
 * MPI_COMM_WORLD it first reads the records of all ranks. */
mca_coll_base_module_t *tm_module_query(struct ompi_communicator_t *comm, int *priority);

/* tm_form_takes decides, and counts the call. The three functions after it make a taken call. */
bool tm_form_takes(struct tm_module *module, const struct tm_args *args, enum tm_form form);
int tm_form_run(struct tm_module *module, const struct tm_args *args);
int tm_form_start(struct tm_module *module, const struct tm_args *args, ompi_request_t **request);
int tm_form_init(struct tm_module *module, const struct tm_args *args, ompi_request_t **request);

#endif
