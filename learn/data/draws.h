/* Draws from distributions, from a keyed sequence. They use log, exp and the square root of the C
 * library: the same bits on one machine. */
#pragma once
#include "core/random.h"

/** The sequence of (seed, purpose, a, b). */
static inline struct strait_sequence strait_draws_at(uint64_t seed, const char *purpose, uint64_t a,
                                                     uint64_t b)
{
    return strait_sequence_at(strait_random_bits(seed, purpose, a, b));
}
/** Standard normal. Source: Box and Muller 1958, the cosine alone, so that a draw takes two. */
double strait_draw_normal(struct strait_sequence *s);
/** Gamma of shape alpha > 0 and scale 1. Source: Marsaglia and Tsang 2000, and for alpha < 1 their
 *  power of a uniform draw (section 6). */
double strait_draw_gamma(struct strait_sequence *s, double alpha);
/** An integer in [0, n), n > 0, each equally likely. */
uint64_t strait_draw_below(struct strait_sequence *s, uint64_t n);
