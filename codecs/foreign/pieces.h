/* Codecs that hand one piece of the tensor after another to a library: head, lengths, scratch
 * memory, the raw fallback and all checks of the stream are here; a kernel is what is left.
 *
 *   u8      id of the codec
 *   varint  n_elems
 *   varint  n_cols, 0 for a vector: only where the kernel looks at rows
 *   float64 tolerance: only where the codec is bounded
 *   for each piece: varint length, 0: raw float32; then the bytes
 */
#pragma once
#include "codecs/codec.h"
#include "codecs/kit/scratch_pool.h"

struct strait_piece {
    size_t n_elems;
    size_t n_cols;    /* the piece is whole rows of so many; 0: a vector */
    double tolerance; /* absolute, > 0 and finite; 0 where the codec is not bounded */
};

struct strait_piece_kernel {
    const struct strait_codec_ops *ops;
    size_t piece_elems;     /* of a vector; about so many of a matrix */
    size_t row_group;       /* pieces of a matrix are a multiple of so many rows; 0: all vectors */
    size_t max_piece_elems; /* a matrix with longer groups of rows is taken as a vector */
    size_t scratch_bytes;   /* of a struct that begins with a struct strait_pooled */

    /** Fill scratch, which is all zeros. False: memory ran out; release follows. */
    bool (*init)(void *scratch, const double *params);
    /** Give back what init took, whether it succeeded or not. NULL: nothing to give back. */
    void (*release)(void *scratch);
    /** Returns: bytes written, 1 to cap_bytes; 0 when the piece has to be stored as it is */
    size_t (*compress)(void *scratch, unsigned char *out, size_t cap_bytes, const float *x,
                       struct strait_piece piece);
    /** Any bytes are safe, len_bytes < 4 n_elems. False: they are no such piece. */
    bool (*expand)(void *scratch, float *y, struct strait_piece piece, const unsigned char *in,
                   size_t len_bytes);
};

/** What a codec's `open` calls: checks the parameters as they are declared. */
int strait_pieces_open(void **state, const struct strait_piece_kernel *kernel, const double *params,
                       struct strait_error *err);

/** A parameter that the codec was opened with. */
double strait_pieces_param(const void *state, unsigned i);

/* Members of struct strait_codec_ops, as codec.h says. */
void strait_pieces_close(void *state);
size_t strait_pieces_max_bytes(const void *state, size_t n_elems);
int strait_pieces_encode(void *state, unsigned char *out, size_t cap_bytes, size_t *len_bytes,
                         const float *x, size_t n_elems, struct strait_request request,
                         struct strait_error *err);
int strait_pieces_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                         size_t len_bytes, struct strait_error *err);

/* A parameter of codecs that can look at rows, with the names of its values. */
enum { STRAIT_SHAPE_FLAT, STRAIT_SHAPE_ROWS };
extern const char *const strait_shapes[];
extern const char *const strait_no_yes[];

/** 0, or -1 with *err INPUT naming the codec, the parameter and what was expected. */
int strait_params_check(const struct strait_codec_ops *ops, const double *params,
                        struct strait_error *err);
