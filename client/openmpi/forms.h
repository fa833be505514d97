/* SPDX-License-Identifier: Apache-2.0 */
/* forms: the three functions of a collective, from one description.
 *
 * TM_FORMS(name, plain, PARAMETERS, VALUES, ...) defines the blocking, the non-blocking and the
 * persistent function of coll_NAME. `plain` is the name of the non-blocking function without
 * coll_. PARAMETERS and VALUES are in parentheses: the parameters before the communicator, and
 * their names. The rest initializes struct tm_args. */
#ifndef TORUS_OPENMPI_FORMS_H
#define TORUS_OPENMPI_FORMS_H

#include "module.h"

#define TM_OPEN(...) __VA_ARGS__
#define TM_CALLER .caller = __builtin_return_address(0)
#define TM_MODULE struct tm_module *m = (struct tm_module *)module

#define TM_FORMS(name, iname, PARAMETERS, VALUES, ...)                                             \
    static int name(TM_OPEN PARAMETERS, struct ompi_communicator_t *comm,                          \
                    mca_coll_base_module_t *module)                                                \
    {                                                                                              \
        TM_MODULE;                                                                                 \
        const struct tm_args args = {__VA_ARGS__, TM_CALLER};                                      \
        return tm_form_takes(m, &args, TM_BLOCKING)                                                \
                   ? tm_form_run(m, &args)                                                         \
                   : m->previous.coll_##name(TM_OPEN VALUES, comm,                                 \
                                             m->previous.coll_##name##_module);                    \
    }                                                                                              \
    static int iname(TM_OPEN PARAMETERS, struct ompi_communicator_t *comm,                         \
                     ompi_request_t **request, mca_coll_base_module_t *module)                     \
    {                                                                                              \
        TM_MODULE;                                                                                 \
        const struct tm_args args = {__VA_ARGS__, TM_CALLER};                                      \
        return tm_form_takes(m, &args, TM_NONBLOCKING)                                             \
                   ? tm_form_start(m, &args, request)                                              \
                   : m->previous.coll_##iname(TM_OPEN VALUES, comm, request,                       \
                                              m->previous.coll_##iname##_module);                  \
    }                                                                                              \
    static int name##_init(TM_OPEN PARAMETERS, struct ompi_communicator_t *comm,                   \
                           struct ompi_info_t *info, ompi_request_t **request,                     \
                           mca_coll_base_module_t *module)                                         \
    {                                                                                              \
        TM_MODULE;                                                                                 \
        const struct tm_args args = {__VA_ARGS__, TM_CALLER};                                      \
        return tm_form_takes(m, &args, TM_PERSISTENT)                                              \
                   ? tm_form_init(m, &args, request)                                               \
                   : m->previous.coll_##name##_init(TM_OPEN VALUES, comm, info, request,           \
                                                    m->previous.coll_##name##_init_module);        \
    }

/* TM_SET puts the three functions into a module. */
#define TM_SET(module, name, iname)                                                                \
    do {                                                                                           \
        (module)->coll_##name = name;                                                              \
        (module)->coll_##iname = iname;                                                            \
        (module)->coll_##name##_init = name##_init;                                                \
    } while (0)

#endif
