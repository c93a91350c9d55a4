/* A codec with all its settings as one line of text: the command line, labels and profiles.
 *     topk:ratio=0.01,payload=published,error_feedback=no
 *     sz:range=1e-3 */
#pragma once
#include "codec.h"
#include "feedback.h"

enum { STRAIT_MAX_CODEC_PARAMS = 16, STRAIT_SPEC_CHARS = 256 };

struct strait_codec_spec {
    const struct strait_codec_ops *ops;
    double params[STRAIT_MAX_CODEC_PARAMS]; /* in the order of ops->params */
    struct strait_bound bound;              /* kind NONE where none was asked for */
    struct strait_memory_options memory;
};

/** The codec as published: fallback of every parameter, no bound, the source's memory. */
struct strait_codec_spec strait_codec_spec_default(const struct strait_codec_ops *ops);
/** Does a sender of this codec remember anything between rounds? */
bool strait_memory_needed(const struct strait_codec_spec *spec);
/** Read `name[:key=value,...]`: keys are the codec's parameters, one bound ("abs", "range", "rms",
 *  "pointwise", "ratio"), "error_feedback" (yes, no) and "momentum". A bounded codec without a
 *  bound is read with kind NONE: whoever needs one asks.
 *  Returns: 0, or -1 with *err INPUT naming the word, what was expected and the nearest key */
int strait_codec_spec_parse(struct strait_codec_spec *spec, const char *text,
                            struct strait_error *err);
/** The shortest text that parse reads back as the same: settings that are the default are left out,
 *  the others stand in declared order, the bound last. Empty settings: the name alone. */
const char *strait_codec_spec_text(char text[STRAIT_SPEC_CHARS],
                                   const struct strait_codec_spec *spec);
/** The text behind the name without a bound, "ratio=0.01,payload=published", or "". */
const char *strait_codec_settings_text(char text[STRAIT_SPEC_CHARS],
                                       const struct strait_codec_spec *spec);
/** One parameter's value as text: the choice's name, or the shortest decimal that reads back. */
const char *strait_codec_param_text(char text[64], const struct strait_param *p,
                                    double value);
/** Number or choice. Errors: INPUT naming `where` and what was expected. */
int strait_codec_param_parse(double *value, const struct strait_param *p, const char *text,
                             const char *where, struct strait_error *err);
/** Does it add while encoded, with one step, seed or the like for all ranks? Then its streams are
 *  summable: the bounded ones with an absolute bound, and others that drop no summand. `none` does:
 *  its values are added. */
bool strait_codec_adds(const struct strait_codec_spec *spec);
