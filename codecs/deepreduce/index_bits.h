/* Numbers of any width up to 32 bits, one after another, most significant bit first. */
#pragma once
#include "core/bytes.h"

struct strait_bit_writer {
    struct strait_writer *w;
    uint64_t held;
    unsigned n_held;
};

/** v < 2^width, width <= 32. */
static inline void strait_put_bits(struct strait_bit_writer *b, uint32_t v, unsigned width)
{
    b->held = b->held << width | v;
    b->n_held += width;
    if (b->n_held >= 32 && strait_write_room(b->w, 4)) {
        const uint32_t four = (uint32_t)(b->held >> (b->n_held - 32));
        strait_put32(b->w->p, __builtin_bswap32(four));
        b->w->p += 4;
    }
    b->n_held &= 31;
}

/** Fill the last byte with zeros. */
static inline void strait_flush_bits(struct strait_bit_writer *b)
{
    const uint64_t left = b->held << (32 - b->n_held);
    for (unsigned i = 0; i < (b->n_held + 7) / 8; i++)
        strait_write_u8(b->w, (unsigned)(left >> (24 - 8 * i)) & 255);
    b->n_held = 0;
}

struct strait_bit_reader {
    const unsigned char *p, *end;
    uint64_t held;
    unsigned n_held;
    bool bad; /* read past the end; such bits read as zeros */
};

static inline struct strait_bit_reader strait_bit_reader_of(const struct strait_reader *r)
{
    return (struct strait_bit_reader){.p = r->p, .end = r->end, .bad = r->bad};
}

static inline void strait_tensor_fill_bits(struct strait_bit_reader *b)
{
    if (b->n_held >= 32)
        return;
    if (b->end - b->p >= 4) {
        b->held = b->held << 32 | __builtin_bswap32(strait_get32(b->p));
        b->p += 4;
        b->n_held += 32;
        return;
    }
    while (b->n_held < 32 && b->p < b->end) {
        b->held = b->held << 8 | *b->p++;
        b->n_held += 8;
    }
}

/** The next `width` <= 32 bits without consuming them; zeros beyond the end. */
static inline uint32_t strait_peek_bits(struct strait_bit_reader *b, unsigned width)
{
    strait_tensor_fill_bits(b);
    const uint64_t mask = ((uint64_t)1 << width) - 1;
    if (b->n_held < width)
        return (uint32_t)(b->held << (width - b->n_held) & mask);
    return (uint32_t)(b->held >> (b->n_held - width) & mask);
}

/** Consume bits, at most as many as the last peek showed. */
static inline void strait_skip_bits(struct strait_bit_reader *b, unsigned width)
{
    b->bad |= b->n_held < width;
    b->n_held = b->bad ? 0 : b->n_held - width;
}

static inline uint32_t strait_get_bits(struct strait_bit_reader *b, unsigned width)
{
    const uint32_t v = strait_peek_bits(b, width);
    strait_skip_bits(b, width);
    return v;
}

/** Continue reading r at the next whole byte. False: bits were missing, or the unused bits are not
 *  zero. */
static inline bool strait_end_bits(struct strait_bit_reader *b, struct strait_reader *r)
{
    const unsigned n_loose = b->n_held % 8;
    const uint64_t loose = b->held >> (b->n_held - n_loose) & (((uint64_t)1 << n_loose) - 1);
    r->p = b->p - b->n_held / 8;
    r->bad |= b->bad || loose != 0;
    return !r->bad;
}
