/* Texts that grow, and names of a known set: suggest the nearest one, and word the error for an
 * unknown one. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "error.h"

/* A list of strings, such as the values of an option that may be repeated. */
struct strait_texts {
    const char **items; /* free(items) is up to the owner of the struct */
    size_t n;
};

/** Append to the text in buf, as printf does; what does not fit into cap_bytes is cut off. */
void strait_text_add(char *buf, size_t cap_bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Whether a text ends so and is longer than that. */
bool strait_text_ends_with(const char *text, const char *end);

/** The name in `names` (NULL-terminated) nearest to `name` by edit distance, or NULL if none is
 *  near (more than half of the letters differ). */
const char *strait_nearest(const char *name, const char *const *names);

/** Record that `found` is none of `names` (NULL-terminated):
 *  `expected a codec (strait list codecs), found "szz", did you mean "sz"?`
 *  In:      expected  "a codec (strait list codecs)"
 *  Returns: -1 */
int strait_refuse_name(struct strait_error *err, enum strait_error_code code, const char *where,
                       const char *expected, const char *found, const char *const *names);

/** The same; the known names are those of the .json files in `folder`, none if it cannot be read.
 *  */
int strait_refuse_file_name(struct strait_error *err, enum strait_error_code code,
                            const char *where, const char *expected, const char *found,
                            const char *folder);
