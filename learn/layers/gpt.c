#include "gpt.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "dense.h"
#include "gelu.h"
#include "float_lanes.h"
#include "norm.h"
#include "core/host.h"

enum { ALIGN = 16 }; /* 16 floats: 64 bytes */

/* --- where things are ------------------------------------------------------------------------ */

/* Takes pieces of an array one after another; from NULL it only counts. */
struct taker {
    float *from;
    size_t used;
};

static float *take(struct taker *t, size_t n)
{
    float *at = t->from ? t->from + t->used : NULL;
    t->used += n;
    return at;
}

static float *take_aligned(struct taker *t, size_t n)
{
    return take(t, (n + ALIGN - 1) / ALIGN * ALIGN);
}

/* One block's parameters in a flattened model or gradient, in the order of
 * learn_gpt_params. */
struct block {
    float *ln1, *ln1_bias, *qkv, *qkv_bias, *proj, *proj_bias;
    float *ln2, *ln2_bias, *fc, *fc_bias, *out, *out_bias;
};

static struct block block_at(const struct learn_gpt *t, const float *model, size_t layer)
{
    const size_t d = t->width;
    struct taker m = {(float *)model, (t->words + t->context) * d + layer * (12 * d + 13) * d};
    struct block b;
    b.ln1 = take(&m, d);
    b.ln1_bias = take(&m, d);
    b.qkv = take(&m, 3 * d * d);
    b.qkv_bias = take(&m, 3 * d);
    b.proj = take(&m, d * d);
    b.proj_bias = take(&m, d);
    b.ln2 = take(&m, d);
    b.ln2_bias = take(&m, d);
    b.fc = take(&m, 4 * d * d);
    b.fc_bias = take(&m, 4 * d);
    b.out = take(&m, 4 * d * d);
    b.out_bias = take(&m, d);
    return b;
}

/* The last LayerNorm's scale, after the blocks; its bias and the head follow. */
static float *last_norm(const struct learn_gpt *t, const float *model)
{
    return block_at(t, model, t->layers).ln1;
}

static float *head_of(const struct learn_gpt *t, const float *model)
{
    return t->tied ? (float *)model : last_norm(t, model) + 2 * t->width;
}

/* What a block computed, rows of tokens: `unit` and `over` as of learn_layer_norm; p: attention's
 * weights [sequence][head][token][token]; fc before GELU and gelu after it. */
struct passed {
    float *ln1, *unit1, *over1, *qkv, *p, *mixed;
    float *ln2, *unit2, *over2, *fc, *gelu;
};

/* A pass over n sequences, rows = n x context tokens. */
struct pass {
    const struct learn_gpt *t;
    size_t n, rows;
    const unsigned char *words;
    const struct learn_laps *laps;
    const struct learn_factors *factors; /* as of learn_gpt_gradient */
    float *kept; /* of blocks: all of them for a gradient, else one, overwritten by the next */
    size_t kept_step;
    float *x; /* the residual stream */
    float *last, *last_unit, *last_over, *scores;
    float *dx, *dlast, *dqkv, *dwide, *square; /* backward */
};

static struct passed take_passed(struct taker *m, const struct pass *w)
{
    const size_t rows = w->rows, d = w->t->width;
    struct passed p;
    p.ln1 = take_aligned(m, rows * d);
    p.unit1 = take_aligned(m, rows * d);
    p.over1 = take_aligned(m, rows);
    p.qkv = take_aligned(m, rows * 3 * d);
    p.p = take_aligned(m, rows * w->t->heads * w->t->context);
    p.mixed = take_aligned(m, rows * d);
    p.ln2 = take_aligned(m, rows * d);
    p.unit2 = take_aligned(m, rows * d);
    p.over2 = take_aligned(m, rows);
    p.fc = take_aligned(m, rows * 4 * d);
    p.gelu = take_aligned(m, rows * 4 * d);
    return p;
}

static struct passed passed_at(const struct pass *w, size_t layer)
{
    struct taker m = {w->kept, layer * w->kept_step};
    return take_passed(&m, w);
}

