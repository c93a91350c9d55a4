/* The split of examples over workers and their order. */
#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "draws.h"
#include "split.h"

enum { MAX_DRAWS = 1000 };

void strait_split_release(struct strait_split *s)
{
    free(s->examples);
    free(s->first);
    memset(s, 0, sizeof(*s));
}

static void shuffle(uint32_t *x, uint32_t n, struct strait_sequence *s)
{
    for (uint32_t i = n; i > 1; i--) {
        const uint32_t j = (uint32_t)strait_draw_below(s, i), kept = x[i - 1];
        x[i - 1] = x[j];
        x[j] = kept;
    }
}

/* Where each worker's part of n ends, by shares that need not sum to 1: no example is left over. */
static void cut(const double *shares, int n_workers, uint32_t n, uint32_t *ends)
{
    double sum = 0, before = 0;
    for (int k = 0; k < n_workers; k++)
        sum += shares[k];
    for (int k = 0; k < n_workers; k++) {
        before += shares[k];
        ends[k] = k + 1 == n_workers ? n : (uint32_t)(before * n / sum);
    }
}

/* One draw: owner[i] for all examples, sizes in s->first[1..]. order: scratch of n. */
static void draw(struct strait_split *s, const unsigned char *labels, unsigned n_labels, uint32_t n,
                 double alpha, uint64_t seed, uint64_t attempt, int *owner, uint32_t *order,
                 double *shares, uint32_t *ends)
{
    memset(s->first, 0, ((size_t)s->n_workers + 1) * sizeof(*s->first));
    for (unsigned label = 0; label < (labels ? n_labels : 1); label++) {
        uint32_t n_of = 0;
        for (uint32_t i = 0; i < n; i++)
            if (!labels || labels[i] == label)
                order[n_of++] = i;
        struct strait_sequence q = strait_draws_at(seed, "learn split", label, attempt);
        shuffle(order, n_of, &q);
        for (int k = 0; k < s->n_workers; k++)
            shares[k] = isinf(alpha) ? 1 : strait_draw_gamma(&q, alpha);
        cut(shares, s->n_workers, n_of, ends);
        for (uint32_t i = 0, k = 0; i < n_of; i++) {
            while (i >= ends[k])
                k++;
            owner[order[i]] = (int)k;
            s->first[k + 1]++;
        }
    }
}

static bool all_have(const struct strait_split *s, uint32_t least)
{
    for (int k = 0; k < s->n_workers; k++)
        if (s->first[k + 1] < least)
            return false;
    return true;
}

int strait_split_new(struct strait_split *s, const unsigned char *labels, unsigned n_labels,
                     uint32_t n, int n_workers, double alpha, uint32_t least, uint64_t seed,
                     struct strait_error *err)
{
    assert(n > 0 && n_workers > 0);
    const size_t k = (size_t)n_workers;
    *s = (struct strait_split){.examples = malloc(n * sizeof(uint32_t)),
                               .first = calloc(k + 1, sizeof(uint32_t)),
                               .n_workers = n_workers};
    int *owner = calloc(n, sizeof(*owner));
    uint32_t *order = malloc(n * sizeof(*order)), *ends = calloc(k, sizeof(*ends));
    double *shares = malloc(k * sizeof(*shares));
    int status = -1;
    bool fits = false;
    if (!s->examples || !s->first || !owner || !order || !ends || !shares) {
        strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "no memory for the split of %u examples", n);
        goto out;
    }
    if (isinf(alpha))
        labels = NULL;
    for (uint64_t attempt = 0; !fits && attempt < MAX_DRAWS; attempt++) {
        draw(s, labels, n_labels, n, alpha, seed, attempt, owner, order, shares, ends);
        fits = all_have(s, least);
        if (isinf(alpha))
            break;
    }
    if (!fits) {
        strait_refuse(err, NULL,
                      "expected data for %d workers with at least %u examples each, found none in "
                      "%d draws of a split of %u with alpha %g: raise alpha",
                      n_workers, least, isinf(alpha) ? 1 : MAX_DRAWS, n, alpha);
        goto out;
    }
    for (size_t i = 0; i < k; i++)
        s->first[i + 1] += s->first[i];
    memset(ends, 0, k * sizeof(*ends));
    for (uint32_t i = 0; i < n; i++)
        s->examples[s->first[owner[i]] + ends[owner[i]]++] = i;
    status = 0;
out:
    free(owner);
    free(order);
    free(ends);
    free(shares);
    if (status)
        strait_split_release(s);
    return status;
}

uint32_t strait_permuted(uint64_t key, uint32_t n, uint32_t place)
{
    unsigned half = 1;
    while (((uint64_t)1 << 2 * half) < n)
        half++;
    const uint32_t mask = ((uint32_t)1 << half) - 1;
    do {
        uint32_t left = place >> half, right = place & mask;
        for (uint64_t round = 0; round < 4; round++) {
            struct strait_sequence s = strait_sequence_at(key ^ (round << 56) ^ right);
            const uint32_t mixed = left ^ ((uint32_t)(strait_sequence_next(&s) >> 32) & mask);
            left = right;
            right = mixed;
        }
        place = left << half | right;
    } while (place >= n);
    return place;
}

void strait_split_places(const struct strait_split *s, uint64_t seed, int worker, uint64_t step,
                         int batch, uint32_t *places)
{
    const uint32_t n = s->first[worker + 1] - s->first[worker];
    const uint64_t begin = step * (uint64_t)batch;
    for (int i = 0; i < batch; i++) {
        const uint64_t at = begin + (uint64_t)i;
        const uint64_t key = strait_random_bits(seed, "learn order", (uint64_t)worker, at / n);
        places[i] = strait_permuted(key, n, (uint32_t)(at % n));
    }
}

void strait_split_batch(const struct strait_split *s, uint64_t seed, int worker, uint64_t step,
                        int batch, uint32_t *examples)
{
    const uint32_t *own = s->examples + s->first[worker];
    strait_split_places(s, seed, worker, step, batch, examples);
    for (int i = 0; i < batch; i++)
        examples[i] = own[examples[i]];
}
