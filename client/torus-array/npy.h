/* SPDX-License-Identifier: Apache-2.0 */
/* npy: NumPy array files, versions 1 to 3, of up to 6 axes. Elements are integers, floats or
 * complex numbers in either byte order; or opaque elements of any type, which are only moved.
 * Arrays are in the order of the file: a Fortran-order file is a C-order array with the axes
 * reversed. */
#ifndef TORUSCTL_NPY_H
#define TORUSCTL_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NPY_TYPE_MAX = 1024 };

struct npy {
    int version;
    char type[NPY_TYPE_MAX]; /* as written in the file: '<f8' */
    char kind;               /* i u f c b; V: opaque */
    size_t item;             /* bytes per element */
    bool swapped;            /* the byte order is not this machine's */
    bool fortran;
    int axes;
    uint64_t shape[6]; /* as written in the file */
    uint64_t size[6];  /* in the order of the file: reversed for Fortran order */
    uint64_t count;
    size_t data;    /* position of the elements in the file */
    char text[512]; /* the sentence of the last error */
};

/* struct npy_form: format of numbers in memory. */
struct npy_form {
    bool real, single;
};

/* npy_open reads the header. It returns a descriptor, or -1 with the sentence in npy->text.
 * npy_open_any also accepts opaque elements: records, strings, dates. */
int npy_open(const char *path, struct npy *npy);
int npy_open_any(const char *path, struct npy *npy);
/* npy_read reads elements [first, first + count) as complex numbers (float or double). It returns
 * false with npy->text. */
bool npy_read(int fd, struct npy *npy, uint64_t first, uint64_t count, bool single, void *out);
/* npy_decode converts `count` elements to numbers of a form; complex elements to real numbers keep
 * the real part. npy_encode converts numbers to elements of the same width; complex numbers in a
 * file of real elements keep the real part. */
void npy_decode(const struct npy *npy, const void *elements, uint64_t count, struct npy_form form,
                void *out);
void npy_encode(const struct npy *npy, const void *numbers, uint64_t count, struct npy_form form,
                void *elements);
/* npy_form_bytes returns the size of a number. */
size_t npy_form_bytes(struct npy_form form);
/* npy_become sets the element type to numbers of a form, for npy_create. */
void npy_become(struct npy *npy, struct npy_form form);
/* npy_create creates a file with the type and shape of *npy and writes its header. It returns a
 * descriptor, or -1 with npy->text. */
int npy_create(const char *path, struct npy *npy);
/* npy_write writes complex numbers as elements [first, ...) of the file. */
bool npy_write(int fd, struct npy *npy, uint64_t first, uint64_t count, bool single,
               const void *in);
/* npy_is_single returns true for float32 and complex64. */
bool npy_is_single(const struct npy *npy);
/* npy_load returns the whole file as complex doubles, which the caller frees; NULL with npy->text.
 */
double *npy_load(const char *path, struct npy *npy);

#endif