/* room NULL: only counts. Returns: floats */
static size_t lay_out(struct pass *w, const struct learn_gpt *t, size_t n, bool gradient,
                      float *room)
{
    const size_t rows = n * t->context, d = t->width;
    struct taker m = {room, 0}, one = {NULL, 0};
    *w = (struct pass){.t = t, .n = n, .rows = rows};
    take_passed(&one, w);
    w->kept_step = gradient ? one.used : 0;
    w->kept = take(&m, gradient ? one.used * t->layers : one.used);
    w->x = take_aligned(&m, rows * d);
    w->last = take_aligned(&m, rows * d);
    w->last_unit = take_aligned(&m, rows * d);
    w->last_over = take_aligned(&m, rows);
    w->scores = take_aligned(&m, rows * t->words);
    if (gradient) {
        w->dx = take_aligned(&m, rows * d);
        w->dlast = take_aligned(&m, rows * d);
        w->dqkv = take_aligned(&m, rows * 3 * d);
        w->dwide = take_aligned(&m, rows * 4 * d);
        w->square = take_aligned(&m, t->context * t->context);
    }
    return m.used;
}

size_t learn_gpt_room(const struct learn_gpt *t, size_t n, bool gradient)
{
    struct pass w;
    return lay_out(&w, t, n, gradient, NULL);
}

/* --- layers ---------------------------------------------------------------------------------- */

/* y += x w' + bias; room is that of y. */
static void dense_added(float *y, float *room, const float *x, const float *w, const float *bias,
                        size_t rows, size_t d_in, size_t d_out)
{
    learn_dense_forward(room, x, w, bias, rows, d_in, d_out);
    for (size_t i = 0; i < rows * d_out; i++)
        y[i] += room[i];
}

static struct learn_head head_at(const struct learn_gpt *t, const float *qkv, size_t head)
{
    const size_t d = t->width / t->heads;
    return (struct learn_head){.n = t->context,
                               .d = d,
                               .in = 3 * t->width,
                               .out = t->width,
                               .q = qkv + head * d,
                               .k = qkv + t->width + head * d,
                               .v = qkv + 2 * t->width + head * d};
}

/* Layers in the order of learn_gpt_params: words, positions, those of each block, the last norm, a
 * head of its own. */
enum part { LN1, QKV, PROJ, LN2, FC, OUT, PARTS, NO_PART };

static size_t head_layer(const struct learn_gpt *t)
{
    return t->tied ? 0 : 2 + t->layers * PARTS + 1;
}

static void lap(const struct pass *w, size_t block, enum part part, bool back)
{
    learn_lap(w->laps, part == NO_PART ? LEARN_NO_LAYER : 2 + block * PARTS + part, back);
}

/* --- forward --------------------------------------------------------------------------------- */

static size_t word_at(const struct pass *w, size_t row)
{
    const size_t context = w->t->context;
    return w->words[row / context * (context + 1) + row % context];
}

/* The word that follows it. */
static size_t answer(const struct pass *w, size_t row)
{
    const size_t context = w->t->context;
    return w->words[row / context * (context + 1) + row % context + 1];
}

static void embed(struct pass *w, const float *model)
{
    const size_t d = w->t->width, context = w->t->context;
    const float *positions = model + w->t->words * d;
    for (size_t i = 0; i < w->rows; i++)
        memcpy(w->x + i * d, model + word_at(w, i) * d, d * sizeof(*w->x));
    learn_lap(w->laps, 0, false);
    for (size_t i = 0; i < w->rows; i++)
        for (size_t j = 0; j < d; j++)
            w->x[i * d + j] += positions[i % context * d + j];
    learn_lap(w->laps, 1, false);
}

static void attend(const struct pass *w, const struct passed *s, size_t layer,
                   learn_attend_instead instead, void *how)
{
    const size_t n = w->t->context, d = w->t->width;
    for (size_t i = 0; i < w->n * w->t->heads; i++) {
        const size_t sequence = i / w->t->heads, head = i % w->t->heads;
        const struct learn_head h = head_at(w->t, s->qkv + sequence * n * 3 * d, head);
        float *out = s->mixed + sequence * n * d + head * h.d, *p = s->p + i * n * n;
        if (instead)
            instead(how, out, p, &h, layer, head);
        else
            learn_attend(out, p, &h);
    }
}

