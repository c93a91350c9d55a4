/* NumPy's .npy files and raw float32. */
#include "npy.h"
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include "core/bytes.h"
#include "core/names.h"

enum { MAGIC_BYTES = 6, ALIGN_BYTES = 64, WORD_CHARS = 32 };
static const unsigned char magic[MAGIC_BYTES] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/* Whether these bytes begin like a .npy file. */
static bool is_npy(const unsigned char *bytes, size_t len_bytes)
{
    return len_bytes >= MAGIC_BYTES && memcmp(bytes, magic, MAGIC_BYTES) == 0;
}

bool strait_array_count(struct strait_array_form *form)
{
    bool empty = false;
    form->n_elems = 1;
    for (unsigned i = 0; i < form->n_dims; i++)
        empty = empty || form->shape[i] == 0;
    for (unsigned i = 0; i < form->n_dims && !empty; i++)
        if (__builtin_mul_overflow(form->n_elems, form->shape[i], &form->n_elems))
            return false;
    form->n_elems = empty ? 0 : form->n_elems;
    return form->n_elems <= SIZE_MAX / 8;
}

/* --- the header: a small part of Python's literals ---------------------------------------- */

struct text {
    const char *p, *end;
};

static void skip_blanks(struct text *t)
{
    while (t->p < t->end && (*t->p == ' ' || *t->p == '\t' || *t->p == '\n' || *t->p == '\r'))
        t->p++;
}

static bool take(struct text *t, char c)
{
    skip_blanks(t);
    if (t->p == t->end || *t->p != c)
        return false;
    t->p++;
    return true;
}

/* 'word' or "word"; false also if it is longer than any known word. */
static bool take_string(struct text *t, char out[WORD_CHARS])
{
    size_t n = 0;
    skip_blanks(t);
    if (t->p == t->end || (*t->p != '\'' && *t->p != '"'))
        return false;
    const char quote = *t->p++;
    for (; t->p < t->end && *t->p != quote; t->p++) {
        if (n + 1 == WORD_CHARS)
            return false;
        out[n++] = *t->p;
    }
    out[n] = '\0';
    return take(t, quote);
}

static bool take_word(struct text *t, const char *word)
{
    const size_t n = strlen(word);
    skip_blanks(t);
    if ((size_t)(t->end - t->p) < n || memcmp(t->p, word, n) != 0)
        return false;
    t->p += n;
    return true;
}

/* Digits, and Python 2's trailing L. */
static bool take_count(struct text *t, size_t *count)
{
    skip_blanks(t);
    if (t->p == t->end || *t->p < '0' || *t->p > '9')
        return false;
    for (*count = 0; t->p < t->end && *t->p >= '0' && *t->p <= '9'; t->p++)
        if (__builtin_mul_overflow(*count, 10, count) ||
            __builtin_add_overflow(*count, (size_t)(*t->p - '0'), count))
            return false;
    if (t->p < t->end && *t->p == 'L')
        t->p++;
    return true;
}

/* (), (3,), (3, 4) */
static bool take_shape(struct text *t, struct strait_array_form *form)
{
    bool comma = true;
    if (!take(t, '('))
        return false;
    while (!take(t, ')')) {
        if (!comma || form->n_dims == STRAIT_NPY_MAX_DIMS ||
            !take_count(t, &form->shape[form->n_dims]))
            return false;
        form->n_dims++;
        comma = take(t, ',');
    }
    return form->n_dims != 1 || comma; /* "(3)" is a number in Python */
}

static bool take_bool(struct text *t, bool *value)
{
    *value = take_word(t, "True");
    return *value || take_word(t, "False");
}

static int refuse(const char *name, struct strait_error *err, const char *expected,
                  const char *found)
{
    return strait_refuse(err, name, "expected %s, found \"%s\"", expected, found);
}

static int read_descr(struct text *t, struct strait_array_form *form, const char *name,
                      struct strait_error *err)
{
    static const char *const known[] = {"<f4", ">f4", "<f2", ">f2", "<f8", ">f8"};
    char descr[WORD_CHARS];
    if (!take_string(t, descr))
        return strait_refuse(
            err, name, "expected values of float16, float32 or float64, found a structured dtype");
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(descr, known[i]) == 0) {
            memcpy(form->dtype, known[i], sizeof(form->dtype));
            return 0;
        }
    return refuse(name, err, "values of float16, float32 or float64 (\"<f4\")", descr);
}

enum { DESCR = 1, ORDER = 2, SHAPE = 4, ALL = 7 };

