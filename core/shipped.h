/* Files that ship, found from wherever one works. */
#pragma once
#include <stddef.h>

/** A path as it is given, where it can be read or is absolute; else the same path below the folder
 *  that strait was built from, where that can be read ("experiments/models/ncf.csv"); else as
 * given, for whoever opens it to complain. Returns: path or buf */
const char *strait_shipped_path(char *buf, size_t cap, const char *path);
