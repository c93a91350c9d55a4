/* Reference coding: the closed loop over many rounds, bounds of the values themselves, key frames,
 * and packets that do not fit. */
#include "codecs/reference.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "tests/kit/suite.h"
#include "tests/kit/tensor_kinds.h"

enum { N_A = 6000, N_B = 40, N_C = 3000, N_ELEMS = N_A + N_B + N_C, N_SLICES = 3 };

/* Parameters that walk: a matrix, a bias, and a matrix of a hundredth of the values. */
struct loop {
    struct strait_bundle bundle;
    struct strait_reference *sender, *receiver;
    float x[N_ELEMS], y[N_ELEMS];
    struct strait_slice from[N_SLICES], to[N_SLICES];
    unsigned char *bytes;
    size_t cap_bytes, len_bytes;
    struct strait_sequence chance;
};

static void cut(struct strait_slice s[N_SLICES], float *x)
{
    s[0] = (struct strait_slice){.x = x, .n_elems = N_A, .lossy = true, .n_rows = 60};
    s[1] = (struct strait_slice){.x = x + N_A, .n_elems = N_B};
    s[2] = (struct strait_slice){.x = x + N_A + N_B, .n_elems = N_C, .lossy = true, .n_rows = 50};
}

static void open_default(struct strait_coder *c, const char *name)
{
    struct strait_error err = {0};
    c->ops = strait_codec_find(name);
    CU_ASSERT_EQUAL_FATAL(strait_codec_open_default(c->ops, &c->state, &err), 0);
}

