/* SPDX-License-Identifier: Apache-2.0 */
#include "caller.h"

#include <ctype.h>
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>

#include "component.h"

#include "ompi/communicator/communicator.h"

/* struct code: the machine code of a function. Threads may look it up at once; end is set last. */
struct code {
    _Atomic uintptr_t begin, end; /* end 0: not looked up */
};

static struct code codes[TM_KINDS][TM_FORM_COUNT];

/* libmpi returns a handle of Open MPI's library: a preloaded one may have functions of the same
 * name. */
static void *libmpi(void)
{
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)ompi_comm_dup, &info))
        return NULL;
    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

/* name_of writes the name of MPI's function. */
static void name_of(enum tm_kind kind, enum tm_form form, char *name, size_t bytes)
{
    const char *lower = tm_kind_names[kind];
    if (form == TM_NONBLOCKING)
        snprintf(name, bytes, "PMPI_I%s", lower);
    else if (form == TM_PERSISTENT)
        snprintf(name, bytes, "PMPIX_%c%s_init", toupper(lower[0]), lower + 1);
    else
        snprintf(name, bytes, "PMPI_%c%s", toupper(lower[0]), lower + 1);
}

/* find sets the range of a function: 1 to 1 if it is unknown. */
static void find(enum tm_kind kind, enum tm_form form)
{
    struct code *code = &codes[kind][form];
    char name[64];
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    void *library = libmpi(), *address = NULL;
    uintptr_t begin = 1, end = 1;
    name_of(kind, form, name, sizeof name);
    if (library && (address = dlsym(library, name)) &&
        dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol) {
        begin = (uintptr_t)address;
        end = begin + symbol->st_size;
    }
    if (library)
        dlclose(library);
    code->begin = begin;
    code->end = end;
}

bool tm_caller_is_program(enum tm_kind kind, enum tm_form form, const void *address)
{
    struct code *code = &codes[kind][form];
    if (code->end == 0)
        find(kind, form);
    return (uintptr_t)address >= code->begin && (uintptr_t)address < code->end;
}
