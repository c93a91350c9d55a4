/* Made-up tensors that codecs have to survive, by kind and seed: what the tests of codecs share. */
#pragma once
#include <math.h>
#include <stddef.h>
#include <string.h>
#include "core/random.h"
#ifdef STRAIT_TEST
#include "check.h"
#endif

enum tensor_kind {
    TENSOR_WEIGHTS,   /* normal, 0.02 */
    TENSOR_ROWS,      /* normal with another scale every 200 values, over six decades */
    TENSOR_SPARSE,    /* nine of ten are 0 */
    TENSOR_WALK,      /* a random walk */
    TENSOR_ONES,      /* 1 with a little noise: LayerNorm */
    TENSOR_CONSTANT,  /* 0.37 */
    TENSOR_ZEROS,     /* 0 and -0 */
    TENSOR_DENORMALS, /* below 2^-126 */
    TENSOR_OUTLIERS,  /* one of 97 is 1e30 times as large */
    TENSOR_BROKEN,    /* NaN with payload, both infinities, among weights */
    TENSOR_NOTHING,   /* NaN and infinities alone */
    TENSOR_HUGE,      /* up to the largest float, both signs */
    TENSOR_BITS,      /* any bits at all */
    N_TENSOR_KINDS
};

static inline const char *tensor_kind_name(enum tensor_kind kind)
{
    static const char *const names[N_TENSOR_KINDS] = {
        "weights",   "rows",     "sparse", "walk",    "ones", "constant", "zeros",
        "denormals", "outliers", "broken", "nothing", "huge", "bits"};
    return names[kind];
}

static inline float float_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* Two draws as one of a normal distribution: Box and Muller. */
struct drawn {
    double u, v;
};

static inline struct drawn draw_two(struct strait_sequence *s)
{
    const double u = 1 - strait_sequence_unit(s);
    return (struct drawn){u, strait_sequence_unit(s)};
}

static inline double normal_of(struct drawn d)
{
    return sqrt(-2 * log(d.u)) * cos(6.283185307179586 * d.v);
}

static inline double normal(struct strait_sequence *s)
{
    return normal_of(draw_two(s));
}

static inline float broken_value(struct strait_sequence *s)
{
    const uint64_t r = strait_sequence_next(s);
    if (r % 3 == 0)
        return r & 8 ? INFINITY : -INFINITY;
    return float_of_bits(0x7f800001u | ((uint32_t)(r >> 20) & 0x807ffffeu));
}

static inline void make_tensor(float *x, size_t n, enum tensor_kind kind, uint64_t seed)
{
#ifdef STRAIT_TEST /* not in the fuzzer, which has no suite */
    strait_test_tensor(tensor_kind_name(kind), n, seed);
#endif
    struct strait_sequence s = strait_sequence_at(seed * N_TENSOR_KINDS + (uint64_t)kind);
    double at = 0, scale = 1;
    for (size_t i = 0; i < n; i++) {
        const struct drawn z = draw_two(&s); /* logarithms and cosines only where they count */
        const double u = strait_sequence_unit(&s);
        if (i % 200 == 0)
            scale = pow(10, -6 * u);
        switch (kind) {
        case TENSOR_WEIGHTS:
            x[i] = (float)(0.02 * normal_of(z));
            break;
        case TENSOR_ROWS:
            x[i] = (float)(scale * normal_of(z));
            break;
        case TENSOR_SPARSE:
            x[i] = u < 0.9 ? 0.0f : (float)normal_of(z);
            break;
        case TENSOR_WALK:
            x[i] = (float)(at += 0.01 * normal_of(z));
            break;
        case TENSOR_ONES:
            x[i] = (float)(1 + 0.01 * normal_of(z));
            break;
        case TENSOR_CONSTANT:
            x[i] = 0.37f;
            break;
        case TENSOR_ZEROS:
            x[i] = u < 0.5 ? 0.0f : -0.0f;
            break;
        case TENSOR_DENORMALS:
            x[i] = float_of_bits((uint32_t)strait_sequence_next(&s) & 0x807fffffu);
            break;
        case TENSOR_OUTLIERS:
            x[i] = (float)((i % 97 == 5 ? 1e30 : 1) * normal_of(z));
            break;
        case TENSOR_BROKEN:
            x[i] = i % 13 == 4 ? broken_value(&s) : (float)(0.02 * normal_of(z));
            break;
        case TENSOR_NOTHING:
            x[i] = broken_value(&s);
            break;
        case TENSOR_HUGE:
            x[i] = (float)((u < 0.5 ? -1 : 1) * 3.4e38 * u);
            break;
        default:
            x[i] = float_of_bits((uint32_t)strait_sequence_next(&s));
        }
    }
}
