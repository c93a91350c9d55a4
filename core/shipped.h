/* Files that ship (models, tensors, experiments, profiles), found wherever strait was put. */
#pragma once
#include <stddef.h>

/* Environment variable with the folder of what ships, instead of the one found. */
#define STRAIT_SHARE_VARIABLE "STRAIT_SHARE"

/** Path of a file that ships: "experiments/dear.json" gives
 *  "/usr/share/strait/experiments/dear.json". The folder is $STRAIT_SHARE if that is set. Otherwise
 *  it is searched for from the program (or the shared library) upward, at most four folders: first
 *  PREFIX/share/strait of an installation, then the tree that it was built in; if there is neither,
 *  it is that of the installed static library, /usr/local/share/strait or /usr/share/strait.
 *  Out:     buf       cap characters; PATH_MAX is enough
 *  In:      relative  "" for the folder itself
 *  Returns: buf. The file may be missing: opening it reports that */
const char *strait_share_path(char *buf, size_t cap, const char *relative);

/** The path as given where it is absolute or can be read; otherwise the same path below the folder
 *  of what ships where that can be read ("experiments/models/ncf.csv"); otherwise as given, so that
 *  opening it reports the error.
 *  Returns: path or buf */
const char *strait_shipped_path(char *buf, size_t cap, const char *path);
