/* sz: frequency tables and the kinds of blocks as bytes. */
#include <assert.h>
#include "core/host.h"
#include "sz_parts.h"

/* Scale n to about the sum `target`, at least 1 each. Products are integers below 2^46, which a
 * double holds exactly and vectors multiply faster. Returns the sum. */
STRAIT_CLONED
static int32_t scale(uint16_t *restrict f, const uint32_t *restrict n, unsigned n_symbols,
                     uint64_t total, uint64_t target)
{
    const uint64_t whole = (target << 32) / total;
    const double factor = (double)whole;
    int32_t sum = 0;
    for (unsigned i = 0; i < n_symbols; i++) {
        const int32_t scaled = (int32_t)((n[i] * factor + 0x1p31) * 0x1p-32);
        const int32_t least = n[i] > 0, here = scaled > least ? scaled : least;
        f[i] = (uint16_t)here;
        sum += here;
    }
    return sum;
}

/* The first and the last of the symbols, which both occur, and the sum of all counts. */
static void normalise(struct sz_freqs *freqs, const uint32_t *n, unsigned low, unsigned high,
                      uint64_t total)
{
    const unsigned end = high + 1;
    memset(freqs->f, 0, low * sizeof(freqs->f[0]));
    memset(freqs->f + end, 0, (256 - end) * sizeof(freqs->f[0]));
    /* Rare symbols round up to 1, at the expense of all others. */
    int32_t target = SZ_PROB, sum = 0;
    for (unsigned tries = 0; tries < 3 && sum != SZ_PROB; tries++) {
        sum = scale(freqs->f + low, n + low, end - low, total, (uint64_t)target);
        target -= sum - SZ_PROB;
    }
    /* Rounding left the sum too large or too small: adjust where a step of one costs least, n *
     * log2(f / (f - 1)), about n / f. */
    while (sum != SZ_PROB) {
        unsigned best = end;
        const bool take = sum > SZ_PROB;
        for (unsigned i = low; i < end; i++) {
            if (freqs->f[i] < (take ? 2 : 1))
                continue;
            if (best == end) {
                best = i;
                continue;
            }
            const uint32_t half = take ? UINT32_MAX : 1; /* at f -+ 1/2 */
            const uint64_t here = (uint64_t)n[i] * (2u * freqs->f[best] + half);
            const uint64_t there = (uint64_t)n[best] * (2u * freqs->f[i] + half);
            if (take ? here < there : here > there)
                best = i;
        }
        freqs->f[best] = (uint16_t)(freqs->f[best] + (take ? -1 : 1));
        sum += take ? -1 : 1;
    }
    /* A frequency of SZ_PROB does not fit 12 bits: give one to a neighbour. */
    if (low == high) {
        freqs->f[low]--;
        freqs->f[low > 0 ? low - 1 : 1]++;
    }
}

void sz_normalise(struct sz_freqs *freqs, const uint32_t *n, unsigned n_symbols)
{
    uint64_t total = 0;
    unsigned low = 0, high = n_symbols - 1;
    for (unsigned i = 0; i < n_symbols; i++)
        total += n[i];
    assert(total > 0);
    for (; n[low] == 0; low++)
        ;
    for (; n[high] == 0; high--)
        ;
    normalise(freqs, n, low, high, total);
}

void sz_normalise_count(struct sz_freqs *freqs, const struct sz_count *c)
{
    normalise(freqs, c->n, c->low, c->high, c->total);
}

/* Bits, lowest first, into bytes, eight of which may be written behind the last. */
struct bit_writer {
    unsigned char *p;
    uint64_t held;
    unsigned n_held;
};

/* At most 56 bits, of which fewer than 8 are held before and after. */
static inline void put_bits(struct bit_writer *b, uint64_t v, unsigned n)
{
    b->held |= v << b->n_held;
    b->n_held += n;
    strait_put64(b->p, b->held);
    b->p += b->n_held >> 3;
    b->held >>= b->n_held & ~7u;
    b->n_held &= 7;
}

static unsigned char *end_of_bits(const struct bit_writer *b)
{
    return b->p + (b->n_held > 0);
}

