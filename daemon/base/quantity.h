/* SPDX-License-Identifier: Apache-2.0 */
/* quantity: text forms of sizes and rates. Pure. */
#ifndef TD_BASE_QUANTITY_H
#define TD_BASE_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* td_quantity_parse reads "4096", "64 KiB", "64K", "5MB". K, M, G, T and KiB, ... are powers of
 * 1024; kB, MB, GB and TB are powers of 1000. It returns false if the text is malformed or the
 * value exceeds 64 bits. */
bool td_quantity_parse(const char *text, uint64_t *value);
/* td_quantity_parse_rate does the same and accepts a trailing "/s". */
bool td_quantity_parse_rate(const char *text, uint64_t *value);
/* td_quantity_print writes "512 bytes" or "1.5 KiB"; td_quantity_print_rate writes "5 MB/s". Both
 * return text. */
const char *td_quantity_print(uint64_t bytes, char *text, size_t size);
const char *td_quantity_print_rate(double bytes_per_s, char *text, size_t size);

#endif
