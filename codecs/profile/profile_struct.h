/* What a profile consists of. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "codecs/spec.h"

enum { STRAIT_KIND_CHARS = 24 }; /* "grad all_to_all 10000" */

struct strait_quantiles {
    double p10, p50, p90; /* over the tensors measured; all equal where stated */
};

/* One codec at one bound on one kind of tensors. t = fixed + raw_bytes / speed, per tensor. Of
 * `none` for a model: how fast values of that many bytes are copied (encode) and added (decode). */
struct strait_profile_entry {
    /* kind "param", "update", "grad", "any" of these, or "change": parameters against those that
     * the receivers have (reference.h); model "" any */
    char codec[32], kind[STRAIT_KIND_CHARS], model[64];
    char settings[STRAIT_SPEC_CHARS]; /* strait_codec_settings_text; "" all as published */
    struct strait_bound bound;        /* kind NONE for lossless codecs */
    double ratio;                     /* sum of raw over sum of encoded bytes */
    double encode_bytes_per_s, decode_bytes_per_s; /* of raw bytes, aggregate */
    double encode_fixed_s, decode_fixed_s;         /* per tensor */
    struct strait_quantiles ratios, encode, decode;
};

struct strait_profile {
    char *title, *machine, *date, *version, *source; /* owned */
    bool stated;             /* not measured: the source says where the figures are from */
    double add_bytes_per_s;  /* y += w x, of one operand; strait_profile_memory */
    double copy_bytes_per_s; /* memcpy */
    struct strait_profile_entry *entries;
    size_t n_entries;
};
