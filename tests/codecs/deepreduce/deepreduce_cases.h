/* What the publication of DeepReduce reports (Xu et al., NeurIPS 2021), and the same volumes
 * measured: what the test and the bench of this family share. */
#pragma once
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "codecs/builtin.h"
#include "codecs/deepreduce/rank_order.h"
#include "codecs/sparse/sparse.h"
#include "codecs/deepreduce/value_codec.h"
#include "tests/kit/tensor_kinds.h"

/* Parameters of the codec deepreduce by name; `index` "" is the plain sparsifier of the
 * publication, 8 bytes for each chosen value. */
struct method {
    const char *index, *value;
    double ratio, fpr, bound;
    unsigned levels;
    bool published;
};

static inline unsigned choice_of(const char *const *names, const char *name)
{
    unsigned i = 0;
    while (names[i] && strcmp(names[i], name) != 0)
        i++;
    assert(names[i]);
    return i;
}

/* asked: sparsifier, ratio and threshold instead of topk at the method's ratio; or NULL. */
static inline bool open_method_for(void **state, const struct method *m, const double asked[3])
{
    const struct strait_codec_ops *ops = &strait_codec_deepreduce;
    double values[16];
    struct strait_error err = {0};
    for (unsigned i = 0; i < ops->n_params; i++) {
        const struct strait_param *p = &ops->params[i];
        values[i] = p->fallback;
        if (strcmp(p->name, "index") == 0)
            values[i] = choice_of(p->choices, m->index);
        if (strcmp(p->name, "value") == 0)
            values[i] = choice_of(p->choices, m->value);
        if (strcmp(p->name, "payload") == 0)
            values[i] = choice_of(p->choices, m->published ? "published" : "packed");
        if (strcmp(p->name, "ratio") == 0)
            values[i] = m->ratio;
        if (strcmp(p->name, "fpr") == 0)
            values[i] = m->fpr;
        if (strcmp(p->name, "value_bound") == 0)
            values[i] = m->bound;
        if (strcmp(p->name, "levels") == 0)
            values[i] = m->levels;
    }
    for (unsigned i = 0; i < 3 && asked; i++) /* the first three that are declared */
        values[i] = asked[i];
    return strait_codec_open(ops, state, values, &err) == 0;
}

static inline bool open_method(void **state, const struct method *m)
{
    return open_method_for(state, m, NULL);
}

static inline bool open_value(struct strait_value_coder *c, const char *name,
                              struct strait_value_params params)
{
    size_t n;
    const struct strait_value_codec *const *codecs = strait_value_codecs(&n);
    struct strait_error err = {0};
    params.levels = params.levels ? params.levels : 127;
    return strait_value_coder_open(c, codecs[choice_of(strait_value_codec_names, name)], params,
                                   &err) == 0;
}

/* The chosen positions and values of a tensor, ranked where the value codec asks for that. */
struct chosen {
    uint32_t *index;
    float *values;
    size_t n;
};

static inline void chosen_release(struct chosen *c)
{
    free(c->index);
    free(c->values);
}

static inline bool choose(struct chosen *c, const float *x, size_t n_elems, const char *sparsifier,
                          double ratio, const struct strait_value_codec *codec)
{
    size_t n_rules;
    const struct strait_sparsifier *rule =
        strait_sparsifiers(&n_rules)[choice_of(strait_sparsifier_names, sparsifier)];
    const struct strait_sparsifier_params p = {.ratio = ratio};
    uint32_t *scratch = malloc(4 * n_elems + 4);
    *c = (struct chosen){.index = malloc(4 * n_elems + 4), .values = malloc(4 * n_elems + 4)};
    if (!scratch || !c->index || !c->values)
        return false;
    c->n = rule->choose(c->index, x, n_elems, &p, 1, scratch);
    for (size_t i = 0; i < c->n; i++)
        c->values[i] = x[c->index[i]];
    free(scratch);
    if (codec->permutes) {
        struct strait_rank_order order = {
            .place = malloc(4 * c->n + 4), .sign = malloc(c->n + 1), .signs = codec->magnitudes};
        float *sorted = malloc(4 * c->n + 4);
        uint64_t *pairs = malloc(16 * c->n + 8);
        if (!order.place || !order.sign || !sorted || !pairs)
            return false;
        strait_rank_order_of(&order, sorted, c->values, c->n, pairs);
        free(c->values);
        c->values = sorted;
        free(order.place);
        free(order.sign);
        free(pairs);
    }
    return true;
}

