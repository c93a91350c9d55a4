/* A tensor with the same floats everywhere, for each codec that can be used here. */
#pragma once
#include "codecs/codec.h"
#include "core/random.h"

static inline void for_each_codec(void (*check)(const struct strait_codec_ops *ops))
{
    size_t n;
    const struct strait_codec_ops *const *codecs = strait_codecs(&n);
    for (size_t i = 0; i < n; i++)
        if (!strait_codec_unavailable(codecs[i]))
            check(codecs[i]);
}

static inline struct strait_bound bound_of(const struct strait_codec_ops *ops)
{
    return ops->bounds >> STRAIT_BOUND_RANGE & 1 ? (struct strait_bound){STRAIT_BOUND_RANGE, 1e-3}
                                                 : (struct strait_bound){STRAIT_BOUND_NONE, 0};
}

/* Integers over a power of two: the same floats on every machine, about normal. */
static inline void plain_tensor(float *x, size_t n, uint64_t seed)
{
    struct strait_sequence s = strait_sequence_at(seed);
    for (size_t i = 0; i < n; i++) {
        int64_t sum = 0;
        for (int k = 0; k < 4; k++)
            sum += (int64_t)(strait_sequence_next(&s) >> 52) - 2048;
        x[i] = (float)sum * 0x1p-16f;
    }
}
