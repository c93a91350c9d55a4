/* Transforms as sums of rows, so that loops run along memory and vectorise without changing any
 * order of summation. */
#include "dct.h"
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "core/host.h"
#include "codecs/kit/stable_math.h"

enum { N_TABLES = 4 }; /* sizes in use: the chunk's side and the two edges', and one to spare */

struct table {
    size_t n;
    float *rows;    /* n x n: row k is the k-th cosine */
    float *columns; /* its transpose */
};

struct strait_dct {
    struct strait_pooled pooled;
    struct table tables[N_TABLES];
    size_t next;            /* to be replaced */
    float *memory, *chosen; /* chosen: cosines of the rows in use */
};

struct strait_dct *strait_dct_take(struct strait_pool *pool, struct strait_error *err)
{
    struct strait_dct *d = strait_pool_take(pool);
    const size_t one = (size_t)STRAIT_DCT_MAX * STRAIT_DCT_MAX;
    if (d)
        return d;
    d = calloc(1, sizeof(*d));
    if (d)
        d->memory = malloc((2 * N_TABLES + 1) * one * sizeof(*d->memory));
    if (!d || !d->memory) {
        free(d);
        strait_error_memory(err, "dcttopk");
        return NULL;
    }
    for (size_t i = 0; i < N_TABLES; i++) {
        d->tables[i].rows = d->memory + 2 * i * one;
        d->tables[i].columns = d->memory + (2 * i + 1) * one;
    }
    d->chosen = d->memory + 2 * N_TABLES * one;
    return d;
}

void strait_dct_pool_release(struct strait_pool *pool)
{
    for (struct strait_dct *d; (d = strait_pool_take(pool)) != NULL;) {
        free(d->memory);
        free(d);
    }
    strait_pool_release(pool);
}

static void fill(struct table *t, size_t n)
{
    t->n = n;
    for (size_t k = 0; k < n; k++) {
        const double scale = sqrt((k > 0 ? 2.0 : 1.0) / (double)n);
        for (size_t j = 0; j < n; j++) {
            const float c = (float)(scale * strait_stable_cos((2 * j + 1) * k, n));
            t->rows[k * n + j] = c;
            t->columns[j * n + k] = c;
        }
    }
}

static const struct table *table_of(struct strait_dct *d, size_t n)
{
    for (size_t i = 0; i < N_TABLES; i++)
        if (d->tables[i].n == n)
            return &d->tables[i];
    struct table *t = &d->tables[d->next];
    d->next = (d->next + 1) % N_TABLES;
    fill(t, n);
    return t;
}

enum { AT_ONCE = 4 };

/* out[m x n] = a[m x inner] b[inner x n]. Sums run in the order of `inner`; four terms at a time
 * stay in registers. */
STRAIT_CLONED
static void multiply(float *restrict out, const float *restrict a, const float *restrict b,
                     size_t m, size_t inner, size_t n)
{
    memset(out, 0, sizeof(*out) * m * n);
    for (size_t i = 0; i < m; i++) {
        const float *f = a + i * inner;
        size_t k = 0;
        for (; k + AT_ONCE <= inner; k += AT_ONCE)
            for (size_t j = 0; j < n; j++) {
                float sum = out[i * n + j];
                for (size_t t = 0; t < AT_ONCE; t++)
                    sum += f[k + t] * b[(k + t) * n + j];
                out[i * n + j] = sum;
            }
        for (; k < inner; k++)
            for (size_t j = 0; j < n; j++)
                out[i * n + j] += f[k] * b[k * n + j];
    }
}

void strait_dct_forward(struct strait_dct *d, float *y, const float *x, size_t n_rows,
                        size_t n_columns, float *between)
{
    if (n_rows > 1) {
        multiply(between, table_of(d, n_rows)->rows, x, n_rows, n_rows, n_columns);
        x = between;
    }
    multiply(y, x, table_of(d, n_columns)->columns, n_rows, n_columns, n_columns);
}

/* The rows of y that have values become sums of cosines, closed up, and then the columns; so do the
 * cosines of those rows, in the order of their numbers. */
void strait_dct_inverse(struct strait_dct *d, float *x, const float *y, size_t n_rows,
                        size_t n_columns, float *between)
{
    const float *cosines = table_of(d, n_columns)->rows;
    float *out = n_rows > 1 ? between : x;
    size_t used[STRAIT_DCT_MAX], n_used = 0;
    memset(out, 0, sizeof(*out) * n_columns);
    for (size_t i = 0; i < n_rows; i++) {
        float *row = out + n_used * n_columns;
        bool any = false;
        memset(row, 0, sizeof(*row) * n_columns);
        for (size_t k = 0; k < n_columns; k++) {
            const float factor = y[i * n_columns + k];
            any = any || factor != 0;
            for (size_t j = 0; j < n_columns && factor != 0; j++)
                row[j] += factor * cosines[k * n_columns + j];
        }
        used[n_used] = i;
        n_used += any;
    }
    if (n_rows == 1)
        return;
    const float *columns = table_of(d, n_rows)->columns;
    for (size_t i = 0; i < n_rows; i++)
        for (size_t k = 0; k < n_used; k++)
            d->chosen[i * n_used + k] = columns[i * n_rows + used[k]];
    multiply(x, d->chosen, between, n_rows, n_used, n_columns);
}
