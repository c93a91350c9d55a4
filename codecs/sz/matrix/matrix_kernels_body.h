/* Inside the sz codec: the loops of matrix_kernels.h. Included once for each level by
 * matrix_kernels.c, which defines SZ_NAME and SZ_TARGET, behind matrix_share_body.h. */

SZ_TARGET static void SZ_NAME(add_row)(float *y, const float *x, float scale, size_t n)
{
    size_t i = 0;
    for (; i + SZ_WIDE <= n; i += SZ_WIDE)
        *(wide *)(y + i) += *(const wide *)(x + i) * scale;
    for (; i < n; i++)
        y[i] += x[i] * scale;
}

SZ_TARGET static float SZ_NAME(dot)(const float *a, const float *b, size_t n)
{
    wide sum = {0};
    size_t i = 0;
    for (; i + SZ_WIDE <= n; i += SZ_WIDE)
        sum += *(const wide *)(a + i) * *(const wide *)(b + i);
    for (size_t k = 0; i < n; i++, k++)
        sum[k] += a[i] * b[i];
    return halves(&sum);
}

/* Four directions at a time. */
SZ_TARGET static void SZ_NAME(project)(float *u, const float *x, size_t n, const float *v,
                                       size_t stride, unsigned n_wanted)
{
    float rest[SZ_WIDE] = {0};
    const size_t whole = n / SZ_WIDE * SZ_WIDE;
    memcpy(rest, x + whole, (n - whole) * sizeof(*x));
    for (unsigned j = 0; j < n_wanted; j += 4, v += 4 * stride) {
        wide sum[4] = {{0}};
        for (size_t i = 0; i < whole; i += SZ_WIDE)
            for (unsigned k = 0; k < 4; k++)
                sum[k] += *(const wide *)(x + i) * *(const wide *)(v + k * stride + i);
        for (unsigned k = 0; k < 4 && whole < n; k++)
            sum[k] += *(const wide *)rest * *(const wide *)(v + k * stride + whole);
        four_halves(u + j, sum);
    }
}

/* Gram and Schmidt, modified: each column's part in the later ones is subtracted from them. A
 * column that nothing is left of becomes 0. */
SZ_TARGET static void SZ_NAME(orthogonal)(float *w, unsigned n, unsigned n_columns)
{
    for (unsigned j = 0; j < n_columns; j++) {
        wide sum = {0};
        for (unsigned b = 0; b < n; b++)
            sum += *(const wide *)(w + b * SZ_WIDE) * w[b * SZ_WIDE + j];
        const float norm = sum[j] > 1e-30f ? 1 / sqrtf(sum[j]) : 0;
        wide parts = sum * (norm * norm);
        for (unsigned k = 0; k <= j; k++)
            parts[k] = 0;
        for (unsigned b = 0; b < n; b++) {
            wide *row = (wide *)(w + b * SZ_WIDE);
            const float at = (*row)[j];
            *row -= parts * at;
            (*row)[j] = at * norm;
        }
    }
}

SZ_TARGET static void SZ_NAME(turn)(float *w, const float *g, unsigned n, unsigned n_columns)
{
    float turned[SZ_BUCKETS * SZ_WIDE];
    for (unsigned a = 0; a < n; a++) {
        wide sum = {0};
        for (unsigned b = 0; b < n; b++)
            sum += *(const wide *)(w + b * SZ_WIDE) * g[a * SZ_BUCKETS + b];
        *(wide *)(turned + a * SZ_WIDE) = sum;
    }
    memcpy(w, turned, n * SZ_WIDE * sizeof(*w));
    SZ_NAME(orthogonal)(w, n, n_columns);
}

static const struct sz_matrix_kernels SZ_NAME(kernels) = {
    .add_row = SZ_NAME(add_row),
    .dot = SZ_NAME(dot),
    .project = SZ_NAME(project),
    .turn = SZ_NAME(turn),
    .share = &SZ_NAME(share),
    .exact = &SZ_NAME(exact),
};
