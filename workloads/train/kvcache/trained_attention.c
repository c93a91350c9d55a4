#include "trained_attention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kv_attention.h"
#include "core/buffer.h"
#include "learn/char_transformer.h"

enum { AT_ONCE = 4 }; /* sequences: more would only take memory */

/* Keys and values of one head, as they are and as they are kept. */
struct head {
    struct strait_attention_way way;
    float *keys, *values, *kept_keys, *kept_values;
    float *basis, *small, *query; /* low rank */
    float *scores, *guessed;
    size_t *chosen;
    float *memory;
    struct strait_error *err;
    int failed;
};

static int head_init(struct head *h, size_t n, size_t d, struct strait_error *err)
{
    *h = (struct head){.err = err};
    h->memory = malloc((5 * n * d + d * d + d + 2 * n) * sizeof(*h->memory));
    h->chosen = malloc(n * sizeof(*h->chosen));
    if (!h->memory || !h->chosen)
        return strait_error_memory(err, "attention");
    h->keys = h->memory;
    h->values = h->keys + n * d;
    h->kept_keys = h->values + n * d;
    h->kept_values = h->kept_keys + n * d;
    h->small = h->kept_values + n * d;
    h->basis = h->small + n * d;
    h->query = h->basis + d * d;
    h->scores = h->query + d;
    h->guessed = h->scores + n;
    return 0;
}

static void head_release(struct head *h)
{
    free(h->memory);
    free(h->chosen);
}

/* What is kept of the keys and values in this way. */
static int keep(struct head *h, const struct learn_head *x)
{
    const size_t n = x->n, d = x->d;
    for (size_t i = 0; i < n; i++) {
        memcpy(h->keys + i * d, x->k + i * x->in, d * sizeof(float));
        memcpy(h->values + i * d, x->v + i * x->in, d * sizeof(float));
    }
    memcpy(h->kept_keys, h->keys, n * d * sizeof(float));
    memcpy(h->kept_values, h->values, n * d * sizeof(float));
    if (h->way.bits > 0) {
        strait_keys_quantise(h->kept_keys, h->keys, n, d, h->way.bits);
        strait_keys_quantise(h->kept_values, h->values, n, d, h->way.bits);
    }
    return h->way.rank > 0
               ? strait_keys_low_rank(h->basis, h->small, h->kept_keys, n, d, h->way.rank, h->err)
               : 0;
}

/* Scores of the kept keys. Those in few directions are scaled as those in all. */
static void guess(struct head *h, const float *query, size_t n, size_t d)
{
    if (h->way.rank == 0) {
        strait_attention_scores(h->guessed, h->kept_keys, query, n, d);
        return;
    }
    strait_query_project(h->query, h->basis, query, d, h->way.rank);
    strait_attention_scores(h->guessed, h->small, h->query, n, h->way.rank);
    const float scale = sqrtf((float)h->way.rank / (float)d);
    for (size_t i = 0; i < n; i++)
        h->guessed[i] *= scale;
}

static int attend_one(struct head *h, float *out, const float *query, size_t n, size_t d)
{
    const size_t k = h->way.top_k < n ? h->way.top_k : n;
    guess(h, query, n, d);
    if (h->way.top_k == 0) {
        strait_attention_output(out, h->guessed, h->kept_values, NULL, 0, n, d);
        return 0;
    }
    if (strait_attention_top(h->chosen, k, h->guessed, n, h->err) != 0)
        return -1;
    strait_attention_scores(h->scores, h->keys, query, n, d);
    strait_attention_output(out, h->scores, h->values, h->chosen, k, n, d);
    return 0;
}

static void attend(void *how, float *out, float *p, const struct learn_head *x, size_t layer,
                   size_t head)
{
    struct head *h = how;
    (void)p, (void)layer, (void)head;
    if (h->failed || (h->failed = keep(h, x)) != 0)
        return;
    for (size_t i = 0; i < x->n && !h->failed; i++)
        h->failed = attend_one(h, out + i * x->out, x->q + i * x->in, i + 1, x->d);
}

