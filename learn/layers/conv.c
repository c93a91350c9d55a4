/* Convolutions as products of matrices: the input's patches are laid out, the rest is BLAS. Image
 * by image, so that patches stay in the cache. */
#include "conv.h"
#include <cblas.h>
#include <stdbool.h>
#include <string.h>
#include "core/host.h"

size_t learn_conv_height(const struct learn_conv *c)
{
    return (c->height + 2 * c->pad - c->kernel) / c->stride + 1;
}

size_t learn_conv_width(const struct learn_conv *c)
{
    return (c->width + 2 * c->pad - c->kernel) / c->stride + 1;
}

static size_t pixels(const struct learn_conv *c)
{
    return learn_conv_height(c) * learn_conv_width(c);
}

static size_t patch(const struct learn_conv *c)
{
    return c->in * c->kernel * c->kernel;
}

size_t learn_conv_room(const struct learn_conv *c)
{
    return 2 * patch(c) * pixels(c);
}

/* Output columns [*lo, *hi) of offset kx read inside the input's row. */
static void inside(const struct learn_conv *c, size_t kx, size_t out, size_t *lo, size_t *hi)
{
    *lo = kx < c->pad ? (c->pad - kx + c->stride - 1) / c->stride : 0;
    const size_t end = c->width + c->pad; /* x * stride + kx < end */
    *hi = kx < end ? (end - kx + c->stride - 1) / c->stride : 0;
    if (*hi > out)
        *hi = out;
    if (*lo > *hi)
        *lo = *hi;
}

/* Row `row` of output pixels of one place (ky, kx) of the patch: the input's row that it reads, or
 * NULL where that is padding. */
static const float *source(const float *x, const struct learn_conv *c, size_t row, size_t ky)
{
    const size_t y = row * c->stride + ky;
    return y < c->pad || y >= c->height + c->pad ? NULL : x + (y - c->pad) * c->width;
}

/* One channel's patches for one place (ky, kx): rows x columns. */
static void copy_place(float *to, const float *x, const struct learn_conv *c, size_t ky, size_t kx,
                       size_t rows, size_t columns)
{
    size_t lo, hi;
    inside(c, kx, columns, &lo, &hi);
    for (size_t row = 0; row < rows; row++, to += columns) {
        const float *from = source(x, c, row, ky);
        if (!from) {
            memset(to, 0, columns * sizeof(*to));
            continue;
        }
        for (size_t i = 0; i < lo; i++)
            to[i] = 0;
        from += kx;
        if (c->stride == 1)
            memcpy(to + lo, from + lo - c->pad, (hi - lo) * sizeof(*to));
        else
            for (size_t i = lo; i < hi; i++)
                to[i] = from[i * c->stride - c->pad];
        for (size_t i = hi; i < columns; i++)
            to[i] = 0;
    }
}

/* With stride 1 and an output as large as the input, the patches of a place (ky, kx) are the whole
 * plane, moved: element j is element j + shift of the input, except in rows and columns that read
 * padding. */
static bool moves_planes(const struct learn_conv *c)
{
    return c->stride == 1 && 2 * c->pad + 1 == c->kernel && c->pad < c->width && c->pad < c->height;
}

struct move {
    size_t lo, hi; /* elements of the patches that read the plane: before and after, padding */
    long shift;
    size_t left, right; /* columns [0, left) and [right, width) are padding too */
};

static struct move move_of(const struct learn_conv *c, size_t ky, size_t kx)
{
    const size_t n = c->height * c->width;
    const long down = (long)ky - (long)c->pad, across = (long)kx - (long)c->pad;
    struct move m = {.lo = 0, .hi = n, .shift = down * (long)c->width + across};
    m.left = across < 0 ? (size_t)-across : 0;
    m.right = across > 0 ? c->width - (size_t)across : c->width;
    if (m.shift < 0)
        m.lo = (size_t)-m.shift;
    else
        m.hi = n - (size_t)m.shift;
    return m;
}

