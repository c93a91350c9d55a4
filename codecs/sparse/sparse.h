/* Sparse tensors: rules that choose elements (sparsifiers) and ways to encode the chosen positions
 * (index codecs). The sparsifier codecs and the DeepReduce family combine these. */
#pragma once
#include "core/bytes.h"
#include "codecs/codec.h"

enum { STRAIT_SPARSE_MAX_ELEMS = 0x7fffffff };

struct strait_sparsifier_params {
    double ratio;     /* chosen / n_elems: k = max(1, floor(n_elems ratio)), 0 if n_elems is 0 */
    double threshold; /* for the sparsifier `threshold`: |x| >= threshold is chosen */
};

/* A rule that chooses elements. Every rule that looks at values chooses those that are not finite
 * first. */
struct strait_sparsifier {
    const char *name, *source;
    bool stochastic; /* draws from `key` */
    /** Upper limit of the number of chosen elements. */
    size_t (*max_chosen)(const struct strait_sparsifier_params *p, size_t n_elems);
    /** Choose elements.
     *  Out:     index   ascending, distinct, below n_elems
     *  In:      x       float32[n_elems], n_elems <= STRAIT_SPARSE_MAX_ELEMS
     *           scratch uint32_t[n_elems]
     *  Returns: how many, at most max_chosen; the same on every compiler and machine */
    size_t (*choose)(uint32_t *index, const float *x, size_t n_elems,
                     const struct strait_sparsifier_params *p, uint64_t key, uint32_t *scratch);
};

/** The table of sparsifiers, and their names, NULL-terminated, for `choices` of a parameter. */
const struct strait_sparsifier *const *strait_sparsifiers(size_t *n);
extern const char *const strait_sparsifier_names[];
extern const struct strait_sparsifier strait_sparsifier_topk, strait_sparsifier_randomk,
    strait_sparsifier_threshold, strait_sparsifier_dgc, strait_sparsifier_adaq;

/** k for a ratio: max(1, floor(n_elems ratio)), at most n_elems; 0 if n_elems is 0. */
size_t strait_sparse_share(double ratio, size_t n_elems);

/* An encoding of which of n_elems positions are chosen. */
struct strait_index_codec {
    const char *name, *source;
    /** false: the set may change, as with a Bloom filter's false positives */
    bool exact;
    size_t (*max_bytes)(size_t n_elems, size_t n_chosen, double parameter);
    /** Write index[*n_chosen], ascending and distinct, *n_chosen <= n_elems. Callers do not write
     *  the number of chosen elements: an index codec that needs it writes it.
     *  In/out:  index, n_chosen  afterwards what decode will give; room for n_elems if not exact
     *  In:      parameter        of the codec, such as a false positive rate; 0: its default
     *           scratch          uint32_t[n_elems + 1024] */
    void (*encode)(struct strait_writer *w, uint32_t *index, size_t *n_chosen, size_t n_elems,
                   double parameter, uint64_t key, uint32_t *scratch);
    /** Read it back. Out: index: room for n_elems, ascending and distinct. False: malformed; any
     *  input bytes are safe. */
    bool (*decode)(struct strait_reader *r, uint32_t *index, size_t *n_chosen, size_t n_elems,
                   uint32_t *scratch);
};

const struct strait_index_codec *const *strait_index_codecs(size_t *n);
extern const char *const strait_index_codec_names[];
/** Whether index[n] is ascending, distinct and below n_elems: decoders must check this. */
bool strait_index_ascends(const uint32_t *index, size_t n, size_t n_elems);
/* strait_index_rice: sorted gaps in Rice code, or a bitmap if that is shorter: the packed form of
 * the sparsifiers. */
extern const struct strait_index_codec strait_index_raw, strait_index_bitmap, strait_index_rice,
    strait_index_rle, strait_index_huffman, strait_index_bloom_p0, strait_index_bloom_p1,
    strait_index_bloom_p2;
