/* SPDX-License-Identifier: Apache-2.0 */
/* .npy files: reading of every element type, order and version; reading of written files; errors
 * with the name of the file. */
#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "npy.h"

static char file[64];
static struct npy npy;

static int make_file(void **state)
{
    (void)state;
    snprintf(file, sizeof file, "/tmp/test_npy.XXXXXX");
    int fd = mkstemp(file);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(file);
}

static void put(int version, const char *header, const void *data, size_t bytes)
{
    size_t length = strlen(header);
    unsigned char start[12] = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0};
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    start[8] = (unsigned char)(length & 0xff);
    start[9] = (unsigned char)(length >> 8);
    assert_int_equal(fwrite(start, version == 1 ? 10 : 12, 1, f), 1);
    assert_int_equal(fwrite(header, 1, length, f), length);
    assert_int_equal(fwrite(data, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
}

static void put_type(const char *type, const void *data, size_t bytes, unsigned count)
{
    char header[128];
    snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (%u,), }\n",
             type, count);
    put(1, header, data, bytes);
}

/* reads checks that one element of `type` with these bytes is re + im i. */
static void reads(const char *type, const void *data, size_t bytes, double re, double im)
{
    put_type(type, data, bytes, 1);
    double *z = npy_load(file, &npy);
    if (!z)
        fail_msg("%s: %s", type, npy.text);
    assert(z);
    if (z[0] != re || z[1] != im)
        fail_msg("%s: %.17g %.17g", type, z[0], z[1]);
    free(z);
}

static void refused(const char *part)
{
    int fd = npy_open(file, &npy);
    if (fd >= 0)
        fail_msg("taken, but should say: %s", part);
    if (!strstr(npy.text, part) || !strstr(npy.text, "/tmp/test_npy"))
        fail_msg("says: %s", npy.text);
}

static void integers_of_either_byte_order_are_read(void **state)
{
    (void)state;
    reads("|i1", "\xfe", 1, -2, 0);
    reads("|u1", "\xfe", 1, 254, 0);
    reads("|b1", "\x01", 1, 1, 0);
    reads("<i2", "\xfe\xff", 2, -2, 0);
    reads(">i2", "\xff\xfe", 2, -2, 0);
    reads("<u2", "\xfe\xff", 2, 65534, 0);
    reads("<i4", "\x00\x00\x00\x80", 4, -2147483648.0, 0);
    reads(">u4", "\x80\x00\x00\x00", 4, 2147483648.0, 0);
    reads("<i8", "\xff\xff\xff\xff\xff\xff\xff\xff", 8, -1, 0);
    reads(">i8", "\x00\x00\x00\x00\x00\x00\x01\x00", 8, 256, 0);
    reads("<u8", "\x00\x00\x00\x00\x00\x00\x00\x80", 8, 9223372036854775808.0, 0);
}

static void floats_and_complex_numbers_of_either_byte_order_are_read(void **state)
{
    (void)state;
    reads("<f4", "\x00\x00\xc0\x3f", 4, 1.5, 0);
    reads(">f4", "\x3f\xc0\x00\x00", 4, 1.5, 0);
    reads("<f8", "\x00\x00\x00\x00\x00\x00\xf8\xbf", 8, -1.5, 0);
    reads(">f8", "\xbf\xf8\x00\x00\x00\x00\x00\x00", 8, -1.5, 0);
    reads("<c8", "\x00\x00\xc0\x3f\x00\x00\x00\x40", 8, 1.5, 2);
    reads(">c8", "\x3f\xc0\x00\x00\x40\x00\x00\x00", 8, 1.5, 2);
    reads("<c16", "\0\0\0\0\0\0\xf8\x3f\0\0\0\0\0\0\x00\x40", 16, 1.5, 2);
    reads(">c16", "\x3f\xf8\0\0\0\0\0\0\x40\x00\0\0\0\0\0\0", 16, 1.5, 2);
}