static void forward(struct pass *w, const float *model, learn_attend_instead instead, void *how)
{
    const size_t d = w->t->width, rows = w->rows;
    embed(w, model);
    for (size_t layer = 0; layer < w->t->layers; layer++) {
        const struct block b = block_at(w->t, model, layer);
        const struct passed s = passed_at(w, layer);
        learn_layer_norm(s.ln1, s.unit1, s.over1, w->x, b.ln1, b.ln1_bias, rows, d);
        lap(w, layer, LN1, false);
        learn_dense_forward(s.qkv, s.ln1, b.qkv, b.qkv_bias, rows, d, 3 * d);
        lap(w, layer, QKV, false);
        attend(w, &s, layer, instead, how);
        lap(w, layer, NO_PART, false);
        dense_added(w->x, w->last, s.mixed, b.proj, b.proj_bias, rows, d, d);
        lap(w, layer, PROJ, false);
        learn_layer_norm(s.ln2, s.unit2, s.over2, w->x, b.ln2, b.ln2_bias, rows, d);
        lap(w, layer, LN2, false);
        learn_dense_forward(s.fc, s.ln2, b.fc, b.fc_bias, rows, d, 4 * d);
        lap(w, layer, FC, false);
        learn_gelu(s.gelu, s.fc, rows * 4 * d);
        lap(w, layer, NO_PART, false);
        dense_added(w->x, w->last, s.gelu, b.out, b.out_bias, rows, 4 * d, d);
        lap(w, layer, OUT, false);
    }
    const float *norm = last_norm(w->t, model);
    learn_layer_norm(w->last, w->last_unit, w->last_over, w->x, norm, norm + d, rows, d);
    lap(w, w->t->layers, LN1, false);
    STRAIT_BLAS(cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)w->t->words,
                            (int)d, 1, w->last, (int)d, head_of(w->t, model), (int)d, 0, w->scores,
                            (int)w->t->words));
    learn_lap(w->laps, head_layer(w->t), false);
}

/* In place: scores of one token become e^(score - largest). Returns: their cross entropy */
STRAIT_CLONED
static double entropy(float *x, float *sum, size_t n, size_t wanted)
{
    const float most = learn_largest(x, n), gap = most - x[wanted];
    for (size_t j = 0; j < n; j++)
        x[j] = learn_exp(x[j] - most);
    *sum = learn_sum(x, n);
    return (double)gap + log((double)*sum);
}

size_t learn_gpt_score(const struct learn_gpt *t, double *loss, unsigned char *best, const float *w,
                       const unsigned char *words, size_t n, float *room,
                       learn_attend_instead attend_instead, void *how)
{
    struct pass pass;
    size_t right = 0;
    *loss = 0;
    lay_out(&pass, t, n, false, room);
    pass.words = words;
    forward(&pass, w, attend_instead, how);
    for (size_t i = 0; i < pass.rows; i++) {
        float *x = pass.scores + i * t->words, sum;
        size_t most = 0;
        for (size_t j = 1; j < t->words; j++)
            most = x[j] > x[most] ? j : most;
        if (best)
            best[i] = (unsigned char)most;
        right += most == answer(&pass, i);
        *loss += entropy(x, &sum, t->words, answer(&pass, i));
    }
    return right;
}

/* --- backward -------------------------------------------------------------------------------- */

/* Scores become the gradient of the mean cross entropy by them. Returns: that mean */
static double entropy_back(struct pass *w)
{
    const size_t n = w->t->words;
    double loss = 0;
    for (size_t i = 0; i < w->rows; i++) {
        float *x = w->scores + i * n, sum;
        loss += entropy(x, &sum, n, answer(w, i));
        const float over = 1 / (sum * (float)w->rows);
        for (size_t j = 0; j < n; j++)
            x[j] *= over;
        x[answer(w, i)] -= 1 / (float)w->rows;
    }
    return loss / (double)w->rows;
}

enum linear { OF_QKV, OF_PROJ, OF_FC, OF_OUT, LINEARS };

/* x: the layer's input, dy: the derivative by its output. */
static void note_factors(const struct pass *w, size_t block, enum linear which, const float *x,
                         const float *dy)
{
    if (w->factors)
        learn_dense_factors(&w->factors[block * LINEARS + which], x, dy, w->rows);
}

/* From scores to dx, the gradient by the residual stream after the last block. */
static void head_back(struct pass *w, float *gradient, const float *model)
{
    const int rows = (int)w->rows, d = (int)w->t->width, words = (int)w->t->words;
    float *norm = last_norm(w->t, gradient);
    STRAIT_BLAS(cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, words, d, rows, 1, w->scores,
                            words, w->last, d, 1, head_of(w->t, gradient), d));
    STRAIT_BLAS(cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, d, words, 1, w->scores,
                            words, head_of(w->t, model), d, 0, w->dlast, d));
    if (!w->t->tied)
        note_factors(w, w->t->layers, 0, w->last, w->scores);
    learn_lap(w->laps, head_layer(w->t), true);
    learn_layer_norm_back(w->dx, norm, norm + d, w->dlast, w->last_unit, w->last_over,
                          last_norm(w->t, model), w->rows, w->t->width, 0);
    lap(w, w->t->layers, LN1, true);
}

