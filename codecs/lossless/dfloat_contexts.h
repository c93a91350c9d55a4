/* Inside dfloat: its state, and which contexts its symbols have. */
#pragma once
#include "codecs/builtin.h"
#include "contexts.h"
#include "dfloat_values.h"

enum dfloat_how {
    DFLOAT_PLAIN,
    DFLOAT_NONE,
    DFLOAT_LEFT,
    DFLOAT_SCALE,
    DFLOAT_REFERENCE,
    DFLOAT_HALVES = 8,
    DFLOAT_ZEROS = 16,
    DFLOAT_ALL = 31
};

struct dfloat {
    struct strait_pool pool;
    const struct strait_codec_ops *ops;
    enum dfloat_how contexts; /* DFLOAT_PLAIN: whichever is shortest */
};

/* Memory of a call on at most `cap` values. */
struct dfloat_scratch {
    struct strait_pooled pooled;
    size_t cap;
    struct strait_context_counts counts;
    double logs[STRAIT_CONTEXT_LOGS];
    struct strait_context_tables tables;
    struct strait_context_coder coder;
    uint8_t *symbols, *context, *classes;
    uint32_t *sums; /* of columns */
    uint16_t *words;
};

/** The contexts that are shortest for the symbols, of those that the settings and the shape allow;
 *  DFLOAT_SCALE: classes of rows and columns are there. In: n > 0 symbols of n_rows rows (0: a
 *  vector); zeros: DFLOAT_ZERO stands for 0 */
enum dfloat_how dfloat_choose(const struct dfloat *s, struct dfloat_scratch *piece, size_t n,
                              size_t n_rows, bool zeros);
/** Contexts from the classes of rows and columns. */
void dfloat_scale_contexts(struct dfloat_scratch *piece, size_t n_rows, size_t n_columns);
/** Of n symbols; NULL: each has the one before. */
const uint8_t *dfloat_context_of(struct dfloat_scratch *piece, enum dfloat_how how, size_t n);
/** Tables of the classes, n of them. Returns: about their bits */
double dfloat_price_of_classes(struct dfloat_scratch *piece, size_t n);