/* --- the text -------------------------------------------------------------------------------- */

static int check_way(const struct strait_attention_way *way, size_t d, struct strait_error *err)
{
    if (way->rank > d)
        return strait_refuse(err, "attention", "expected a rank of at most %zu, found %zu", d,
                             way->rank);
    if (way->bits > 8)
        return strait_refuse(err, "attention", "expected at most 8 bits, found %u", way->bits);
    return 0;
}

struct text {
    const struct strait_learn *l;
    const struct learn_gpt *shape;
    const float *w;
    unsigned char *words, *full, *best; /* full: the likeliest with full attention, of all places */
    float *room;
};

/* full: full attention, whose likeliest characters are kept. */
static void evaluate(struct strait_way_quality *out, struct text *t, long n_examples,
                     struct head *h, bool full)
{
    const size_t context = t->shape->context;
    size_t right = 0, same = 0;
    double sum = 0;
    for (long at = 0; at < n_examples && !h->failed; at += AT_ONCE) {
        uint32_t examples[AT_ONCE];
        const size_t some = (size_t)(n_examples - at < AT_ONCE ? n_examples - at : AT_ONCE);
        unsigned char *wanted = t->full + (size_t)at * context, *best = full ? wanted : t->best;
        double loss;
        for (size_t i = 0; i < some; i++)
            examples[i] = (uint32_t)at + (uint32_t)i;
        strait_char_transformer_words(t->l, t->words, examples, some, true);
        right += learn_gpt_score(t->shape, &loss, best, t->w, t->words, some, t->room,
                                 full ? NULL : attend, h);
        sum += loss;
        for (size_t i = 0; i < some * context; i++)
            same += best[i] == wanted[i];
    }
    const double n = (double)n_examples * (double)context;
    *out = (struct strait_way_quality){sum / n, (double)right / n, (double)same / n, (size_t)n};
}

static bool text_init(struct text *t, const struct strait_learn *l, const float *w, long n)
{
    const struct learn_gpt *shape = strait_char_transformer_shape(l);
    *t = (struct text){.l = l, .shape = shape, .w = w};
    t->words = malloc(AT_ONCE * (shape->context + 1));
    t->best = malloc(AT_ONCE * shape->context);
    t->full = malloc((size_t)n * shape->context);
    t->room = strait_buffer_new(learn_gpt_room(shape, AT_ONCE, false) * sizeof(float));
    return t->words && t->best && t->full && t->room;
}

static void text_release(struct text *t)
{
    free(t->words);
    free(t->best);
    free(t->full);
    strait_buffer_free(t->room);
}

int strait_attention_ways(struct strait_way_quality *out, const struct strait_attention_way *ways,
                          size_t n_ways, const struct strait_learn *l, const float *w,
                          long n_examples, struct strait_error *err)
{
    const struct learn_gpt *shape = strait_char_transformer_shape(l);
    const size_t d = shape->width / shape->heads;
    const long most = strait_char_transformer_held_out(l),
               n = n_examples > 0 && n_examples < most ? n_examples : most;
    struct strait_way_quality full;
    struct text t = {0};
    struct head h = {0};
    for (size_t i = 0; i < n_ways; i++)
        if (check_way(&ways[i], d, err) != 0)
            return -1;
    int failed = head_init(&h, shape->context, d, err);
    if (!failed && !text_init(&t, l, w, n))
        failed = strait_error_memory(err, "attention");
    if (!failed)
        evaluate(&full, &t, n, &h, true);
    for (size_t i = 0; i < n_ways && !failed; i++) {
        h.way = ways[i];
        evaluate(&out[i], &t, n, &h, false);
        failed = h.failed;
    }
    text_release(&t);
    head_release(&h);
    return failed ? -1 : 0;
}
