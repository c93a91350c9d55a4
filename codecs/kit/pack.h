/* Codes of 1 to 16 bits, one after another: code i is in bits [i bits, (i + 1) bits) of the stream,
 * least significant bit of the first byte first. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/** Bytes that n codes take: ceil(n bits / 8). n bits must fit size_t. */
static inline size_t strait_packed_bytes(size_t n, unsigned bits)
{
    return n / 8 * bits + (n % 8 * bits + 7) / 8;
}

/** Bits needed for codes 0 .. n_codes - 1: ceil(log2 n_codes), at least 1. */
static inline unsigned strait_code_bits(uint32_t n_codes)
{
    unsigned bits = 1;
    while (n_codes > (uint32_t)1 << bits)
        bits++;
    return bits;
}

/** Pack n codes.
 *  Out:     out  strait_packed_bytes(n, bits); the last byte is padded with zeros
 *  In:      codes below 2^bits, bits from 1 to 16 */
void strait_pack(unsigned char *out, const uint16_t *codes, size_t n, unsigned bits);
/** The inverse: reads exactly strait_packed_bytes(n, bits). */
void strait_unpack(uint16_t *codes, const unsigned char *in, size_t n, unsigned bits);
