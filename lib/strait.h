/* strait as a library: encode tensors, look up what a codec costs, predict training times.
 *
 * Link with `pkg-config --cflags --libs strait`; docs/library.md has examples. In C++ too.
 *
 * Errors:  a function with an argument `err` returns 0, or -1 after filling *err. It may hold
 *          anything before, and says STRAIT_OK after a success; err may be NULL. The library
 *          prints nothing, never ends the program and installs no signal handler.
 * Memory:  what a function gives is freed by the function that its comment names. Arguments are
 *          borrowed until the function returns; none is kept. Only `err`, `profile`, `backend` and
 *          `settings` may be NULL, and what is freed.
 * Threads: functions may be called by several threads at once, for one codec with the limits that
 *          stand at struct strait_tensor_codec.
 * Files:   models, profiles and experiments that ship are found beside the library, or in the
 *          folder that the environment's STRAIT_SHARE names. Nothing is written. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#include "core/error_struct.h"

#define STRAIT_API __attribute__((visibility("default")))

/* The version that a program is compiled against. A change of the first number may break programs,
 * one of the second adds, one of the third mends. */
#define STRAIT_VERSION_MAJOR 0
#define STRAIT_VERSION_MINOR 1
#define STRAIT_VERSION_PATCH 0
/* #if STRAIT_VERSION_HEX >= 0x000200: major, minor and patch, a byte each */
#define STRAIT_VERSION_HEX                                                                         \
    (STRAIT_VERSION_MAJOR << 16 | STRAIT_VERSION_MINOR << 8 | STRAIT_VERSION_PATCH)

/** The version that it runs with, "0.1.0". */
STRAIT_API const char *strait_version(void);

/* --- codecs ------------------------------------------------------------------------------- */

/* A codec with its settings, for one tensor of one rank. It holds what a sender remembers between
 * rounds: error feedback and momentum where the codec's settings have them. One thread at a time
 * may encode or reset; several may decode at once, but not meanwhile. */
struct strait_tensor_codec;

/** Open a codec for tensors of one size.
 *  Out:     out  free it with strait_tensor_codec_free; NULL on failure
 *  In:      spec     the codec's name and settings: "sz:range=1e-3", "topk:ratio=0.01", "zstd"
 *                    (`strait list codecs`; a codec that keeps a bound needs one)
 *           n_elems  float32 values in each tensor
 *           n_rows   rows of the matrix, a divisor of n_elems; 0: a vector
 *  Returns: 0, or -1 with *err: INPUT when the spec is wrong or has no bound, HOST when the codec
 *           is not available here, NOMEM */
STRAIT_API int strait_tensor_codec_new(struct strait_tensor_codec **out, const char *spec,
                                       size_t n_elems, size_t n_rows, struct strait_error *err);
/** Free a codec and what it remembers. NULL is allowed. */
STRAIT_API void strait_tensor_codec_free(struct strait_tensor_codec *c);
/** Bytes that `out` of an encode must have, whatever the values are. */
STRAIT_API size_t strait_tensor_codec_max_bytes(const struct strait_tensor_codec *c);

/** Encode one tensor, compensated by what is remembered, and bring the memory up to date. The bytes
 *  hold no name, size or bound: whoever decodes needs a codec of the same spec and size.
 *  Out:     out        at least strait_tensor_codec_max_bytes, owned by the caller
 *           len_bytes  bytes written, at most cap_bytes
 *  In:      x    float32[n_elems], contiguous
 *           key  equal keys draw equal random numbers; without effect on deterministic codecs
 *  Returns: 0, or -1 with *err: INPUT when cap_bytes is too small, NOMEM, BACKEND when a foreign
 *           library failed */
STRAIT_API int strait_tensor_codec_encode(struct strait_tensor_codec *c, void *out,
                                          size_t cap_bytes, size_t *len_bytes, const float *x,
                                          uint64_t key, struct strait_error *err);
/** Decode one tensor. Any bytes at all are safe.
 *  Out:     y  float32[n_elems], owned by the caller; undefined on failure
 *  In:      in  len_bytes that an encode gave
 *  Returns: 0, or -1 with *err INPUT when `in` is no stream of this codec and size */
STRAIT_API int strait_tensor_codec_decode(const struct strait_tensor_codec *c, float *y,
                                          const void *in, size_t len_bytes,
                                          struct strait_error *err);
/** Forget what is remembered between rounds.
 *  Returns: 0, or -1 with *err */
STRAIT_API int strait_tensor_codec_reset(struct strait_tensor_codec *c, struct strait_error *err);

/* What a profile says of one tensor. */
struct strait_tensor_cost {
    double ratio;              /* raw bytes / encoded bytes */
    double encode_s, decode_s; /* on the profile's machine, one core */
};

/** Look up what a codec costs and saves.
 *  In:      profile  a shipped profile ("default") or a file; NULL: "default", or the shipped one
 *                    that measured the codec
 *           spec     as above; the bound must lie in the range that was measured
 *           kind     "param", "update" or "grad"
 *           n_elems  float32 values in the tensor
 *  Returns: 0, or -1 with *err INPUT naming what the profile lacks */
STRAIT_API int strait_tensor_cost(struct strait_tensor_cost *out, const char *profile,
                                  const char *spec, const char *kind, size_t n_elems,
                                  struct strait_error *err);

/* --- predictions -------------------------------------------------------------------------- */

/** Predict every point of an experiment, as `strait run --json` does.
 *  Out:     rows  a JSON array of rows (docs/results.md), free it with strait_rows_free; NULL on
 *                 failure. After each compressed point without an uncompressed counterpart in the
 *                 sweep, that counterpart follows at the end, marked "reference"
 *  In:      experiment  a shipped experiment ("wan-scaling") or a file
 *           backend     "sim" or "fluid"; NULL: "sim"
 *           profile     as above
 *           settings    "/clients=8", "/network/client/rate=100 Mbps", ...; ends with NULL; may be
 *                       NULL itself
 *  Returns: 0, or -1 with *err: USAGE for another backend, INPUT when experiment, profile or a
 *           setting is wrong, HOST, BACKEND, SYSTEM or NOMEM when it cannot be run
 *  Cost:    one point after another, in this thread; "sim" runs each in a child process, "fluid"
 *           in this one */
STRAIT_API int strait_predict(char **rows, const char *experiment, const char *backend,
                              const char *profile, const char *const *settings,
                              struct strait_error *err);
/** Free what strait_predict gave. NULL is allowed. */
STRAIT_API void strait_rows_free(char *rows);

#ifdef __cplusplus
}
#endif
