/* Keyed random numbers by nested splitmix64 sequences: element b of the sequence that starts at
 * element a of the sequence that starts at a hash of seed and purpose. Any element is found without
 * the others, and for a fixed (seed, purpose, a) no two b give the same bits. */
#include <string.h>
#include <xxhash.h>
#include "random.h"

static const uint64_t golden_gamma = 0x9e3779b97f4a7c15u;

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t element(uint64_t start, uint64_t index)
{
    return mix(start + golden_gamma * (index + 1));
}

static double unit(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

uint64_t strait_random_bits(uint64_t seed, const char *purpose, uint64_t a, uint64_t b)
{
    const uint64_t start = XXH3_64bits_withSeed(purpose, strlen(purpose), seed);
    return element(element(start, a), b);
}

double strait_random_unit(uint64_t seed, const char *purpose, uint64_t a, uint64_t b)
{
    return unit(strait_random_bits(seed, purpose, a, b));
}

struct strait_sequence strait_sequence_at(uint64_t key)
{
    return (struct strait_sequence){key};
}

uint64_t strait_sequence_next(struct strait_sequence *s)
{
    s->state += golden_gamma;
    return mix(s->state);
}

double strait_sequence_unit(struct strait_sequence *s)
{
    return unit(strait_sequence_next(s));
}

enum { BEFORE_BITS = 16, SEGMENT_BITS = 24, MESSAGE_BITS = 20 };

uint64_t strait_packet_key(uint64_t seed, int src, int dst, unsigned ordinal)
{
    return strait_random_bits(seed, "packets", (uint64_t)(uint32_t)src << 32 | (uint32_t)dst,
                              ordinal);
}

uint64_t strait_packet_place(uint64_t message, uint64_t segment)
{
    return (message & ((1u << MESSAGE_BITS) - 1)) << SEGMENT_BITS |
           (segment & ((1u << SEGMENT_BITS) - 1));
}

uint64_t strait_packet_number(enum strait_packet_kind kind, uint64_t place, uint64_t before)
{
    return (uint64_t)kind << (MESSAGE_BITS + SEGMENT_BITS + BEFORE_BITS) | place << BEFORE_BITS |
           (before & ((1u << BEFORE_BITS) - 1));
}

uint64_t strait_ack_number(struct strait_ack_count *c, enum strait_packet_kind kind, uint64_t place)
{
    c->n = place == c->place ? c->n + 1 : 0;
    c->place = place;
    return strait_packet_number(kind, place, c->n);
}

double strait_packet_draw(uint64_t key, const char *purpose, int link, uint64_t number)
{
    return strait_random_unit(key, purpose, (uint64_t)link, number);
}
