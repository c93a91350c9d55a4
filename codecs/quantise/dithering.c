/* dithering: each bucket's norm, and each value as a whole number of norm / levels, drawn so that
 * the mean is the value: linear dithering with the largest magnitude as the norm, QSGD with the l2
 * norm. Most are 0 then, so that positions and levels that are not are sent in Elias' omega code,
 * as QSGD has it (Alistarh et al. 2017, section 3.1).
 *
 *   u8     wire id of the codec
 *   u8     number of values mod 256
 *   u16    levels L
 *   u32    values of a bucket; 0: all in one
 *   f32[]  norm of each bucket
 *   bits   most significant first; for each bucket, for each q that is not 0: omega(distance from
 *          the last one, the first from the place before the bucket), a sign, omega(|q|); at last
 *          omega(distance to the place behind the bucket)
 *
 * omega(1) is 0; omega(n) is the code of (bits of n) - 1 without its last 0, n in binary, and 0.
 * Values that are not finite count as 0. Unbiased as qsgd is. */
#include <stdlib.h>
#include "codecs/builtin.h"
#include "codecs/deepreduce/index_bits.h"
#include "codecs/kit/checks.h"
#include "levels.h"

enum {
    HEAD_BYTES = 8,
    PIECE = 4096,
    MAX_BITS = 24 /* omega(1), sign, level */
};
enum norm { L2, LARGEST };

struct shape {
    uint32_t levels, bucket;
    enum norm norm;
};

static const char *const norms[] = {"l2", "max", NULL};
static const struct strait_param params[] = {
    STRAIT_LEVELS_PARAMS(7, "values that share a norm; 0: the whole tensor"),
    {"norm", "of a bucket: l2 (QSGD), or its largest magnitude (linear dithering)", .max = LARGEST,
     .choices = norms},
};

static void dithering_init(void *state, const struct strait_codec_ops *ops, const double *values)
{
    (void)ops;
    *(struct shape *)state =
        (struct shape){(uint32_t)values[0], (uint32_t)values[1], (enum norm)values[2]};
}

static size_t bucket_elems(const struct shape *s, size_t n_elems)
{
    return s->bucket > 0 && s->bucket < n_elems ? s->bucket : n_elems;
}

static size_t n_buckets(const struct shape *s, size_t n_elems)
{
    const size_t each = bucket_elems(s, n_elems);
    return n_elems == 0 ? 0 : n_elems / each + (n_elems % each != 0);
}

/* A 0 lengthens the next distance by less than MAX_BITS bits; the last distance may be 1, a bit. */
static size_t dithering_bytes(const void *state, size_t n_elems)
{
    const size_t n = n_buckets(state, n_elems);
    return HEAD_BYTES + 4 * n + MAX_BITS / 8 * n_elems + n / 8 + 1;
}

static void put_groups(struct strait_bit_writer *b, uint32_t n)
{
    if (n <= 1)
        return;
    const unsigned width = 32 - (unsigned)__builtin_clz(n);
    put_groups(b, width - 1);
    strait_put_bits(b, n, width);
}

static void put_omega(struct strait_bit_writer *b, uint32_t n)
{
    put_groups(b, n);
    strait_put_bits(b, 0, 1);
}

/* 0: no code of a number below 2^32. */
static uint32_t get_omega(struct strait_bit_reader *b)
{
    uint32_t n = 1;
    while (strait_get_bits(b, 1) == 1) {
        if (n > 31)
            return 0;
        n = (uint32_t)1 << n | strait_get_bits(b, n);
    }
    return b->bad ? 0 : n;
}

static void put_bucket(struct strait_bit_writer *b, const float *x, size_t n, uint64_t first,
                       uint64_t key, float norm, uint32_t levels)
{
    uint16_t codes[PIECE];
    uint32_t distance = 1;
    for (size_t i = 0; i < n; i += PIECE) {
        const uint32_t here = (uint32_t)(n - i < PIECE ? n - i : PIECE);
        const struct strait_chance chance = strait_chance_at(key, (first + i) >> 32);
        strait_levels_draw(codes, x + i, here, (uint32_t)(first + i), chance, norm, levels, 0);
        for (uint32_t k = 0; k < here; k++, distance++) {
            const int q = (int16_t)codes[k];
            if (q == 0)
                continue;
            put_omega(b, distance);
            strait_put_bits(b, q < 0, 1);
            put_omega(b, (uint32_t)abs(q));
            distance = 0;
        }
    }
    put_omega(b, distance);
}

