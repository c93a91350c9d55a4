/* deepreduce: any combination of a sparsifier, an index codec for the chosen positions and a value
 * codec for the chosen values (DeepReduce, Xu et al. 2021). Elements that are not chosen decode to
 * 0. docs/deepreduce.md has the costs of the parts.
 *
 *   u8      the codec's id
 *   u8      index codec + 16 value codec + 128 if published, or 255: float32 values follow, for
 *           tensors with too few elements to gain anything
 *   index   as the index codec writes it
 *   order   only if the value codec permutes: the place of each rank in the index, see
 *           rank_order.h. With index codec raw there is no other index: varint number of
 *           chosen, then the position of each rank
 *   values  as the value codec writes them */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include "core/buffer.h"
#include "core/random.h"
#include "codecs/bound.h"
#include "codecs/builtin.h"
#include "codecs/kit/scratch_pool.h"
#include "rank_order.h"
#include "codecs/sparse/sparse.h"
#include "value_codec.h"

enum { ID = 25, WHOLE = 255, PUBLISHED = 128, HEAD_BYTES = 2 };
enum { SPARSIFIER, RATIO, THRESHOLD, INDEX, FPR, VALUE, BOUND, LEVELS, PAYLOAD, WHOLE_BELOW };

static const char *const payloads[] = {"packed", "published", NULL};

/* Defaults. Values by sz: at its bound of 1e-3 it takes fewer bits than 8-bit QSGD with a tenth of
 * the error, and at the error of fp16 two thirds of its bits. Index in Rice code: exact, and the
 * shortest up to a density of a tenth. docs/deepreduce.md has the figures. */
static const struct strait_param params[] = {
    [SPARSIFIER] = {"sparsifier", "which elements are chosen", .max = 4,
                    .choices = strait_sparsifier_names},
    [RATIO] = {"ratio", "share of elements chosen", .max = 1, .fallback = 0.01},
    [THRESHOLD] = {"threshold", "smallest magnitude chosen, for the sparsifier threshold",
                   .max = 1e30, .fallback = 1e-3},
    [INDEX] = {"index", "index codec", .max = 7, .fallback = 2,
               .choices = strait_index_codec_names},
    [FPR] = {"fpr", "false positive rate of a Bloom filter, 0: a tenth of the share chosen",
             .max = 0.99},
    [VALUE] = {"value", "value codec", .max = 6, .fallback = 2,
               .choices = strait_value_codec_names},
    [BOUND] = {"value_bound", "bound of value codec sz, relative to the range of the chosen values",
               .max = 1, .fallback = 1e-3},
    [LEVELS] = {"levels", "levels of value codec qsgd", .min = 1, .max = 32767, .fallback = 127},
    [PAYLOAD] = {"payload", "packed, or bytes as the published code sends them", .max = 1,
                 .choices = payloads},
    [WHOLE_BELOW] = {"passthrough", "tensors of so many elements or fewer are sent whole",
                     .max = 1e9, .fallback = 1000},
};
enum { N_PARAMS = sizeof(params) / sizeof(params[0]) };

struct state {
    const struct strait_sparsifier *sparsifier;
    const struct strait_index_codec *index;
    struct strait_sparsifier_params choice;
    struct strait_value_coder value;
    struct strait_pool pool;
    size_t whole_below;
    double fpr;
    bool published;
    unsigned method; /* second byte of a stream */
};

/* Memory for one call: a position and one more word for each element, and for each chosen element
 * its value and the memory for sorting. */
struct scratch {
    struct strait_pooled pooled;
    size_t n_elems, n_values;
    uint32_t *index, *words;
    float *values, *sorted;
    uint64_t *pairs;
    struct strait_rank_order order;
};

static void scratch_clear(struct scratch *s)
{
    strait_buffer_free(s->index);
    strait_buffer_free(s->words);
    free(s->values);
    free(s->sorted);
    free(s->pairs);
    free(s->order.place);
    free(s->order.sign);
    *s = (struct scratch){.pooled = s->pooled};
}

static void give(struct state *state, struct scratch *s)
{
    if (s)
        strait_pool_give(&state->pool, s);
}

/* Scratch for tensors of n_elems; NULL when memory ran out. */
static struct scratch *take(struct state *state, size_t n_elems)
{
    struct scratch *s = strait_pool_take(&state->pool);
    if (!s && (s = calloc(1, sizeof(*s))) == NULL)
        return NULL;
    if (s->n_elems >= n_elems && s->index)
        return s;
    scratch_clear(s);
    s->index = strait_buffer_new(4 * n_elems + 4);
    s->words = strait_buffer_new(4 * (n_elems + 1024));
    if (s->index && s->words) {
        s->n_elems = n_elems;
        return s;
    }
    scratch_clear(s);
    free(s);
    return NULL;
}

