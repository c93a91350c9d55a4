#include "profile_table.h"

#include <string.h>
#include "core/hash.h"

const struct strait_profile_table *strait_profile_table_of_file(const char *path)
{
    uint64_t sum = 0, len_bytes = 0;
    if (!strait_profile_tables || !strait_checksum_file(&sum, &len_bytes, path))
        return NULL;
    for (const struct strait_profile_table *t = strait_profile_tables; t->hash; t++)
        if (t->file_bytes == len_bytes && t->checksum == sum)
            return t;
    return NULL;
}

/* Entries are compared byte by byte: what lies between their members is 0 in tables and where they
 * were read, and if it was not, the profile is merely hashed as any other. */
static bool is_same(const struct strait_profile *a, const struct strait_profile *b)
{
    return a->n_entries == b->n_entries && a->stated == b->stated &&
           a->add_bytes_per_s == b->add_bytes_per_s && a->copy_bytes_per_s == b->copy_bytes_per_s &&
           memcmp(a->entries, b->entries, a->n_entries * sizeof(*a->entries)) == 0 &&
           strcmp(a->title, b->title) == 0 && strcmp(a->machine, b->machine) == 0 &&
           strcmp(a->date, b->date) == 0 && strcmp(a->version, b->version) == 0 &&
           strcmp(a->source, b->source) == 0;
}

const struct strait_profile_table *strait_profile_table_of(const struct strait_profile *p)
{
    for (const struct strait_profile_table *t = strait_profile_tables; t && t->hash; t++)
        if (is_same(p, &t->profile))
            return t;
    return NULL;
}
