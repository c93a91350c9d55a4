/* sz: tensors of a few hundred values: integers of one width, without tables.
 *
 *   varint zigzag of the smallest integer, u8 width (128 more: with escapes)
 *   integers above the smallest in `width` bits, all ones: an escape; float32 escapes */
#include <math.h>
#include "sz_head.h"

static uint32_t zigzag(int32_t v)
{
    return (uint32_t)v << 1 ^ (uint32_t)(v >> 31);
}

static unsigned width_of(uint32_t v)
{
    return v == 0 ? 0 : 32 - (unsigned)__builtin_clz(v);
}

static void quantise_powers(struct sz_fixed *f, const float *x, size_t n,
                            const struct sz_powers *powers)
{
    float q[SZ_FIXED_ELEMS];
    sz_powers_forward(q, x, n, powers, STRAIT_SIMD_PORTABLE);
    for (size_t i = 0; i < n; i++) {
        f->mark[i] = !(fabsf(q[i]) <= 4194303.0f);
        f->q[i] = f->mark[i] ? 0 : (int32_t)q[i];
    }
}

void sz_fixed_quantise(struct sz_fixed *f, const float *x, size_t n, const struct sz_head *head)
{
    memcpy(f->value, x, n * sizeof(*x));
    if (head->pointwise) {
        quantise_powers(f, x, n, &head->powers);
        return;
    }
    memset(f->mark, 0, sizeof(f->mark));
    for (size_t i = 0; i < n; i += SZ_BLOCK) {
        const unsigned m = n - i < SZ_BLOCK ? (unsigned)(n - i) : SZ_BLOCK;
        if (sz_quantise(f->q + i, x + i, m, &head->grid))
            sz_repair(f->q + i, f->mark + i, x + i, m, &head->grid);
    }
}

void sz_fixed_write(struct strait_writer *w, const struct sz_fixed *f, size_t n)
{
    int32_t least = INT32_MAX, most = INT32_MIN;
    bool escapes = false;
    for (size_t i = 0; i < n; i++) {
        escapes |= f->mark[i];
        if (!f->mark[i]) {
            least = f->q[i] < least ? f->q[i] : least;
            most = f->q[i] > most ? f->q[i] : most;
        }
    }
    if (least > most)
        least = most = 0;
    const unsigned width = width_of((uint32_t)(most - least) + escapes);
    const uint32_t escape = width > 0 ? UINT32_MAX >> (32 - width) : 0;
    strait_write_varint(w, zigzag(least));
    strait_write_u8(w, width | (escapes ? 128u : 0u));
    uint64_t held = 0;
    unsigned n_held = 0;
    for (size_t i = 0; i < n; i++) {
        held |= (uint64_t)(f->mark[i] ? escape : (uint32_t)(f->q[i] - least)) << n_held;
        for (n_held += width; n_held >= 8; n_held -= 8, held >>= 8)
            strait_write_u8(w, (unsigned)(held & 255));
    }
    if (n_held > 0)
        strait_write_u8(w, (unsigned)held);
    for (size_t i = 0; i < n && escapes; i++)
        if (f->mark[i] && strait_write_room(w, 4)) {
            strait_put_float(w->p, f->value[i]);
            w->p += 4;
        }
}

static void set_values(struct sz_fixed *f, size_t n, const struct sz_head *head)
{
    float q[SZ_FIXED_ELEMS] = {0}, y[SZ_FIXED_ELEMS];
    for (size_t i = 0; i < n; i++) {
        q[i] = (float)f->q[i];
        y[i] = q[i] * head->grid.step + head->grid.centre;
    }
    if (head->pointwise)
        sz_powers_inverse(y, q, (unsigned)n, &head->powers, NULL, STRAIT_SIMD_PORTABLE);
    for (size_t i = 0; i < n; i++)
        f->value[i] = f->mark[i] ? f->value[i] : y[i];
}

bool sz_fixed_read(struct sz_fixed *f, size_t n, struct strait_reader *r,
                   const struct sz_head *head)
{
    const uint64_t code = strait_read_varint(r);
    const unsigned byte = strait_read_u8(r), width = byte & 127;
    if (n > SZ_FIXED_ELEMS || code > UINT32_MAX || width > 32)
        return false;
    const uint32_t least = (uint32_t)(code >> 1) ^ -(uint32_t)(code & 1);
    const uint32_t escape = width > 0 ? UINT32_MAX >> (32 - width) : 0;
    const unsigned char *bytes = strait_read_bytes(r, (n * width + 7) / 8);
    if (!bytes)
        return false;
    uint64_t held = 0;
    unsigned n_held = 0;
    for (size_t i = 0; i < n; i++) {
        for (; n_held < width; n_held += 8)
            held |= (uint64_t)*bytes++ << n_held;
        const uint32_t v = (uint32_t)held & escape;
        held >>= width;
        n_held -= width;
        f->q[i] = (int32_t)(least + v);
        f->mark[i] = byte >= 128 && v == escape;
        if (f->mark[i]) {
            const unsigned char *p = strait_read_bytes(r, 4);
            f->value[i] = p ? strait_get_float(p) : 0;
        }
    }
    set_values(f, n, head);
    return !r->bad;
}