static void every_version_of_the_header_is_read(void **state)
{
    (void)state;
    for (int version = 1; version <= 3; version++) {
        put(version, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }\n", "abcdef", 6);
        double *z = npy_load(file, &npy);
        assert_non_null(z);
        assert_int_equal(npy.axes, 2);
        assert_int_equal(npy.size[1], 3);
        assert_true(z[10] == 'f');
        free(z);
    }
}

static void fortran_order_is_seen_transposed(void **state)
{
    (void)state;
    put(1, "{'shape': (2L, 3L), 'fortran_order': True, 'descr': '|u1'}", "abcdef", 6);
    double *z = npy_load(file, &npy);
    assert_non_null(z);
    assert_true(npy.fortran);
    assert_int_equal(npy.size[0], 3);
    assert_int_equal(npy.size[1], 2);
    assert_int_equal(npy.shape[0], 2);
    free(z);
}

static void a_part_is_read_alone(void **state)
{
    float part[4] = {0};
    (void)state;
    put_type("|u1", "abcdef", 6, 6);
    int fd = npy_open(file, &npy);
    assert_true(fd >= 0);
    assert_true(npy_read(fd, &npy, 3, 2, true, part));
    assert_true(part[0] == 'd' && part[1] == 0 && part[2] == 'e');
    assert_int_equal(close(fd), 0);
}

static void what_is_written_can_be_read(void **state)
{
    enum { COUNT = 5 * 4001 }; /* more than one window */
    static float in[2 * COUNT];
    (void)state;
    for (int i = 0; i < 2 * COUNT; i++)
        in[i] = (float)i / 4;
    for (int real = 0; real < 2; real++) {
        struct npy out = {.axes = 2, .shape = {5, 4001}, .count = COUNT};
        npy_become(&out, (struct npy_form){.real = real, .single = true});
        int fd = npy_create(file, &out);
        assert_true(fd >= 0);
        assert_int_equal(out.data % 64, 0);
        assert_true(npy_write(fd, &out, 7, COUNT - 7, true, in + 14));
        assert_true(npy_write(fd, &out, 0, 7, true, in));
        assert_int_equal(close(fd), 0);
        double *z = npy_load(file, &npy);
        assert_non_null(z);
        assert_int_equal(npy.kind, real ? 'f' : 'c');
        assert_true(npy_is_single(&npy));
        for (int i = 0; i < COUNT; i++)
            if (z[2 * i] != (double)in[2 * i] || z[2 * i + 1] != (real ? 0 : (double)in[2 * i + 1]))
                fail_msg("element %d", i);
        free(z);
    }
}

/* sized checks the size of an element of `type`, and that the type is written unchanged. */
static void sized(const char *type, size_t bytes)
{
    char header[512], again[64];
    static const char zeros[4096];
    struct npy copy;
    snprintf(header, sizeof header,
             "{'fortran_order': False, 'descr': %s, 'shape': (3,), 'more': {'shape': 7}, }\n",
             type);
    put(3, header, zeros, 3 * bytes);
    int fd = npy_open_any(file, &npy);
    if (fd < 0)
        fail_msg("%s: %s", type, npy.text);
    assert_int_equal(npy.item, bytes);
    assert_int_equal(npy.count, 3);
    assert_string_equal(npy.type, type);
    assert_int_equal(close(fd), 0);
    snprintf(again, sizeof again, "%.50s.again", file);
    fd = npy_create(again, &npy);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    fd = npy_open_any(again, &copy);
    if (fd < 0)
        fail_msg("%s: %s", type, copy.text);
    assert_string_equal(copy.type, type);
    assert_int_equal(copy.version, 3);
    assert_int_equal(copy.item, bytes);
    assert_int_equal(close(fd), 0);
    assert_int_equal(unlink(again), 0);
}

