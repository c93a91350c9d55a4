/* A profile: what each codec costs and saves, measured on a machine or stated with its source. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <jansson.h>
#include "codecs/spec.h"
#include "core/hash.h"
#include "profile_struct.h"

struct strait_profile_cost {
    double ratio;
    double encode_bytes_per_s, decode_bytes_per_s, encode_fixed_s, decode_fixed_s;
    struct strait_quantiles ratios, encode, decode;
};

/** Load a shipped profile by name ("default", "sz3-class", ...) or a file by path. A machine's file
 *  (strait calibrate host) contains a profile, which is taken.
 *  Returns: 0, or -1 with *err INPUT naming file and JSON Pointer */
int strait_profile_load(struct strait_profile **out, const char *name_or_path,
                        struct strait_error *err);
/** The profile that strait_profile_json gave. file names it in errors. 0, or -1 with *err INPUT. */
int strait_profile_read(struct strait_profile **out, const json_t *json, const char *file,
                        struct strait_error *err);
/** Add the entries of `more`. Each replaces the entry for the same codec, settings, bound, kind and
 *  model, if there is one. 0, or -1 with *err NOMEM. */
int strait_profile_merge(struct strait_profile *p, const struct strait_profile *more,
                         struct strait_error *err);
/** Save as a file: written under a temporary name, then renamed. */
int strait_profile_save(const struct strait_profile *p, const char *path, struct strait_error *err);
void strait_profile_free(struct strait_profile *p);
/** Round its numbers as saving and loading would, so that results are the same before and after
 *  that. 0, or -1 with *err NOMEM. */
int strait_profile_round(struct strait_profile *p, struct strait_error *err);
/** The profile as JSON, as in a file; a new reference. */
json_t *strait_profile_json(const struct strait_profile *p);
/** The same as compact text, which profiles that ship have ready.
 *  Out:     made  what is to be freed of it; NULL: nothing
 *  Returns: the text, or NULL when memory ran out */
const char *strait_profile_text(char **made, const struct strait_profile *p);
/** Returns: key, or NULL when memory ran out. */
const char *strait_profile_hash(char key[STRAIT_KEY_CHARS], const struct strait_profile *p);
bool strait_profile_has(const struct strait_profile *p, const char *codec);
/** Load the shipped profile that measured a codec: the first by name that has entries for it. *out
 *  is NULL where there is none. 0, or -1 with *err. */
int strait_profile_load_shipped_for(struct strait_profile **out, const char *codec,
                                    struct strait_error *err);
/** Cost of a codec as set: linear in log10(bound) between the two nearest entries of the same
 *  codec, settings, bound kind, tensor kind and model. Entries of this model come first, then of no
 *  model, then of kind "any". Errors: INPUT naming the measured range when the bound lies outside
 *  it, or what is missing. */
int strait_profile_find(struct strait_profile_cost *out, const struct strait_profile *p,
                        const struct strait_codec_spec *spec, const char *kind, const char *model,
                        struct strait_error *err);
/** How fast memory is on a model's values: its own entry, else the profile's speeds. */
void strait_profile_memory(double *add_bytes_per_s, double *copy_bytes_per_s,
                           const struct strait_profile *p, const char *model);
/** Cost of the same codec with the nearest other settings that the profile has, at the same bound.
 *  Out:     used  the codec with those settings
 *  Returns: false where there are none */
bool strait_profile_find_near(struct strait_profile_cost *out, char used[STRAIT_SPEC_CHARS],
                              const struct strait_profile *p, const struct strait_codec_spec *spec,
                              const char *kind, const char *model);
