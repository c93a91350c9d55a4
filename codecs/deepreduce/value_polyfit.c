/* polyfit: polynomials of degree 5 through pieces of the values in descending order (DeepReduce, Xu
 * et al. 2021, section 5), by least squares in double.
 *
 * packed: the first two pieces are the positive values and the others. While there are fewer than
 * 20 pieces and fewer than 2 + n/64, the piece with the worst fit to a straight line from its first
 * to its last value is cut at its worst point: the published choice of a knot, which is best for a
 * convex curve. Sent are
 *     varint pieces; for each a varint length and float32 coefficients
 * published: pieces of fixed shares of the positive and of the other values, as in the published
 * code, so that their lengths need not be sent:
 *     float64 coefficients; float64 number of positive values
 *
 * 6 coefficients, or as many as the piece has values, of Legendre polynomials on [-1, 1], the first
 * value at -1: with powers of the rank, as published, the normal equations would be singular. The
 * sums run from the first value to the last and the 6 unknowns are solved for by own code, so the
 * bytes are the same everywhere.
 *
 * NaN counts as 0, infinities as the largest float. */
#include <float.h>
#include <math.h>
#include "least_squares.h"
#include "value_codec.h"

enum { N_COEFFICIENTS = 6, MAX_PIECES = 22, CUT_PIECES = 20, VALUES_PER_PIECE = 64 };

struct piece {
    size_t from, n;
    size_t knot; /* where to cut it, within the piece */
    double gain; /* squared distance from the line there, times n; 0: not to be cut */
};

static double finite_of(float x)
{
    if (isnan(x))
        return 0;
    return isinf(x) ? copysign((double)FLT_MAX, (double)x) : (double)x;
}

static float to_float(double x)
{
    if (!(x < (double)FLT_MAX))
        return x > 0 ? FLT_MAX : 0;
    return x > -(double)FLT_MAX ? (float)x : -FLT_MAX;
}

/* Value i of n is at i step_of(n) - 1; a single value at -1. */
static double step_of(size_t n)
{
    return n > 1 ? 2.0 / (double)(n - 1) : 0;
}

static inline void legendre(double p[N_COEFFICIENTS], double t)
{
    p[0] = 1;
    p[1] = t;
    p[2] = 1.5 * t * p[1] - 0.5;
    p[3] = (5.0 * t * p[2] - 2.0 * p[1]) * (1.0 / 3);
    p[4] = (7.0 * t * p[3] - 3.0 * p[2]) * 0.25;
    p[5] = (9.0 * t * p[4] - 4.0 * p[3]) * 0.2;
}

static unsigned n_coefficients(size_t n)
{
    return n < N_COEFFICIENTS ? (unsigned)n : (unsigned)N_COEFFICIENTS;
}

static void fit(double c[N_COEFFICIENTS], const float *v, size_t n)
{
    double gram[STRAIT_MAX_UNKNOWNS][STRAIT_MAX_UNKNOWNS] = {{0}}, right[N_COEFFICIENTS] = {0};
    double p[N_COEFFICIENTS];
    const double step = step_of(n);
    for (size_t i = 0; i < n; i++) {
        const double y = finite_of(v[i]);
        legendre(p, (double)i * step - 1);
        for (unsigned a = 0; a < N_COEFFICIENTS; a++) {
            right[a] += p[a] * y;
            for (unsigned b = 0; b <= a; b++)
                gram[a][b] += p[a] * p[b];
        }
    }
    for (unsigned a = 0; a < N_COEFFICIENTS; a++)
        for (unsigned b = a + 1; b < N_COEFFICIENTS; b++)
            gram[a][b] = gram[b][a];
    const double mean = n > 0 ? right[0] / (double)n : 0;
    if (!strait_solve(c, gram, right, n_coefficients(n))) /* impossible with distinct places */
        for (unsigned a = 0; a < N_COEFFICIENTS; a++)
            c[a] = a == 0 ? mean : 0;
}

