#include "header_profile.h"

#include <stdint.h>

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
    return as ? json_object_set(profile, "as", as) : 0;
}

json_t *strait_header_profile_shorten(json_t *header, const json_t *known)
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
