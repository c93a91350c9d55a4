/* The codec deepreduce: every combination of its parts, and the volumes of the publication. */
#include <math.h>
#include <stdlib.h>
#include "core/random.h"
#include "traces/tensors.h"
#include "deepreduce_cases.h"
#include "tests/kit/suite.h"

static const struct strait_codec_ops *const ops = &strait_codec_deepreduce;

struct bench {
    void *state;
    float *y;
    unsigned char *bytes;
    size_t cap, len, n;
};

static bool bench_init(struct bench *b, const struct method *m, size_t n)
{
    *b = (struct bench){.n = n};
    if (!open_method(&b->state, m))
        return false;
    b->cap = ops->max_bytes(b->state, n);
    b->bytes = malloc(b->cap);
    b->y = malloc(4 * n + 4);
    CU_ASSERT_FATAL(b->bytes && b->y);
    return true;
}

static void bench_release(struct bench *b)
{
    ops->close(b->state);
    free(b->bytes);
    free(b->y);
}

static bool round_trip(struct bench *b, const float *x, uint64_t key)
{
    struct strait_error err = {0};
    if (strait_codec_encode(ops, b->state, b->bytes, b->cap, &b->len, x, b->n,
                            (struct strait_request){.key = key}, &err) != 0)
        return false;
    memset(b->y, 0xa5, 4 * b->n);
    return ops->decode(b->state, b->y, b->n, b->bytes, b->len, &err) == 0;
}

/* A sparsifier that drops 99 % of a heavy-tailed tensor and then describes the rest cannot be
 * farther off than sending nothing, but for QSGD, whose error is norm / levels a value. */
static void check_closeness(const struct bench *b, const float *x)
{
    double squares = 0, errors = 0;
    for (size_t i = 0; i < b->n; i++) {
        const double e = (double)x[i] - (double)b->y[i];
        squares += (double)x[i] * (double)x[i];
        errors += e * e;
    }
    CU_ASSERT(errors <= 1.05 * squares);
}

static void for_each_method(void (*check)(const struct method *m, const void *arg), const void *arg)
{
    size_t n_index, n_value;
    const struct strait_index_codec *const *index = strait_index_codecs(&n_index);
    const struct strait_value_codec *const *value = strait_value_codecs(&n_value);
    for (size_t i = 0; i < n_index; i++)
        for (size_t v = 0; v < n_value; v++)
            for (int published = 0; published < 2; published++) {
                if (strait_value_codec_unavailable(value[v]))
                    continue;
                const struct method m = {index[i]->name, value[v]->name, 0.01, 0, 1e-3, 127,
                                         published == 1};
                check(&m, arg);
            }
}

static void check_recorded(const struct method *m, const void *arg)
{
    const struct strait_tensors *t = arg;
    for (size_t i = 0; i < t->n_recordings; i++) {
        const struct strait_recording *r = &t->recordings[i];
        struct bench b;
        if (strcmp(r->kind, "grad") != 0 || r->step > 200 || r->n_elems > 120000)
            continue;
        CU_ASSERT_FATAL(bench_init(&b, m, r->n_elems));
        CU_ASSERT_FATAL(round_trip(&b, r->values, i));
        check_closeness(&b, r->values);
        bench_release(&b);
    }
}

static struct strait_tensors *load(void)
{
    struct strait_tensors *t = NULL;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(strait_tensors_load(&t, NULL, &err), 0);
    return t;
}

static void recorded_gradients(void)
{
    struct strait_tensors *t = load();
    for_each_method(check_recorded, t);
    strait_tensors_free(t);
}

static void check_generated(const struct method *m, const void *arg)
{
    (void)arg;
    static const size_t lengths[] = {0, 1, 1000, 1001, 1024, 4099};
    for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
        struct bench b;
        float *x = malloc(4 * lengths[l] + 4);
        CU_ASSERT_FATAL(x && bench_init(&b, m, lengths[l]));
        for (int kind = 0; kind < N_TENSOR_KINDS; kind++) {
            make_tensor(x, b.n, (enum tensor_kind)kind, l);
            CU_ASSERT_FATAL(round_trip(&b, x, 1));
            if (b.n <= 1000)
                CU_ASSERT(b.len == 2 + 4 * b.n && (b.n == 0 || memcmp(b.y, x, 4 * b.n) == 0));
        }
        free(x);
        bench_release(&b);
    }
}

static void generated_tensors(void)
{
    for_each_method(check_generated, NULL);
}

/* With values raw every element is either exactly its value or 0, and the largest 1 % are there
 * with every index codec that adds positions or changes none. */