static int read_entry(struct text *t, unsigned *seen, bool *fortran, struct strait_array_form *form,
                      const char *name, struct strait_error *err)
{
    char key[WORD_CHARS];
    if (!take_string(t, key) || !take(t, ':'))
        return refuse(name, err, "a NumPy header such as {'descr': '<f4', ...}", "something else");
    const unsigned which = strcmp(key, "descr") == 0           ? DESCR
                           : strcmp(key, "fortran_order") == 0 ? ORDER
                           : strcmp(key, "shape") == 0         ? SHAPE
                                                               : 0;
    if (which == 0 || *seen & which)
        return refuse(name, err, "descr, fortran_order and shape, once each, in the NumPy header",
                      key);
    *seen |= which;
    if (which == DESCR)
        return read_descr(t, form, name, err);
    if (which == ORDER && !take_bool(t, fortran))
        return refuse(name, err, "fortran_order of True or False in the NumPy header",
                      "something else");
    if (which == SHAPE && !take_shape(t, form))
        return refuse(name, err, "a shape of at most 32 dimensions such as (3, 4) in the header",
                      "something else");
    return 0;
}

static int read_header(struct strait_array_form *form, struct text t, const char *name,
                       struct strait_error *err)
{
    unsigned seen = 0;
    bool fortran = false, comma = true;
    if (!take(&t, '{'))
        return refuse(name, err, "a NumPy header such as {'descr': '<f4', ...}", "something else");
    while (!take(&t, '}')) {
        if (!comma)
            return refuse(name, err, "a comma in the NumPy header", "something else");
        if (read_entry(&t, &seen, &fortran, form, name, err) != 0)
            return -1;
        comma = take(&t, ',');
    }
    skip_blanks(&t);
    if (t.p != t.end || seen != ALL)
        return refuse(name, err, "descr, fortran_order and shape, and nothing else, in the header",
                      t.p != t.end ? "more" : "less");
    if (fortran && form->n_dims > 1)
        return strait_refuse(
            err, name,
            "expected values in C order, found Fortran order; save numpy.ascontiguousarray(a)");
    if (!strait_array_count(form))
        return refuse(name, err, "a shape that fits the memory of a machine", "a larger one");
    return 0;
}

static int read_npy(struct strait_array_form *form, size_t *at_bytes, const unsigned char *bytes,
                    size_t len_bytes, const char *name, struct strait_error *err)
{
    char found[64];
    const unsigned version = len_bytes > MAGIC_BYTES + 1 ? bytes[MAGIC_BYTES] : 0;
    const size_t before = version == 1 ? MAGIC_BYTES + 4 : MAGIC_BYTES + 6;
    if (len_bytes < before)
        return refuse(name, err, "a NumPy header", "the end of the file");
    if (version < 1 || version > 3 || bytes[MAGIC_BYTES + 1] != 0) {
        snprintf(found, sizeof(found), "%u.%u", version, (unsigned)bytes[MAGIC_BYTES + 1]);
        return refuse(name, err, "NumPy format 1.0, 2.0 or 3.0", found);
    }
    const size_t header_bytes = version == 1 ? strait_get16(bytes + MAGIC_BYTES + 2)
                                             : strait_get32(bytes + MAGIC_BYTES + 2);
    if (header_bytes > len_bytes - before)
        return strait_refuse(err, name, "expected a NumPy header of %zu bytes, found %zu",
                             header_bytes, len_bytes - before);
    const char *header = (const char *)bytes + before;
    form->npy = true;
    if (read_header(form, (struct text){header, header + header_bytes}, name, err) != 0)
        return -1;
    *at_bytes = before + header_bytes;
    const size_t value_bytes = strait_array_value_bytes(form), left = len_bytes - *at_bytes;
    if (left / value_bytes != form->n_elems || left % value_bytes != 0)
        return strait_refuse(
            err, name, "expected %zu values of %zu bytes behind the NumPy header, found %zu bytes",
            form->n_elems, value_bytes, left);
    return 0;
}

int strait_array_form_read(struct strait_array_form *form, size_t *at_bytes,
                           const unsigned char *bytes, size_t len_bytes, const char *name,
                           struct strait_error *err)
{
    *form = (struct strait_array_form){.dtype = "<f4"};
    *at_bytes = 0;
    if (is_npy(bytes, len_bytes))
        return read_npy(form, at_bytes, bytes, len_bytes, name, err);
    if (len_bytes % 4 != 0)
        return strait_refuse(
            err, name,
            "expected a NumPy file, or raw float32 of a multiple of 4 bytes, found %zu bytes",
            len_bytes);
    form->n_dims = 1;
    form->shape[0] = form->n_elems = len_bytes / 4;
    return 0;
}

