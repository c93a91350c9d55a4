/* dfloat: which contexts are shortest, and the scales of rows and columns. */
#include "dfloat_contexts.h"

enum { SAMPLES = 16, SAMPLE = 4096, DEEPEST = 31 };

static unsigned mean_class(uint64_t sum, size_t n)
{
    return (unsigned)((4 * sum + n) / (2 * n)); /* of exponents 0 to 31 */
}

/* Twice the mean exponents of rows and columns, those far below the largest raised. */
static void classify(struct dfloat_scratch *piece, size_t n_rows, size_t n_columns, bool zeros)
{
    unsigned top = 0;
    const unsigned past = zeros ? DFLOAT_ZERO : 256; /* stands for 0 */
    for (size_t i = 0; i < n_rows * n_columns; i++)
        top = top < piece->symbols[i] && piece->symbols[i] != past ? piece->symbols[i] : top;
    const unsigned least = top > DEEPEST ? top - DEEPEST : 0;
    memset(piece->sums, 0, n_columns * sizeof(uint32_t));
    for (size_t r = 0; r < n_rows; r++) {
        const uint8_t *row = piece->symbols + r * n_columns;
        uint64_t sum = 0;
        for (size_t c = 0; c < n_columns; c++) {
            const unsigned e = row[c] > least && row[c] != past ? row[c] - least : 0;
            piece->sums[c] += e;
            sum += e;
        }
        piece->classes[r] = (uint8_t)mean_class(sum, n_columns);
    }
    for (size_t c = 0; c < n_columns; c++)
        piece->classes[n_rows + c] = (uint8_t)mean_class(piece->sums[c], n_rows);
}

void dfloat_scale_contexts(struct dfloat_scratch *piece, size_t n_rows, size_t n_columns)
{
    const uint8_t *of_column = piece->classes + n_rows;
    for (size_t r = 0; r < n_rows; r++)
        for (size_t c = 0; c < n_columns; c++)
            piece->context[r * n_columns + c] = (uint8_t)(piece->classes[r] + of_column[c]);
}

const uint8_t *dfloat_context_of(struct dfloat_scratch *piece, enum dfloat_how how, size_t n)
{
    if (how == DFLOAT_NONE)
        memset(piece->context, 0, n);
    return how == DFLOAT_LEFT ? NULL : piece->context;
}

/* Bits that contexts would take, from a sample of a large tensor. */
static double price(struct dfloat_scratch *piece, enum dfloat_how how, size_t n)
{
    const uint8_t *context = dfloat_context_of(piece, how, n);
    const size_t n_samples = n > SAMPLES * SAMPLE ? SAMPLES : 1, each = n_samples > 1 ? SAMPLE : n;
    memset(piece->counts.occurs, 0, sizeof(piece->counts.occurs));
    for (size_t i = 0; i < n_samples; i++) {
        const size_t at = n / n_samples * i / SAMPLE * SAMPLE;
        strait_contexts_count(&piece->counts, piece->symbols + at, context ? context + at : NULL,
                              each, n);
    }
    return strait_contexts_join(&piece->tables, &piece->counts, piece->logs) * (double)n /
           (double)(n_samples * each);
}

double dfloat_price_of_classes(struct dfloat_scratch *piece, size_t n)
{
    memset(piece->counts.occurs, 0, sizeof(piece->counts.occurs));
    strait_contexts_count(&piece->counts, piece->classes, NULL, n, n);
    return strait_contexts_join(&piece->tables, &piece->counts, piece->logs) + 8.0 * 16;
}

/* The contexts that are shortest, of those that the settings and the shape allow. */
enum dfloat_how dfloat_choose(const struct dfloat *s, struct dfloat_scratch *piece, size_t n,
                              size_t n_rows, bool zeros)
{
    const bool is_matrix = n_rows > 1 && n % n_rows == 0 && n / n_rows > 1;
    const bool may_scale =
        is_matrix && (s->contexts == DFLOAT_PLAIN || s->contexts == DFLOAT_SCALE);
    if (may_scale)
        classify(piece, n_rows, n / n_rows, zeros);
    if (s->contexts != DFLOAT_PLAIN)
        return s->contexts == DFLOAT_SCALE && !is_matrix ? DFLOAT_NONE : s->contexts;
    const double none = price(piece, DFLOAT_NONE, n), left = price(piece, DFLOAT_LEFT, n);
    enum dfloat_how best = left < none ? DFLOAT_LEFT : DFLOAT_NONE;
    if (may_scale) {
        dfloat_scale_contexts(piece, n_rows, n / n_rows);
        if (price(piece, DFLOAT_SCALE, n) + dfloat_price_of_classes(piece, n_rows + n / n_rows) <
            (left < none ? left : none))
            best = DFLOAT_SCALE;
    }
    return best;
}