static void chosen_values_are_exact(void)
{
    static const char *const index[] = {"raw", "bitmap", "rice", "rle", "huffman", "bloom-p0"};
    enum { N = 50000 };
    float *x = malloc(4 * N);
    CU_ASSERT_FATAL(x != NULL);
    make_tensor(x, N, TENSOR_ROWS, 4);
    struct chosen top;
    CU_ASSERT_FATAL(choose(&top, x, N, "topk", 0.01, &strait_value_raw));
    for (size_t i = 0; i < sizeof(index) / sizeof(index[0]); i++) {
        const struct method m = {index[i], "raw", 0.01, 0.01, 0, 127, false};
        struct bench b;
        size_t n_exact = 0, n_sent = 0;
        CU_ASSERT_FATAL(bench_init(&b, &m, N) && round_trip(&b, x, 1));
        for (size_t k = 0; k < top.n; k++)
            n_exact += memcmp(&b.y[top.index[k]], &x[top.index[k]], 4) == 0;
        for (size_t k = 0; k < N; k++) {
            n_sent += b.y[k] < 0 || b.y[k] > 0;
            CU_ASSERT_FATAL(!(b.y[k] < 0 || b.y[k] > 0) || memcmp(&b.y[k], &x[k], 4) == 0);
        }
        CU_ASSERT_EQUAL(n_exact, 500);
        /* f = 0.01 of 49500 others: 495 more, binomial, deviation 22 */
        CU_ASSERT(i < 5 ? n_sent == 500 : n_sent > 500 + 300 && n_sent < 500 + 800);
        bench_release(&b);
    }
    chosen_release(&top);
    free(x);
}

/* 10000 values, 100 of them chosen: 2 bytes in front, a byte for the count beside raw positions,
 * 4 each, and 4 each of the values; ranked, ceil(log2 10000) = 14 bits each of 100 positions are
 * 175 bytes, with a sign 15 bits and 188 bytes; published, 4 bytes each; beside another index the
 * order takes ceil(log2 100) = 7 bits, 88 bytes, and published 8 bytes each. */
static void sizes(void)
{
    static const struct {
        struct method m;
        size_t len;
    } cases[] = {{{"raw", "raw", 0.01, 0, 0, 127, false}, 2 + 1 + 400 + 400},
                 {{"raw", "dexp", 0.01, 0, 0, 127, false}, 2 + 1 + 188 + 16},
                 {{"raw", "dexp", 0.01, 0, 0, 127, true}, 2 + 1 + 400 + 32},
                 {{"bitmap", "raw", 0.01, 0, 0, 127, false}, 2 + 1250 + 400},
                 {{"bitmap", "dexp", 0.01, 0, 0, 127, true}, 2 + 1250 + 800 + 32},
                 {{"bitmap", "dexp", 0.01, 0, 0, 127, false}, 2 + 1250 + 100 + 16},
                 /* 6 pieces at most: 12 coefficients for every sign, 2 of 1/5 = 20 are too few */
                 {{"raw", "polyfit", 0.01, 0, 0, 127, true}, 2 + 1 + 400 + 8 * 13}};
    float *x = malloc(40000);
    CU_ASSERT_FATAL(x != NULL);
    for (size_t i = 0; i < 10000; i++) /* both signs, all different */
        x[i] = (float)((i * 7919) % 10007) * (i % 2 ? -1.0f : 1.0f);
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct bench b;
        CU_ASSERT_FATAL(bench_init(&b, &cases[c].m, 10000) && round_trip(&b, x, 1));
        CU_ASSERT_EQUAL(b.len, cases[c].len);
        bench_release(&b);
    }
    free(x);
}

/* Room for 2^31 - 1 values, of which 1 % with their positions take less than half as many bytes as
 * the values, or for one more, which go whole: two bytes and all values. */
static void longest(void)
{
    static const struct method m = {"raw", "raw", 0.01, 0, 0, 127, false};
    const size_t most = 0x7fffffff;
    void *state;
    CU_ASSERT_FATAL(open_method(&state, &m));
    CU_ASSERT_AT_MOST(ops->max_bytes(state, most), 2 * most);
    CU_ASSERT_EQUAL(ops->max_bytes(state, most + 1), 2 + 4 * (most + 1));
    ops->close(state);
}