enum {
    LONGEST_UNARY = 20, /* then 13 plain bits */
    MOST_BITS = 2 * 13 + 20 + 255 * (LONGEST_UNARY + 13),
    MOST_BYTES = MOST_BITS / 8 + 1 /* of a table; kinds take fewer */
};

/* Bits, lowest first; zeros follow the last. At least 56 are held while words can be read. */
struct bit_reader {
    struct strait_reader *r;
    const unsigned char *start, *p; /* of the reader's bytes or a copy; p: behind what is held */
    uint64_t held;
    unsigned n_held;
    unsigned char padded[MOST_BYTES + 16]; /* the reader's last bytes */
};

static inline void hold_bits(struct bit_reader *b)
{
    b->held |= strait_get64(b->p) << b->n_held;
    b->p += (63 - b->n_held) >> 3;
    b->n_held |= 56;
}

static inline void drop_bits(struct bit_reader *b, unsigned n)
{
    b->held >>= n;
    b->n_held -= n;
}

static void bits_begin(struct bit_reader *b, struct strait_reader *r)
{
    const size_t left = (size_t)(r->end - r->p);
    b->r = r;
    b->p = r->p;
    b->held = b->n_held = 0;
    if (left < sizeof(b->padded)) {
        memset(b->padded + left, 0, sizeof(b->padded) - left);
        b->p = memcpy(b->padded, r->p, left);
    }
    b->start = b->p;
}

/* Put the reader behind the bits that were taken; it is bad if it had fewer. */
static void bits_end(struct bit_reader *b)
{
    const size_t n_bits = 8 * (size_t)(b->p - b->start) - b->n_held;
    strait_read_bytes(b->r, (n_bits + 7) / 8);
}

/* At most 56. */
static inline uint32_t get_bits(struct bit_reader *b, unsigned n)
{
    hold_bits(b);
    const uint32_t v = (uint32_t)(b->held & ((UINT64_C(1) << n) - 1));
    drop_bits(b, n);
    return v;
}

enum { LANES = 8 };
typedef int16_t lanes __attribute__((vector_size(2 * LANES)));

/* Of 16 bits all, as the most, 256 of 33, need, so that vectors hold many. Zeros follow v. */
static unsigned rice_bits(const int16_t *v, unsigned n, unsigned k)
{
    lanes sum = {0};
    unsigned bits = 0, i = 0;
    for (; i < n; i += LANES) {
        lanes high;
        memcpy(&high, v + i, sizeof(high));
        high >>= (int16_t)k;
        const lanes is_short = high < LONGEST_UNARY;
        sum += (is_short & (high + (int16_t)(1 + k))) | (~is_short & (LONGEST_UNARY + 13));
    }
    for (unsigned lane = 0; lane < LANES; lane++)
        bits += (unsigned)sum[lane];
    return bits - (i - n) * (1 + k);
}

/* The first of the parameters that take the fewest bits. Each value takes more than k. */
static unsigned best_rice(const int16_t *v, unsigned n)
{
    unsigned best = 0, best_bits = rice_bits(v, n, 0);
    for (unsigned k = 1; k < 12 && n * (k + 1) < best_bits; k++) {
        const unsigned bits = rice_bits(v, n, k);
        best = bits < best_bits ? k : best;
        best_bits = bits < best_bits ? bits : best_bits;
    }
    return best;
}

/* Returns: its bits */
static inline unsigned rice_code(uint64_t *code, uint64_t v, unsigned k)
{
    const unsigned high = (unsigned)(v >> k);
    if (high < LONGEST_UNARY) {
        *code = ((UINT64_C(1) << high) - 1) | (v & ((1u << k) - 1)) << (high + 1);
        return high + 1 + k;
    }
    *code = ((1u << LONGEST_UNARY) - 1) | v << LONGEST_UNARY;
    return LONGEST_UNARY + 13;
}