static void loop_init(struct loop *l, const char *codec, enum strait_bound_kind kind, double value)
{
    struct strait_error err = {0};
    *l = (struct loop){.chance = strait_sequence_at(7)};
    open_default(&l->bundle.lossy, codec);
    open_default(&l->bundle.lossless, "zstd");
    l->bundle.bound = (struct strait_bound){kind, value};
    cut(l->from, l->x);
    cut(l->to, l->y);
    for (size_t i = 0; i < N_ELEMS; i++)
        l->x[i] = (float)((i < N_A ? 1 : 0.01) * normal(&l->chance));
    l->cap_bytes = strait_reference_head_bytes(N_SLICES) +
                   strait_bundle_max_bytes(&l->bundle, l->from, N_SLICES);
    l->bytes = malloc(l->cap_bytes);
    l->sender = strait_reference_new(N_ELEMS, N_SLICES, &err);
    l->receiver = strait_reference_new(N_ELEMS, N_SLICES, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(l->sender);
    CU_ASSERT_PTR_NOT_NULL_FATAL(l->receiver);
    CU_ASSERT_PTR_NOT_NULL_FATAL(l->bytes);
}

static void loop_release(struct loop *l)
{
    struct strait_coder *coders[] = {&l->bundle.lossy, &l->bundle.lossless};
    for (size_t i = 0; i < 2; i++)
        if (coders[i]->ops->close)
            coders[i]->ops->close(coders[i]->state);
    strait_reference_free(l->sender);
    strait_reference_free(l->receiver);
    free(l->bytes);
}

/* A step of a twentieth of the values' size. */
static void walk(struct loop *l)
{
    for (size_t i = 0; i < N_ELEMS; i++)
        l->x[i] += (float)((i < N_A ? 0.05 : 0.0005) * normal(&l->chance));
}

static int encode(struct loop *l, struct strait_error *err)
{
    return strait_reference_encode(l->sender, 5, &l->bundle, l->bytes, l->cap_bytes, &l->len_bytes,
                                   l->from, N_SLICES, true, err);
}

static int decode(struct loop *l, size_t len, struct strait_error *err)
{
    unsigned char *copy = malloc(len + 1); /* of its own length, for the sanitizer */
    CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
    memcpy(copy, l->bytes, len);
    const int result =
        strait_reference_decode(l->receiver, &l->bundle, l->to, N_SLICES, copy, len, true, err);
    free(copy);
    return result;
}

/* By the definitions of codec.h, in a plain loop. */
static double absolute(const struct strait_slice *s, struct strait_bound b)
{
    double least = INFINITY, most = -INFINITY, squares = 0;
    for (size_t i = 0; i < s->n_elems; i++) {
        least = fmin(least, (double)s->x[i]);
        most = fmax(most, (double)s->x[i]);
        squares += (double)s->x[i] * (double)s->x[i];
    }
    return b.kind == STRAIT_BOUND_ABS     ? b.value
           : b.kind == STRAIT_BOUND_RANGE ? b.value * (most - least)
                                          : b.value * sqrt(squares / (double)s->n_elems);
}

static double worst_error(const struct strait_slice *a, const struct strait_slice *b)
{
    double worst = 0;
    for (size_t i = 0; i < a->n_elems; i++)
        worst = fmax(worst, fabs((double)a->x[i] - (double)b->x[i]));
    return worst;
}

/* After each of 100 rounds: both ends have the same bits, each matrix is within the bound of its
 * own values, the bias is exact. Errors that added up would be sqrt(100) = 10 times the bound. */
static void a_hundred_rounds(void)
{
    static const struct strait_bound bounds[] = {
        {STRAIT_BOUND_RANGE, 1e-2}, {STRAIT_BOUND_RMS, 0.03}, {STRAIT_BOUND_ABS, 1e-3}};
    for (size_t k = 0; k < 3; k++) {
        struct loop l;
        struct strait_error err = {0};
        loop_init(&l, "sz", bounds[k].kind, bounds[k].value);
        for (int round = 0; round < 100; round++) {
            CU_ASSERT_EQUAL_FATAL(encode(&l, &err), 0);
            CU_ASSERT_EQUAL_FATAL(decode(&l, l.len_bytes, &err), 0);
            CU_ASSERT_EQUAL(memcmp(strait_reference_values(l.sender), l.y, sizeof(l.y)), 0);
            CU_ASSERT_EQUAL(memcmp(strait_reference_values(l.receiver), l.y, sizeof(l.y)), 0);
            for (size_t i = 0; i < N_SLICES; i++) {
                const double error = worst_error(&l.from[i], &l.to[i]);
                const double bound = absolute(&l.from[i], bounds[k]);
                CU_ASSERT(error <= (l.from[i].lossy ? bound : 0));
                CU_ASSERT(!l.from[i].lossy || error > 0.9 * bound);
            }
            walk(&l);
        }
        CU_ASSERT_EQUAL(strait_reference_version(l.receiver), 100);
        loop_release(&l);
    }
}

/* A bound as small as the resolution of float32 near 1, 2^-24 to 2^-23, is kept too: such tensors
 * go whole where a sum would miss it. */
static void near_the_resolution(void)
{
    struct strait_error err = {0};
    for (int power = -26; power <= -18; power++) {
        struct loop l;
        loop_init(&l, "sz", STRAIT_BOUND_ABS, ldexp(1, power));
        for (int round = 0; round < 5; round++) {
            CU_ASSERT_EQUAL_FATAL(encode(&l, &err), 0);
            CU_ASSERT_EQUAL_FATAL(decode(&l, l.len_bytes, &err), 0);
            CU_ASSERT(worst_error(&l.from[0], &l.to[0]) <= ldexp(1, power));
            CU_ASSERT(worst_error(&l.from[2], &l.to[2]) <= ldexp(1, power));
            walk(&l);
        }
        loop_release(&l);
    }
}

/* Normal values in bins of 2 e take log2(sigma sqrt(2 pi e) / 2 e) bits. Steps of a twentieth, plus
 * the error of the reference, uniform in +-e, are of (0.05^2 + e^2 / 3)^0.5 sigma: at e = 0.003
 * sigma 4.32 bits fewer each. */
static void bits_saved(void)
{
    struct loop l;
    struct strait_error err = {0};
    loop_init(&l, "sz", STRAIT_BOUND_RMS, 0.003);
    CU_ASSERT_EQUAL_FATAL(encode(&l, &err), 0);
    const size_t key_bytes = l.len_bytes;
    walk(&l);
    CU_ASSERT_EQUAL_FATAL(encode(&l, &err), 0);
    const double saved = 8.0 * ((double)key_bytes - (double)l.len_bytes) / (N_A + N_C);
    const double expected = log2(1 / sqrt(0.05 * 0.05 + 0.003 * 0.003 / 3));
    CU_ASSERT_DOUBLE_EQUAL(saved, expected, 0.25); /* tables of codes, 9000 values */
    loop_release(&l);
}

/* Whoever missed a packet is told so; a key frame helps, and both go on. */
static void a_lost_round(void)
{
    struct loop l;
    struct strait_error err = {0};
    loop_init(&l, "sz", STRAIT_BOUND_RANGE, 1e-3);
    CU_ASSERT_EQUAL_FATAL(encode(&l, &err), 0);
    CU_ASSERT_EQUAL_FATAL(decode(&l, l.len_bytes, &err), 0);
    walk(&l);
    CU_ASSERT_EQUAL_FATAL(encode(&l, &err), 0); /* lost */
    walk(&l);
    CU_ASSERT_EQUAL_FATAL(encode(&l, &err), 0);
    CU_ASSERT_EQUAL(decode(&l, l.len_bytes, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "expected a key frame or differences from version 1, found "
                                     "version 2: a packet was lost, and the sender does not know");
    err = (struct strait_error){0};
    for (int round = 0; round < 3; round++) {
        walk(&l);
        if (round == 0)
            strait_reference_forget(l.sender);
        CU_ASSERT_EQUAL_FATAL(encode(&l, &err), 0);
        CU_ASSERT_EQUAL_FATAL(decode(&l, l.len_bytes, &err), 0);
        CU_ASSERT_EQUAL(memcmp(strait_reference_values(l.sender), l.y, sizeof(l.y)), 0);
    }
    CU_ASSERT_EQUAL(strait_reference_version(l.receiver), 6);
    loop_release(&l);
}

/* What a receiver sends back to whom it has the values from: any number of packets against one
 * version, which none of them changes. */
static void back_to_the_sender(void)
{
    struct loop l;
    struct strait_error err = {0};
    loop_init(&l, "sz", STRAIT_BOUND_RANGE, 1e-3);
    CU_ASSERT_EQUAL_FATAL(encode(&l, &err), 0);
    CU_ASSERT_EQUAL_FATAL(decode(&l, l.len_bytes, &err), 0);
    for (int i = 0; i < 3; i++) {
        uint32_t sender = 0;
        walk(&l);
        CU_ASSERT_EQUAL_FATAL(strait_reference_encode(l.receiver, 9, &l.bundle, l.bytes,
                                                      l.cap_bytes, &l.len_bytes, l.from, N_SLICES,
                                                      false, &err),
                              0);
        CU_ASSERT(strait_reference_sender(&sender, l.bytes, l.len_bytes));
        CU_ASSERT_EQUAL(sender, 9);
        CU_ASSERT_EQUAL_FATAL(strait_reference_decode(l.sender, &l.bundle, l.to, N_SLICES, l.bytes,
                                                      l.len_bytes, false, &err),
                              0);
        for (size_t k = 0; k < N_SLICES; k++)
            CU_ASSERT(worst_error(&l.from[k], &l.to[k]) <=
                      (l.from[k].lossy ? absolute(&l.from[k], l.bundle.bound) : 0));
        CU_ASSERT_EQUAL(strait_reference_version(l.sender), 1);
        CU_ASSERT_EQUAL(strait_reference_version(l.receiver), 1);
    }
    CU_ASSERT_EQUAL(decode(&l, l.len_bytes, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "expected a packet that is numbered, found version 0");
    loop_release(&l);
}

/* Any values: bounds hold for finite ones, and both ends agree bit for bit, also from one kind of
 * values to the next. */
/* EF21: each round sends the k = 60 of 6000 values that are furthest from what the receivers have;
 * of values that stay the same, those not sent yet. A sender gets its own values from its
 * packet. */
static void always(void)
{
    struct strait_error err = {0};
    struct loop l;
    loop_init(&l, "topk", STRAIT_BOUND_NONE, 0);
    strait_reference_always(l.sender);
    for (unsigned round = 1; round <= 4; round++) {
        unsigned n_sent = 0;
        float least = INFINITY, most = 0;
        CU_ASSERT_EQUAL_FATAL(encode(&l, &err), 0);
        CU_ASSERT_EQUAL_FATAL(decode(&l, l.len_bytes, &err), 0);
        for (size_t i = 0; i < N_A; i++) {
            const bool sent = fabsf(l.y[i]) > 0;
            n_sent += sent;
            CU_ASSERT(!sent || (l.y[i] >= l.x[i] && l.y[i] <= l.x[i]));
            least = sent ? fminf(least, fabsf(l.x[i])) : least;
            most = sent ? most : fmaxf(most, fabsf(l.x[i]));
        }
        CU_ASSERT_EQUAL(n_sent, 60 * round);
        CU_ASSERT(least >= most);
        memset(l.y, 0, sizeof(l.y));
        CU_ASSERT_EQUAL_FATAL(strait_reference_decode(l.sender, &l.bundle, l.to, N_SLICES, l.bytes,
                                                      l.len_bytes, true, &err),
                              0);
        CU_ASSERT_EQUAL(memcmp(l.y, strait_reference_values(l.receiver), sizeof(l.y)), 0);
    }
    loop_release(&l);
}

static void any_values(void)
{
    struct loop l;
    struct strait_error err = {0};
    loop_init(&l, "sz", STRAIT_BOUND_RANGE, 1e-3);
    for (int kind = 0; kind < 2 * N_TENSOR_KINDS; kind++) {
        make_tensor(l.x, N_ELEMS, (enum tensor_kind)(kind / 2), (uint64_t)kind);
        CU_ASSERT_EQUAL_FATAL(encode(&l, &err), 0);
        CU_ASSERT_EQUAL_FATAL(decode(&l, l.len_bytes, &err), 0);
        CU_ASSERT_EQUAL(memcmp(strait_reference_values(l.sender), l.y, sizeof(l.y)), 0);
        for (size_t s = 0; s < N_SLICES; s++) {
            double least = INFINITY, most = -INFINITY;
            for (size_t i = 0; i < l.from[s].n_elems; i++)
                if (isfinite(l.from[s].x[i])) {
                    least = fmin(least, (double)l.from[s].x[i]);
                    most = fmax(most, (double)l.from[s].x[i]);
                }
            for (size_t i = 0; i < l.from[s].n_elems; i++)
                if (isfinite(l.from[s].x[i]))
                    CU_ASSERT(fabs((double)l.from[s].x[i] - (double)l.to[s].x[i]) <=
                              (l.from[s].lossy ? 1e-3 * (most - least) : 0));
        }
    }
    loop_release(&l);
}

/* Any cut, and any flipped byte of the head, is refused or decodes to something; nothing is read
 * beyond the end, and what fails leaves the reference alone. */
static void damaged(void)
{
    struct loop l;
    struct strait_error err = {0};
    loop_init(&l, "sz", STRAIT_BOUND_RANGE, 1e-2);
    CU_ASSERT_EQUAL_FATAL(encode(&l, &err), 0);
    CU_ASSERT_EQUAL_FATAL(decode(&l, l.len_bytes, &err), 0);
    walk(&l);
    CU_ASSERT_EQUAL_FATAL(encode(&l, &err), 0);
    for (size_t len = 0; len < l.len_bytes; len += len < 40 ? 1 : 97) {
        CU_ASSERT_EQUAL(decode(&l, len, &err), -1);
        CU_ASSERT_EQUAL(strait_reference_version(l.receiver), 1);
    }
    l.bytes[12] = (unsigned char)(l.bytes[12] | 2); /* the bias as a difference */
    CU_ASSERT_EQUAL(decode(&l, l.len_bytes, &err), -1);
    l.bytes[12] = 5;
    CU_ASSERT_EQUAL(decode(&l, l.len_bytes, &err), 0);
    CU_ASSERT_EQUAL(memcmp(strait_reference_values(l.sender), l.y, sizeof(l.y)), 0);
    loop_release(&l);
}

/* dfloat32 takes the reference itself: no bit is lost over ten rounds, NaN included, where sums of
 * differences would round. A way of a twentieth of a value takes about log2 20 = 4
 * of its 26.5 bits less: half of that is asked for. */
static void bit_by_bit(void)
{
    struct loop l;
    struct strait_error err = {0};
    size_t key_bytes = 0;
    loop_init(&l, "dfloat32", STRAIT_BOUND_NONE, 0);
    for (int round = 0; round < 10; round++) {
        l.x[5] = round % 2 == 0 ? NAN : 1;
        CU_ASSERT_EQUAL_FATAL(encode(&l, &err), 0);
        CU_ASSERT_EQUAL_FATAL(decode(&l, l.len_bytes, &err), 0);
        CU_ASSERT_EQUAL(memcmp(l.x, l.y, sizeof(l.y)), 0);
        CU_ASSERT_EQUAL(memcmp(strait_reference_values(l.sender), l.y, sizeof(l.y)), 0);
        if (round == 0)
            key_bytes = l.len_bytes;
        else
            CU_ASSERT_AT_MOST((double)l.len_bytes, (double)key_bytes * 0.92);
        walk(&l);
    }
    loop_release(&l);
}

static const struct strait_test tests[] = {
    {"both ends agree bit for bit within the bound over a hundred rounds", a_hundred_rounds},
    {"differences always: EF21 by its definition, and at its sender", always},
    {"a lossless codec that takes the reference loses no bit", bit_by_bit},
    {"a bound near float32's resolution is kept", near_the_resolution},
    {"differences of a twentieth save the bits that they should", bits_saved},
    {"after a lost packet only a key frame decodes", a_lost_round},
    {"packets back to the sender change no reference", back_to_the_sender},
    {"any values keep their bound and both ends agree", any_values},
    {"damaged packets are refused", damaged},
};
STRAIT_SUITE("codecs/reference", tests);
