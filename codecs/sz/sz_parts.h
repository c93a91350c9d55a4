/* Inside the sz codec: declarations that its files share. The stream is described in sz.c. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/bytes.h"
#include "codecs/kit/scratch_pool.h"

enum {
    SZ_BLOCK = 256,          /* values that share a shift and a table */
    SZ_SEGMENT = 128 * 1024, /* values that share coder lanes; also the piece when streaming */
    SZ_BLOCKS = SZ_SEGMENT / SZ_BLOCK,
    SZ_FIXED_ELEMS = 512,  /* tensors up to this size need no tables */
    SZ_TABLE_BYTES = 4096, /* upper limit for the tables of a segment */
    SZ_SEGMENT_BYTES = 4 * SZ_SEGMENT + SZ_TABLE_BYTES, /* upper limit for a segment */
    SZ_HEAD_BYTES = 40,
    SZ_MORE = 255, /* symbols that a segment may add to the tables it takes over */
    SZ_MAX_SHIFT = 20,
    SZ_TABLES = 8,
    SZ_SAMPLES = 16, /* blocks from which a tensor is judged */
    SZ_SLOTS = 128,  /* histograms while counting */
    SZ_KINDS = 64,   /* (shift, table) pairs of a segment, the all-zero kind included */
    SZ_ESCAPE = 0,   /* symbol: the value follows as a float */
    SZ_ZERO = 1,     /* symbol: the integer 0, without low bits */
    SZ_CENTRE = 128, /* symbol of the integers whose upper part is 0 */
    SZ_PROB_BITS = 12,
    SZ_PROB = 1 << SZ_PROB_BITS,
    SZ_STATE_LOW = 1 << 15,
    SZ_RECIPROCAL_BITS = 43, /* enough for every state below 4095 << 19 */
    SZ_LANES = 32, /* 128 bytes of states: used if the coder writes at least SZ_MANY bytes */
    SZ_FEW_LANES = 4,
    SZ_MANY = 8192
};

/* The mapping of values to integers: x is about integer * step + centre. */
struct sz_grid {
    float centre, step, inverse;
    float threshold; /* |x - y| computed in float <= threshold implies |x - y| <= bound */
};

struct sz_encoder;
struct sz_matrix;
struct sz_kernels; /* the inner loops, see sz_kernels.h */

/* ---- rANS (sz_rans.c): 32-bit states in [2^15, 2^31), 16-bit words, 12-bit frequencies */

/* Arrays of words, which instructions take from memory, addressed by the symbol. */
struct sz_put_table {
    uint64_t reciprocal[256]; /* of the frequency, SZ_RECIPROCAL_BITS fraction bits, rounded up */
    uint32_t limit[256], start[256], complement[256];
};

/* Frequencies 1..4095 of the symbols that occur; their sum is SZ_PROB. */
struct sz_freqs {
    uint16_t f[256];
};

/** The first of the four symbols, of a multiple of four on, among which is the first that
 *  occurs. */
static inline unsigned sz_first_four(const struct sz_freqs *freqs)
{
    uint64_t four = 0;
    for (unsigned i = 0; i < 256; i += 4) {
        memcpy(&four, freqs->f + i, sizeof(four));
        if (four != 0)
            return i;
    }
    return 0;
}

void sz_put_symbols(struct sz_put_table *table, const struct sz_freqs *freqs);
/** Table from slot to symbol (8 bits), offset within the symbol (12) and frequency (12), which is
 *  needed first. */
void sz_get_slots(uint32_t slot[SZ_PROB], const struct sz_freqs *freqs);

/* The two steps that depend on random data: as conditional moves and additions of the flag, which
 * compilers replace by jumps where they like. */

/** `more` in the place of x, and one word less, if x >= limit. */
static inline void sz_rans_give(uint32_t *x, uint32_t more, uint32_t limit, ptrdiff_t *at)
{
#if defined(__x86_64__)
    __asm__("cmpl %[limit], %[x]\n\tcmovael %[more], %[x]\n\tadcq $-1, %[at]"
            : [x] "+r"(*x), [at] "+r"(*at)
            : [more] "r"(more), [limit] "rm"(limit)
            : "cc");
#else
    const uint32_t over = *x >= limit;
    *x = over ? more : *x;
    *at -= over;
#endif
}

/** `more` in the place of x, and one word further, if x < SZ_STATE_LOW. */
static inline void sz_rans_take(uint32_t *x, uint32_t more, size_t *at)
{
#if defined(__x86_64__)
    __asm__("cmpl %[low], %[x]\n\tcmovbl %[more], %[x]\n\tadcq $0, %[at]"
            : [x] "+r"(*x), [at] "+r"(*at)
            : [more] "r"(more), [low] "i"(SZ_STATE_LOW)
            : "cc");
#else
    const uint32_t under = *x < SZ_STATE_LOW;
    *x ^= (*x ^ more) & -under;
    *at += under;
#endif
}