/* Two at a time, as each waits for the one before. Zeros follow v. */
static void put_rices(struct bit_writer *b, const int16_t *v, unsigned n, unsigned k)
{
    for (unsigned i = 0; i < n; i += 2) {
        uint64_t code, next = 0;
        const unsigned bits = rice_code(&code, (uint64_t)v[i], k);
        const unsigned more = i + 1 < n ? rice_code(&next, (uint64_t)v[i + 1], k) : 0;
        if (bits + more <= 56) {
            put_bits(b, code | next << bits, bits + more);
        } else {
            put_bits(b, code, bits);
            put_bits(b, next, more);
        }
    }
}

static inline uint32_t get_rice(struct bit_reader *b, unsigned k)
{
    hold_bits(b);
    const unsigned high = (unsigned)__builtin_ctzll(~b->held | UINT64_C(1) << LONGEST_UNARY);
    const unsigned n_low = high < LONGEST_UNARY ? k : 13, n_unary = high + (high < LONGEST_UNARY);
    const uint32_t low = (uint32_t)(b->held >> n_unary) & ((1u << n_low) - 1);
    drop_bits(b, n_unary + n_low);
    return high < LONGEST_UNARY ? high << k | low : low;
}

static uint32_t zigzag(int32_t v)
{
    return (uint32_t)v << 1 ^ (uint32_t)(v >> 31);
}

/* Write the frequencies of escapes and zeros, then of one run of symbols; the last of the run
 * follows from the sum. */
void sz_write_freqs(struct strait_writer *w, const struct sz_freqs *freqs)
{
    unsigned char bytes[MOST_BYTES + 8];
    int16_t v[256 + LANES];
    struct bit_writer b = {.p = bytes};
    unsigned low = sz_first_four(freqs);
    low = low < 2 ? 2 : low;
    while (low < 255 && freqs->f[low] == 0)
        low++;
    int32_t before = 0, sum = freqs->f[0] + freqs->f[1] + freqs->f[low];
    unsigned high = low;
    for (; sum < SZ_PROB; sum += freqs->f[++high]) {
        v[high - low] = (int16_t)zigzag(freqs->f[high] - before);
        before = freqs->f[high];
    }
    memset(v + (high - low), 0, LANES * sizeof(v[0]));
    const unsigned best = best_rice(v, high - low);
    for (unsigned i = 0; i < 2; i++) {
        put_bits(&b, freqs->f[i] > 0, 1);
        if (freqs->f[i] > 0)
            put_bits(&b, freqs->f[i], 12);
    }
    put_bits(&b, low, 8);
    put_bits(&b, high, 8);
    put_bits(&b, best, 4);
    put_rices(&b, v, high - low, best);
    strait_write_bytes(w, bytes, (size_t)(end_of_bits(&b) - bytes));
}

bool sz_read_freqs(struct strait_reader *r, struct sz_freqs *freqs)
{
    struct bit_reader b;
    int32_t sum = 0;
    bits_begin(&b, r);
    memset(freqs, 0, sizeof(*freqs));
    for (unsigned i = 0; i < 2; i++)
        if (get_bits(&b, 1)) {
            freqs->f[i] = (uint16_t)get_bits(&b, 12);
            sum += freqs->f[i];
        }
    const unsigned low = get_bits(&b, 8), high = get_bits(&b, 8), k = get_bits(&b, 4);
    if (low < 2 || high < low || k >= 12)
        return false;
    int32_t before = 0;
    for (unsigned i = low; i < high; i++) {
        const uint32_t v = get_rice(&b, k);
        before += (int32_t)(v >> 1) ^ -(int32_t)(v & 1);
        if (before < 0 || before >= SZ_PROB)
            return false;
        freqs->f[i] = (uint16_t)before;
        sum += before;
    }
    bits_end(&b);
    /* A run may have no symbols: low == high with the remainder, possibly 0. */
    if (r->bad || sum > SZ_PROB || SZ_PROB - sum >= SZ_PROB)
        return false;
    freqs->f[high] = (uint16_t)(SZ_PROB - sum);
    return true;
}

static unsigned bits_for(unsigned n)
{
    return n < 2 ? 0 : 32 - (unsigned)__builtin_clz(n - 1);
}

enum { KINDS_PLAIN, KINDS_CODED };

