/* Value codecs: how the chosen values of a sparse tensor become bytes, independent of how their
 * positions do. */
#pragma once
#include "core/bytes.h"
#include "codecs/codec.h"

struct strait_value_params {
    double bound;    /* sz: relative to the range of the values */
    unsigned levels; /* qsgd */
    bool published;  /* the published implementation's payload, if it differs */
};

struct strait_value_coder;

struct strait_value_codec {
    const char *name, *source;
    const struct strait_codec_ops *codec; /* that does the work, or NULL */
    /** Encode takes the values in descending order, and decode returns them so: the caller sends
     *  their order. */
    bool permutes;
    /** Codes magnitudes only: the caller sends the signs. Only with `permutes`. */
    bool magnitudes;
    int (*open)(struct strait_value_coder *c, struct strait_error *err);
    void (*close)(struct strait_value_coder *c);
    /** Upper limit of the bytes for n_values or fewer values. */
    size_t (*max_bytes)(const struct strait_value_coder *c, size_t n_values);
    /** The caller provides room for max_bytes. The number of values is not written: the index has
     *  it. */
    int (*encode)(const struct strait_value_coder *c, struct strait_writer *w, const float *v,
                  size_t n_values, uint64_t key, struct strait_error *err);
    /** Decode all of in[len_bytes]. INPUT when these are not n_values values; any input bytes are
     *  safe. */
    int (*decode)(const struct strait_value_coder *c, float *v, size_t n_values,
                  const unsigned char *in, size_t len_bytes, struct strait_error *err);
};

/* An open value codec; any number of threads may use it at once. */
struct strait_value_coder {
    const struct strait_value_codec *codec;
    struct strait_value_params params;
    void *state;
    const struct strait_codec_ops *ops; /* of codec->codec */
};

/** The table of value codecs, and their names, NULL-terminated, for `choices` of a parameter. */
const struct strait_value_codec *const *strait_value_codecs(size_t *n);
extern const char *const strait_value_codec_names[];
extern const struct strait_value_codec strait_value_raw, strait_value_fp16, strait_value_sz,
    strait_value_qsgd, strait_value_polyfit, strait_value_dexp, strait_value_deflate;

/** NULL when this value codec can be used here, else the reason why not. */
const char *strait_value_codec_unavailable(const struct strait_value_codec *codec);

/** Out:     c, closed by strait_value_coder_close
 *  Returns: 0, or -1 with *err like a codec's open */
int strait_value_coder_open(struct strait_value_coder *c, const struct strait_value_codec *codec,
                            struct strait_value_params params, struct strait_error *err);
void strait_value_coder_close(struct strait_value_coder *c); /* zeroed: nothing */