/* One load: gcc 12 does not merge two of bytes in here. */
static inline uint32_t sz_get_word(const unsigned char *p)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint16_t word;
    memcpy(&word, p, sizeof(word));
    return word;
#else
    return strait_get16(p);
#endif
}

/** Push one symbol; words[at - 1] may be overwritten even if none is written.
 *  Returns: the index of the last word */
static inline ptrdiff_t sz_rans_put(uint32_t *state, uint16_t *words, ptrdiff_t at,
                                    const struct sz_put_table *table, size_t sym)
{
    uint32_t x = *state;
    words[at - 1] = (uint16_t)x;
    sz_rans_give(&x, x >> 16, table->limit[sym], &at);
    const uint32_t quotient = (uint32_t)(x * table->reciprocal[sym] >> SZ_RECIPROCAL_BITS);
    *state = x + table->start[sym] + quotient * table->complement[sym];
    return at;
}

/** Pop one symbol; word `at` is always read. Returns: the next word */
static inline size_t sz_rans_get(uint8_t *sym, uint32_t *state, const unsigned char *words,
                                 size_t at, const uint32_t *slots)
{
    const uint32_t slot = slots[*state & (SZ_PROB - 1)];
    uint32_t x = (slot >> 20) * (*state >> SZ_PROB_BITS) + (slot >> 8 & (SZ_PROB - 1));
    *sym = (uint8_t)slot;
    sz_rans_take(&x, x << 16 | sz_get_word(words + 2 * at), &at);
    *state = x;
    return at;
}

/** Push n symbols on n_lanes states, the last first. Returns: the last word */
uint16_t *sz_rans_put_some(uint32_t *states, unsigned n_lanes, uint16_t *p, const uint8_t *sym,
                           unsigned n, const struct sz_put_table *table);
/** Code the symbols of one segment, last to first, downwards from `end`, under the tables of e.
 *  Out:     states  n_lanes of them
 *  In:      sym     n_elems symbols
 *           kind    one a block; table_of[kind] < 0 in the model: nothing to code
 *  Returns: the first word; at most n_elems words and 8 more are written below end */
uint16_t *sz_rans_encode(const struct sz_encoder *e, uint32_t *states, unsigned n_lanes,
                         uint16_t *end, const uint8_t *sym, size_t n_elems, const uint8_t *kind);
/** Decode the next n (1..256) symbols of a block; reads at most n words and moves *words. */
void sz_rans_decode(uint8_t *sym, unsigned n, uint32_t *states, unsigned n_lanes,
                    const unsigned char **words, const uint32_t *slots);

/* ---- model (sz_model.c): which blocks share a table, and tables as bytes */

/* Logarithms in 1/65536 bit, the same integers on every machine. */
struct sz_logs {
    uint32_t mantissa[1025]; /* log2(1 + i/1024) */
    uint32_t small[SZ_PROB]; /* n log2 n */
};
void sz_log_init(struct sz_logs *logs);

struct sz_slot { /* a histogram while counting: blocks alike in magnitude, with one shift */
    uint8_t shift, bin, sparse;
    uint8_t reach; /* its symbols lie from SZ_CENTRE - 1 - reach to SZ_CENTRE + reach, */
    bool special;  /* escapes and SZ_ZERO apart, which only these have */
    int8_t table;
    uint32_t n_blocks;
};

struct sz_model {
    unsigned n_tables, n_kinds;
    struct sz_freqs freqs[SZ_TABLES];
    uint8_t shift_of[SZ_KINDS];
    int8_t table_of[SZ_KINDS]; /* -1: all integers of the block are 0 */
};

struct sz_count { /* a histogram with the figures that the model needs */
    uint32_t n[256];
    uint32_t total;
    unsigned low, high;  /* of the symbols that occur */
    uint64_t data, cost; /* bits of the symbols; of these with a table, in 1/65536 bit */
    uint32_t
        n_blocks[SZ_MAX_SHIFT + 1]; /* by shift: blocks of the same shift and table are alike */
    uint8_t slots[SZ_SLOTS];
    unsigned n_slots;
};

/** Scale counts to frequencies with sum SZ_PROB, each from 1 to SZ_PROB - 1 if the symbol
 *  occurs. */
void sz_normalise(struct sz_freqs *freqs, const uint32_t *n, unsigned n_symbols);
/** The same of a histogram whose ends and total are known. */
void sz_normalise_count(struct sz_freqs *freqs, const struct sz_count *c);
void sz_write_freqs(struct strait_writer *w, const struct sz_freqs *freqs);
/** False when malformed. */
bool sz_read_freqs(struct strait_reader *r, struct sz_freqs *freqs);
/** Write the kind of every block, as plain bits or coded, whichever is shorter. */
void sz_write_kinds(struct strait_writer *w, const uint8_t *kind, size_t n_blocks,
                    unsigned n_kinds);
