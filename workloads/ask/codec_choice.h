/* A codec as an experiment asks for it, in one direction. */
#pragma once
#include "codecs/spec.h"
#include "core/json.h"

struct strait_codec_choice {
    struct strait_codec_spec spec;     /* `none` where the file says nothing */
    struct strait_codec_spec lossless; /* for small and one-dimensional tensors */
    const char *profile; /* what the file names: shipped name or path; NULL: the run's */
    long cutoff_elems;   /* lossy only above this many elements */
};

/** The value of a key: a codec's name, or an object with a name, a bound and the codec's own
 *  parameters; strings are borrowed from it. 0, or -1 with *err INPUT. */
int strait_codec_choice_read(struct strait_codec_choice *c, struct strait_object *o,
                             const char *key, struct strait_error *err);