static bool reserve_values(struct scratch *s, size_t n, bool order)
{
    if (s->n_values >= n && s->values)
        return true;
    free(s->values);
    free(s->sorted);
    free(s->pairs);
    free(s->order.place);
    free(s->order.sign);
    n += n / 4; /* some sparsifiers may choose a few more next time */
    s->values = malloc(4 * n + 4);
    s->sorted = order ? malloc(4 * n + 4) : NULL;
    s->pairs = order ? malloc(16 * n + 8) : NULL;
    s->order = (struct strait_rank_order){.place = order ? malloc(4 * n + 4) : NULL,
                                          .sign = order ? malloc(n + 1) : NULL};
    const bool all =
        s->values && (!order || (s->sorted && s->pairs && s->order.place && s->order.sign));
    s->n_values = all ? n : 0;
    return all;
}

static void deepreduce_close(void *state)
{
    struct state *s = state;
    for (struct scratch *piece; (piece = strait_pool_take(&s->pool)) != NULL;) {
        scratch_clear(piece);
        free(piece);
    }
    strait_pool_release(&s->pool);
    strait_value_coder_close(&s->value);
    free(s);
}

static int deepreduce_open(void **state, const struct strait_codec_ops *ops, const double *values,
                           struct strait_error *err)
{
    size_t n_sparsifiers, n_index, n_value;
    const struct strait_sparsifier *const *sparsifiers = strait_sparsifiers(&n_sparsifiers);
    const struct strait_index_codec *const *index_codecs = strait_index_codecs(&n_index);
    const struct strait_value_codec *const *value_codecs = strait_value_codecs(&n_value);
    assert(values[SPARSIFIER] < (double)n_sparsifiers && values[INDEX] < (double)n_index &&
           values[VALUE] < (double)n_value);
    struct state *s = calloc(1, sizeof(*s));
    if (!s)
        return strait_error_set(err, STRAIT_ERR_NOMEM, ops->name, "no memory for the codec");
    const unsigned index = (unsigned)values[INDEX], value = (unsigned)values[VALUE];
    s->sparsifier = sparsifiers[(unsigned)values[SPARSIFIER]];
    s->index = index_codecs[index];
    s->choice = (struct strait_sparsifier_params){values[RATIO], values[THRESHOLD]};
    s->fpr = values[FPR];
    s->whole_below = (size_t)values[WHOLE_BELOW];
    s->published = values[PAYLOAD] > 0;
    s->method = index | value << 4 | (s->published ? (unsigned)PUBLISHED : 0u);
    const struct strait_value_params asked = {
        .bound = values[BOUND], .levels = (unsigned)values[LEVELS], .published = s->published};
    if (strait_value_coder_open(&s->value, value_codecs[value], asked, err) != 0) {
        free(s);
        return -1;
    }
    strait_pool_init(&s->pool);
    *state = s;
    return 0;
}

/* With index codec raw, the positions in rank order serve as index and order at once. */
static bool by_rank(const struct state *s)
{
    return s->value.codec->permutes && s->index == &strait_index_raw;
}

static enum strait_rank_form form_of(const struct state *s)
{
    if (!s->published)
        return STRAIT_RANK_PACKED;
    return by_rank(s) ? STRAIT_RANK_INT32 : STRAIT_RANK_INT64;
}

/* Whether a tensor is sent as it is: too short for this to pay, or too long for positions. */
static bool goes_whole(const struct state *s, size_t n_elems)
{
    return n_elems <= s->whole_below || n_elems > STRAIT_SPARSE_MAX_ELEMS;
}

static size_t deepreduce_max_bytes(const void *state, size_t n_elems)
{
    const struct state *s = state;
    if (goes_whole(s, n_elems))
        return HEAD_BYTES + 4 * n_elems;
    const size_t n_chosen = s->sparsifier->max_chosen(&s->choice, n_elems);
    const size_t n_values = s->index->exact ? n_chosen : n_elems;
    size_t n = HEAD_BYTES + s->index->max_bytes(n_elems, n_chosen, s->fpr) + 10;
    if (s->value.codec->permutes)
        n += strait_rank_order_bytes(n_values, n_elems, true, form_of(s));
    return n + s->value.codec->max_bytes(&s->value, n_values);
}

static void write_index(const struct state *s, struct strait_writer *w, struct scratch *t,
                        size_t *n_chosen, size_t n_elems, uint64_t key)
{
    if (by_rank(s))
        strait_write_varint(w, *n_chosen);
    else
        s->index->encode(w, t->index, n_chosen, n_elems, s->fpr, key, t->words);
}

/* Order the values, send the order, leave the values sorted in t->sorted. */
static void write_order(const struct state *s, struct strait_writer *w, struct scratch *t, size_t n,
                        size_t n_elems)
{
    t->order.signs = s->value.codec->magnitudes;
    strait_rank_order_of(&t->order, t->sorted, t->values, n, t->pairs);
    if (by_rank(s))
        for (size_t i = 0; i < n; i++)
            t->order.place[i] = t->index[t->order.place[i]];
    strait_rank_order_write(w, &t->order, by_rank(s) ? n_elems : n, form_of(s));
}

