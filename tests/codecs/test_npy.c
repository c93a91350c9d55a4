#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/bytes.h"
#include "codecs/npy.h"
#include "core/random.h"
#include "tests/kit/suite.h"

enum { FILE_BYTES = 4096 };

/* A file as NEP 1 describes it: magic, version, length of the header, the header as given, values.
 * Returns its length. */
static size_t make_npy(unsigned char *file, unsigned version, const char *header,
                       const void *values, size_t value_bytes)
{
    const size_t n = strlen(header), before = version == 1 ? 10 : 12;
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (unsigned char)version;
    file[7] = 0;
    if (version == 1)
        strait_put16(file + 8, (uint16_t)n);
    else
        strait_put32(file + 8, (uint32_t)n);
    memcpy(file + before, header, n);
    if (value_bytes > 0)
        memcpy(file + before + n, values, value_bytes);
    return before + n + value_bytes;
}

/* Exactly as long as the file, so that reading past it is seen. */
static int read_form(struct strait_array_form *form, size_t *at, const unsigned char *file,
                     size_t len, struct strait_error *err)
{
    unsigned char *exact = malloc(len > 0 ? len : 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(exact);
    memcpy(exact, file, len);
    const int status = strait_array_form_read(form, at, exact, len, "a.npy", err);
    free(exact);
    return status;
}

static const char plain[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n";
static const float six[6] = {1, -2, 3.5f, 0, 1e-40f, 65504};

static void versions(void)
{
    for (unsigned version = 1; version <= 3; version++) {
        unsigned char file[FILE_BYTES];
        struct strait_error err = {0};
        struct strait_array_form form;
        size_t at;
        float x[6];
        const size_t len = make_npy(file, version, plain, six, sizeof(six));
        CU_ASSERT_EQUAL_FATAL(read_form(&form, &at, file, len, &err), 0);
        CU_ASSERT(form.npy);
        CU_ASSERT_EQUAL(form.n_dims, 2);
        CU_ASSERT_EQUAL(form.shape[0], 2);
        CU_ASSERT_EQUAL(form.shape[1], 3);
        CU_ASSERT_EQUAL(form.n_elems, 6);
        CU_ASSERT_EQUAL(at, len - sizeof(six));
        CU_ASSERT_EQUAL(strait_array_values(x, &form, file + at), 0);
        CU_ASSERT_EQUAL(memcmp(x, six, sizeof(six)), 0);
    }
}

/* 1, -2 and the largest half, 65504: 0x3c00, 0xc000, 0x7bff; the least denormal, 2^-24, is 1. */
static void types(void)
{
    static const float expected[4] = {1, -2, 65504, 0x1p-24f};
    static const struct {
        const char *dtype;
        size_t value_bytes;
        const char *values;
    } cases[] = {
        {"<f2", 2, "\x00\x3c\x00\xc0\xff\x7b\x01\x00"},
        {">f2", 2, "\x3c\x00\xc0\x00\x7b\xff\x00\x01"},
        {">f4", 4, "\x3f\x80\0\0\xc0\0\0\0\x47\x7f\xe0\0\x33\x80\0\0"},
        {"<f8", 8,
         "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\xc0\0\0\0\0\0\xfc\xef\x40\0\0\0\0\0\0\x70\x3e"},
        {">f8", 8,
         "\x3f\xf0\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0\x40\xef\xfc\0\0\0\0\0\x3e\x70\0\0\0\0\0\0"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        unsigned char file[FILE_BYTES];
        char header[128];
        struct strait_error err = {0};
        struct strait_array_form form;
        size_t at;
        float x[4];
        snprintf(header, sizeof(header),
                 "{\"shape\": (4L,), \"fortran_order\": True, \"descr\": \"%s\"}", cases[i].dtype);
        const size_t len = make_npy(file, 1, header, cases[i].values, 4 * cases[i].value_bytes);
        CU_ASSERT_EQUAL_FATAL(read_form(&form, &at, file, len, &err), 0);
        CU_ASSERT_STRING_EQUAL(form.dtype, cases[i].dtype);
        CU_ASSERT_EQUAL(strait_array_values(x, &form, file + at), 0);
        CU_ASSERT_EQUAL(memcmp(x, expected, sizeof(x)), 0);
    }
}

/* Every half, against what its bits mean: (1 + m / 1024) 2^(e - 15), and m 2^-24 where e is 0. */
static void halves(void)
{
    struct strait_array_form form = {.dtype = "<f2", .n_elems = 1};
    for (unsigned h = 0; h < 65536; h++) {
        const unsigned char bytes[2] = {h & 255, (unsigned char)(h >> 8)};
        const int e = h >> 10 & 31, m = h & 1023;
        double expected = e == 0 ? ldexp(m, -24) : ldexp(1024 + m, e - 25);
        float x;
        strait_array_values(&x, &form, bytes);
        if (e == 31 && m > 0) {
            CU_ASSERT_FATAL(isnan(x));
            continue;
        }
        if (e == 31)
            expected = INFINITY;
        CU_ASSERT_FATAL((double)x == (h >> 15 ? -expected : expected));
        CU_ASSERT_FATAL(signbit(x) == (int)(h >> 15) || (signbit(x) != 0) == (h >> 15 != 0));
    }
}

/* 0.1 and 2^-200 are no floats, 1e300 is beyond them; 0.5 and NaN are kept. In place, too. */
static void rounded_doubles(void)
{
    const double values[] = {0.1, 0x1p-200, 1e300, 0.5, (double)NAN};
    struct strait_array_form form = {.dtype = "<f8", .n_elems = 5};
    float *x = malloc(sizeof(values));
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    memcpy(x, values, sizeof(values));
    CU_ASSERT_EQUAL(strait_array_values(x, &form, (const unsigned char *)x), 3);
    CU_ASSERT_EQUAL(x[0], 0.1f);
    CU_ASSERT_EQUAL(x[1], 0);
    CU_ASSERT(isinf(x[2]));
    CU_ASSERT_EQUAL(x[3], 0.5f);
    CU_ASSERT(isnan(x[4]));
    free(x);
}

static void shapes(void)
{
    static const struct {
        const char *shape;
        unsigned n_dims;
        size_t n_elems;
    } good[] = {{"()", 0, 1},      {"(6,)", 1, 6},     {"(1, 2, 3)", 3, 6},          {"(0,)", 1, 0},
                {"(2, 3,)", 2, 6}, {"( 3 ,2 )", 2, 6}, {"(99999999999999, 0)", 2, 0}};
    static const char *const bad[] = {
        "(6)",
        "6",
        "(,)",
        "(6,,)",
        "(-6,)",
        "(6.0,)",
        "(2 3)",
        "(6,",
        "(5,)",
        "(7,)",
        "(18446744073709551616,)",  /* 2^64 */
        "(4294967296, 4294967296)", /* 2^64 values */
        "(1152921504606846976, 4)", /* 2^62 values, 2^64 bytes */
        "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,6)", /* 33 dimensions */
    };
    unsigned char file[FILE_BYTES];
    char header[256];
    struct strait_array_form form;
    size_t at;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct strait_error err = {0};
        snprintf(header, sizeof(header), "{'descr': '<f4', 'fortran_order': False, 'shape': %s}",
                 good[i].shape);
        const size_t len = make_npy(file, 1, header, six, 4 * good[i].n_elems);
        CU_ASSERT_EQUAL_FATAL(read_form(&form, &at, file, len, &err), 0);
        CU_ASSERT_EQUAL(form.n_dims, good[i].n_dims);
        CU_ASSERT_EQUAL(form.n_elems, good[i].n_elems);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct strait_error err = {0};
        snprintf(header, sizeof(header), "{'descr': '<f4', 'fortran_order': False, 'shape': %s}",
                 bad[i]);
        CU_ASSERT_EQUAL(
            read_form(&form, &at, file, make_npy(file, 1, header, six, sizeof(six)), &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    }
}

static void bad_headers(void)
{
    static const struct {
        const char *header, *expected;
    } cases[] = {
        {"", "a NumPy header"},
        {"{}", "descr, fortran_order and shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,)} more", "nothing else"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,), 'x': 1}", "once each"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (6,)}", "once each"},
        {"{'descr': '<f4' 'fortran_order': False, 'shape': (6,)}", "a comma"},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (6,)}", "found \"<i4\""},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,)}", "a structured dtype"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (6,)}", "True or False"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", "Fortran order"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "expected 2 values of 4 bytes"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (6,)}", "expected 6 values of 8 bytes"},
        {"{'descr': '<f4", "structured"},
        {"{'descr': '<f4<f4<f4<f4<f4<f4<f4<f4<f4<f4<f4<f4<f4<f4'}", "structured"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        unsigned char file[FILE_BYTES];
        struct strait_error err = {0};
        struct strait_array_form form;
        size_t at;
        const size_t len = make_npy(file, 1, cases[i].header, six, sizeof(six));
        CU_ASSERT_EQUAL(read_form(&form, &at, file, len, &err), -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(err.where, "a.npy");
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].expected));
        if (!strstr(err.text, cases[i].expected))
            fprintf(stderr, "%s: %s\n", cases[i].header, err.text);
    }
}

