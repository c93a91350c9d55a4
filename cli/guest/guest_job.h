/* Common to commands that run themselves again in a guest: arguments, visible files, output. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "core/error.h"

enum { STRAIT_GUEST_PATH_CHARS = 4096 };

/* A growing NULL-terminated list of copied texts. Zero it first. */
struct strait_guest_texts {
    char **items; /* NULL while empty */
    size_t n, n_chars;
    bool is_short; /* memory ran out for one of them */
};
void strait_guest_texts_add(struct strait_guest_texts *t, const char *text);
/** Unless it is there. */
void strait_guest_texts_add_once(struct strait_guest_texts *t, const char *text);
void strait_guest_texts_release(struct strait_guest_texts *t);
/** The list, for a plan's argv, read, write or setenv. */
const char *const *strait_guest_texts_items(const struct strait_guest_texts *t);

/** Find this program's path and the working directory, as absolute paths. 0, or -1 with *err. */
int strait_guest_find_self(char self[STRAIT_GUEST_PATH_CHARS], char here[STRAIT_GUEST_PATH_CHARS],
                           struct strait_error *err);
/** Add a command line without some options and their values; everything after "--" is kept.
 *  In:      options  names with their dashes, NULL-terminated */
void strait_guest_add_arguments(struct strait_guest_texts *t, int argc, char **argv,
                                const char *const *options);
/** A folder, or the folder of a file, if its absolute path lies where the guest has an empty folder
 *  of its own; the file alone where that folder is the covered one. */
void strait_guest_add_folder(struct strait_guest_texts *t, const char *path);
/** Append a work file to a stream, if it exists. */
void strait_guest_show(const char *job, const char *name, FILE *to);
