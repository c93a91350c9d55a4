/* Keyed random numbers: a draw depends on its key alone, never on the order of drawing. */
#pragma once
#include <stdint.h>

/** 64 random bits for (seed, purpose, a, b); a is usually the rank and b the round. */
uint64_t strait_random_bits(uint64_t seed, const char *purpose, uint64_t a, uint64_t b);
/** The same as a double in [0, 1), 53 bits. */
double strait_random_unit(uint64_t seed, const char *purpose, uint64_t a, uint64_t b);

/* A sequence that starts at a key, for many draws in a stated order (element after element of a
 * tensor). splitmix64 (Steele, Lea, Flood 2014). */
struct strait_sequence {
    uint64_t state;
};
struct strait_sequence strait_sequence_at(uint64_t key);
uint64_t strait_sequence_next(struct strait_sequence *s);
/** A double in [0, 1). */
double strait_sequence_unit(struct strait_sequence *s);