static void clear_columns(float *patches, const struct learn_conv *c, const struct move *m)
{
    for (size_t row = 0; m->left > 0 && row < c->height; row++)
        for (size_t i = 0; i < m->left; i++)
            patches[row * c->width + i] = 0;
    for (size_t row = 0; m->right < c->width && row < c->height; row++)
        for (size_t i = m->right; i < c->width; i++)
            patches[row * c->width + i] = 0;
}

static void move_plane(float *patches, const float *plane, const struct learn_conv *c, size_t ky,
                       size_t kx)
{
    const struct move m = move_of(c, ky, kx);
    memset(patches, 0, m.lo * sizeof(*patches));
    memcpy(patches + m.lo, plane + ((long)m.lo + m.shift), (m.hi - m.lo) * sizeof(*patches));
    memset(patches + m.hi, 0, (c->height * c->width - m.hi) * sizeof(*patches));
    clear_columns(patches, c, &m);
}

/* The input as a matrix of in x kernel x kernel rows, one column for each output pixel: the
 * convolution is w times it. */
static void patches_of(float *patches, const float *x, const struct learn_conv *c)
{
    const size_t rows = learn_conv_height(c), columns = learn_conv_width(c);
    const bool whole = moves_planes(c);
    for (size_t i = 0; i < c->in; i++, x += c->height * c->width)
        for (size_t ky = 0; ky < c->kernel; ky++)
            for (size_t kx = 0; kx < c->kernel; kx++, patches += rows * columns)
                if (whole)
                    move_plane(patches, x, c, ky, kx);
                else
                    copy_place(patches, x, c, ky, kx, rows, columns);
}

STRAIT_CLONED static void add(float *restrict to, const float *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] += x[i];
}

/* move_plane back: what read the plane is added to it. Clears what read padding. */
static void add_plane(float *plane, float *patches, const struct learn_conv *c, size_t ky,
                      size_t kx)
{
    const struct move m = move_of(c, ky, kx);
    clear_columns(patches, c, &m);
    add(plane + ((long)m.lo + m.shift), patches + m.lo, m.hi - m.lo);
}

/* copy_place back. */
static void add_place(float *x, const float *patches, const struct learn_conv *c, size_t ky,
                      size_t kx, size_t rows, size_t columns)
{
    size_t lo, hi;
    inside(c, kx, columns, &lo, &hi);
    for (size_t row = 0; row < rows; row++, patches += columns) {
        const float *from = source(x, c, row, ky);
        float *to = x + (from ? from - x : 0);
        for (size_t i = lo; from && i < hi; i++)
            to[i * c->stride + kx - c->pad] += patches[i];
    }
}

/* The reverse: every element of the patches is added to where it came from. */
static void add_patches(float *dx, float *patches, const struct learn_conv *c)
{
    const size_t rows = learn_conv_height(c), columns = learn_conv_width(c);
    const bool whole = moves_planes(c);
    memset(dx, 0, c->in * c->height * c->width * sizeof(*dx));
    for (size_t i = 0; i < c->in; i++, dx += c->height * c->width)
        for (size_t ky = 0; ky < c->kernel; ky++)
            for (size_t kx = 0; kx < c->kernel; kx++, patches += rows * columns)
                if (whole)
                    add_plane(dx, patches, c, ky, kx);
                else
                    add_place(dx, patches, c, ky, kx, rows, columns);
}

void learn_conv_forward(float *y, const float *x, const float *w, const float *bias,
                        const struct learn_conv *c, float *room)
{
    const int n = (int)pixels(c), k = (int)patch(c);
    patches_of(room, x, c);
    if (bias)
        for (size_t o = 0; o < c->out; o++)
            for (size_t i = 0; i < (size_t)n; i++)
                y[o * (size_t)n + i] = bias[o];
    STRAIT_BLAS(cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)c->out, n, k, 1, w, k,
                            room, n, bias ? 1 : 0, y, n));
}