static int dithering_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                            size_t n_elems, struct strait_request request, struct strait_error *err)
{
    const struct shape *s = state;
    const size_t each = bucket_elems(s, n_elems), n = n_buckets(s, n_elems);
    struct strait_writer w = {.p = out + HEAD_BYTES + 4 * n,
                              .end = out + dithering_bytes(s, n_elems)};
    struct strait_bit_writer bits = {.w = &w};
    if (n_elems > 0x7fffffff)
        return strait_refuse(err, "dithering", "expected at most 2147483647 values, found %zu",
                             n_elems);
    out[0] = (unsigned char)strait_codec_dithering.id;
    out[1] = (unsigned char)n_elems;
    strait_put16(out + 2, (uint16_t)s->levels);
    strait_put32(out + 4, s->bucket);
    for (size_t i = 0; i < n; i++) {
        const size_t lo = i * each, here = n_elems - lo < each ? n_elems - lo : each;
        const float norm =
            s->norm == L2 ? strait_norm_of(x + lo, here) : strait_largest(x + lo, here);
        strait_put_float(out + HEAD_BYTES + 4 * i, norm);
        put_bucket(&bits, x + lo, here, lo, request.key, norm, s->levels);
    }
    strait_flush_bits(&bits);
    *len_bytes = (size_t)(w.p - out);
    return 0;
}

static bool get_bucket(struct strait_bit_reader *b, float *y, size_t n, float norm, uint32_t levels)
{
    const float step = norm / (float)levels;
    memset(y, 0, 4 * n);
    for (size_t behind = 0;;) { /* the place behind the last value */
        const uint32_t distance = get_omega(b);
        if (distance == 0 || distance > n - behind + 1)
            return false;
        behind += distance;
        if (behind == n + 1)
            return true;
        const bool minus = strait_get_bits(b, 1) == 1;
        const uint32_t q = get_omega(b);
        if (q == 0 || q > levels)
            return false;
        y[behind - 1] = (minus ? -(float)q : (float)q) * step;
    }
}

static int dithering_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                            size_t len_bytes, struct strait_error *err)
{
    (void)state;
    if (strait_check_head(&strait_codec_dithering, in, len_bytes, HEAD_BYTES, err) != 0 ||
        strait_check_count(&strait_codec_dithering, in[1], n_elems, err) != 0)
        return -1;
    const struct shape s = {.levels = strait_get16(in + 2), .bucket = strait_get32(in + 4)};
    const size_t each = bucket_elems(&s, n_elems), n = n_buckets(&s, n_elems);
    bool good = s.levels > 0 && s.levels <= STRAIT_MAX_LEVELS && (len_bytes - HEAD_BYTES) / 4 >= n;
    if (good) {
        struct strait_reader r = {.p = in + HEAD_BYTES + 4 * n, .end = in + len_bytes};
        struct strait_bit_reader bits = strait_bit_reader_of(&r);
        for (size_t i = 0; i < n && good; i++) {
            const size_t lo = i * each, here = n_elems - lo < each ? n_elems - lo : each;
            good = get_bucket(&bits, y + lo, here, strait_get_float(in + HEAD_BYTES + 4 * i),
                              s.levels);
        }
        good = good && strait_end_bits(&bits, &r) && r.p == r.end;
    }
    return good
               ? 0
               : strait_refuse(err, "dithering",
                               "expected omega codes of %zu values, found something else", n_elems);
}

const struct strait_codec_ops strait_codec_dithering = {
    .name = "dithering",
    .family = "quantiser",
    .source = "QSGD's Elias codes: Alistarh et al. 2017, section 3.1; linear dithering: Horvath et "
              "al. 2019 (arXiv 1905.10988)",
    .id = 37,
    .flags = STRAIT_CODEC_STOCHASTIC | STRAIT_CODEC_UNBIASED,
    .bounds = 1u << STRAIT_BOUND_NONE,
    STRAIT_PARAMS(params),
    .state_bytes = sizeof(struct shape),
    .init = dithering_init,
    .close = free,
    .max_bytes = dithering_bytes,
    .encode = dithering_encode,
    .decode = dithering_decode,
};
