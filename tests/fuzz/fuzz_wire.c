/* SPDX-License-Identifier: Apache-2.0 */
/* Decoders: requests, replies, tree messages, handshakes and packet headers (wire/feed.h). The
 * first byte chooses. */
#include "wire/feed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0)
        feed(data[0] % FEED_FORMS, data + 1, size - 1);
    return 0;
}
