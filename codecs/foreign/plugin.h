/* Error-bounded compressors loaded with dlopen: common to SZ3 and LibPressio. Every value is
 * checked against the bound; values that miss it or are not finite are sent beside the library's
 * bytes, so the bound holds whatever the library does. Calls run in a process of their own
 * (isolate.h); with `isolate=no` in this one.
 *
 *   u8      id of the codec
 *   varint  n_elems
 *   u8      0: raw float32 follow and nothing else; 1:
 *   u64     XXH3 of everything behind it, against accidental damage
 *   varint  number of corrections, for each: varint gap to the one before, u32 bits of the float
 *   bytes of the library */
#pragma once
#include "codecs/codec.h"
#include "pieces.h"

/* What a codec's file supplies. compress and expand run in a process that may die. */
struct strait_plugin_kernel {
    const char *library; /* name for errors: "libSZ3c.so" */
    /** In:      x: finite values, read-only; tolerance: absolute, > 0 and finite.
     *  Returns: bytes written, at most cap_bytes; 0 on failure */
    size_t (*compress)(const void *context, unsigned char *out, size_t cap_bytes, const float *x,
                       size_t n_elems, double tolerance);
    bool (*expand)(const void *context, float *y, size_t n_elems, const unsigned char *in,
                   size_t len_bytes);
    /** Whether the context works; called once. NULL: not checked. */
    bool (*probe)(const void *context);
    const char *probe_expects; /* what was expected, for the error when probe fails */
    void (*close)(void *context);
};

/* The last parameters of every such codec, after its own. */
enum {
    STRAIT_FOREIGN_ISOLATE,
    STRAIT_FOREIGN_VERIFY,
    STRAIT_FOREIGN_LIMIT,
    N_STRAIT_FOREIGN_PARAMS
};
#define STRAIT_FOREIGN_PARAMS                                                                      \
    {"isolate",     "run the library in a process of its own; no: its faults end the program",     \
     .min = 0,      .max = 1,                                                                      \
     .fallback = 1, .choices = strait_no_yes},                                                     \
        {"verify",      "decode again and correct what misses the bound; no: trust the library",   \
         .min = 0,      .max = 1,                                                                  \
         .fallback = 1, .choices = strait_no_yes},                                                 \
    {                                                                                              \
        "limit", "seconds that a call may take, and one more for each MB",                         \
            .min = 0.1, .max = 3600, .fallback = 60                                                \
    }

/** Implements a codec's `open`; ops->kernel is a struct strait_plugin_kernel. Takes context, freed
 *  by its close, even on failure.
 *  In:      params  N_STRAIT_FOREIGN_PARAMS of them */
int strait_plugin_open(void **state, const struct strait_codec_ops *ops, void *context,
                       const double *params, struct strait_error *err);

/** Load the first of the NULL-terminated names that can be loaded, or only the library named by the
 *  environment variable if it is set.
 *  Returns: handle for dlclose, or NULL */
void *strait_plugin_load(const char *const *names, const char *variable);
/** Address of a function, or NULL if the library lacks it: (type)strait_plugin_symbol(...). */
void (*strait_plugin_symbol(void *library, const char *name))(void);

/* Members of struct strait_codec_ops, see codec.h. */
void strait_plugin_close(void *state);
size_t strait_plugin_max_bytes(const void *state, size_t n_elems);
int strait_plugin_encode(void *state, unsigned char *out, size_t *len_bytes, const float *x,
                         size_t n_elems, struct strait_request request, struct strait_error *err);
int strait_plugin_decode(void *state, float *y, size_t n_elems, const unsigned char *in,
                         size_t len_bytes, struct strait_error *err);