bool sz_read_kinds(struct strait_reader *r, uint8_t *kind, size_t n_blocks, unsigned n_kinds);

/* ---- scratch memory of a call */

struct sz_stats {
    uint32_t sum, n_nonzero, max; /* of the magnitudes of a block */
};

/* Blocks that were quantised to decide how, if these are the first of the tensor. */
struct sz_known {
    unsigned n_blocks;
    int32_t q[SZ_SAMPLES][SZ_BLOCK];
    struct sz_stats stats[SZ_SAMPLES];
    bool marked[SZ_SAMPLES]; /* some value had no integer */
};

struct sz_uncounted { /* symbols of a block, and where they are to be counted */
    const uint8_t *sym;
    uint32_t (*histogram)[256];
};

struct sz_split {          /* integers of a segment, taken apart */
    struct sz_known known; /* of it; those of other splits: none */
    uint8_t sym[SZ_SEGMENT];
    uint8_t kind[SZ_BLOCKS];                               /* first a slot, then the kind */
    unsigned char low[SZ_SEGMENT / 8 * SZ_MAX_SHIFT + 96]; /* with room for overwriting */
    float escape[SZ_SEGMENT / 2 + SZ_BLOCK];
    size_t n_low_bytes, n_escapes;
    struct sz_uncounted uncounted; /* of a whole block; sym NULL: none */
    uint32_t histogram[SZ_SLOTS][4][256];
    struct sz_slot slots[SZ_SLOTS];
    unsigned n_slots;
    uint8_t slot_of[32][SZ_MAX_SHIFT + 1][2], slot_of_shift[SZ_MAX_SHIFT + 1][2];
};

/* How a segment is coded: its first byte. */
enum {
    SZ_HOW_RAW,
    SZ_HOW_PLAIN,
    SZ_HOW_DELTA, /* differences of neighbouring integers */
    SZ_HOW_WAY = 3,
    SZ_HOW_NEW = 4,   /* tables follow; else those of the previous segment */
    SZ_HOW_MORE = 8,  /* symbols follow that these tables lack */
    SZ_HOW_MANY = 16, /* SZ_LANES lanes; else SZ_FEW_LANES */
    SZ_HOW_ALL = 31
};

/* The tables that each segment of a stream passes on to the next. */
struct sz_chain {
    unsigned n_tables;
    struct sz_freqs freqs[SZ_TABLES];
    uint32_t version[SZ_TABLES], newest; /* above 0, changes with the frequencies */
    /* encoders alone: */
    uint32_t price[SZ_TABLES][256]; /* of a symbol, in 1/65536 bit */
    unsigned patience, n_waits;     /* segments to skip before new tables are tried */
    bool hasty;                     /* many lanes from fewer bytes on */
    uint8_t table_of[32][SZ_MAX_SHIFT + 1]
                    [2]; /* of slots by bin, shift and sparse, from 1; 0: none */
};

struct sz_more {
    uint8_t table, symbol;
};

/* Values of integers that came before, in pages: for `within`, of exponents from
 * `first` on (sz_pointwise.c).
 * All zero: none. At bound e a factor of two in size takes 0.35 / e of them. */
enum { SZ_KEPT = 1 << 15, SZ_KEPT_PAGE = 256 };
struct sz_kept_powers {
    float within;
    int32_t first;
    bool has[2 * SZ_KEPT / SZ_KEPT_PAGE];
    float y[2 * SZ_KEPT + 2]; /* each with plus and minus, then both zeros */
};

struct sz_encoder {
    struct strait_pooled pooled;
    const struct sz_kernels *kernels;
    struct sz_split split;
    struct sz_count counts[SZ_SLOTS];
    unsigned n_counts;
    /* of the segment under work */
    unsigned how, n_more;
    size_t table_bytes;
    struct sz_more more[SZ_MORE];
    struct sz_model model;
    uint32_t wanted[SZ_TABLES];
    uint32_t version[SZ_TABLES]; /* of tables[]; 0: of no stream */
    struct sz_put_table tables[SZ_TABLES];
    uint64_t packed[SZ_TABLES][256]; /* the same for the vector coders, if they were asked for: */
    bool has_packed[SZ_TABLES];
    uint16_t words[SZ_SEGMENT + SZ_BLOCK];
    unsigned char bytes[SZ_SEGMENT_BYTES]; /* kept until its turn to be written */
    float integer[SZ_SEGMENT];             /* if not from a grid; NaN: the value has no integer */
    float value[SZ_SEGMENT];               /* of sums and samples */
    struct sz_logs logs;
};

