/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include <errno.h>
#include <unistd.h>

static void print_line(struct output *s, uint32_t rank)
{
    fprintf(s->to, "[%u] ", rank);
    fwrite(s->line, 1, s->length, s->to); /* it may hold any byte */
    putc('\n', s->to);
    fflush(s->to);
    s->length = 0;
}

void output_forward(struct output *s, uint32_t rank)
{
    char bytes[4096];
    ssize_t size = read(s->fd, bytes, sizeof bytes);
    if (size < 0 && errno == EINTR)
        return;
    if (s->form == OUTPUT_PLAIN && size > 0) {
        fwrite(bytes, 1, (size_t)size, s->to);
        fflush(s->to);
    }
    for (ssize_t i = 0; i < size && s->form == OUTPUT_NUMBERED; i++) {
        if (bytes[i] == '\n' || s->length == sizeof s->line)
            print_line(s, rank);
        if (bytes[i] != '\n')
            s->line[s->length++] = bytes[i];
    }
    if (size > 0)
        return;
    if (s->length)
        print_line(s, rank);
    close(s->fd);
    s->fd = -1;
}