struct volume {
    double index_bytes, value_bytes; /* the codec's own two bytes and the order count as index */
};

/* Bytes of the codec deepreduce for x, apart into what the value codec alone takes and the rest. */
static inline bool volume_of(struct volume *v, const struct method *m, const float *x,
                             size_t n_elems)
{
    const struct strait_codec_ops *ops = &strait_codec_deepreduce;
    void *state = NULL;
    struct strait_error err = {0};
    struct strait_value_coder coder = {0};
    if (!m->index[0]) {
        v->index_bytes = v->value_bytes = 4 * (double)(size_t)(m->ratio * (double)n_elems);
        return true;
    }
    if (!open_method(&state, m))
        return false;
    const size_t cap = ops->max_bytes(state, n_elems);
    unsigned char *bytes = malloc(cap);
    float *y = malloc(4 * n_elems + 4);
    size_t len = 0;
    bool good = bytes && y &&
                strait_codec_encode(ops, state, bytes, cap, &len, x, n_elems,
                                    (struct strait_request){0}, &err) == 0 &&
                ops->decode(state, y, n_elems, bytes, len, &err) == 0 &&
                open_value(&coder, m->value,
                           (struct strait_value_params){m->bound, m->levels, m->published});
    if (good) {
        /* The values of the set that the index codec made of the chosen: P0 sends more. */
        size_t n_kinds, n;
        const struct strait_index_codec *codec =
            strait_index_codecs(&n_kinds)[choice_of(strait_index_codec_names, m->index)];
        struct chosen chosen = {0};
        uint32_t *scratch = malloc(4 * (n_elems + 1024));
        struct strait_writer w = {.p = bytes, .end = bytes + cap};
        good = scratch && choose(&chosen, x, n_elems, "topk", m->ratio, &strait_value_raw);
        n = chosen.n;
        codec->encode(&w, chosen.index, &n, n_elems, m->fpr, 1, scratch);
        unsigned char *out = malloc(coder.codec->max_bytes(&coder, n) + 1);
        float *values = malloc(4 * n + 4);
        good = good && out && values;
        for (size_t i = 0; good && i < n; i++)
            values[i] = x[chosen.index[i]];
        struct strait_rank_order order = {
            .place = malloc(4 * n + 4), .sign = malloc(n + 1), .signs = coder.codec->magnitudes};
        uint64_t *pairs = malloc(16 * n + 8);
        float *sorted = malloc(4 * n + 4);
        if (good && coder.codec->permutes && order.place && order.sign && pairs && sorted)
            strait_rank_order_of(&order, sorted, values, n, pairs);
        w = (struct strait_writer){.p = out, .end = out + coder.codec->max_bytes(&coder, n)};
        good = good && coder.codec->encode(&coder, &w, coder.codec->permutes ? sorted : values, n,
                                           1, &err) == 0;
        v->value_bytes = (double)(w.p - out);
        v->index_bytes = (double)len - v->value_bytes;
        chosen_release(&chosen);
        free(scratch);
        free(out);
        free(values);
        free(order.place);
        free(order.sign);
        free(pairs);
        free(sorted);
    }
    strait_value_coder_close(&coder);
    free(bytes);
    free(y);
    ops->close(state);
    return good;
}

/* Figure 8a: topk 1 % of a convolution gradient of ResNet-20, 36864 values; % of the dense tensor,
 * read off the vector graphics. */
