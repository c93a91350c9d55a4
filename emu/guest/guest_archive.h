/* A cpio archive (newc) from which a kernel unpacks its first file system: files of the host under
 * their own names, and nothing else of the host: no times, owners and numbers of inodes, so that
 * the same files give the same bytes. */
#pragma once
#include <stddef.h>
#include "core/error.h"

struct archive;

struct strait_emu_archive {
    struct archive *writer; /* of libarchive */
    const char *path;       /* borrowed */
    char **seen;            /* names that are in it */
    size_t n_seen, cap_seen;
};

/** Begin it at that path, which the caller keeps. */
int strait_emu_archive_init(struct strait_emu_archive *a, const char *path,
                            struct strait_error *err);
/** A file, or a folder without what is in it: with the folders above, and where one of those or
 *  the path is a link, that and what it leads to.
 *  In:      path  absolute
 *  Returns: 0, or -1 with *err: SYSTEM where it cannot be read or the archive not be written */
int strait_emu_archive_add(struct strait_emu_archive *a, const char *path,
                           struct strait_error *err);
/** A folder and its files, in the order of their names.
 *  In:      depth  1: files directly in it, 2: of its folders too, and so on */
int strait_emu_archive_add_folder(struct strait_emu_archive *a, const char *path, int depth,
                                  struct strait_error *err);
/** A program and the libraries that it is linked to.
 *  Returns: 0, or -1 with *err: as above, HOST where a library is missing */
int strait_emu_archive_add_program(struct strait_emu_archive *a, const char *path,
                                   struct strait_error *err);
/** A link that the host need not have; its folder must be there. */
int strait_emu_archive_add_link(struct strait_emu_archive *a, const char *path, const char *target,
                                struct strait_error *err);
/** End and close it: 0, or -1 with *err SYSTEM where the disk is full. */
int strait_emu_archive_finish(struct strait_emu_archive *a, struct strait_error *err);
/** Give back its memory; closes it where it was not finished. */
void strait_emu_archive_release(struct strait_emu_archive *a);
