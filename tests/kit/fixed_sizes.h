/* Codecs whose sizes follow from the shape, as closed forms: what a strategy sends with each of
 * them, of the rows of tests/data/odd-layers.csv. */
#pragma once
#include <math.h>
#include "gradients.h"

/* Codecs whose sizes follow from the shape. All rows go through them: cutoff 0, but those of one
 * dimension, which go as they are behind 8 bytes of the bundle. */
enum { NONE, TOPK, RANDOMK, QSGD, QSGD_7, TERNGRAD, SIGNSGD, EFSIGNSGD, ONEBIT, N_CODECS };
static const char *const codecs[N_CODECS] = {
    [NONE] = "\"none\"",
    [TOPK] =
        "{\"name\":\"topk\",\"ratio\":0.01,\"payload\":\"published\",\"profile\":\"grace-v100\"}",
    [RANDOMK] = "{\"name\":\"randomk\",\"ratio\":0.01,\"profile\":\"grace-v100\"}",
    [QSGD] = "{\"name\":\"qsgd\"}",
    [QSGD_7] = "{\"name\":\"qsgd\",\"levels\":7}",
    [TERNGRAD] = "{\"name\":\"terngrad\"}",
    [SIGNSGD] = "{\"name\":\"signsgd\"}",
    [EFSIGNSGD] = "{\"name\":\"efsignsgd\"}",
    [ONEBIT] = "{\"name\":\"onebit\"}",
};

static inline json_t *codec_json(int codec)
{
    json_t *c = json_loads(codecs[codec], JSON_DECODE_ANY, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    if (json_is_object(c)) {
        json_object_set_new(c, "lossless", json_string("none"));
        json_object_set_new(c, "cutoff", json_integer(0));
    }
    return c;
}

/* Bytes that hold n values of so many bits. */
static inline size_t bits(size_t n, size_t n_bits)
{
    return (n * n_bits + 7) / 8;
}

/* Bytes of n_elems of a row: topk a head of 10 and 8 k, randomk a head of 18 and 4 k. QSGD a head
 * of 9, a norm for each 512 values, and ceil(log2(2 levels + 1)) bits a value: 8 for 127, 4 for 7.
 * TernGrad a head of 7 and five values a byte. Signs a bit a value, behind the id alone, with a
 * scale, with two means. */
static inline size_t piece_bytes(int codec, bool is_vector, size_t n_elems)
{
    const size_t n = n_elems, k = n > 0 ? (size_t)fmax(1, floor((double)n * 0.01)) : 0;
    const size_t encoded[] = {
        [TOPK] = 10 + 8 * k,
        [RANDOMK] = 18 + 4 * k,
        [QSGD] = 9 + 4 * ((n + 511) / 512) + bits(n, 8),
        [QSGD_7] = 9 + 4 * ((n + 511) / 512) + bits(n, 4),
        [TERNGRAD] = 7 + (n + 4) / 5,
        [SIGNSGD] = 1 + bits(n, 1),
        [EFSIGNSGD] = 5 + bits(n, 1),
        [ONEBIT] = 9 + bits(n, 1),
    };
    if (codec == NONE)
        return 4 * n;
    if (n == 0)
        return 0; /* nothing to bundle */
    return 8 + (is_vector ? 4 * n : encoded[codec]);
}

static const size_t rows[ODD_ROWS] = {324, 12, 2112, 64, 2368, 37, 259, 7};
static const bool is_vector[ODD_ROWS] = {false, true, false, true, false, true, false, true};
