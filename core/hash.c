/* Checksums and keys by XXH3. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "hash.h"

uint64_t strait_checksum(const void *data, size_t len_bytes)
{
    return XXH3_64bits(data, len_bytes);
}

const char *strait_hash_bytes(char key[STRAIT_KEY_CHARS], const void *data, size_t len_bytes)
{
    const XXH128_hash_t hash = XXH3_128bits(data, len_bytes);
    snprintf(key, STRAIT_KEY_CHARS, "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
    return key;
}

const char *strait_hash_json(char key[STRAIT_KEY_CHARS], const json_t *value)
{
    char *text = json_dumps(value, JSON_SORT_KEYS | JSON_COMPACT | JSON_ENCODE_ANY |
                                       JSON_REAL_PRECISION(17));
    if (!text)
        return NULL;
    strait_hash_bytes(key, text, strlen(text));
    free(text);
    return key;
}
