/* Sparse tensors: which elements are chosen (sparsifiers) and how the chosen positions become bytes
 * (index codecs). The sparsifier codecs and the DeepReduce family are put together from these. */
#pragma once
#include "core/bytes.h"
#include "codecs/codec.h"

enum { STRAIT_SPARSE_MAX_ELEMS = 0x7fffffff };

struct strait_sparsifier_params {
    double ratio;     /* chosen / n_elems: k = max(1, floor(n_elems ratio)), 0 of no elements */
    double threshold; /* |x| >= threshold is chosen, for the sparsifier of that name */
};

/* A rule that chooses elements. Values that are not finite are chosen first by every rule that
 * looks at values. */
struct strait_sparsifier {
    const char *name, *source;
    bool stochastic; /* draws from `key` */
    /** Most elements that are ever chosen. */
    size_t (*max_chosen)(const struct strait_sparsifier_params *p, size_t n_elems);
    /** Out:     index   ascending, distinct, below n_elems
     *  In:      x       float32[n_elems], n_elems <= STRAIT_SPARSE_MAX_ELEMS
     *           scratch uint32_t[n_elems]
     *  Returns: how many, at most max_chosen. The same on every compiler and machine. */
    size_t (*choose)(uint32_t *index, const float *x, size_t n_elems,
                     const struct strait_sparsifier_params *p, uint64_t key, uint32_t *scratch);
};

/** The table of sparsifiers, for `choices` of a parameter too: NULL-terminated names. */
const struct strait_sparsifier *const *strait_sparsifiers(size_t *n);
extern const char *const strait_sparsifier_names[];
extern const struct strait_sparsifier strait_sparsifier_topk, strait_sparsifier_randomk,
    strait_sparsifier_threshold, strait_sparsifier_dgc, strait_sparsifier_adaq;

/** k of a ratio: max(1, floor(n_elems ratio)), at most n_elems; 0 of no elements. */
size_t strait_sparse_share(double ratio, size_t n_elems);

/* A way to write down which of n_elems positions are chosen. */
struct strait_index_codec {
    const char *name, *source;
    /** May change the set: a Bloom filter's positives are another set than what went in. */
    bool exact;
    size_t (*max_bytes)(size_t n_elems, size_t n_chosen, double parameter);
    /** Write index[*n_chosen], ascending and distinct, *n_chosen <= n_elems. The number of chosen
     *  is not written by callers: an index codec whose bytes do not tell it writes it itself.
     *  In/out:  index, n_chosen  afterwards what decode will give; room for n_elems of them where
     *                            the codec is not exact
     *  In:      parameter        of the codec, for example a false positive rate; 0 its default
     *           scratch          uint32_t[n_elems + 1024] */
    void (*encode)(struct strait_writer *w, uint32_t *index, size_t *n_chosen, size_t n_elems,
                   double parameter, uint64_t key, uint32_t *scratch);
    /** Read it back. Out: index with room for n_elems, ascending and distinct. False: these bytes
     *  are no such thing; any bytes are safe. */
    bool (*decode)(struct strait_reader *r, uint32_t *index, size_t *n_chosen, size_t n_elems,
                   uint32_t *scratch);
};

const struct strait_index_codec *const *strait_index_codecs(size_t *n);
extern const char *const strait_index_codec_names[];
/** Whether index[n] is ascending, distinct and below n_elems: what a decoder owes its caller. */
bool strait_index_ascends(const uint32_t *index, size_t n, size_t n_elems);
/* Sorted gaps in Rice code, or a bitmap above the density where that is shorter: what a packed
 * sparsifier sends. */
extern const struct strait_index_codec strait_index_raw, strait_index_bitmap, strait_index_rice,
    strait_index_rle, strait_index_huffman, strait_index_bloom_p0, strait_index_bloom_p1,
    strait_index_bloom_p2;