struct sz_decoder {
    struct strait_pooled pooled;
    const struct sz_kernels *kernels;
    struct sz_model model;
    uint8_t kind[SZ_BLOCKS];
    /* the tables of the segment under work */
    unsigned n_tables;
    struct sz_freqs freqs[SZ_TABLES];
    uint32_t wanted[SZ_TABLES];
    uint32_t version[SZ_TABLES]; /* of slots[]; 0: of no stream */
    uint32_t slots[SZ_TABLES][SZ_PROB];
    unsigned char nans[4 * SZ_BLOCK]; /* floats */
    struct sz_kept_powers kept;
};

/** Make e->counts from the histograms of sz_split, ordered by magnitude. */
void sz_model_gather(struct sz_encoder *e);
/** Merge e->counts to at most SZ_TABLES, and further while data and tables together get shorter. */
void sz_model_merge(struct sz_encoder *e);
/** Merge the first two counts, at any cost. */
void sz_model_merge_first(struct sz_encoder *e);
/** log2(v) in 1/65536 bit. */
uint64_t sz_log2_of(const struct sz_logs *logs, uint32_t v);

/* ---- tables handed on (sz_chain.c) */

/** Choose the tables of the segment in e->split: those of the previous segment, possibly with a few
 *  added symbols; or new ones; or none and raw values, whichever is shortest. Sets e->model, e->how
 *  and e->more, and rewrites split->kind from slots to kinds. Call segment after segment, in
 *  order. */
void sz_chain_choose(struct sz_encoder *e, struct sz_chain *chain, size_t n_elems);
/** Give a symbol that a table lacks the frequency 1. False: the table has it, or cannot spare
 *  one. */
bool sz_chain_add(struct sz_chain *chain, unsigned table, unsigned symbol);
/** Of a new stream: no tables. */
void sz_chain_begin(struct sz_chain *chain);
/** Note that table t was replaced or changed. */
void sz_chain_changed(struct sz_chain *chain, unsigned t);

/* ---- quantising (sz_block.c) */

/** The integer nearest to x if a float holds it exactly, else `otherwise`. Encoder and decoder both
 *  use it as the integer of an escape when differences continue from there. */
int32_t sz_nearest(float x, const struct sz_grid *grid, int32_t otherwise);
/** Integers of n <= SZ_BLOCK values; 0 where the bound cannot be kept.
 *  Returns: true if that happened */
bool sz_quantise(int32_t *q, const float *x, unsigned n, const struct sz_grid *grid);
/** After sz_quantise returned true: try the neighbouring integers and mark what still fails. */
void sz_repair(int32_t *q, uint8_t *mark, const float *x, unsigned n, const struct sz_grid *grid);
/** Quantise a segment and split its integers, those of `matrix` at `at` subtracted (NULL: none).
 *  False: too many escapes, store it raw. */
bool sz_split(struct sz_split *s, const struct sz_kernels *kernels, const float *x, size_t n,
              const struct sz_grid *grid, bool delta, const struct sz_matrix *matrix, size_t at);

/* ---- blocks decoded (sz_block.c) */

struct sz_source { /* the unread rest of a segment */
    const struct sz_kernels *kernels;
    const unsigned char *words, *words_end, *low, *low_end, *escape, *escape_end;
    unsigned n_lanes;
    uint32_t states[SZ_LANES];
    unsigned char tail[4 * SZ_BLOCK + 8]; /* the last words, copied so that reads stay in bounds */
    bool in_tail;
};

/** Whether everything was consumed and every lane is back at the encoder's initial state. */
bool sz_source_close(const struct sz_source *s);
/** Decode one block of n <= SZ_BLOCK values.
 *  In/out:  before  with delta the integer before the block, then its last
 *  Returns: false when the segment is too short */
bool sz_block_decode(float *y, unsigned n, struct sz_source *s, unsigned shift,
                     const uint32_t *slots, const struct sz_grid *grid, bool delta,
                     int32_t *before);

/** Bits of symbols with these counts under their own frequencies, in 1/65536 bit. */
uint64_t sz_entropy(const struct sz_logs *logs, const uint32_t *n, unsigned n_symbols);

/* Properties of a tensor estimated from a few blocks (sz_sample.c). */
struct sz_sample {
    float centre;   /* 0 unless the values are far from 0, so that zeros stay zeros */
    double typical; /* root mean square of a median block: outliers do not count */
};
struct sz_sample sz_sample_values(const float *x, size_t n, bool all_finite);
/** Its member alone, which mostly takes less. */
float sz_sample_centre(const float *x, size_t n, bool all_finite);
/** Bits a value by which differences of neighbouring integers are shorter than the integers; 0 if
 *  they hardly are, or are not. The next split must be of these values, or take none as known. */
double sz_sample_delta(struct sz_encoder *e, const float *x, size_t n, const struct sz_grid *grid);
