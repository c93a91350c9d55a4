/* sz: few directions of a matrix, from the integers that a stream carries to their share of each
 * value. */
#include "matrix.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/buffer.h"
#include "core/host.h"

bool sz_matrix_shape(struct sz_matrix *m, size_t n_elems, size_t n_rows)
{
    const size_t most = SZ_MAX_DIRECTIONS, n_columns = n_elems / n_rows;
    const size_t stride = (n_columns + SZ_WIDE - 1) / SZ_WIDE * SZ_WIDE;
    const size_t n_floats =
        most * (n_rows + n_columns) + most * n_rows + (most + SZ_BUCKETS) * stride;
    const size_t need = 4 * n_floats + sz_matrix_room(n_elems);
    if (m->memory_bytes < need) {
        strait_buffer_free(m->memory);
        m->memory = strait_buffer_new_untouched(need);
        m->memory_bytes = m->memory ? need : 0;
        if (!m->memory)
            return false;
    }
    m->n_rows = n_rows;
    m->n_columns = n_columns;
    m->stride = stride;
    m->code = m->memory;
    m->w = m->code + most * (n_rows + n_columns);
    m->v = m->w + most * n_rows;
    m->sketch = m->v + most * stride;
    m->bytes = (unsigned char *)(m->sketch + SZ_BUCKETS * stride);
    return true;
}

static inline uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

/* The largest magnitude of n integers; INFINITY if they are none, or not below 2^22. Floats above 0
 * are in the order of their bits. */
STRAIT_CLONED
static float largest_of(const float *x, size_t n)
{
    uint32_t largest = 0, off = 0;
    for (size_t i = 0; i < n; i++) {
        const float size = fabsf(x[i]), whole = size + 8388608.0f - 8388608.0f;
        largest = bits_of(size) > largest ? bits_of(size) : largest;
        off |= bits_of(size) ^ bits_of(whole);
    }
    float result;
    memcpy(&result, &largest, sizeof(result));
    return off == 0 && largest < bits_of(4194304.0f) ? result : INFINITY;
}

static bool is_power_of_2(float x)
{
    int exponent;
    return frexpf(x, &exponent) == 0.5f;
}

bool sz_matrix_complete(struct sz_matrix *m)
{
    const size_t rows = m->n_rows, columns = m->n_columns;
    float finest = 1;
    double reach = 0; /* of a sum, whatever row and column */
    for (unsigned j = 0; j < m->rank; j++) {
        const float *code = m->code + j * (rows + columns), scale = m->scale[j];
        if (!(scale >= 0x1p-60f && scale <= 1 && is_power_of_2(scale)))
            return false;
        reach += (double)scale * (double)largest_of(code, rows) *
                 (double)largest_of(code + rows, columns);
        finest = scale < finest ? scale : finest;
        float *v = m->v + j * m->stride;
        memcpy(v, code + rows, columns * sizeof(float));
        memset(v + columns, 0, (m->stride - columns) * sizeof(float));
    }
    for (size_t r = 0; r < rows; r++)
        for (unsigned j = 0; j < m->rank; j++)
            m->w[r * m->rank + j] = m->code[j * (rows + columns) + r] * m->scale[j];
    m->exact = reach < 0x1p24 * (double)finest;
    return reach < 4194302; /* false for NaN: nothing times INFINITY */
}

/* The next values of one row, n at most. Returns: how many */
static unsigned next_row(const struct sz_matrix *m, struct sz_row *row, size_t at, unsigned n)
{
    const size_t column = at % m->n_columns, left = m->n_columns - column;
    *row = (struct sz_row){.w = m->w + at / m->n_columns * m->rank,
                           .v = m->v + column,
                           .stride = m->stride,
                           .rank = m->rank};
    return left < n ? (unsigned)left : n;
}

static const struct sz_share_kernels *share_kernels(const struct sz_matrix *m)
{
    return m->exact ? m->kernels->exact : m->kernels->share;
}

void sz_matrix_share(const struct sz_matrix *m, float *p, size_t at, unsigned n)
{
    struct sz_row row;
    for (unsigned now; n > 0; p += now, at += now, n -= now) {
        now = next_row(m, &row, at, n);
        share_kernels(m)->predict(p, now, &row);
    }
}

struct sz_sizes sz_matrix_subtract(const struct sz_matrix *m, int32_t *d, const int32_t *q,
                                   size_t at, unsigned n)
{
    struct sz_sizes sizes = {0};
    struct sz_row row;
    for (unsigned now; n > 0; d += now, q += now, at += now, n -= now) {
        now = next_row(m, &row, at, n);
        share_kernels(m)->subtract(&sizes, d, q, now, &row);
    }
    return sizes;
}

void sz_matrix_restore(const struct sz_matrix *m, float *y, size_t at, unsigned n, float step)
{
    struct sz_row row;
    for (unsigned now; n > 0; y += now, at += now, n -= now) {
        now = next_row(m, &row, at, n);
        share_kernels(m)->restore(y, now, &row, step);
    }
}

void sz_matrix_free(struct sz_matrix *m)
{
    if (!m)
        return;
    strait_buffer_free(m->memory);
    free(m);
}
