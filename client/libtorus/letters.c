/* SPDX-License-Identifier: Apache-2.0 */
#include "letters.h"

#include <sys/mman.h>
#include <unistd.h>

#include "passed.h"
#include "segment/letter.h"

int tl_letters_adopt(torus_context *c)
{
    size_t bytes = sizeof *c->letters;
    void *memory = NULL;
    int error = c->letters ? TORUS_OK : tl_passed_map(c, PROT_READ | PROT_WRITE, &bytes, &memory);
    if (memory)
        c->letters = memory;
    return error;
}

void tl_letters_free(torus_context *c)
{
    if (c->letters && c->pid == getpid())
        munmap(c->letters, sizeof *c->letters);
    c->letters = NULL;
}

bool tl_letters_put(torus_context *c, const uint8_t *bytes, size_t size)
{
    return c->letters && td_letter_put(&c->letters->request, c->sent, bytes, size);
}

void tl_letters_look(torus_context *c)
{
    if (c->letters)
        td_letter_look(&c->letters->reply);
}

bool tl_letters_leave(torus_context *c)
{
    return !c->letters || td_letter_leave(&c->letters->reply);
}

size_t tl_letters_take(torus_context *c, uint64_t received)
{
    return c->letters
               ? td_letter_take(&c->letters->reply, received, false, c->letter, sizeof c->letter)
               : 0;
}

bool tl_letters_are_due(const torus_context *c, uint64_t received)
{
    return c->letters && td_letter_is_due(&c->letters->reply, received);
}
