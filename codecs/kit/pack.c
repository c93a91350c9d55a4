/* Codes of 1 to 16 bits: four codes of 16 bits fill one word, which is compacted or expanded in two
 * steps of masks and shifts; eight codes fill `bits` bytes. */
#include "pack.h"
#include <string.h>
#include "core/bytes.h"
#include "core/host.h"

enum { PIECE = 1024, WORDS = PIECE / 4, SLACK_BYTES = 16 };

STRAIT_INLINE uint64_t word_of(const uint16_t *c)
{
    return (uint64_t)c[0] | (uint64_t)c[1] << 16 | (uint64_t)c[2] << 32 | (uint64_t)c[3] << 48;
}

STRAIT_INLINE void put_word(unsigned char *p, uint64_t w)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(p, &w, sizeof(w));
#else
    strait_put64(p, w);
#endif
}

STRAIT_CLONED
static void squeeze(uint64_t *words, const uint16_t *codes, size_t n_words, unsigned bits)
{
    const uint64_t even = 0x0000ffff0000ffffu;
    for (size_t i = 0; i < n_words; i++) {
        const uint64_t w = word_of(codes + 4 * i);
        const uint64_t pairs = (w & even) | (w >> 16 & even) << bits;
        words[i] = (pairs & 0xffffffffu) | pairs >> 32 << (2 * bits);
    }
}

STRAIT_CLONED
static void stretch(uint16_t *codes, const uint64_t *words, size_t n_words, unsigned bits)
{
    const uint64_t one = ((uint64_t)1 << bits) - 1;
    const uint64_t pair = ((uint64_t)1 << (2 * bits)) - 1;
    for (size_t i = 0; i < n_words; i++) {
        const uint64_t a = words[i] & pair, b = words[i] >> (2 * bits) & pair;
        codes[4 * i] = (uint16_t)(a & one);
        codes[4 * i + 1] = (uint16_t)(a >> bits);
        codes[4 * i + 2] = (uint16_t)(b & one);
        codes[4 * i + 3] = (uint16_t)(b >> bits);
    }
}

STRAIT_CLONED
static void narrow(unsigned char *out, const uint16_t *codes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (unsigned char)codes[i];
}

STRAIT_CLONED
static void widen(uint16_t *codes, const unsigned char *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        codes[i] = in[i];
}

/* Up to PIECE codes; a last group of fewer than eight is padded with zeros. */
static void pack_piece(unsigned char *out, const uint16_t *codes, size_t n, unsigned bits)
{
    uint64_t words[WORDS + 2];
    unsigned char bytes[2 * PIECE + SLACK_BYTES];
    uint16_t last[8] = {0};
    squeeze(words, codes, n / 8 * 2, bits);
    if (n % 8 != 0) {
        memcpy(last, codes + n / 8 * 8, n % 8 * sizeof(*codes));
        squeeze(words + n / 8 * 2, last, 2, bits);
    }
    for (size_t g = 0; g < (n + 7) / 8; g++) {
        const uint64_t a = words[2 * g], b = words[2 * g + 1];
        unsigned char *p = bytes + g * bits;
        put_word(p, bits == 16 ? a : a | b << (4 * bits));
        if (bits > 8)
            put_word(p + 8, bits == 16 ? b : b >> (64 - 4 * bits));
    }
    memcpy(out, bytes, strait_packed_bytes(n, bits));
}

static void unpack_piece(uint16_t *codes, const unsigned char *in, size_t n, unsigned bits)
{
    uint64_t words[WORDS + 2];
    unsigned char bytes[2 * PIECE + 2 * SLACK_BYTES];
    uint16_t last[8];
    const size_t n_groups = (n + 7) / 8, n_bytes = strait_packed_bytes(n, bits);
    memcpy(bytes, in, n_bytes);
    memset(bytes + n_bytes, 0, SLACK_BYTES);
    for (size_t g = 0; g < n_groups; g++) {
        const unsigned char *p = bytes + g * bits;
        const uint64_t a = strait_get64(p);
        uint64_t b = bits == 16 ? 0 : a >> (4 * bits);
        if (bits > 8)
            b |= strait_get64(p + 8) << (64 - 4 * bits);
        words[2 * g] = a;
        words[2 * g + 1] = b;
    }
    stretch(codes, words, n / 8 * 2, bits);
    if (n % 8 != 0) {
        stretch(last, words + n / 8 * 2, 2, bits);
        memcpy(codes + n / 8 * 8, last, n % 8 * sizeof(*codes));
    }
}

void strait_pack(unsigned char *out, const uint16_t *codes, size_t n, unsigned bits)
{
    if (bits == 8) {
        narrow(out, codes, n);
        return;
    }
    for (size_t i = 0; i < n; i += PIECE)
        pack_piece(out + i / 8 * bits, codes + i, n - i < PIECE ? n - i : PIECE, bits);
}

void strait_unpack(uint16_t *codes, const unsigned char *in, size_t n, unsigned bits)
{
    if (bits == 8) {
        widen(codes, in, n);
        return;
    }
    for (size_t i = 0; i < n; i += PIECE)
        unpack_piece(codes + i, in + i / 8 * bits, n - i < PIECE ? n - i : PIECE, bits);
}
