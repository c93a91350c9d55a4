#include "kv_attention.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/host.h"

void strait_attention_scores(float *scores, const float *keys, const float *q, size_t n, size_t d)
{
    const float scale = 1 / sqrtf((float)d);
    for (size_t i = 0; i < n; i++) {
        float sum = 0;
        for (size_t j = 0; j < d; j++)
            sum += keys[i * d + j] * q[j];
        scores[i] = sum * scale;
    }
}

void strait_attention_output(float *out, const float *scores, const float *values,
                             const size_t *chosen, size_t n_chosen, size_t n, size_t d)
{
    const size_t count = chosen ? n_chosen : n;
    float most = -INFINITY;
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        most = fmaxf(most, scores[chosen ? chosen[i] : i]);
    memset(out, 0, d * sizeof(*out));
    for (size_t i = 0; i < count; i++) {
        const size_t token = chosen ? chosen[i] : i;
        const float weight = expf(scores[token] - most);
        sum += (double)weight;
        for (size_t j = 0; j < d; j++)
            out[j] += weight * values[token * d + j];
    }
    for (size_t j = 0; j < d && sum > 0; j++)
        out[j] = (float)((double)out[j] / sum);
}

struct scored {
    float score;
    size_t token;
};

static int by_score(const void *a, const void *b)
{
    const struct scored *x = a, *y = b;
    if (x->score > y->score || x->score < y->score)
        return x->score > y->score ? -1 : 1;
    return (x->token > y->token) - (x->token < y->token);
}

static int by_token(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

int strait_attention_top(size_t *chosen, size_t k, const float *scores, size_t n,
                         struct strait_error *err)
{
    struct scored *all = malloc((n + 1) * sizeof(*all));
    if (!all)
        return strait_error_memory(err, "attention");
    for (size_t i = 0; i < n; i++)
        all[i] = (struct scored){scores[i], i};
    qsort(all, n, sizeof(*all), by_score);
    for (size_t i = 0; i < k && i < n; i++)
        chosen[i] = all[i].token;
    qsort(chosen, k < n ? k : n, sizeof(*chosen), by_token);
    free(all);
    return 0;
}

double strait_attention_recall(const size_t *truth, const size_t *found, size_t k)
{
    size_t n_both = 0;
    for (size_t i = 0, j = 0; i < k && j < k;) {
        n_both += truth[i] == found[j];
        if (truth[i] <= found[j])
            i++;
        else
            j++;
    }
    return k > 0 ? (double)n_both / (double)k : 1;
}

double strait_attention_error(const float *a, const float *b, size_t n)
{
    double difference = 0, norm = 0;
    for (size_t i = 0; i < n; i++) {
        const double off = (double)a[i] - (double)b[i];
        difference += off * off;
        norm += (double)b[i] * (double)b[i];
    }
    return difference > 0 ? sqrt(difference / norm) : 0;
}

int strait_keys_low_rank(float *basis, float *small, const float *keys, size_t n, size_t d,
                         size_t rank, struct strait_error *err)
{
    double *energy = calloc(d * d + 1, sizeof(*energy)), *weight = calloc(d + 1, sizeof(*weight));
    int failed = 0;
    if (!energy || !weight)
        failed = strait_error_memory(err, "attention");
    for (size_t i = 0; i < n && !failed; i++)
        for (size_t a = 0; a < d; a++)
            for (size_t b = 0; b < d; b++)
                energy[a * d + b] += (double)keys[i * d + a] * (double)keys[i * d + b];
    lapack_int bad = 0;
    if (!failed)
        STRAIT_BLAS(bad =
                        LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'V', 'U', (int)d, energy, (int)d, weight));
    if (bad != 0)
        failed = strait_error_set(err, STRAIT_ERR_BACKEND, "attention",
                                  "the eigenvectors of %zu keys were not found", n);
    for (size_t r = 0; r < rank && !failed; r++) /* ascending: the last ones hold most energy */
        for (size_t a = 0; a < d; a++)
            basis[a * rank + r] = (float)energy[a * d + (d - 1 - r)];
    for (size_t i = 0; i < n && !failed; i++)
        strait_query_project(small + i * rank, basis, keys + i * d, d, rank);
    free(energy);
    free(weight);
    return failed ? -1 : 0;
}

void strait_query_project(float *y, const float *basis, const float *q, size_t d, size_t rank)
{
    memset(y, 0, rank * sizeof(*y));
    for (size_t a = 0; a < d; a++)
        for (size_t r = 0; r < rank; r++)
            y[r] += basis[a * rank + r] * q[a];
}

void strait_keys_quantise(float *rounded, const float *keys, size_t n, size_t d, unsigned bits)
{
    const float n_steps = (float)((1u << bits) - 1);
    for (size_t j = 0; j < d; j++) {
        float least = INFINITY, most = -INFINITY;
        for (size_t i = 0; i < n; i++) {
            least = fminf(least, keys[i * d + j]);
            most = fmaxf(most, keys[i * d + j]);
        }
        const float step = (most - least) / n_steps;
        for (size_t i = 0; i < n; i++)
            rounded[i * d + j] =
                step > 0 ? least + step * rintf((keys[i * d + j] - least) / step) : least;
    }
}

