/* SPDX-License-Identifier: Apache-2.0 */
#include "key.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void td_key_print(const uint8_t key[TD_KEY_BYTES], char text[TD_KEY_TEXT])
{
    sodium_bin2hex(text, TD_KEY_TEXT, key, TD_KEY_BYTES);
}

bool td_key_read(const char *text, size_t length, uint8_t key[TD_KEY_BYTES])
{
    size_t size = 0;
    return length == TD_KEY_TEXT - 1 &&
           sodium_hex2bin(key, TD_KEY_BYTES, text, length, NULL, &size, NULL) == 0 &&
           size == TD_KEY_BYTES;
}

void td_key_random(uint8_t *bytes, size_t size)
{
    randombytes_buf(bytes, size);
}

void td_key_public(const uint8_t secret[TD_KEY_BYTES], uint8_t public_key[TD_KEY_BYTES])
{
    crypto_scalarmult_base(public_key, secret);
}

void td_key_wipe(void *memory, size_t size)
{
    sodium_memzero(memory, size);
}

static bool write_all(int fd, const char *text, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t written = write(fd, text + done, size - done);
        if (written < 0 && errno != EINTR)
            return false;
        done += written > 0 ? (size_t)written : 0;
    }
    return fsync(fd) == 0;
}

/* write_new writes a file that must not exist yet. On an error it removes the file. */
static bool write_new(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return false;
    bool good = write_all(fd, text, strlen(text));
    int error = errno;
    if (close(fd) != 0 && good) {
        good = false;
        error = errno;
    }
    if (!good)
        unlink(path);
    errno = error;
    return good;
}

bool td_key_write(const char *path, const uint8_t secret[TD_KEY_BYTES], bool replaces)
{
    char digits[TD_KEY_TEXT], text[TD_KEY_TEXT + 100], fresh[1024];
    td_key_print(secret, digits);
    snprintf(text, sizeof text, "# secret key of a torusd: keep it on its node\nsecret %s\n",
             digits);
    bool good = false;
    if (!replaces) {
        good = write_new(path, text);
    } else if (snprintf(fresh, sizeof fresh, "%s.new", path) >= (int)sizeof fresh) {
        errno = ENAMETOOLONG;
    } else if (write_new(fresh, text) && !(good = rename(fresh, path) == 0)) {
        int error = errno;
        unlink(fresh);
        errno = error;
    }
    td_key_wipe(digits, sizeof digits);
    td_key_wipe(text, sizeof text);
    return good;
}
