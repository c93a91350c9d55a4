/* dfloat: floats as exponents and raw bits, or as ways from a reference. */
#include "dfloat_values.h"

/* --- exponents ------------------------------------------------------------------------------ */

STRAIT_CLONED
static uint32_t lower_bits(const float *x, size_t n)
{
    uint32_t any = 0;
    for (size_t i = 0; i < n; i++)
        any |= strait_bits_of(x[i]);
    return any & 0xffffu;
}

STRAIT_CLONED
static void exponents(uint8_t *out, const float *x, size_t n, bool rounds)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(dfloat_bits(x[i], rounds) >> 23);
}

STRAIT_CLONED
static size_t count(const uint8_t *symbols, size_t n, uint8_t symbol)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += symbols[i] == symbol;
    return found;
}

struct dfloat_form dfloat_exponents(uint8_t *symbols, const float *x, size_t n, bool whole)
{
    struct dfloat_form f = {.rounds = !whole, .halves = whole && lower_bits(x, n) != 0};
    exponents(symbols, x, n, f.rounds);
    f.zeros = count(symbols, n, 0) > n / 64 && count(symbols, n, DFLOAT_ZERO) == 0;
    for (size_t i = 0; i < n && f.zeros; i++)
        symbols[i] = dfloat_bits(x[i], f.rounds) == 0 ? DFLOAT_ZERO : symbols[i];
    return f;
}

size_t dfloat_raw_bytes(const uint8_t *symbols, size_t n, struct dfloat_form form)
{
    const size_t n_raw = form.zeros ? n - count(symbols, n, DFLOAT_ZERO) : n;
    return n_raw * (form.halves ? 3 : 1);
}

void dfloat_put_raw(struct strait_writer *w, const uint8_t *symbols, const float *x, size_t n,
                    struct dfloat_form form)
{
    const size_t n_bytes = dfloat_raw_bytes(symbols, n, form);
    if (!strait_write_room(w, n_bytes))
        return;
    unsigned char *p = w->p, *low = p + n_bytes / 3;
    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = dfloat_bits(x[i], form.rounds);
        if (form.zeros && symbols[i] == DFLOAT_ZERO)
            continue;
        *p++ = (unsigned char)((bits >> 16 & 0x7fu) | (bits >> 24 & 0x80u));
        if (form.halves) {
            strait_put16(low, (uint16_t)bits);
            low += 2;
        }
    }
    w->p += n_bytes;
}

static float joined(uint8_t exponent, unsigned char raw)
{
    return strait_float_of((uint32_t)(raw & 0x80) << 24 | (uint32_t)exponent << 23 |
                           (uint32_t)(raw & 0x7f) << 16);
}

STRAIT_CLONED
static void join(float *y, const uint8_t *exponent, const unsigned char *raw, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = joined(exponent[i], raw[i]);
}

bool dfloat_get_raw(struct strait_reader *r, float *y, const uint8_t *symbols, size_t n,
                    struct dfloat_form form)
{
    const size_t n_bytes = dfloat_raw_bytes(symbols, n, form);
    const unsigned char *p = strait_read_bytes(r, n_bytes);
    if (!p)
        return false;
    if (!form.zeros && !form.halves) {
        join(y, symbols, p, n);
        return true;
    }
    const unsigned char *low = p + n_bytes / 3;
    for (size_t i = 0; i < n; i++) {
        y[i] = 0;
        if (form.zeros && symbols[i] == DFLOAT_ZERO)
            continue;
        y[i] = joined(symbols[i], *p++);
        if (form.halves) {
            y[i] = strait_float_of(strait_bits_of(y[i]) | strait_get16(low));
            low += 2;
        }
    }
    return true;
}

/* --- ways ----------------------------------------------------------------------------------- */

/* A float's place in the order of all floats, -0 before 0. */
static inline uint32_t place_of(uint32_t bits)
{
    return bits ^ ((uint32_t)((int32_t)bits >> 31) | 0x80000000u);
}

