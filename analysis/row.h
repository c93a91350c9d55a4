/* One row of results: all about one run of a point, as one JSON object. */
#pragma once
#include <jansson.h>
#include "core/error.h"
#include "core/hash.h"
#include "workloads/rank/trial.h"
#include "breakdown.h"

/* The beginning of an approximation that says which other profile was used. */
#define STRAIT_NOTE_PROFILE "the run's profile has no "

/* The parts of a row that the run itself does not give. Strings and JSON are borrowed. */
struct strait_row_context {
    const char *backend;
    const char *key;       /* of strait_row_key */
    const char *profile;   /* hash of the run's profile; a row of measured costs bears none */
    const json_t *labels;  /* the varied values, {pointer: value}; NULL: none */
    const char *control;   /* NULL: none */
    const json_t *machine; /* if the result depends on it, else NULL */
    const char *no_sizes; /* why sizes that were wanted as they are sent are not; NULL: no reason */
    int repeat;           /* from 0 */
    double wall_s;        /* duration of the run on this machine */
};

/* Everything that determines a row. */
struct strait_row_inputs {
    const json_t *resolved; /* the point */
    const char *backend, *control;
    const char *profile;              /* hash, of all or of what the point takes from it */
    const char *program;              /* hash of the program file */
    const char *machine;              /* if the result depends on it (emu), else NULL */
    const char *tensors;              /* of strait_row_tensors_hash with real payload, else NULL */
    const struct strait_trial *trial; /* for the model's table and the codecs' own profiles */
    double dilation;
    const char *timing;      /* NULL: live */
    bool check, every_round; /* held against a run at twice the dilation; nothing extrapolated */
    const char *realisation, *launcher; /* as requested; NULL: chosen */
    const char *sizes;                  /* "sent": of the recorded tensors; NULL: of the profile */
    const char *learned; /* hash of the table behind a predicted row's interval; NULL: none */
    int repeat;
};

/** The key of a row: equal for equal inputs. Returns: 0, or -1 with *err NOMEM */
int strait_row_key(char key[STRAIT_KEY_CHARS], const struct strait_row_inputs *inputs,
                   struct strait_error *err);
/** Hash of the contents of all files that a point names (its model, the codecs' own profiles,
 *  slowness, measured curves), since a file may change and keep its name.
 *  Returns: key, or NULL when memory runs out */
const char *strait_row_files_hash(char key[STRAIT_KEY_CHARS], const struct strait_trial *trial);
/** Hash of the numbers in a model's table. Returns key. */
const char *strait_row_model_hash(char key[STRAIT_KEY_CHARS], const struct strait_model *m);

/** Hash of every recorded value in a folder (NULL: the shipped one). 0, or -1 with *err. */
int strait_row_tensors_hash(char key[STRAIT_KEY_CHARS], const char *folder,
                            struct strait_error *err);

/** The row of a point after its run.
 *  Returns: new object, or NULL with *err: BACKEND when the logs have no round */
json_t *strait_row_new(const struct strait_trial *p, const struct strait_row_context *context,
                       struct strait_error *err);

/** Has the row sizes of the tensors that an emulation sends, rather than a profile's? */
bool strait_row_has_sent_sizes(const json_t *row);

/** A codec choice as rows show it: {"name": "sz", "bound": {"range": 1e-3}, "profile": null}. */
json_t *strait_row_codec(const struct strait_codec_choice *choice);