static void elements_that_are_no_numbers_have_a_size(void **state)
{
    (void)state;
    sized("'<f8'", 8);
    sized("'<f2'", 2);
    sized("'<f16'", 16);
    sized("'|S7'", 7);
    sized("'<U5'", 20);
    sized("'|V3'", 3);
    sized("'<M8[ns]'", 8);
    sized("[('a', '<f4')]", 4);
    sized("[('a', '<f4'), ('b', '|u1', (3,)), ('', '|V1'), ('c', '<i2', (2, 5))]", 28);
    sized("[('shape', '|u1'), (\"it's\", '<c16')]", 17);
}

static void refused_any(const char *type, const char *part)
{
    char header[128];
    snprintf(header, sizeof header, "{'descr': %s, 'fortran_order': False, 'shape': (1,), }\n",
             type);
    put(1, header, "", 0);
    if (npy_open_any(file, &npy) >= 0)
        fail_msg("%s is taken", type);
    if (!strstr(npy.text, part))
        fail_msg("says: %s", npy.text);
}

static void elements_without_a_size_are_refused(void **state)
{
    (void)state;
    refused_any("'|O'", "Python objects");
    refused_any("'|S0'", "unknown element type");
    refused_any("'<x8'", "unknown element type");
    refused_any("17", "cannot be read");
    refused_any("[]", "no bytes");
    refused_any("[('a', [('b', '<f4')])]", "fields in fields");
    refused_any("[('a', '<f4', (0,))]", "invalid size");
    refused_any("[('a', '<f4', (1073741824, 1073741824))]", "invalid size");
    refused_any("[('a', '<f4'", "cannot be read");
    refused_any("[(17, '<f4')]", "cannot be read");
}

static void wrong_files_are_refused_with_a_sentence(void **state)
{
    (void)state;
    put(4, "{}", "", 0);
    refused("version 4");
    put(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (1,), }", "ab", 2);
    refused("type f2 are not supported");
    put(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "abcd", 4);
    refused("not one number");
    put(1, "{'descr': '|u1', 'fortran_order': False}", "a", 1);
    refused("no shape");
    put(1, "{'descr': '|u1', 'shape': (1,), }", "a", 1);
    refused("no memory order");
    put(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2", "abcd", 4);
    refused("no closing parenthesis");
    put(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (-1,), }", "a", 1);
    refused("cannot be read");
    put(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1), }", "a", 1);
    refused("more than 6 axes");
    put(1, "{'descr': '<c16', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", "a",
        1);
    refused("overflows");
    put(1, "{'descr': '<u4', 'fortran_order': False, 'shape': (2,), }", "abcdefg", 7);
    refused("but its shape needs");
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    assert_true(fputs("PK\3\4 a zip file, not an array", f) >= 0);
    assert_int_equal(fclose(f), 0);
    refused("not a .npy file");
}

static void a_folder_is_no_file(void **state)
{
    (void)state;
    assert_int_equal(npy_open("/", &npy), -1);
    assert_non_null(strstr(npy.text, "/: this is a directory"));
}

static void a_file_that_is_not_there_is_named(void **state)
{
    (void)state;
    assert_int_equal(npy_open("/nonexistent/array.npy", &npy), -1);
    assert_non_null(strstr(npy.text, "/nonexistent/array.npy: No such file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_of_either_byte_order_are_read),
        cmocka_unit_test(floats_and_complex_numbers_of_either_byte_order_are_read),
        cmocka_unit_test(every_version_of_the_header_is_read),
        cmocka_unit_test(fortran_order_is_seen_transposed),
        cmocka_unit_test(a_part_is_read_alone),
        cmocka_unit_test(what_is_written_can_be_read),
        cmocka_unit_test(elements_that_are_no_numbers_have_a_size),
        cmocka_unit_test(elements_without_a_size_are_refused),
        cmocka_unit_test(wrong_files_are_refused_with_a_sentence),
        cmocka_unit_test(a_folder_is_no_file),
        cmocka_unit_test(a_file_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
