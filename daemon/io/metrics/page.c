/* SPDX-License-Identifier: Apache-2.0 */
#include "page.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

enum {
    HASH_TEXT = sodium_base64_ENCODED_LEN(crypto_hash_sha256_BYTES, sodium_base64_VARIANT_ORIGINAL)
};

/* hash writes the hash of what is between two tags of the page, as a policy names it. */
static void hash(const char *open, const char *close, char text[HASH_TEXT])
{
    uint8_t digest[crypto_hash_sha256_BYTES];
    const char *begin = strstr(td_page_text, open), *end = begin ? strstr(begin, close) : NULL;
    text[0] = '\0';
    if (!end)
        return;
    begin += strlen(open);
    crypto_hash_sha256(digest, (const uint8_t *)begin, (unsigned long long)(end - begin));
    sodium_bin2base64(text, HASH_TEXT, digest, sizeof digest, sodium_base64_VARIANT_ORIGINAL);
}

void td_page_headers(struct td_page_headers *h)
{
    char script[HASH_TEXT], style[HASH_TEXT];
    hash("<script>", "</script>", script);
    hash("<style>", "</style>", style);
    snprintf(h->policy, sizeof h->policy,
             "default-src 'none'; script-src 'sha256-%s'; style-src 'sha256-%s'; connect-src "
             "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
             script, style);
    const char *const header[] = {"Content-Security-Policy",
                                  h->policy,
                                  "Referrer-Policy",
                                  "no-referrer",
                                  "X-Frame-Options",
                                  "DENY",
                                  NULL};
    memcpy(h->header, header, sizeof header);
}