static void restore(float *v, size_t n, const double c[N_COEFFICIENTS])
{
    double p[N_COEFFICIENTS];
    const double step = step_of(n);
    const unsigned n_used = n_coefficients(n);
    for (size_t i = 0; i < n; i++) {
        double y = 0;
        legendre(p, (double)i * step - 1);
        for (unsigned a = 0; a < n_used; a++)
            y += c[a] * p[a];
        v[i] = to_float(y);
    }
}

/* The point farthest from the line through the piece's ends that leaves 6 values on both sides. */
static void find_knot(struct piece *piece, const float *v)
{
    const size_t n = piece->n;
    piece->gain = 0;
    piece->knot = 0;
    if (n < 2 * N_COEFFICIENTS)
        return;
    const double first = finite_of(v[piece->from]), last = finite_of(v[piece->from + n - 1]);
    const double slope = (last - first) / (double)(n - 1);
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        const double d = fabs(first + slope * (double)i - finite_of(v[piece->from + i]));
        piece->knot = d > most ? i : piece->knot;
        most = d > most ? d : most;
    }
    if (piece->knot < N_COEFFICIENTS)
        piece->knot = N_COEFFICIENTS;
    if (piece->knot > n - N_COEFFICIENTS)
        piece->knot = n - N_COEFFICIENTS;
    piece->gain = most * most * (double)n;
}