/* A larger tensor, then a smaller one and again: scratch memory that is there is taken. */
static void lengths_in_turn(void)
{
    static const size_t lengths[] = {2000, 30000, 5000, 30000, 1500};
    static const char *const index[] = {"rice", "bloom-p2"};
    static const char *const value[] = {"raw", "polyfit"};
    float *x = malloc(4 * 30000);
    CU_ASSERT_FATAL(x != NULL);
    make_tensor(x, 30000, TENSOR_WEIGHTS, 1);
    for (size_t c = 0; c < 2; c++) {
        const struct method m = {index[c], value[c], 0.05, 0, 0, 127, false};
        void *state;
        CU_ASSERT_FATAL(open_method(&state, &m));
        for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
            struct bench once, b = {.state = state, .n = lengths[l]};
            CU_ASSERT_FATAL(bench_init(&once, &m, lengths[l]) && round_trip(&once, x, 1));
            b.cap = once.cap;
            b.bytes = malloc(b.cap);
            b.y = malloc(4 * b.n);
            CU_ASSERT_FATAL(b.bytes && b.y && round_trip(&b, x, 1));
            CU_ASSERT(b.len == once.len && memcmp(b.bytes, once.bytes, b.len) == 0);
            CU_ASSERT(memcmp(b.y, once.y, 4 * b.n) == 0);
            free(b.bytes);
            free(b.y);
            bench_release(&once);
        }
        ops->close(state);
    }
    free(x);
}

/* threshold may choose nothing or everything, and so may the largest ratio. */
static void every_sparsifier(void)
{
    static const char *const index[] = {"rice", "rle", "bloom-p0", "bloom-p2"};
    static const char *const value[] = {"raw", "polyfit", "dexp", "sz"};
    static const double thresholds[] = {0, 0.03, 1e6};
    enum { N = 5000 };
    float *x = malloc(4 * N);
    CU_ASSERT_FATAL(x != NULL);
    for (unsigned rule = 0; strait_sparsifier_names[rule]; rule++)
        for (size_t c = 0; c < 16; c++)
            for (size_t t = 0; t < 3; t++) {
                const struct method m = {index[c / 4], value[c % 4], 0, 0, 1e-3, 127, t == 1};
                const double asked[] = {rule, t == 2 ? 1 : 0.05, thresholds[t]};
                struct bench b = {.n = N};
                CU_ASSERT_FATAL(open_method_for(&b.state, &m, asked));
                b.cap = ops->max_bytes(b.state, N);
                b.bytes = malloc(b.cap);
                b.y = malloc(4 * N);
                CU_ASSERT_FATAL(b.bytes && b.y);
                for (int kind = 0; kind < N_TENSOR_KINDS; kind++) {
                    make_tensor(x, N, (enum tensor_kind)kind, 7);
                    CU_ASSERT_FATAL(round_trip(&b, x, 3));
                }
                bench_release(&b);
            }
    free(x);
}

static void check_hostile(const struct method *m, const void *arg)
{
    (void)arg;
    enum { N = 3000 };
    float x[N];
    struct bench b;
    struct strait_error err = {0};
    make_tensor(x, N, TENSOR_WEIGHTS, 2);
    CU_ASSERT_FATAL(bench_init(&b, m, N) && round_trip(&b, x, 1));
    struct strait_sequence s = strait_sequence_at(1);
    for (int turn = 0; turn < 200; turn++) {
        const size_t len = turn % 3 == 2 ? strait_sequence_next(&s) % b.len : b.len;
        unsigned char *copy = malloc(len + (len == 0));
        CU_ASSERT_FATAL(copy != NULL);
        memcpy(copy, b.bytes, len);
        if (turn % 3 == 1)
            for (size_t i = 2 + strait_sequence_next(&s) % 20; i < len; i++)
                copy[i] = (unsigned char)strait_sequence_next(&s);
        if (turn % 3 == 0)
            copy[strait_sequence_next(&s) % (turn % 2 && len > 40 ? 40 : len)] ^=
                (unsigned char)(1u << strait_sequence_next(&s) % 8);
        err.code = STRAIT_OK;
        const int failed = ops->decode(b.state, b.y, N, copy, len, &err);
        CU_ASSERT(failed ? err.code == STRAIT_ERR_INPUT : err.code == STRAIT_OK);
        CU_ASSERT(turn % 3 != 2 || failed);
        free(copy);
    }
    CU_ASSERT(round_trip(&b, x, 1));
    bench_release(&b);
}

static void hostile_bytes(void)
{
    for_each_method(check_hostile, NULL);
}