enum { FIGURE_8_ELEMS = 36864 };
static const struct {
    struct method method;
    double index_pct, value_pct;
} figure_8[] = {
    {{"raw", "raw", 0.01, 0, 0, 127, true}, 1.0, 1.0},
    {{"huffman", "raw", 0.01, 0, 0, 127, true}, 0.62, 1.0},
    {{"rle", "raw", 0.01, 0, 0, 127, true}, 0.59, 1.0},
    {{"bloom-p2", "raw", 0.01, 0.001, 0, 127, true}, 0.45, 1.0},
    {{"raw", "deflate", 0.01, 0, 0, 127, true}, 1.0, 0.9},
    {{"raw", "qsgd", 0.01, 0, 0, 127, true}, 1.0, 0.25},
    {{"raw", "polyfit", 0.01, 0, 0, 127, true}, 1.0, 0.17},
    {{"raw", "dexp", 0.01, 0, 0, 127, true}, 1.0, 0.02},
    {{"bloom-p2", "dexp", 0.01, 0.001, 0, 127, false}, 0.73, 0.02},
    {{"bloom-p2", "qsgd", 0.01, 0.001, 0, 127, true}, 0.45, 0.25},
};
enum { N_FIGURE_8 = sizeof(figure_8) / sizeof(figure_8[0]) };

/* Table 5: MobileNet on CIFAR-10, topr 10 %; tensors of one dimension are sent whole. */
static const struct {
    const char *name;
    struct method method;
    double volume;
} mobilenet[] = {
    {"Top-r", {"", "", 0.1, 0, 0, 127, true}, 0.2069},
    {"Fit-Poly", {"raw", "polyfit", 0.1, 0, 0, 127, true}, 0.1087},
    {"BF-P0", {"bloom-p0", "raw", 0.1, 0, 0, 127, true}, 0.1475},
    {"QSGD+BF-P0", {"bloom-p0", "qsgd", 0.1, 0, 0, 127, true}, 0.0713},
    {"QSGD+BF-P0, f = 0.0025", {"bloom-p0", "qsgd", 0.1, 0.0025, 0, 127, true}, 0.0713},
};
enum { N_MOBILENET = sizeof(mobilenet) / sizeof(mobilenet[0]) };

static inline double dense_volume(double *all, const struct method *m, size_t n)
{
    struct volume v = {0};
    float *x = malloc(4 * n);
    *all += 4 * (double)n;
    if (!x)
        return NAN;
    make_tensor(x, n, TENSOR_WEIGHTS, n);
    const bool good = volume_of(&v, m, x, n);
    free(x);
    return good ? v.index_bytes + v.value_bytes : NAN;
}

/* Bytes over dense bytes for MobileNet v1 of 10 classes: a 3x3 convolution, 13 pairs of a depthwise
 * and a pointwise one, a dense layer; scale and shift after each convolution. Values are normal:
 * no size here depends on them. */
static inline double mobilenet_volume(const struct method *m)
{
    static const size_t channels[] = {32,  64,  128, 128, 256, 256,  512,
                                      512, 512, 512, 512, 512, 1024, 1024};
    double all = 0, sent = dense_volume(&all, m, 3 * 9 * channels[0]), whole = 2.0 * 32 + 10;
    for (size_t i = 0; i + 1 < sizeof(channels) / sizeof(channels[0]); i++) {
        sent += dense_volume(&all, m, 9 * channels[i]);
        sent += dense_volume(&all, m, channels[i] * channels[i + 1]);
        whole += 2 * (double)(channels[i] + channels[i + 1]);
    }
    sent += dense_volume(&all, m, 10240);
    return (sent + 4 * whole) / (all + 4 * whole);
}

/* Table 6: NCF, 40 % of the gradient zeros, a Bloom filter of false positive rate 0.6 and 7-bit
 * QSGD; a million values stand for the 31.8 million. */
#define NCF_VOLUME 0.2063
static inline double ncf_volume(void)
{
    static const struct method m = {"bloom-p0", "qsgd", 0.6, 0.6, 0, 63, false};
    double all = 0;
    const double sent = dense_volume(&all, &m, 1000000);
    return sent / all;
}