/* --- the values --------------------------------------------------------------------------- */

size_t strait_array_value_bytes(const struct strait_array_form *form)
{
    return (size_t)(form->dtype[2] - '0');
}

static uint64_t get_big(const unsigned char *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v = v << 8 | p[i];
    return v;
}

/* IEEE 754 binary16: every value, NaN payloads included, is one of float32. */
static float float_of_half(uint32_t half)
{
    const uint32_t sign = (half & 0x8000) << 16, exponent = half >> 10 & 31, mantissa = half & 1023;
    uint32_t bits = sign | (exponent + 112) << 23 | mantissa << 13;
    if (exponent == 0) {
        const float small = ldexpf((float)mantissa, -24);
        return sign ? -small : small;
    }
    if (exponent == 31)
        bits = sign | 0x7f800000u | mantissa << 13;
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static float float_of_double(uint64_t bits, size_t *n_changed)
{
    double x;
    memcpy(&x, &bits, sizeof(x));
    const float y = (float)x; /* IEEE 754: what is too large becomes infinite */
    *n_changed += !isnan(x) && (double)y != x;
    return y;
}

size_t strait_array_values(float *x, const struct strait_array_form *form,
                           const unsigned char *values)
{
    const size_t n = form->n_elems, value_bytes = strait_array_value_bytes(form);
    const bool big = form->dtype[0] == '>';
    size_t n_changed = 0;
    if (value_bytes == 4 && !big) {
        if (n > 0)
            memmove(x, values, 4 * n); /* the floats of this machine are little-endian */
        return 0;
    }
    for (size_t i = 0; i < n; i++, values += value_bytes) {
        const uint64_t bits = big                ? get_big(values, value_bytes)
                              : value_bytes == 8 ? strait_get64(values)
                                                 : strait_get16(values);
        if (value_bytes == 8)
            x[i] = float_of_double(bits, &n_changed);
        else if (value_bytes == 2)
            x[i] = float_of_half((uint32_t)bits);
        else
            memcpy(&x[i], &(uint32_t){(uint32_t)bits}, 4);
    }
    return n_changed;
}

/* --- writing ------------------------------------------------------------------------------ */

/* "(3, 4)"; one dimension keeps its comma. */
static void shape_text(char *buf, size_t cap, const struct strait_array_form *form)
{
    snprintf(buf, cap, "(");
    for (unsigned i = 0; i < form->n_dims; i++)
        strait_text_add(buf, cap, "%s%zu", i > 0 ? ", " : "", form->shape[i]);
    strait_text_add(buf, cap, form->n_dims == 1 ? ",)" : ")");
}

size_t strait_npy_header(unsigned char out[STRAIT_NPY_HEADER_BYTES],
                         const struct strait_array_form *form)
{
    enum { BEFORE = MAGIC_BYTES + 4 };
    char shape[STRAIT_NPY_HEADER_BYTES], text[STRAIT_NPY_HEADER_BYTES];
    shape_text(shape, sizeof(shape), form);
    const int n = snprintf(text, sizeof(text),
                           "{'descr': '<f4', 'fortran_order': False, 'shape': %.*s, }", 900, shape);
    /* 32 dimensions of 20 digits with their commas take 704 letters */
    const size_t len_bytes = (BEFORE + (size_t)n + 1 + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    assert(n > 0 && len_bytes <= STRAIT_NPY_HEADER_BYTES);
    memset(out, ' ', len_bytes);
    memcpy(out, magic, MAGIC_BYTES);
    out[MAGIC_BYTES] = 1;
    out[MAGIC_BYTES + 1] = 0;
    strait_put16(out + MAGIC_BYTES + 2, (uint16_t)(len_bytes - BEFORE));
    memcpy(out + BEFORE, text, (size_t)n);
    out[len_bytes - 1] = '\n';
    return len_bytes;
}

const char *strait_array_text(char *buf, size_t cap, const struct strait_array_form *form)
{
    const size_t bits = 8 * strait_array_value_bytes(form);
    char shape[STRAIT_NPY_HEADER_BYTES];
    shape_text(shape, sizeof(shape), form);
    snprintf(buf, cap, "%s%s%zu %s", form->npy ? "" : "raw ",
             form->dtype[0] == '>' ? "big-endian float" : "float", bits, shape);
    return buf;
}
