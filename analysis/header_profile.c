#include "header_profile.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *hash_of(const json_t *profile)
{
    return json_string_value(json_object_get(profile, "hash"));
}

int strait_header_profile_restore(json_t *header, json_t *known)
{
    json_t *profile = json_object_get(header, "profile"), *as = json_object_get(profile, "as");
    const char *hash = hash_of(profile);
    if (!hash)
        return 0;
    if (as)
        return json_object_set(known, hash, as);
    as = json_object_get(known, hash);
    return json_is_object(as) ? json_object_set(profile, "as", as) : 0;
}

static json_t *shorten(json_t *header, const json_t *known)
{
    const json_t *profile = json_object_get(header, "profile");
    const char *hash = hash_of(profile);
    if (!hash || !json_object_get(known, hash))
        return json_incref(header);
    json_t *shorter = json_copy(header), *named = json_copy((json_t *)(uintptr_t)profile);
    if (named)
        json_object_del(named, "as");
    if (!shorter || json_object_set_new(shorter, "profile", named) != 0) {
        json_decref(shorter);
        return NULL;
    }
    return shorter;
}

/* With the text as the last member of the profile, which is never parsed. Keys of headers need no
 * escape. */
static char *dump_with(json_t *header, const char *as)
{
    char *text = NULL, before = '{';
    const char *key;
    json_t *value;
    size_t len_bytes;
    FILE *out = open_memstream(&text, &len_bytes);
    bool failed = !out;
    json_object_foreach (header, key, value) {
        char *part = out ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
        failed = failed || !part;
        if (!failed && strcmp(key, "profile") == 0)
            fprintf(out, "%c\"%s\":%.*s,\"as\":%s}", before, key, (int)strlen(part) - 1, part, as);
        else if (!failed)
            fprintf(out, "%c\"%s\":%s", before, key, part);
        before = ',';
        free(part);
    }
    if (out) {
        fputs("}", out);
        failed = fclose(out) != 0 || failed;
    }
    if (failed) {
        free(text);
        return NULL;
    }
    return text;
}

char *strait_header_profile_dump(json_t *header, const json_t *known, const char *as)
{
    const char *hash = hash_of(json_object_get(header, "profile"));
    if (as && hash && !json_object_get(known, hash))
        return dump_with(header, as);
    json_t *shorter = shorten(header, known);
    char *text = shorter ? json_dumps(shorter, JSON_COMPACT) : NULL;
    json_decref(shorter);
    return text;
}

int strait_header_profile_note(json_t *known, const json_t *header)
{
    const char *hash = hash_of(json_object_get(header, "profile"));
    return hash && !json_object_get(known, hash) ? json_object_set_new(known, hash, json_true())
                                                 : 0;
}
