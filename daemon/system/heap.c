/* SPDX-License-Identifier: Apache-2.0 */
#include "heap.h"

#include <malloc.h>
#include <stdlib.h>

enum {
    LARGEST = 1 << 20, /* of a block that a heap keeps */
    KEPT = 128 << 20,  /* at the end of a heap */
    FREED = 128 << 10, /* glibc looks at the end of a heap when so large a block is freed */
};

void td_heap_keep(void)
{
    mallopt(M_MMAP_THRESHOLD, LARGEST);
    mallopt(M_TRIM_THRESHOLD, KEPT);
}

void td_heap_return(void)
{
    mallopt(M_TRIM_THRESHOLD, 2 * FREED);
    void *volatile block = malloc(FREED);
    free(block);
    mallopt(M_TRIM_THRESHOLD, KEPT);
}
