/* Framework for codecs that pass a tensor to a library piece by piece. Head, lengths, scratch
 * memory, the raw fallback and all checks of the stream are here; the codec supplies a kernel.
 *
 *   u8      id of the codec
 *   varint  n_elems
 *   varint  n_cols, 0 for a vector: only if the kernel uses rows
 *   float64 tolerance: only if the codec is bounded
 *   for each piece: varint length, 0: raw float32; then the bytes */
#pragma once
#include "codecs/codec.h"
#include "codecs/kit/scratch_pool.h"

struct strait_piece {
    size_t n_elems;
    size_t n_cols;    /* row length, the piece is whole rows; 0: a vector */
    double tolerance; /* absolute, > 0 and finite; 0 if the codec is not bounded */
};

struct strait_piece_kernel {
    size_t piece_elems;     /* exact for a vector, approximate for a matrix */
    size_t row_group;       /* pieces of a matrix have a multiple of this many rows; 0: no rows */
    size_t max_piece_elems; /* a matrix with longer groups of rows is treated as a vector */
    size_t scratch_bytes;   /* of a struct that begins with a struct strait_pooled */

    /** Fill zeroed scratch. False: memory ran out; release is called. */
    bool (*init)(void *scratch, const double *params);
    /** Free what init took, even if it failed. NULL: nothing to free. */
    void (*release)(void *scratch);
    /** Returns: bytes written, 1 to cap_bytes; 0: store the piece raw */
    size_t (*compress)(void *scratch, unsigned char *out, size_t cap_bytes, const float *x,
                       struct strait_piece piece);
    /** Any input bytes are safe, len_bytes < 4 n_elems. False: malformed. */
    bool (*expand)(void *scratch, float *y, struct strait_piece piece, const unsigned char *in,
                   size_t len_bytes);
};

/** Value of a parameter given to open. */
double strait_pieces_param(const void *state, unsigned i);

/* Members of struct strait_codec_ops, see codec.h; its kernel is a struct strait_piece_kernel. */
int strait_pieces_open(void **state, const struct strait_codec_ops *ops, const double *params,
                       struct strait_error *err);
void strait_pieces_close(void *state);
size_t strait_pieces_max_bytes(const void *state, size_t n_elems);
int strait_pieces_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                         size_t n_elems, struct strait_request request, struct strait_error *err);
int strait_pieces_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                         size_t len_bytes, struct strait_error *err);
/* All of them but encode. of: the kernel. */
#define STRAIT_PIECES_CODEC(of)                                                                    \
    .kernel = (of), .open = strait_pieces_open, .close = strait_pieces_close,                      \
    .max_bytes = strait_pieces_max_bytes, .decode = strait_pieces_decode

/* The parameter of codecs that can use rows, with the names of its values. */
enum { STRAIT_SHAPE_FLAT, STRAIT_SHAPE_ROWS };
extern const char *const strait_shapes[];
extern const char *const strait_no_yes[];