static void refused_parameters(void)
{
    double values[16];
    void *state;
    for (unsigned bad = 0; bad < ops->n_params; bad++)
        for (int way = 0; way < 4; way++) {
            struct strait_error err = {0};
            for (unsigned i = 0; i < ops->n_params; i++)
                values[i] = ops->params[i].fallback;
            const double wrong[] = {ops->params[bad].min - 1, ops->params[bad].max * 1.1 + 1, NAN,
                                    0.5};
            values[bad] = wrong[way];
            if (way == 3 && !ops->params[bad].choices)
                continue;
            CU_ASSERT_EQUAL(strait_codec_open(ops, &state, values, &err), -1);
            CU_ASSERT(err.code == STRAIT_ERR_INPUT && strstr(err.text, ops->params[bad].name));
        }
}

/* The numbers in the declaration are those of the tables, which are elsewhere. */
static void declared_choices(void)
{
    static const char *const defaults[][2] = {
        {"sparsifier", "topk"}, {"index", "rice"}, {"value", "sz"}, {"payload", "packed"}};
    for (unsigned i = 0; i < ops->n_params; i++) {
        const struct strait_param *p = &ops->params[i];
        unsigned n = 0;
        while (p->choices && p->choices[n])
            n++;
        CU_ASSERT(!p->choices || p->max + 1 <= n);
        CU_ASSERT(!p->choices || p->max + 1 >= n);
        for (size_t d = 0; d < sizeof(defaults) / sizeof(defaults[0]); d++)
            if (strcmp(defaults[d][0], p->name) == 0)
                CU_ASSERT_STRING_EQUAL(p->choices[(unsigned)p->fallback], defaults[d][1]);
    }
}

static double off(double ours, double published)
{
    return fabs(ours / published - 1);
}

/* Within 5 % of the figure, and within what reading it off to two digits leaves open. What is left
 * out follows from the data or from what the publication does not say; docs/deepreduce.md has all
 * figures. */
static void published_figure_8(void)
{
    if (IS_SANITIZED) {
        strait_test_skip("its figures do not differ under a sanitizer");
        return;
    }
    struct strait_tensors *t = load();
    const struct strait_recording *r =
        strait_tensors_find(t, "resnet", "s3.1.conv1.weight", "grad", 120);
    CU_ASSERT_FATAL(r && r->n_elems >= FIGURE_8_ELEMS);
    for (size_t c = 0; c < N_FIGURE_8; c++) {
        const struct method *m = &figure_8[c].method;
        struct volume v;
        CU_ASSERT_FATAL(volume_of(&v, m, r->values, FIGURE_8_ELEMS));
        const double all = 4.0 * FIGURE_8_ELEMS;
        const double index_pct = 100 * v.index_bytes / all, value_pct = 100 * v.value_bytes / all;
        const bool signs = !m->published; /* 46 bytes of signs, which the figure leaves out */
        CU_ASSERT(off(index_pct - (signs ? 100 * 46 / all : 0), figure_8[c].index_pct) < 0.05);
        if (strcmp(m->value, "dexp") != 0 && strcmp(m->value, "polyfit") != 0)
            CU_ASSERT(off(value_pct, figure_8[c].value_pct) < 0.05);
    }
    strait_tensors_free(t);
}

static void published_models(void)
{
    if (IS_SANITIZED) {
        strait_test_skip("its figures do not differ under a sanitizer");
        return;
    }
    for (size_t c = 0; c < N_MOBILENET; c++)
        if (strcmp(mobilenet[c].name, "QSGD+BF-P0") != 0) /* no such rate is stated */
            CU_ASSERT(off(mobilenet_volume(&mobilenet[c].method), mobilenet[c].volume) < 0.05);
    CU_ASSERT(off(ncf_volume(), NCF_VOLUME) < 0.05);
}

static const struct strait_test tests[] = {
    {"every combination round-trips on recorded gradients", recorded_gradients},
    {"every combination round-trips on made-up tensors", generated_tensors},
    {"values sent raw are exact, and P0 sends all that were chosen", chosen_values_are_exact},
    {"streams are as long as arithmetic says", sizes},
    {"what is too long for positions goes whole", longest},
    {"a state that is used again gives the same bytes", lengths_in_turn},
    {"every sparsifier goes with it, to nothing and to all", every_sparsifier},
    {"truncated, flipped and random bytes do no harm", hostile_bytes},
    {"parameters out of range are refused by name", refused_parameters},
    {"the declared choices are those of the tables", declared_choices},
    {"the published volumes of a convolution gradient are reproduced", published_figure_8},
    {"the published volumes of whole models are reproduced", published_models},
};
STRAIT_SUITE("codecs/deepreduce/deepreduce", tests);