static size_t count_positive(const float *v, size_t n)
{
    size_t low = 0, high = n; /* the values descend */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (finite_of(v[middle]) > 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static unsigned cut(struct piece *pieces, const float *v, size_t n)
{
    const size_t n_positive = count_positive(v, n);
    unsigned n_pieces = 0;
    if (n_positive > 0)
        pieces[n_pieces++] = (struct piece){.from = 0, .n = n_positive};
    if (n_positive < n)
        pieces[n_pieces++] = (struct piece){.from = n_positive, .n = n - n_positive};
    for (unsigned i = 0; i < n_pieces; i++)
        find_knot(&pieces[i], v);
    while (n_pieces > 0 && n_pieces < CUT_PIECES && n_pieces < 2 + n / VALUES_PER_PIECE) {
        unsigned worst = 0;
        for (unsigned i = 1; i < n_pieces; i++)
            if (pieces[i].gain > pieces[worst].gain)
                worst = i;
        if (!(pieces[worst].gain > 0))
            break;
        for (unsigned i = n_pieces++; i > worst; i--)
            pieces[i] = pieces[i - 1];
        struct piece *left = &pieces[worst], *right = left + 1;
        right->from = left->from + left->knot;
        right->n = left->n - left->knot;
        left->n = left->knot;
        find_knot(left, v);
        find_knot(right, v);
    }
    return n_pieces;
}

/* Pieces of the published code: from both ends 1/100000, .. 1/10, 1/5 of the values of that sign
 * where that is more than 30, and the rest. Empty ones are left out. */
static unsigned cut_published(struct piece *pieces, size_t n_positive, size_t n)
{
    static const unsigned shares[] = {5, 10, 30, 100, 300, 1000, 3000, 10000, 30000, 100000};
    enum { N_SHARES = sizeof(shares) / sizeof(shares[0]) };
    size_t lengths[MAX_PIECES], rest[2] = {n_positive, n - n_positive};
    unsigned n_pieces = 0;
    for (unsigned i = N_SHARES; i-- > 0;)
        if (n_positive / shares[i] > 30)
            rest[0] -= lengths[n_pieces++] = n_positive / shares[i];
    const unsigned middle = n_pieces;
    n_pieces += 2;
    for (unsigned i = 0; i < N_SHARES; i++)
        if ((n - n_positive) / shares[i] > 30)
            rest[1] -= lengths[n_pieces++] = (n - n_positive) / shares[i];
    lengths[middle] = rest[0];
    lengths[middle + 1] = rest[1];
    size_t from = 0;
    unsigned n_full = 0;
    for (unsigned i = 0; i < n_pieces; i++) {
        if (lengths[i] > 0)
            pieces[n_full++] = (struct piece){.from = from, .n = lengths[i]};
        from += lengths[i];
    }
    return n_full;
}

static size_t polyfit_max_bytes(const struct strait_value_coder *c, size_t n_values)
{
    (void)c;
    (void)n_values;
    return 16 + MAX_PIECES * (8 * N_COEFFICIENTS + 8);
}

static void write_double(struct strait_writer *w, double x)
{
    if (strait_write_room(w, 8)) {
        strait_put_double(w->p, x);
        w->p += 8;
    }
}

static void write_float(struct strait_writer *w, float x)
{
    if (strait_write_room(w, 4)) {
        strait_put_float(w->p, x);
        w->p += 4;
    }
}

static int polyfit_encode(const struct strait_value_coder *coder, struct strait_writer *w,
                          const float *v, size_t n_values, uint64_t key, struct strait_error *err)
{
    (void)key;
    (void)err;
    struct piece pieces[MAX_PIECES];
    const bool published = coder->params.published;
    const size_t n_positive = count_positive(v, n_values);
    const unsigned n_pieces =
        published ? cut_published(pieces, n_positive, n_values) : cut(pieces, v, n_values);
    if (!published)
        strait_write_varint(w, n_pieces);
    for (unsigned i = 0; i < n_pieces; i++) {
        double c[N_COEFFICIENTS] = {0};
        fit(c, v + pieces[i].from, pieces[i].n);
        if (!published)
            strait_write_varint(w, pieces[i].n);
        for (unsigned a = 0; a < n_coefficients(pieces[i].n) && !published; a++)
            write_float(w, to_float(c[a]));
        for (unsigned a = 0; a < N_COEFFICIENTS && published; a++)
            write_double(w, c[a]);
    }
    if (published)
        write_double(w, (double)n_positive);
    return 0;
}

static bool decode_packed(float *v, size_t n, struct strait_reader *r)
{
    const uint64_t n_pieces = strait_read_varint(r);
    size_t at = 0;
    if (n_pieces > CUT_PIECES)
        return false;
    for (unsigned i = 0; i < n_pieces && !r->bad; i++) {
        const uint64_t length = strait_read_varint(r);
        double c[N_COEFFICIENTS] = {0};
        if (length == 0 || length > n - at)
            return false;
        for (unsigned a = 0; a < n_coefficients((size_t)length); a++) {
            const unsigned char *p = strait_read_bytes(r, 4);
            c[a] = p ? (double)strait_get_float(p) : 0;
            if (!isfinite(c[a]))
                return false;
        }
        restore(v + at, (size_t)length, c);
        at += (size_t)length;
    }
    return at == n;
}

static bool decode_published(float *v, size_t n, struct strait_reader *r)
{
    struct piece pieces[MAX_PIECES];
    if (r->end - r->p < 8)
        return false;
    const double n_positive = strait_get_double(r->end - 8);
    if (!(n_positive >= 0 && n_positive <= (double)n && floor(n_positive) >= n_positive))
        return false;
    const unsigned n_pieces = cut_published(pieces, (size_t)n_positive, n);
    for (unsigned i = 0; i < n_pieces; i++) {
        double c[N_COEFFICIENTS] = {0};
        for (unsigned a = 0; a < N_COEFFICIENTS; a++) {
            const unsigned char *p = strait_read_bytes(r, 8);
            c[a] = p ? strait_get_double(p) : 0;
            if (!isfinite(c[a]))
                return false;
        }
        restore(v + pieces[i].from, pieces[i].n, c);
    }
    return strait_read_bytes(r, 8) != NULL;
}

static int polyfit_decode(const struct strait_value_coder *c, float *v, size_t n_values,
                          const unsigned char *in, size_t len_bytes, struct strait_error *err)
{
    struct strait_reader r = {.p = in, .end = in + len_bytes};
    const bool good =
        c->params.published ? decode_published(v, n_values, &r) : decode_packed(v, n_values, &r);
    if (!good || r.bad || r.p != r.end)
        return strait_refuse(err, "polyfit", "expected polynomials for %zu values", n_values);
    return 0;
}

const struct strait_value_codec strait_value_polyfit = {
    .name = "polyfit",
    .source = "DeepReduce, Xu et al. 2021, section 5",
    .permutes = true,
    .max_bytes = polyfit_max_bytes,
    .encode = polyfit_encode,
    .decode = polyfit_decode,
};