/* --- a cache --------------------------------------------------------------------------------- */

int strait_cache_init(struct strait_cache *c, size_t n_layers, size_t n_heads, size_t head_dim,
                      size_t n_tokens, struct strait_error *err)
{
    const size_t n = n_layers * n_heads * head_dim * n_tokens;
    *c = (struct strait_cache){n_layers, n_heads, head_dim, n_tokens, NULL, NULL, NULL, NULL};
    float *all = calloc(4 * n + 1, sizeof(*all));
    if (!all)
        return strait_error_memory(err, "attention");
    c->keys = all;
    c->values = all + n;
    c->queries = all + 2 * n;
    c->early_queries = all + 3 * n;
    return 0;
}

void strait_cache_release(struct strait_cache *c)
{
    free(c->keys); /* one allocation for all arrays */
    memset(c, 0, sizeof(*c));
}

size_t strait_cache_at(const struct strait_cache *c, size_t layer, size_t head, size_t token)
{
    return ((layer * c->n_heads + head) * c->n_tokens + token) * c->head_dim;
}

/* Scratch for one head; rank and bits resolved. */
struct trial {
    const struct strait_cache *cache;
    struct strait_key_choice choice;
    size_t rank;
    float *basis, *small, *rounded, *projected, *scores, *guessed, *all, *some;
    size_t *truth, *found;
};

static int choose(struct trial *t, size_t at, size_t token, struct strait_key_quality *sum,
                  struct strait_error *err)
{
    const struct strait_cache *c = t->cache;
    const size_t d = c->head_dim, n = token + 1, k = t->choice.top_k;
    const float *query = c->queries + at + token * d;
    const float *guess = (t->choice.early ? c->early_queries : c->queries) + at + token * d;
    strait_attention_scores(t->scores, c->keys + at, query, n, d);
    strait_query_project(t->projected, t->basis, guess, d, t->rank);
    strait_attention_scores(t->guessed, t->rounded, t->projected, n, t->rank);
    if (strait_attention_top(t->truth, k, t->scores, n, err) != 0 ||
        strait_attention_top(t->found, k, t->guessed, n, err) != 0)
        return -1;
    strait_attention_output(t->all, t->scores, c->values + at, NULL, 0, n, d);
    strait_attention_output(t->some, t->scores, c->values + at, t->found, k, n, d);
    sum->recall += strait_attention_recall(t->truth, t->found, k);
    sum->error += strait_attention_error(t->some, t->all, d);
    strait_attention_output(t->some, t->scores, c->values + at, t->truth, k, n, d);
    sum->error_of_true_k += strait_attention_error(t->some, t->all, d);
    return 0;
}

/* The keys as kept, and the directions to project queries on. */
static int keep(struct trial *t, const float *keys, struct strait_error *err)
{
    const size_t d = t->cache->head_dim, n = t->cache->n_tokens;
    if (t->choice.rank > 0) {
        if (strait_keys_low_rank(t->basis, t->small, keys, n, d, t->rank, err) != 0)
            return -1;
    } else {
        for (size_t i = 0; i < d * d; i++)
            t->basis[i] = i % (d + 1) == 0 ? 1 : 0;
        memcpy(t->small, keys, n * d * sizeof(*keys));
    }
    if (t->choice.bits > 0)
        strait_keys_quantise(t->rounded, t->small, n, t->rank, t->choice.bits);
    else
        memcpy(t->rounded, t->small, n * t->rank * sizeof(*keys));
    return 0;
}

int strait_attention_quality(struct strait_key_quality *out, const struct strait_cache *c,
                             struct strait_key_choice choice, size_t n_queries,
                             struct strait_error *err)
{
    const size_t d = c->head_dim, n = c->n_tokens;
    struct trial t = {.cache = c, .choice = choice, .rank = choice.rank > 0 ? choice.rank : d};
    float *memory = malloc((d * d + 2 * n * d + 3 * d + 2 * n) * sizeof(*memory));
    size_t *tokens = malloc((2 * choice.top_k + 1) * sizeof(*tokens));
    int failed = 0;
    *out = (struct strait_key_quality){0};
    if (!memory || !tokens)
        failed = strait_error_memory(err, "attention");
    if (!failed) {
        t.basis = memory;
        t.small = t.basis + d * d;
        t.rounded = t.small + n * d;
        t.projected = t.rounded + n * d;
        t.all = t.projected + d;
        t.some = t.all + d;
        t.scores = t.some + d;
        t.guessed = t.scores + n;
        t.truth = tokens;
        t.found = tokens + choice.top_k;
    }
    for (size_t i = 0; i < c->n_layers * c->n_heads && !failed; i++) {
        const size_t at = strait_cache_at(c, 0, i, 0);
        failed = keep(&t, c->keys + at, err);
        for (size_t token = n - n_queries; token < n && !failed; token++)
            failed = choose(&t, at, token, out, err);
    }
    const double n_trials = (double)(c->n_layers * c->n_heads * n_queries);
    out->recall /= n_trials;
    out->error /= n_trials;
    out->error_of_true_k /= n_trials;
    free(memory);
    free(tokens);
    return failed ? -1 : 0;
}
