/* Inside dynamiq: a super-group, or a part of one, as codes and back. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "codecs/kit/chance.h"

enum {
    STRAIT_DYNAMIQ_GROUP = 16,  /* values with one scale */
    STRAIT_DYNAMIQ_SUPER = 256, /* with one width, mean and unit of scales */
    STRAIT_DYNAMIQ_WIDTHS = 3,  /* 2, 4 and 8 bits */
    STRAIT_DYNAMIQ_MAX_LEVELS = 128
};

struct strait_dynamiq_levels {
    float levels[STRAIT_DYNAMIQ_WIDTHS][STRAIT_DYNAMIQ_MAX_LEVELS],
        per_gap[STRAIT_DYNAMIQ_WIDTHS][STRAIT_DYNAMIQ_MAX_LEVELS];
};

struct strait_dynamiq_draws {
    struct strait_chance scales, values, shifts;
    int32_t place, n_ranks; /* n_ranks 1: independent */
    uint32_t value, group;  /* the next of the stream's; put counts them up */
};

void strait_dynamiq_levels_init(struct strait_dynamiq_levels *s);
unsigned strait_dynamiq_bits(unsigned width); /* of a value */
/** Of n values' unit, scales and codes. */
size_t strait_dynamiq_bytes(size_t n, unsigned width);
/** Sums of n values and of their squares; those that are not finite count as 0. */
void strait_dynamiq_add_up(double *sum, double *squares, const float *x, size_t n);
/** The n-th of [0, 1) that a rank draws in, before the common shift. */
int32_t strait_dynamiq_place(uint32_t rank, uint32_t n_ranks);
/** Code n values, at most a super-group, as differences from the mean. Returns: the end of out */
unsigned char *strait_dynamiq_put(const struct strait_dynamiq_levels *s, unsigned char *out,
                                  const float *x, size_t n, float mean, unsigned width,
                                  struct strait_dynamiq_draws *chance);
const unsigned char *strait_dynamiq_get(const struct strait_dynamiq_levels *s, float *y, size_t n,
                                        float mean, unsigned width, const unsigned char *in);
