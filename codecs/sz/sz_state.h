/* Inside the sz codec: the state of an open codec. */
#pragma once
#include "codecs/kit/scratch_pool.h"
#include "codecs/kit/team.h"
#include "codecs/sz/matrix/matrix.h"
#include "sz_kernels.h"

enum { SZ_MAX_THREADS = 64 };

struct sz_state {
    const struct sz_kernels *kernels;
    struct strait_pool encoders, decoders, matrices;
    struct strait_team *team;           /* NULL: one thread */
    const struct strait_codec_ops *ops; /* which bounds it keeps */
    unsigned most_directions;           /* that encode subtracts from a matrix */
};

/** Allocates scratch memory for every thread, so that the first call costs no more than later ones.
 *  n_threads: 1..SZ_MAX_THREADS.
 *  Returns: NULL with *err NOMEM or SYSTEM */
struct sz_state *sz_state_new(const struct sz_kernels *kernels, unsigned n_threads,
                              struct strait_error *err);
void sz_state_free(void *state);
/** Scratch memory for one call; give it back to its pool. NULL when memory runs out. */
struct sz_encoder *sz_take_encoder(struct sz_state *s);
struct sz_decoder *sz_take_decoder(struct sz_state *s);
/** Of this shape, which has to fit; NULL when memory runs out. */
struct sz_matrix *sz_take_matrix(struct sz_state *s, size_t n_elems, size_t n_rows);
void sz_give_matrix(struct sz_state *s, struct sz_matrix *m); /* NULL is fine */
