/* What commands that run themselves once more in a guest share: the arguments there, what of the
 * host must be seen, what was said. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "core/error.h"

enum { STRAIT_GUEST_PATH_CHARS = 4096 };

/* Copies of texts, NULL at the end. Begins zeroed. */
struct strait_guest_texts {
    char **items; /* NULL while there is none */
    size_t n, n_chars;
    bool is_short; /* memory did not suffice for one of them */
};
void strait_guest_texts_add(struct strait_guest_texts *t, const char *text);
/** Unless it is there. */
void strait_guest_texts_add_once(struct strait_guest_texts *t, const char *text);
void strait_guest_texts_release(struct strait_guest_texts *t);
/** For a plan's argv, read, write or setenv. */
const char *const *strait_guest_texts_items(const struct strait_guest_texts *t);

/** Where this program and its caller are: self and here get absolute paths. 0, or -1 with *err. */
int strait_guest_find_self(char self[STRAIT_GUEST_PATH_CHARS], char here[STRAIT_GUEST_PATH_CHARS],
                           struct strait_error *err);
/** A command line without some options and their values; all behind "--" stays.
 *  In:      options  names with their dashes, NULL at the end */
void strait_guest_add_arguments(struct strait_guest_texts *t, int argc, char **argv,
                                const char *const *options);
/** A folder, or the folder of a file, if its absolute path lies where the guest has an empty folder
 *  of its own; the file alone where that folder is the covered one. */
void strait_guest_add_folder(struct strait_guest_texts *t, const char *path);
/** Append a work file to a stream, if it is there. */
void strait_guest_show(const char *job, const char *name, FILE *to);
