/* SPDX-License-Identifier: Apache-2.0 */
#include "letters.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "segment/letter.h"

void tl_letters_adopt(torus_context *c)
{
    struct stat st;
    int saved = errno;
    if (c->passed >= 0 && !c->letters && fstat(c->passed, &st) == 0 &&
        (size_t)st.st_size == sizeof *c->letters) {
        void *memory =
            mmap(NULL, sizeof *c->letters, PROT_READ | PROT_WRITE, MAP_SHARED, c->passed, 0);
        if (memory != MAP_FAILED) {
            (void)madvise(memory, sizeof *c->letters, MADV_DONTFORK);
            c->letters = memory;
        }
    }
    errno = saved;
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
