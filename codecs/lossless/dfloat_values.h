/* Inside dfloat: values as symbols, which are coded, and raw bits, which are not. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "codecs/kit/half.h"
#include "core/bytes.h"

enum {
    DFLOAT_ZERO = 254,  /* the exponent that stands for 0 where no value has it */
    DFLOAT_DIRECT = 64, /* ways below are symbols as they are */
};

/* What a tensor is sent as. */
struct dfloat_form {
    bool rounds; /* values to BF16 */
    bool halves; /* lower halves are sent */
    bool zeros;  /* DFLOAT_ZERO is in use: 0 has no raw bits */
};

/** The bits that are sent: of a value that is not BF16 those of the nearest, if it rounds. */
static inline uint32_t dfloat_bits(float x, bool rounds)
{
    const uint32_t bits = strait_bits_of(x), rounded = (uint32_t)strait_bfloat_of(x) << 16;
    return strait_choose_bits(rounds && (bits & 0xffffu) != 0, rounded, bits);
}

/** The form of x, and its exponents as symbols. Without `whole`, it rounds. */
struct dfloat_form dfloat_exponents(uint8_t *symbols, const float *x, size_t n, bool whole);
/** Sign and mantissa of each value, 7 bits and then 16 where there are lower halves. */
void dfloat_put_raw(struct strait_writer *w, const uint8_t *symbols, const float *x, size_t n,
                    struct dfloat_form form);
/** The inverse. False: there are too few bytes. */
bool dfloat_get_raw(struct strait_reader *r, float *y, const uint8_t *symbols, size_t n,
                    struct dfloat_form form);
size_t dfloat_raw_bytes(const uint8_t *symbols, size_t n, struct dfloat_form form);

/** Symbols of the ways from a reference to x. */
void dfloat_ways(uint8_t *symbols, const float *x, const float *from, size_t n,
                 struct dfloat_form form);
/** Bytes of the ways' raw bits. */
size_t dfloat_way_bytes(const uint8_t *symbols, size_t n);
void dfloat_put_ways(struct strait_writer *w, const uint8_t *symbols, const float *x,
                     const float *from, size_t n, struct dfloat_form form);
void dfloat_follow(float *y, const float *from, const uint8_t *symbols, const unsigned char *raw,
                   size_t raw_bytes, size_t n, struct dfloat_form form);