static void other_versions(void)
{
    static const unsigned char bad[][2] = {{0, 0}, {1, 1}, {4, 0}, {255, 255}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        unsigned char file[FILE_BYTES];
        struct strait_error err = {0};
        struct strait_array_form form;
        size_t at;
        const size_t len = make_npy(file, 1, plain, six, sizeof(six));
        memcpy(file + 6, bad[i], 2);
        CU_ASSERT_EQUAL(read_form(&form, &at, file, len, &err), -1);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "1.0, 2.0 or 3.0"));
    }
}

/* Cut anywhere, or with any one byte changed: an error, or a form that the file really holds. */
static void hostile(void)
{
    unsigned char file[FILE_BYTES];
    struct strait_array_form form;
    size_t at;
    for (unsigned version = 1; version <= 2; version++) {
        const size_t len = make_npy(file, version, plain, six, sizeof(six));
        for (size_t cut = 6; cut < len; cut++) /* before that it is raw float32 */
            CU_ASSERT_EQUAL_FATAL(read_form(&form, &at, file, cut, NULL), -1);
        struct strait_sequence s = strait_sequence_at(version);
        for (int i = 0; i < 20000; i++) {
            unsigned char changed[FILE_BYTES];
            memcpy(changed, file, len);
            for (uint64_t k = strait_sequence_next(&s) % 3; k < 3; k++)
                changed[6 + strait_sequence_next(&s) % (len - 6)] =
                    (unsigned char)strait_sequence_next(&s);
            if (read_form(&form, &at, changed, len, NULL) == 0)
                CU_ASSERT_FATAL(at + form.n_elems * strait_array_value_bytes(&form) == len);
        }
    }
}