static int encode_sparse(struct state *s, struct scratch *t, struct strait_writer *w,
                         const float *x, size_t n_elems, uint64_t key, struct strait_error *err)
{
    const bool order = s->value.codec->permutes;
    size_t n = s->sparsifier->choose(t->index, x, n_elems, &s->choice, key, t->words);
    strait_write_u8(w, s->method);
    write_index(s, w, t, &n, n_elems, strait_random_bits(key, "deepreduce index", 0, 0));
    if (!reserve_values(t, n, order))
        return strait_error_memory(err, "deepreduce");
    for (size_t i = 0; i < n; i++)
        t->values[i] = x[t->index[i]];
    if (order)
        write_order(s, w, t, n, n_elems);
    return s->value.codec->encode(&s->value, w, order ? t->sorted : t->values, n,
                                  strait_random_bits(key, "deepreduce value", 0, 0), err);
}

static int deepreduce_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                             size_t n_elems, struct strait_request request,
                             struct strait_error *err)
{
    struct state *s = state;
    struct strait_writer w = {.p = out, .end = out + deepreduce_max_bytes(state, n_elems)};
    int failed = 0;
    strait_write_u8(&w, ID);
    if (goes_whole(s, n_elems)) {
        strait_write_u8(&w, WHOLE);
        strait_put_floats(w.p, x, n_elems);
        w.p += 4 * n_elems;
    } else {
        struct scratch *t = take(s, n_elems);
        if (!t)
            return strait_error_memory(err, "deepreduce");
        failed = encode_sparse(s, t, &w, x, n_elems, request.key, err);
        give(s, t);
    }
    assert(failed || !w.full);
    *len_bytes = (size_t)(w.p - out);
    return failed;
}

static void scatter(float *y, const struct state *s, const struct scratch *t, size_t n)
{
    const struct strait_rank_order *order = &t->order;
    if (!s->value.codec->permutes) {
        for (size_t i = 0; i < n; i++)
            y[t->index[i]] = t->values[i];
        return;
    }
    assert(n == 0 || order->place);
    for (size_t i = 0; i < n; i++) {
        const uint32_t at = by_rank(s) ? order->place[i] : t->index[order->place[i]];
        y[at] = order->signs && order->sign[i] ? -t->values[i] : t->values[i];
    }
}

static int no_stream(size_t n_elems, struct strait_error *err)
{
    return strait_refuse(err, "deepreduce", "expected a stream of %zu values", n_elems);
}

static int decode_sparse(struct state *s, struct scratch *t, float *y, size_t n_elems,
                         struct strait_reader *r, struct strait_error *err)
{
    const bool order = s->value.codec->permutes;
    size_t n;
    if (by_rank(s)) {
        const uint64_t count = strait_read_varint(r);
        if (r->bad || count > n_elems)
            return no_stream(n_elems, err);
        n = (size_t)count;
        if (strait_rank_order_bytes(n, n_elems, s->value.codec->magnitudes, form_of(s)) >
            (size_t)(r->end - r->p))
            return no_stream(n_elems, err);
    } else if (!s->index->decode(r, t->index, &n, n_elems, t->words) || r->bad) {
        return no_stream(n_elems, err);
    }
    if (!reserve_values(t, n, order))
        return strait_error_memory(err, "deepreduce");
    t->order.n = n;
    t->order.signs = s->value.codec->magnitudes;
    if (order && !strait_rank_order_read(r, &t->order, by_rank(s) ? n_elems : n, form_of(s),
                                         (unsigned char *)t->words))
        return no_stream(n_elems, err);
    if (s->value.codec->decode(&s->value, t->values, n, r->p, (size_t)(r->end - r->p), err) != 0)
        return -1;
    memset(y, 0, 4 * n_elems);
    scatter(y, s, t, n);
    return 0;
}

static int deepreduce_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                             size_t len_bytes, struct strait_error *err)
{
    struct state *s = state;
    struct strait_reader r = {.p = in, .end = in + len_bytes};
    const unsigned id = strait_read_u8(&r), method = strait_read_u8(&r);
    const bool whole = goes_whole(s, n_elems);
    if (r.bad || id != ID || method != (whole ? (unsigned)WHOLE : s->method))
        return no_stream(n_elems, err);
    if (whole) {
        if (len_bytes != HEAD_BYTES + 4 * n_elems)
            return no_stream(n_elems, err);
        strait_get_floats(y, r.p, n_elems);
        return 0;
    }
    struct scratch *t = take(s, n_elems);
    if (!t)
        return strait_error_memory(err, "deepreduce");
    const int failed = decode_sparse(s, t, y, n_elems, &r, err);
    give(s, t);
    return failed;
}

const struct strait_codec_ops strait_codec_deepreduce = {
    .name = "deepreduce",
    .family = "sparsifier",
    .source = "DeepReduce, Xu et al. 2021 (NeurIPS)",
    .id = ID,
    .flags = STRAIT_CODEC_SPARSE | STRAIT_CODEC_STOCHASTIC,
    .bounds = 1u << STRAIT_BOUND_NONE,
    STRAIT_PARAMS(params),
    .memory = {.residual = true},
    .open = deepreduce_open,
    .close = deepreduce_close,
    .max_bytes = deepreduce_max_bytes,
    .encode = deepreduce_encode,
    .decode = deepreduce_decode,
};
