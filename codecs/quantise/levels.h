/* Values as whole numbers of norm / levels, rounded up or down by chance so that the mean is the
 * value: common to QSGD and linear dithering. */
#pragma once
#include "codecs/kit/chance.h"

enum { STRAIT_MAX_LEVELS = 32767 };
/* The parameters "levels" and "bucket" of both, in this order. */
#define STRAIT_LEVELS_PARAMS(levels_fallback, bucket_doc)                                          \
    {"levels",                                                                                     \
     "values are rounded to multiples of norm / levels",                                           \
     STRAIT_PARAM_INTEGER,                                                                         \
     .min = 1,                                                                                     \
     .max = STRAIT_MAX_LEVELS,                                                                     \
     .fallback = (levels_fallback)},                                                               \
    {                                                                                              \
        "bucket", (bucket_doc), STRAIT_PARAM_INTEGER, .min = 0, .max = 2147483647, .fallback = 512 \
    }

/** Out: codes: zero + q, |q| <= levels, modulo 2^16.
 *  In:  n      at most 4096 values, the first of them number `first` of the draws
 *       norm   not negative, at least every |x| that is finite */
void strait_levels_draw(uint16_t *codes, const float *x, uint32_t n, uint32_t first,
                        struct strait_chance chance, float norm, uint32_t levels, int32_t zero);