static void raw(void)
{
    struct strait_error err = {0};
    struct strait_array_form form;
    size_t at;
    char text[64];
    CU_ASSERT_EQUAL(read_form(&form, &at, (const unsigned char *)six, sizeof(six), &err), 0);
    CU_ASSERT(!form.npy && form.n_dims == 1 && form.n_elems == 6 && at == 0);
    CU_ASSERT_STRING_EQUAL(strait_array_text(text, sizeof(text), &form), "raw float32 (6,)");
    CU_ASSERT_EQUAL(read_form(&form, &at, (const unsigned char *)six, 0, &err), 0);
    CU_ASSERT_EQUAL(form.n_elems, 0);
    CU_ASSERT_EQUAL(read_form(&form, &at, (const unsigned char *)six, 7, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "expected a NumPy file, or raw float32 of a multiple of 4 "
                                     "bytes, found 7 bytes");
}

/* What is written is read back; and (2, 3) takes the bytes that the format prescribes:
 * 10 + 59 letters + the new line are 70, padded to 128. */
static void writes(void)
{
    unsigned char out[STRAIT_NPY_HEADER_BYTES];
    struct strait_array_form form = {.npy = true, .dtype = "<f8", .n_dims = 2, .shape = {2, 3}};
    CU_ASSERT_EQUAL_FATAL(strait_npy_header(out, &form), 128);
    CU_ASSERT_EQUAL(memcmp(out,
                           "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, "
                           "'shape': (2, 3), }   ",
                           72),
                    0);
    CU_ASSERT_EQUAL(out[127], '\n');
    for (unsigned n_dims = 0; n_dims <= STRAIT_NPY_MAX_DIMS; n_dims++) {
        struct strait_array_form again, largest = {.npy = true, .dtype = "<f4", .n_dims = n_dims};
        size_t at;
        unsigned char file[STRAIT_NPY_HEADER_BYTES + 4] = {0};
        for (unsigned i = 0; i < n_dims; i++) /* 20 digits, and one 0 so that no values follow */
            largest.shape[i] = i + 1 == n_dims ? 0 : SIZE_MAX;
        const size_t len = strait_npy_header(file, &largest);
        CU_ASSERT_EQUAL(len % 64, 0);
        CU_ASSERT_EQUAL_FATAL(read_form(&again, &at, file, len + (n_dims == 0 ? 4 : 0), NULL), 0);
        CU_ASSERT_EQUAL(again.n_dims, n_dims);
        CU_ASSERT_EQUAL(memcmp(again.shape, largest.shape, sizeof(again.shape)), 0);
    }
}

static const struct strait_test tests[] = {
    {"formats 1.0, 2.0 and 3.0 give the values in their shape", versions},
    {"other floats become float32, in either byte order", types},
    {"each of the 65536 halves is what its bits mean", halves},
    {"doubles are rounded, and those that changed are counted", rounded_doubles},
    {"a shape is as the header says, and fits the file", shapes},
    {"a header that says anything else is refused with what was expected", bad_headers},
    {"other versions of the format are refused", other_versions},
    {"a file cut anywhere is refused, and changed bytes are safe", hostile},
    {"anything else is raw float32 if its length is a multiple of 4", raw},
    {"what is written reads back", writes},
};
STRAIT_SUITE("codecs/npy", tests);
