#include "rank_order.h"
#include <float.h>
#include "index_bits.h"

enum { DIGIT_BITS = 11, N_DIGITS = 1 << DIGIT_BITS, N_PASSES = 3 };

/* Orders as the floats do, highest first; NaN is 0. */
static inline uint32_t key_of(const float *x, bool magnitude)
{
    uint32_t bits;
    memcpy(&bits, x, sizeof(bits));
    const uint32_t size = bits & 0x7fffffffu;
    if (size > 0x7f800000u)
        bits = 0;
    if (magnitude)
        bits &= 0x7fffffffu;
    const uint32_t ascending = bits ^ ((uint32_t) - (int32_t)(bits >> 31) | 0x80000000u);
    return ~ascending;
}

static inline float value_of(uint32_t key)
{
    const uint32_t ascending = ~key;
    const uint32_t bits = ascending ^ (((ascending >> 31) - 1) | 0x80000000u);
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x > FLT_MAX ? FLT_MAX : x < -FLT_MAX ? -FLT_MAX : x;
}

void strait_rank_order_of(struct strait_rank_order *order, float *sorted, const float *v, size_t n,
                          uint64_t *scratch)
{
    uint64_t *from = scratch, *to = scratch + n;
    for (size_t i = 0; i < n; i++)
        from[i] = (uint64_t)key_of(&v[i], order->signs) << 32 | i;
    for (unsigned pass = 0; pass < N_PASSES; pass++) {
        size_t start[N_DIGITS] = {0}, sum = 0;
        const unsigned shift = 32 + pass * DIGIT_BITS;
        for (size_t i = 0; i < n; i++)
            start[from[i] >> shift & (N_DIGITS - 1)]++;
        for (size_t d = 0; d < N_DIGITS; d++) {
            const size_t count = start[d];
            start[d] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++)
            to[start[from[i] >> shift & (N_DIGITS - 1)]++] = from[i];
        uint64_t *const held = from;
        from = to;
        to = held;
    }
    order->n = n;
    for (size_t i = 0; i < n; i++) {
        order->place[i] = (uint32_t)from[i];
        sorted[i] = value_of((uint32_t)(from[i] >> 32));
    }
    for (size_t i = 0; i < n && order->signs; i++)
        order->sign[i] = v[order->place[i]] < 0;
}

unsigned strait_rank_bits(size_t n)
{
    return n < 2 ? 0 : 64 - (unsigned)__builtin_clzll((unsigned long long)(n - 1));
}

size_t strait_rank_order_bytes(size_t n, size_t n_places, bool signs, enum strait_rank_form form)
{
    if (form != STRAIT_RANK_PACKED)
        return (size_t)form * n;
    return (n * (strait_rank_bits(n_places) + signs) + 7) / 8;
}

void strait_rank_order_write(struct strait_writer *w, const struct strait_rank_order *order,
                             size_t n_places, enum strait_rank_form form)
{
    const unsigned width = strait_rank_bits(n_places);
    struct strait_bit_writer bits = {.w = w};
    for (size_t i = 0; i < order->n; i++) {
        const uint32_t place = order->place[i], sign = order->signs ? order->sign[i] : 0;
        if (form == STRAIT_RANK_PACKED) {
            strait_put_bits(&bits, place, width);
            strait_put_bits(&bits, sign, order->signs ? 1 : 0);
        } else if (form == STRAIT_RANK_INT32) {
            strait_write_u32(w, place | sign << 31);
        } else {
            strait_write_u32(w, place);
            strait_write_u32(w, sign << 31);
        }
    }
    if (form == STRAIT_RANK_PACKED)
        strait_flush_bits(&bits);
}

bool strait_rank_order_read(struct strait_reader *r, struct strait_rank_order *order,
                            size_t n_places, enum strait_rank_form form, unsigned char *seen)
{
    const unsigned width = strait_rank_bits(n_places);
    struct strait_reader words = {.p = r->p, .end = r->end, .bad = r->bad};
    struct strait_bit_reader bits = strait_bit_reader_of(r);
    if (order->n > n_places)
        return false;
    memset(seen, 0, (n_places + 7) / 8);
    for (size_t i = 0; i < order->n; i++) {
        uint32_t place, sign = 0;
        if (form == STRAIT_RANK_PACKED) {
            place = strait_get_bits(&bits, width);
            sign = strait_get_bits(&bits, order->signs ? 1 : 0);
        } else {
            place = strait_read_u32(&words);
            const uint32_t top =
                form == STRAIT_RANK_INT64 ? strait_read_u32(&words) : place & 0x80000000u;
            place = form == STRAIT_RANK_INT64 ? place : place & 0x7fffffffu;
            sign = top >> 31;
            if (top << 1 != 0)
                return false;
        }
        if (place >= n_places || seen[place / 8] >> place % 8 & 1 || (sign && !order->signs))
            return false;
        seen[place / 8] |= (unsigned char)(1u << place % 8);
        order->place[i] = place;
        if (order->signs)
            order->sign[i] = (unsigned char)sign;
    }
    if (form == STRAIT_RANK_PACKED)
        return strait_end_bits(&bits, r);
    *r = words;
    return !r->bad;
}
