/* Tensor files: NumPy's .npy and raw float32, read from memory.
 *
 * The format of .npy is NEP 1 (numpy.lib.format): magic, version 1.0, 2.0 or 3.0, a header that is
 * a Python dictionary {"descr", "fortran_order", "shape"}, then the values. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"

enum { STRAIT_NPY_MAX_DIMS = 32, STRAIT_NPY_HEADER_BYTES = 1024 };

/* Type and shape of the values in a tensor file. */
struct strait_array_form {
    bool npy;      /* else raw little-endian float32 */
    char dtype[4]; /* as NumPy writes it: "<f4", ">f4", "<f2", ">f2", "<f8", ">f8" */
    unsigned n_dims;
    size_t shape[STRAIT_NPY_MAX_DIMS];
    size_t n_elems; /* the product of the shape; 1 where n_dims is 0 */
};

/** Read the form of a whole file: a .npy by its header, everything else as raw float32.
 *  Out:     form, at_bytes  where the values begin; they end with len_bytes (checked), so n_elems
 *           is no more than the file holds
 *  In:      name  for errors
 *  Returns: 0, or -1 with *err INPUT: a malformed header, another dtype, Fortran order of more than
 *           one dimension, a length that does not fit the shape. Any input bytes are safe */
int strait_array_form_read(struct strait_array_form *form, size_t *at_bytes,
                           const unsigned char *bytes, size_t len_bytes, const char *name,
                           struct strait_error *err);
/** Set n_elems from the shape. False: more than memory could hold. */
bool strait_array_count(struct strait_array_form *form);
/** Bytes of one value in the file: 2, 4 or 8. */
size_t strait_array_value_bytes(const struct strait_array_form *form);
/** Convert the values to float32, rounding to nearest even.
 *  Out:     x  float32[n_elems]; may overlap `values`, at or before it, unless a value has 2 bytes
 *  Returns: how many values changed by rounding (float64 only; NaN does not count) */
size_t strait_array_values(float *x, const struct strait_array_form *form,
                           const unsigned char *values);

/** Write the header of a .npy file, version 1.0, for float32 in C order with this shape, padded to
 *  64 bytes. Returns: bytes written */
size_t strait_npy_header(unsigned char out[STRAIT_NPY_HEADER_BYTES],
                         const struct strait_array_form *form);
/** Describe a form: "float32 (3, 4)", "float64 (10,)", "raw float32 (12,)". Returns: buf */
const char *strait_array_text(char *buf, size_t cap, const struct strait_array_form *form);