static void attend_back(const struct pass *w, const struct passed *s)
{
    const size_t n = w->t->context, d = w->t->width;
    for (size_t i = 0; i < w->n * w->t->heads; i++) {
        const size_t sequence = i / w->t->heads, head = i % w->t->heads;
        const struct learn_head h = head_at(w->t, s->qkv + sequence * n * 3 * d, head);
        float *dq = w->dqkv + sequence * n * 3 * d + head * h.d;
        learn_attend_back(dq, dq + d, dq + 2 * d, w->dlast + sequence * n * d + head * h.d,
                          s->p + i * n * n, w->square, &h);
    }
}

/* dx of the stream after the block becomes dx of the stream before it. */
static void block_back(const struct pass *w, float *gradient, const float *model, size_t layer)
{
    const size_t d = w->t->width, rows = w->rows;
    const struct block b = block_at(w->t, model, layer), g = block_at(w->t, gradient, layer);
    const struct passed s = passed_at(w, layer);
    learn_dense_back(w->dwide, g.out, g.out_bias, w->dx, s.gelu, b.out, rows, 4 * d, d);
    note_factors(w, layer, OF_OUT, s.gelu, w->dx);
    lap(w, layer, OUT, true);
    learn_gelu_back(w->dwide, s.fc, rows * 4 * d);
    lap(w, layer, NO_PART, true);
    learn_dense_back(w->dlast, g.fc, g.fc_bias, w->dwide, s.ln2, b.fc, rows, d, 4 * d);
    note_factors(w, layer, OF_FC, s.ln2, w->dwide);
    lap(w, layer, FC, true);
    learn_layer_norm_back(w->dx, g.ln2, g.ln2_bias, w->dlast, s.unit2, s.over2, b.ln2, rows, d, 1);
    lap(w, layer, LN2, true);
    learn_dense_back(w->dlast, g.proj, g.proj_bias, w->dx, s.mixed, b.proj, rows, d, d);
    note_factors(w, layer, OF_PROJ, s.mixed, w->dx);
    lap(w, layer, PROJ, true);
    attend_back(w, &s);
    lap(w, layer, NO_PART, true);
    learn_dense_back(w->dlast, g.qkv, g.qkv_bias, w->dqkv, s.ln1, b.qkv, rows, d, 3 * d);
    note_factors(w, layer, OF_QKV, s.ln1, w->dqkv);
    lap(w, layer, QKV, true);
    learn_layer_norm_back(w->dx, g.ln1, g.ln1_bias, w->dlast, s.unit1, s.over1, b.ln1, rows, d, 1);
    lap(w, layer, LN1, true);
}

static void embed_back(const struct pass *w, float *gradient)
{
    const size_t d = w->t->width, context = w->t->context;
    float *positions = gradient + w->t->words * d;
    for (size_t i = 0; i < w->rows; i++)
        for (size_t j = 0; j < d; j++)
            positions[i % context * d + j] += w->dx[i * d + j];
    learn_lap(w->laps, 1, true);
    for (size_t i = 0; i < w->rows; i++)
        for (size_t j = 0; j < d; j++)
            gradient[word_at(w, i) * d + j] += w->dx[i * d + j];
    learn_lap(w->laps, 0, true);
}

double learn_gpt_gradient(const struct learn_gpt *t, float *gradient, const float *w,
                          const unsigned char *words, size_t n, float *room,
                          const struct learn_laps *laps, const struct learn_factors *factors)
{
    struct pass pass;
    lay_out(&pass, t, n, true, room);
    pass.words = words;
    pass.laps = laps;
    pass.factors = factors;
    forward(&pass, w, NULL, NULL);
    memset(gradient, 0, learn_gpt_n_elems(t) * sizeof(*gradient));
    const double loss = entropy_back(&pass);
    learn_lap(laps, LEARN_NO_LAYER, false);
    head_back(&pass, gradient, w);
    for (size_t layer = t->layers; layer > 0; layer--)
        block_back(&pass, gradient, w, layer - 1);
    embed_back(&pass, gradient);
    return loss;
}
