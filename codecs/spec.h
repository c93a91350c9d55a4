/* A codec with all its settings as one line of text, for the command line, labels and profiles:
 *     topk:ratio=0.01,payload=published,error_feedback=no
 *     sz:range=1e-3 */
#pragma once
#include "codec.h"
#include "feedback.h"

enum { STRAIT_MAX_CODEC_PARAMS = 16, STRAIT_SPEC_CHARS = 256 };

struct strait_codec_spec {
    const struct strait_codec_ops *ops;
    double params[STRAIT_MAX_CODEC_PARAMS]; /* in the order of ops->params */
    struct strait_bound bound;              /* kind NONE if none was given */
    struct strait_feedback_options memory;
};

/** The codec as published: default of every parameter, no bound, the source's memory. */
struct strait_codec_spec strait_codec_spec_default(const struct strait_codec_ops *ops);
/** Whether a sender with these settings keeps anything between rounds. */
bool strait_feedback_needed(const struct strait_codec_spec *spec);
/** Whether a sender sends a momentum of its values: by its memory, or as the codec itself does. */
bool strait_codec_has_momentum(const struct strait_codec_spec *spec);
/** Parse `name[:key=value,...]`. Keys are the codec's parameters, one bound ("abs", "range", "rms",
 *  "pointwise", "ratio"), "error_feedback" (yes, no), "momentum" and "feedback_decay". A bounded
 *  codec without a bound gets kind NONE: callers that need one check.
 *  Returns: 0, or -1 with *err INPUT naming the word, what was expected and the nearest key */
int strait_codec_spec_parse(struct strait_codec_spec *spec, const char *text,
                            struct strait_error *err);
/** The shortest text that parse reads back as the same settings: defaults are left out, the others
 *  come in declared order, the bound last. All defaults: the name alone. */
const char *strait_codec_spec_text(char text[STRAIT_SPEC_CHARS],
                                   const struct strait_codec_spec *spec);
/** The settings without name and bound, "ratio=0.01,payload=published", or "". */
const char *strait_codec_settings_text(char text[STRAIT_SPEC_CHARS],
                                       const struct strait_codec_spec *spec);
/** One parameter's value as text: the choice's name, or the shortest decimal that reads back. */
const char *strait_codec_param_text(char text[64], const struct strait_param *p, double value);
/** Parse a number or choice. Errors: INPUT naming `where` and what was expected. */
int strait_codec_param_parse(double *value, const struct strait_param *p, const char *text,
                             const char *where, struct strait_error *err);
/** Whether encoded tensors can be added if all ranks share step, seed and the like. True for
 *  bounded codecs with an absolute bound, for other codecs whose sum drops no element, and for
 *  `none`, whose values are added. */
bool strait_codec_adds(const struct strait_codec_spec *spec);
/** Whether ranks that sum agree on statistics first, and code every hop by them. */
bool strait_codec_wants_statistics(const struct strait_codec_spec *spec);
