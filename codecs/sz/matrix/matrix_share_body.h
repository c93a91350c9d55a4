/* Inside the sz codec: the share of a few directions in a row. Included once or twice for each
 * level by matrix_kernels.c, which defines
 *
 *   SZ_NAME(name), SZ_TARGET     as for matrix_kernels_body.h
 *   SZ_SHARE                     the name of this set
 *   SZ_MULTIPLY_ADD(s, v, w)     *s += w * the sixteen values at v */

SZ_TARGET SZ_ALWAYS void SZ_SHARE(sums)(wide *sum, unsigned n_wide, const struct sz_row *row,
                                        size_t column)
{
    const float *v = row->v + column;
    for (unsigned j = 0; j < row->rank; j++, v += row->stride)
        for (unsigned k = 0; k < n_wide; k++)
            SZ_MULTIPLY_ADD(&sum[k], v + k * SZ_WIDE, row->w[j]);
    for (unsigned k = 0; k < n_wide; k++)
        sum[k] = sum[k] + magic - magic;
}

SZ_TARGET static void SZ_SHARE(predict)(float *p, size_t n, const struct sz_row *row)
{
    for (size_t i = 0; i < n; i += SZ_WIDE) {
        wide sum[1] = {{0}};
        SZ_SHARE(sums)(sum, 1, row, i);
        memcpy(p + i, sum, (n - i < SZ_WIDE ? n - i : SZ_WIDE) * sizeof(*p));
    }
}

/* The differences of up to AT_ONCE * SZ_WIDE values, and what they add to the figures. */
SZ_TARGET SZ_ALWAYS void SZ_SHARE(differences)(struct figures *f, int32_t *d, const int32_t *q,
                                               unsigned n_wide, const struct sz_row *row, size_t i)
{
    wide sum[AT_ONCE] = {{0}};
    SZ_SHARE(sums)(sum, n_wide, row, i);
    for (unsigned k = 0; k < n_wide; k++) {
        const integers left =
            *(const integers *)(q + i + k * SZ_WIDE) - __builtin_convertvector(sum[k], integers);
        const integers sign = left >> 31, size = (left ^ sign) - sign, more = size > f->max;
        *(integers *)(d + i + k * SZ_WIDE) = left;
        f->sum += size;
        f->zeros += left == 0; /* -1 where they are */
        f->max = (size & more) | (f->max & ~more);
    }
}

SZ_TARGET static void SZ_SHARE(subtract)(struct sz_sizes *sizes, int32_t *d, const int32_t *q,
                                         size_t n, const struct sz_row *row)
{
    struct figures f = {0};
    size_t i = 0;
    for (; i + AT_ONCE * SZ_WIDE <= n; i += AT_ONCE * SZ_WIDE)
        SZ_SHARE(differences)(&f, d, q, AT_ONCE, row, i);
    for (; i + SZ_WIDE <= n; i += SZ_WIDE)
        SZ_SHARE(differences)(&f, d, q, 1, row, i);
    const size_t whole = i;
    for (unsigned k = 0; k < SZ_WIDE; k++) {
        sizes->sum += (uint32_t)f.sum[k];
        sizes->max = (uint32_t)f.max[k] > sizes->max ? (uint32_t)f.max[k] : sizes->max;
        sizes->n_nonzero += (uint32_t)f.zeros[k];
    }
    sizes->n_nonzero += (uint32_t)whole;
    wide sum[1] = {{0}};
    if (whole < n)
        SZ_SHARE(sums)(sum, 1, row, whole);
    for (; i < n; i++) {
        d[i] = q[i] - (int32_t)sum[0][i - whole];
        const uint32_t size = (uint32_t)(d[i] < 0 ? -d[i] : d[i]);
        sizes->sum += size;
        sizes->n_nonzero += size > 0;
        sizes->max = size > sizes->max ? size : sizes->max;
    }
}

SZ_TARGET static void SZ_SHARE(restore)(float *y, size_t n, const struct sz_row *row, float step)
{
    size_t i = 0;
    for (; i + AT_ONCE * SZ_WIDE <= n; i += AT_ONCE * SZ_WIDE) {
        wide sum[AT_ONCE] = {{0}};
        SZ_SHARE(sums)(sum, AT_ONCE, row, i);
        for (unsigned k = 0; k < AT_ONCE; k++) {
            wide *at = (wide *)(y + i + k * SZ_WIDE);
            *at = (*at + sum[k]) * step;
        }
    }
    for (; i < n; i += SZ_WIDE) {
        wide sum[1] = {{0}};
        SZ_SHARE(sums)(sum, 1, row, i);
        for (size_t k = 0; k < SZ_WIDE && i + k < n; k++)
            y[i + k] = (y[i + k] + sum[0][k]) * step;
    }
}

static const struct sz_share_kernels SZ_SHARE(kernels) = {
    .predict = SZ_SHARE(predict), .subtract = SZ_SHARE(subtract), .restore = SZ_SHARE(restore)};
