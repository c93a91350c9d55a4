/* gtopk: top-k with streams that can be merged: the sum of two, cut down to its own k largest, is
 * again a stream of k. Merging along a tree of log2 P steps is the all-reduce of gTop-k (Shi et al.
 * 2019, algorithms 2 and 3), 8k bytes a step behind a head of 10 as published.
 *
 * So `add` is not the exact sum that codec.h asks for: up to k elements of the two are dropped. A
 * strategy that knows which of its own elements were dropped puts them back into its residual
 * (algorithm 4, line 10). Of equal magnitudes the lower position stays. Summing in another order
 * may keep other elements: a strategy states its tree. */
#include "codecs/builtin.h"
#include <assert.h>
#include "select.h"
#include "sparse_stream.h"

static const struct strait_param params[] = {
    {"ratio", "share of the values that is sent", .max = 1, .fallback = 0.01},
    {"payload", "packed: gaps in Rice code; published: 32-bit indices", .max = 1,
     .choices = strait_sparse_two_payloads},
};

struct chosen { /* of one stream */
    const uint32_t *index;
    const unsigned char *values;
    size_t n;
};

/* Sum of two: ascending positions, as many as either has. Returns how many, at most n_elems. */
static size_t merge(struct strait_sparse_piece *sum, struct chosen a, struct chosen b)
{
    size_t n = 0, i = 0, k = 0;
    while (i < a.n || k < b.n) {
        const uint32_t at_a = i < a.n ? a.index[i] : UINT32_MAX;
        const uint32_t at_b = k < b.n ? b.index[k] : UINT32_MAX;
        if (at_a == at_b) {
            sum->values[n] = strait_sparse_sum(strait_get_float(a.values + 4 * i),
                                               strait_get_float(b.values + 4 * k));
            sum->index[n++] = at_a;
            i++;
            k++;
        } else if (at_a < at_b) {
            sum->values[n] = strait_get_float(a.values + 4 * i++);
            sum->index[n++] = at_a;
        } else {
            sum->values[n] = strait_get_float(b.values + 4 * k++);
            sum->index[n++] = at_b;
        }
    }
    return n;
}

/* kept: room for k of the n merged positions; scratch is sum's. */
static void write_largest(struct strait_writer *w, const struct strait_sparse_state *s,
                          struct strait_sparse_piece *sum, size_t n, size_t k, size_t n_elems,
                          uint32_t *kept)
{
    strait_select_largest(kept, sum->values, n, k, sum->scratch);
    for (size_t i = 0; i < k; i++) { /* kept[i] >= i */
        sum->values[i] = sum->values[kept[i]];
        sum->index[i] = sum->index[kept[i]];
    }
    strait_sparse_write_head(w, s, n_elems, k);
    strait_sparse_write_index(w, s->payload, sum->index, k, n_elems, sum->scratch);
    if (strait_write_room(w, 4 * k)) {
        strait_put_floats(w->p, sum->values, k);
        w->p += 4 * k;
    }
}

static bool gtopk_summable(const void *state, const unsigned char *a, size_t a_bytes,
                           const unsigned char *b, size_t b_bytes)
{
    const struct strait_sparse_state *s = state;
    return a_bytes >= STRAIT_SPARSE_HEAD_BYTES && b_bytes >= STRAIT_SPARSE_HEAD_BYTES &&
           a[0] == s->ops->id && a[1] == s->payload && memcmp(a, b, STRAIT_SPARSE_HEAD_BYTES) == 0;
}

static int gtopk_add(void *state, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
                     const unsigned char *a, size_t a_bytes, const unsigned char *b, size_t b_bytes,
                     size_t n_elems, struct strait_error *err)
{
    struct strait_sparse_state *s = state;
    struct strait_writer w = {.p = out, .end = out + cap_bytes};
    struct chosen of_a, of_b;
    if (!gtopk_summable(state, a, a_bytes, b, b_bytes))
        return strait_refuse(err, s->ops->name,
                             "expected two streams of one length, ratio and payload");
    struct strait_sparse_piece *piece_a = strait_sparse_take(s, n_elems, err);
    struct strait_sparse_piece *piece_b = piece_a ? strait_sparse_take(s, n_elems, err) : NULL;
    struct strait_sparse_piece *sum = piece_b ? strait_sparse_take(s, n_elems, err) : NULL;
    int failed = sum ? 0 : -1;
    if (sum && (!strait_sparse_read(s, piece_a, &of_a.n, &of_a.values, a, a_bytes, n_elems) ||
                !strait_sparse_read(s, piece_b, &of_b.n, &of_b.values, b, b_bytes, n_elems)))
        failed = strait_sparse_refused(s->ops, n_elems, err);
    if (!failed) {
        of_a.index = piece_a->index;
        of_b.index = piece_b->index;
        const size_t n = merge(sum, of_a, of_b);
        write_largest(&w, s, sum, n, of_a.n, n_elems, piece_a->scratch);
        if (w.full) /* the streams have a larger ratio than this state */
            failed = strait_sparse_refused(s->ops, n_elems, err);
        *len_bytes = (size_t)(w.p - out);
    }
    strait_sparse_give(s, piece_a);
    strait_sparse_give(s, piece_b);
    strait_sparse_give(s, sum);
    return failed;
}

const struct strait_codec_ops strait_codec_gtopk = {
    .name = "gtopk",
    .source = "Shi et al. 2019 (gTop-k S-SGD, ICDCS)",
    .id = 24,
    .flags = STRAIT_CODEC_SPARSE,
    STRAIT_PARAMS(params),
    .memory = {.residual = true},
    .predict = strait_sparse_predict_fixed,
    STRAIT_SPARSE_CODEC(&strait_sparsifier_topk),
    .add = gtopk_add,
    .summable = gtopk_summable,
};
