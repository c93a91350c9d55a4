#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "codecs/codec.h"
#include "tests/kit/data.h"
#include "tests/kit/example_codec.h"
#include "tests/kit/suite.h"
#include "tests/kit/tensor_kinds.h"

enum { N = 1000, MAX_BYTES = 5 + 2 * N };
static const float step = 1e-4f;

static char *text_of(const char *path)
{
    enum { CAP = 1 << 20 };
    char *text = calloc(1, CAP);
    FILE *in = fopen(path, "r");
    CU_ASSERT_FATAL(text && in);
    CU_ASSERT(fread(text, 1, CAP - 1, in) > 0);
    fclose(in);
    return text;
}

static void shown(void)
{
    char *page = text_of(DATA("docs/adding-a-codec.md"));
    char *code = text_of(DATA("tests/kit/example_codec.c"));
    CU_ASSERT_PTR_NOT_NULL(strstr(page, code));
    free(page);
    free(code);
}

static void *open_fixed(double rounding)
{
    void *state = NULL;
    const double values[] = {1e-4, rounding};
    CU_ASSERT_EQUAL_FATAL(strait_codec_open(&strait_codec_fixed, &state, values, NULL), 0);
    return state;
}

static void encode(void *state, unsigned char out[MAX_BYTES], const float *x, uint64_t key)
{
    struct strait_error err = {0};
    size_t len;
    CU_ASSERT_EQUAL_FATAL(strait_codec_encode(&strait_codec_fixed, state, out, MAX_BYTES, &len, x,
                                              N, (struct strait_request){.key = key}, &err),
                          0);
    CU_ASSERT_EQUAL(len, MAX_BYTES);
}

/* Half a step off at most when rounded to the nearest, one step by chance; clipped at 2047. */
static void rounds(void)
{
    float x[N], y[N];
    unsigned char bytes[MAX_BYTES];
    for (int rounding = 0; rounding < 2; rounding++) {
        void *state = open_fixed(rounding);
        make_tensor(x, N, TENSOR_WEIGHTS, 1);
        x[0] = 1;
        x[1] = -INFINITY;
        x[2] = NAN;
        encode(state, bytes, x, 1);
        CU_ASSERT_EQUAL(strait_codec_fixed.decode(state, y, N, bytes, MAX_BYTES, NULL), 0);
        CU_ASSERT_EQUAL(y[0], 2047 * step);
        CU_ASSERT_EQUAL(y[1], -2047 * step);
        CU_ASSERT_EQUAL(y[2], 0);
        for (size_t i = 3; i < N; i++) /* a float's own rounding beside it */
            CU_ASSERT_FATAL(fabsf(x[i] - y[i]) <= (rounding ? 0.501f : 1.001f) * step);
        strait_codec_fixed.close(state);
    }
}

static void adds(void)
{
    float x[N], y[N], decoded[2][N];
    unsigned char a[MAX_BYTES], b[MAX_BYTES], sum[MAX_BYTES];
    size_t len;
    void *state = open_fixed(1);
    make_tensor(x, N, TENSOR_WEIGHTS, 2);
    encode(state, a, x, 0);
    make_tensor(x, N, TENSOR_WEIGHTS, 3);
    encode(state, b, x, 0);
    CU_ASSERT(strait_codec_fixed.summable(state, a, MAX_BYTES, b, MAX_BYTES));
    CU_ASSERT_EQUAL(
        strait_codec_fixed.add(state, sum, MAX_BYTES, &len, a, MAX_BYTES, b, MAX_BYTES, N, NULL),
        0);
    strait_codec_fixed.decode(state, decoded[0], N, a, MAX_BYTES, NULL);
    strait_codec_fixed.decode(state, decoded[1], N, b, MAX_BYTES, NULL);
    CU_ASSERT_EQUAL(strait_codec_fixed.decode(state, y, N, sum, len, NULL), 0);
    for (size_t i = 0; i < N; i++)
        CU_ASSERT_DOUBLE_EQUAL(y[i], decoded[0][i] + decoded[1][i], 1e-7);
    for (size_t i = 0; i < N; i++)
        x[i] = 1; /* 2047 steps each: 16 of them are 32752, 17 are beyond 32767 */
    encode(state, a, x, 0);
    memcpy(sum, a, MAX_BYTES);
    for (int n = 2; n <= 16; n++)
        CU_ASSERT_EQUAL(strait_codec_fixed.add(state, sum, MAX_BYTES, &len, sum, MAX_BYTES, a,
                                               MAX_BYTES, N, NULL),
                        0);
    CU_ASSERT_EQUAL(
        strait_codec_fixed.add(state, sum, MAX_BYTES, &len, sum, MAX_BYTES, a, MAX_BYTES, N, NULL),
        -1);
    b[1] ^= 1; /* another step */
    CU_ASSERT_FALSE(strait_codec_fixed.summable(state, a, MAX_BYTES, b, MAX_BYTES));
    CU_ASSERT_EQUAL(
        strait_codec_fixed.add(state, sum, MAX_BYTES, &len, a, MAX_BYTES, b, MAX_BYTES, N, NULL),
        -1);
    strait_codec_fixed.close(state);
}

static void refuses(void)
{
    float x[N] = {0}, y[N + 1];
    unsigned char bytes[MAX_BYTES];
    void *state = open_fixed(1);
    encode(state, bytes, x, 0);
    for (size_t len = 0; len < MAX_BYTES; len++)
        CU_ASSERT_EQUAL_FATAL(strait_codec_fixed.decode(state, y, N, bytes, len, NULL), -1);
    CU_ASSERT_EQUAL(strait_codec_fixed.decode(state, y, N + 1, bytes, MAX_BYTES, NULL), -1);
    bytes[0] ^= 1;
    CU_ASSERT_EQUAL(strait_codec_fixed.decode(state, y, N, bytes, MAX_BYTES, NULL), -1);
    strait_codec_fixed.close(state);
}

static const struct strait_test tests[] = {
    {"the walk-through shows this very codec", shown},
    {"values come back within their step, and clipped beyond 2047", rounds},
    {"sums of encoded tensors decode to the sum, and up to 16 fit", adds},
    {"other lengths and other codecs' streams are refused", refuses},
};
STRAIT_SUITE("codecs/example_codec", tests);
