/* The codec that an experiment chooses for one direction. */
#pragma once
#include <jansson.h>
#include "codecs/spec.h"
#include "core/json.h"
#include "traces/models/model.h"

/* Which tensors of more than `cutoff` elements get the codec: all but vectors; all; or those that
 * are called weights, vectors among them, as FedSZ divides a state (arXiv 2312.13461). */
enum strait_coded_tensors { STRAIT_CODED_MATRICES, STRAIT_CODED_ALL, STRAIT_CODED_WEIGHTS };

struct strait_codec_choice {
    struct strait_codec_spec spec;     /* `none` if the file names no codec */
    struct strait_codec_spec lossless; /* for small and one-dimensional tensors */
    const char *profile; /* profile named in the file: shipped name or path; NULL: the run's */
    bool reference;      /* parameters are coded against those that the receiver decoded last */
    bool own; /* a reference too: what a sender sends, against what it sent last (EF21) */
    const char *bounds_file; /* bounds of tensors; NULL: the codec's for all */
    double *row_bounds;      /* from there, one a row of the model, of the bound's kind; NAN: the
                                codec's; owned */
    double encode_speed, decode_speed; /* times as fast as the profile says; 1 */
    long cutoff_elems; /* tensors with at most this many elements are coded lossless */
    enum strait_coded_tensors coded;
};

/** Whether a parameter gets the choice's codec, not the lossless one beside it. */
bool strait_codec_choice_takes(const struct strait_codec_choice *c,
                               const struct strait_param_row *row);

void strait_codec_choice_release(struct strait_codec_choice *c);
/** Read its file of bounds for this model, if it names one. where: of the codec, "f.json#/codec".
 *  */
int strait_codec_choice_bounds(struct strait_codec_choice *c, const struct strait_model *m,
                               const char *where, struct strait_error *err);
/** Read the value of a key: a codec's name, or an object with a name, a bound and the codec's own
 *  parameters; strings are borrowed from it. 0, or -1 with *err INPUT. */
int strait_codec_choice_read(struct strait_codec_choice *c, struct strait_object *o,
                             const char *key, struct strait_error *err);
/** Replace a codec's short form under `key` of an experiment by the object that it stands for:
 *  {"name": "sz", "bound": {"range": 1e-3}}. Anything else under the key is left alone.
 *  In:      file   the experiment's, for the error
 *  Returns: 0, or -1 with *err INPUT: `wan.json#/codec: unknown setting "rnge" of sz, ...` */
int strait_codec_short_expand(json_t *experiment, const char *key, const char *file,
                              struct strait_error *err);
/** Put what "download_codec": "same" stands for in its place: the upload's codec, and of {"name":
 *  "same", ...} that with other settings; where nothing is encoded, none. So a point is the same
 *  however it was written. */
void strait_codec_same_resolve(json_t *json);