static inline uint32_t bits_at(uint32_t place)
{
    return place ^ (((place >> 31) - 1u) | 0x80000000u);
}

/* The way from one float to another, modulo 2^32, as 0, 1, 2, ... for 0, -1, 1, ...; its unit is
 * 2^shift of the float's last place. */
static inline uint32_t way(uint32_t bits, uint32_t from, unsigned shift)
{
    const int32_t step =
        (int32_t)(((place_of(bits) >> shift) - (place_of(from) >> shift)) << shift);
    return (uint32_t)(step >> shift) << 1 ^ (uint32_t)(step >> 31);
}

static inline uint32_t follow(uint32_t way, uint32_t from, unsigned shift)
{
    const uint32_t step = way >> 1 ^ -(way & 1);
    return bits_at(((place_of(from) >> shift) + step) << shift) & (UINT32_MAX << shift);
}

static inline unsigned raw_bits(unsigned symbol)
{
    return symbol < DFLOAT_DIRECT ? 0 : 4 + (symbol - DFLOAT_DIRECT) / 4;
}

static inline unsigned symbol_of(uint32_t v)
{
    if (v < DFLOAT_DIRECT)
        return v;
    const unsigned length = 32 - (unsigned)__builtin_clz(v);
    return DFLOAT_DIRECT + (length - 7) * 4 + (v >> (length - 3) & 3);
}

/* What a symbol stands for, without its raw bits. */
static inline uint32_t base_of(unsigned symbol)
{
    return symbol < DFLOAT_DIRECT ? symbol : (4u | (symbol & 3)) << raw_bits(symbol);
}

static unsigned shift_of(struct dfloat_form form)
{
    return form.halves ? 0 : 16;
}

void dfloat_ways(uint8_t *symbols, const float *x, const float *from, size_t n,
                 struct dfloat_form form)
{
    for (size_t i = 0; i < n; i++)
        symbols[i] = (uint8_t)symbol_of(
            way(dfloat_bits(x[i], form.rounds), strait_bits_of(from[i]), shift_of(form)));
}

size_t dfloat_way_bytes(const uint8_t *symbols, size_t n)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < n; i++)
        bits += raw_bits(symbols[i]);
    return (size_t)((bits + 7) / 8);
}

void dfloat_put_ways(struct strait_writer *w, const uint8_t *symbols, const float *x,
                     const float *from, size_t n, struct dfloat_form form)
{
    uint64_t held = 0;
    unsigned n_held = 0;
    for (size_t i = 0; i < n && !w->full; i++) {
        const unsigned bits = raw_bits(symbols[i]);
        const uint32_t v =
            way(dfloat_bits(x[i], form.rounds), strait_bits_of(from[i]), shift_of(form));
        held |= (uint64_t)(v & ((1u << bits) - 1)) << n_held;
        for (n_held += bits; n_held >= 8; n_held -= 8, held >>= 8)
            strait_write_u8(w, held & 255);
    }
    if (n_held > 0)
        strait_write_u8(w, held & 255);
}

void dfloat_follow(float *y, const float *from, const uint8_t *symbols, const unsigned char *raw,
                   size_t raw_bytes, size_t n, struct dfloat_form form)
{
    const unsigned char *end = raw + raw_bytes;
    uint64_t held = 0;
    unsigned n_held = 0;
    for (size_t i = 0; i < n; i++) {
        const unsigned bits = raw_bits(symbols[i]);
        for (; n_held < bits && raw < end; n_held += 8)
            held |= (uint64_t)*raw++ << n_held;
        const uint32_t v = base_of(symbols[i]) | (uint32_t)(held & ((1u << bits) - 1));
        held >>= bits;
        n_held -= bits;
        y[i] = strait_float_of(follow(v, strait_bits_of(from[i]), shift_of(form)));
    }
}