void sz_write_kinds(struct strait_writer *w, const uint8_t *kind, size_t n_blocks, unsigned n_kinds)
{
    if (n_kinds < 2)
        return;
    uint32_t n[256] = {0};
    for (size_t i = 0; i < n_blocks; i++)
        n[kind[i]]++;
    struct sz_freqs freqs;
    struct sz_put_table table;
    uint16_t words[SZ_BLOCKS + 1];
    uint32_t state = SZ_STATE_LOW;
    ptrdiff_t at = SZ_BLOCKS + 1;
    sz_normalise(&freqs, n, n_kinds);
    sz_put_symbols(&table, &freqs);
    for (size_t i = n_blocks; i-- > 0;)
        at = sz_rans_put(&state, words, at, &table, kind[i]);
    const uint16_t *p = words + at;
    const size_t n_words = (size_t)(SZ_BLOCKS + 1 - at);
    const size_t plain_bits = n_blocks * bits_for(n_kinds);
    unsigned char bytes[2 * SZ_BLOCKS + 4 * SZ_KINDS];
    struct strait_writer coded = {.p = bytes, .end = bytes + sizeof(bytes)};
    for (unsigned i = 0; i < n_kinds; i++)
        strait_write_varint(&coded, freqs.f[i]);
    strait_write_varint(&coded, n_words);
    strait_write_u32(&coded, state);
    for (size_t i = 0; i < n_words; i++) {
        strait_write_u8(&coded, p[i] & 255);
        strait_write_u8(&coded, p[i] >> 8);
    }
    const size_t n_coded = (size_t)(coded.p - bytes);
    if (!coded.full && 8 * n_coded < plain_bits) {
        strait_write_u8(w, KINDS_CODED);
        strait_write_bytes(w, bytes, n_coded);
        return;
    }
    strait_write_u8(w, KINDS_PLAIN);
    struct bit_writer b = {.p = bytes};
    for (size_t i = 0; i < n_blocks; i++)
        put_bits(&b, kind[i], bits_for(n_kinds));
    strait_write_bytes(w, bytes, (size_t)(end_of_bits(&b) - bytes));
}

static bool read_coded_kinds(struct strait_reader *r, uint8_t *kind, size_t n_blocks,
                             unsigned n_kinds)
{
    struct sz_freqs freqs = {0};
    uint32_t slots[SZ_PROB];
    uint64_t sum = 0;
    for (unsigned i = 0; i < n_kinds; i++) {
        const uint64_t f = strait_read_varint(r);
        if (f >= SZ_PROB)
            return false;
        freqs.f[i] = (uint16_t)f;
        sum += f;
    }
    const uint64_t n_words = strait_read_varint(r);
    uint32_t state = strait_read_u32(r);
    if (r->bad || sum != SZ_PROB || n_words > n_blocks)
        return false;
    const unsigned char *bytes = strait_read_bytes(r, 2 * (size_t)n_words);
    if (!bytes)
        return false;
    unsigned char padded[2 * SZ_BLOCKS + 2] = {0};
    size_t at = 0;
    memcpy(padded, bytes, 2 * (size_t)n_words);
    sz_get_slots(slots, &freqs);
    for (size_t i = 0; i < n_blocks; i++)
        at = sz_rans_get(&kind[i], &state, padded, at, slots);
    return at == n_words && state == SZ_STATE_LOW;
}

bool sz_read_kinds(struct strait_reader *r, uint8_t *kind, size_t n_blocks, unsigned n_kinds)
{
    memset(kind, 0, n_blocks);
    if (n_kinds < 2)
        return true;
    const unsigned how = strait_read_u8(r);
    if (how == KINDS_CODED)
        return read_coded_kinds(r, kind, n_blocks, n_kinds);
    struct bit_reader b;
    bits_begin(&b, r);
    for (size_t i = 0; i < n_blocks; i++) {
        kind[i] = (uint8_t)get_bits(&b, bits_for(n_kinds));
        if (kind[i] >= n_kinds)
            return false;
    }
    bits_end(&b);
    return how == KINDS_PLAIN && !r->bad;
}
