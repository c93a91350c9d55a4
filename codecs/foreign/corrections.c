#include "corrections.h"

#include <math.h>
#include <string.h>

enum { CHECK_BLOCK = 1024 };

/* Whether all values of the block are within the bound. y NULL: only check that x is finite. */
static bool block_good(const float *x, const float *y, size_t n, double tolerance)
{
    bool good = true;
    if (y)
        for (size_t i = 0; i < n; i++)
            good &= fabs((double)x[i] - (double)y[i]) <= tolerance;
    else
        for (size_t i = 0; i < n; i++)
            good &= isfinite(x[i]) != 0;
    return good;
}

/* Returns: how many there are; w may be full from the beginning. */
static size_t put_all(struct strait_writer *w, const float *x, const float *y, size_t n,
                      double tolerance)
{
    size_t n_wrong = 0;
    size_t next = 0;
    for (size_t from = 0; from < n; from += CHECK_BLOCK) {
        const size_t to = n - from < CHECK_BLOCK ? n : from + CHECK_BLOCK;
        if (block_good(x + from, y ? y + from : NULL, to - from, tolerance))
            continue;
        for (size_t i = from; i < to; i++) {
            if (block_good(x + i, y ? y + i : NULL, 1, tolerance))
                continue;
            uint32_t bits;
            memcpy(&bits, &x[i], sizeof(bits));
            strait_write_varint(w, i - next);
            strait_write_u32(w, bits);
            next = i + 1;
            n_wrong++;
        }
    }
    return n_wrong;
}

size_t strait_corrections_put(struct strait_writer *w, const float *x, const float *y, size_t n,
                              double tolerance)
{
    struct strait_writer counting = {.p = w->p, .end = w->p, .full = true};
    strait_write_varint(w, put_all(&counting, x, y, n, tolerance));
    return put_all(w, x, y, n, tolerance);
}

bool strait_corrections_get(float *y, size_t n, struct strait_reader *r)
{
    const uint64_t n_wrong = strait_read_varint(r);
    size_t next = 0;
    if (n_wrong > n)
        return false;
    for (uint64_t k = 0; k < n_wrong; k++) {
        const uint64_t gap = strait_read_varint(r);
        const uint32_t bits = strait_read_u32(r);
        if (r->bad || gap >= n - next)
            return false;
        if (y)
            memcpy(&y[next + (size_t)gap], &bits, sizeof(bits));
        next += (size_t)gap + 1;
    }
    return !r->bad;
}

bool strait_corrections_fill(float *to, const float *x, size_t n)
{
    size_t first = 0;
    while (first < n && !isfinite(x[first]))
        first++;
    if (first == n)
        return false;
    float last = x[first];
    for (size_t i = 0; i < n; i++) {
        last = isfinite(x[i]) ? x[i] : last;
        to[i] = last;
    }
    return true;
}