/* Sums of rows, sixteen partial sums each. */
STRAIT_CLONED static void add_row_sums(float *sums, const float *x, size_t n_rows, size_t n)
{
    for (size_t r = 0; r < n_rows; r++, x += n) {
        float parts[16] = {0}, sum = 0;
        size_t i = 0;
        for (; i + 16 <= n; i += 16)
            for (size_t j = 0; j < 16; j++)
                parts[j] += x[i + j];
        for (; i < n; i++)
            parts[i % 16] += x[i];
        for (size_t j = 0; j < 16; j++)
            sum += parts[j];
        sums[r] += sum;
    }
}

void learn_conv_back(float *dx, float *dw, float *dbias, const float *dy, const float *x,
                     const float *w, const struct learn_conv *c, float *room)
{
    const int n = (int)pixels(c), k = (int)patch(c), out = (int)c->out;
    patches_of(room, x, c);
    STRAIT_BLAS(cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, out, k, n, 1, dy, n, room, n,
                            1, dw, k));
    if (dbias)
        add_row_sums(dbias, dy, c->out, (size_t)n);
    if (!dx)
        return;
    float *dpatches = room + (size_t)k * (size_t)n;
    STRAIT_BLAS(cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, k, n, out, 1, w, k, dy, n, 0,
                            dpatches, n));
    add_patches(dx, dpatches, c);
}

void learn_conv_add_factors(const struct learn_factors *f, const float *dy, const float *patches,
                            const struct learn_conv *c, size_t n)
{
    const size_t n_pixels = pixels(c), k = patch(c), side = f->d_in;
    float *a = f->a;
    const float by = 1 / (float)n, own = (float)n;
    STRAIT_BLAS(cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)k, (int)k, (int)n_pixels,
                            by, patches, (int)n_pixels, patches, (int)n_pixels, 1, a, (int)side));
    for (size_t j = 0; j < k && f->has_bias; j++) {
        float sum = 0;
        add_row_sums(&sum, patches + j * n_pixels, 1, n_pixels);
        a[j * side + k] += by * sum;
        a[k * side + j] += by * sum;
    }
    if (f->has_bias)
        a[k * side + k] += by * (float)n_pixels;
    STRAIT_BLAS(cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)c->out, (int)c->out,
                            (int)n_pixels, own * own * by / (float)n_pixels, dy, (int)n_pixels, dy,
                            (int)n_pixels, 1, f->g, (int)c->out));
}

/* Places are as wide as values, so that the loops vectorise. */
STRAIT_CLONED void learn_pool(float *restrict y, int *restrict which, const float *restrict x,
                              size_t channels, size_t height, size_t width)
{
    for (size_t row = 0; row < channels * height / 2; row++) {
        const float *top = x + 2 * row * width, *low = top + width;
        for (size_t i = 0; i < width / 2; i++) {
            const float a = top[2 * i], b = top[2 * i + 1], c = low[2 * i], d = low[2 * i + 1];
            const float of_top = b > a ? b : a, of_low = d > c ? d : c;
            const int at_top = b > a ? 1 : 0, at_low = d > c ? 3 : 2;
            y[row * width / 2 + i] = of_low > of_top ? of_low : of_top;
            which[row * width / 2 + i] = of_low > of_top ? at_low : at_top;
        }
    }
}

/* One row of dx, of squares whose left pixel there is place `left`. */
STRAIT_INLINE void spread(float *restrict dx, const float *restrict dy, const int *restrict which,
                          int left, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        dx[2 * i] = which[i] == left ? dy[i] : 0;
        dx[2 * i + 1] = which[i] == left + 1 ? dy[i] : 0;
    }
}

STRAIT_CLONED void learn_pool_back(float *dx, const float *dy, const int *which, size_t channels,
                                   size_t height, size_t width)
{
    const size_t n = width / 2;
    for (size_t row = 0; row < channels * height / 2; row++) {
        spread(dx + 2 * row * width, dy + row * n, which + row * n, 0, n);
        spread(dx + (2 * row + 1) * width, dy + row * n, which + row * n, 2, n);
    }
}
