#include "gpt.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "dense.h"
#include "lanes.h"
#include "norm.h"

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

/* GELU by tanh (Hendrycks and Gimpel, arXiv 1606.08415): x / (1 + e^-2u),
 * u = sqrt(2 / pi) (x + 0.044715 x^3). */
static const float ROOT = 0.797884560802865f, CUBE = 0.044715f;

STRAIT_CLONED
static void gelu(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] / (1 + learn_exp(-2 * ROOT * (x[i] + CUBE * x[i] * x[i] * x[i])));
}

/* dy becomes dx: with s = 1 / (1 + e^-2u), y' = s + x s (1 - s) 2 u'. */
STRAIT_CLONED
static void gelu_back(float *dy, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float s = 1 / (1 + learn_exp(-2 * ROOT * (x[i] + CUBE * x[i] * x[i] * x[i])));
        dy[i] *= s + x[i] * s * (1 - s) * 2 * ROOT * (1 + 3 * CUBE * x[i] * x[i]);
    }
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

/* --- forward --------------------------------------------------------------------------------- */

static void embed(struct pass *w, const float *model)
{
    const size_t d = w->t->width, context = w->t->context;
    const float *positions = model + w->t->words * d;
    for (size_t i = 0; i < w->rows; i++) {
        const float *word = model + w->words[i / context * (context + 1) + i % context] * d;
        for (size_t j = 0; j < d; j++)
            w->x[i * d + j] = word[j] + positions[i % context * d + j];
    }
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
        learn_dense_forward(s.qkv, s.ln1, b.qkv, b.qkv_bias, rows, d, 3 * d);
        attend(w, &s, layer, instead, how);
        dense_added(w->x, w->last, s.mixed, b.proj, b.proj_bias, rows, d, d);
        learn_layer_norm(s.ln2, s.unit2, s.over2, w->x, b.ln2, b.ln2_bias, rows, d);
        learn_dense_forward(s.fc, s.ln2, b.fc, b.fc_bias, rows, d, 4 * d);
        gelu(s.gelu, s.fc, rows * 4 * d);
        dense_added(w->x, w->last, s.gelu, b.out, b.out_bias, rows, 4 * d, d);
    }
    const float *norm = last_norm(w->t, model);
    learn_layer_norm(w->last, w->last_unit, w->last_over, w->x, norm, norm + d, rows, d);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)w->t->words, (int)d, 1,
                w->last, (int)d, head_of(w->t, model), (int)d, 0, w->scores, (int)w->t->words);
}

/* The word that follows token `row`. */
static size_t answer(const struct pass *w, size_t row)
{
    const size_t context = w->t->context;
    return w->words[row / context * (context + 1) + row % context + 1];
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

/* From scores to dx, the gradient by the residual stream after the last block. */
static void head_back(struct pass *w, float *gradient, const float *model)
{
    const int rows = (int)w->rows, d = (int)w->t->width, words = (int)w->t->words;
    float *norm = last_norm(w->t, gradient);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, words, d, rows, 1, w->scores, words,
                w->last, d, 1, head_of(w->t, gradient), d);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, d, words, 1, w->scores, words,
                head_of(w->t, model), d, 0, w->dlast, d);
    learn_layer_norm_back(w->dx, norm, norm + d, w->dlast, w->last_unit, w->last_over,
                          last_norm(w->t, model), w->rows, w->t->width, 0);
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
    gelu_back(w->dwide, s.fc, rows * 4 * d);
    learn_dense_back(w->dlast, g.fc, g.fc_bias, w->dwide, s.ln2, b.fc, rows, d, 4 * d);
    learn_layer_norm_back(w->dx, g.ln2, g.ln2_bias, w->dlast, s.unit2, s.over2, b.ln2, rows, d, 1);
    learn_dense_back(w->dlast, g.proj, g.proj_bias, w->dx, s.mixed, b.proj, rows, d, d);
    attend_back(w, &s);
    learn_dense_back(w->dlast, g.qkv, g.qkv_bias, w->dqkv, s.ln1, b.qkv, rows, d, 3 * d);
    learn_layer_norm_back(w->dx, g.ln1, g.ln1_bias, w->dlast, s.unit1, s.over1, b.ln1, rows, d, 1);
}

static void embed_back(const struct pass *w, float *gradient)
{
    const size_t d = w->t->width, context = w->t->context;
    float *positions = gradient + w->t->words * d;
    for (size_t i = 0; i < w->rows; i++) {
        float *word = gradient + w->words[i / context * (context + 1) + i % context] * d;
        for (size_t j = 0; j < d; j++) {
            word[j] += w->dx[i * d + j];
            positions[i % context * d + j] += w->dx[i * d + j];
        }
    }
}

double learn_gpt_gradient(const struct learn_gpt *t, float *gradient, const float *w,
                          const unsigned char *words, size_t n, float *room)
{
    struct pass pass;
    lay_out(&pass, t, n, true, room);
    pass.words = words;
    forward(&pass, w, NULL, NULL);
    memset(gradient, 0, learn_gpt_n_elems(t) * sizeof(*gradient));
    const double loss = entropy_back(&pass);
    head_back(&pass, gradient, w);
    for (size_t layer = t->layers; layer > 0; layer--)
        block_back(&pass, gradient, w, layer - 1);
    embed_back(&pass, gradient);
    return loss;
}
