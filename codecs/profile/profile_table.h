/* What the profiles that ship say, as the build has read them: reading 272 KB of JSON and hashing
 * what they hold takes longer than the simulation of a round. Only files that are byte by byte what
 * was built in are answered from here. */
#pragma once
#include <stdint.h>
#include "profile_struct.h"

struct strait_profile_table {
    uint64_t checksum; /* strait_checksum of the file */
    size_t file_bytes;
    struct strait_profile profile; /* its strings and entries are constant */
    const char *hash;              /* strait_profile_hash; NULL: the end of the tables */
    const char *text;              /* of strait_profile_json, compact */
};

/* Written by codecs/profile/tabulate. The program that writes it does without, and so does whoever
 * links the archives alone. */
extern const struct strait_profile_table strait_profile_tables[]
    __attribute__((weak, visibility("hidden")));

/** The table of exactly this file. NULL: there is none, or the file cannot be read. */
const struct strait_profile_table *strait_profile_table_of_file(const char *path);
/** The table that says what this profile says, wherever that is from. NULL: there is none. */
const struct strait_profile_table *strait_profile_table_of(const struct strait_profile *p);
