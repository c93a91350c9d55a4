/* A profile as JSON, as text and as a file, and its hash. */
#include "profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "profile_table.h"

static json_t *quantity(double value, double unit, const char *name)
{
    char text[64];
    snprintf(text, sizeof(text), "%.6g %s", value / unit, name);
    return json_string(text);
}

/* As many digits as the file has, so that a profile that was saved and loaded is the same. */
static double saved(double ratio)
{
    char text[32];
    snprintf(text, sizeof(text), "%.9g", ratio);
    return strtod(text, NULL);
}

static json_t *speed_json(double bytes_per_s, double fixed_s, const struct strait_quantiles *q)
{
    json_t *o = json_object();
    json_object_set_new(o, "speed", quantity(bytes_per_s, 1e6, "MB/s"));
    json_object_set_new(o, "fixed", quantity(fixed_s, 1e-6, "us"));
    json_object_set_new(o, "p10", quantity(q->p10, 1e6, "MB/s"));
    json_object_set_new(o, "p50", quantity(q->p50, 1e6, "MB/s"));
    json_object_set_new(o, "p90", quantity(q->p90, 1e6, "MB/s"));
    return o;
}

json_t *strait_profile_json(const struct strait_profile *p)
{
    json_t *entries = json_array();
    for (size_t i = 0; i < p->n_entries; i++) {
        const struct strait_profile_entry *e = &p->entries[i];
        json_t *o = json_object();
        json_object_set_new(o, "codec", json_string(e->codec));
        if (e->bound.kind != STRAIT_BOUND_NONE)
            json_object_set_new(
                o, "bound",
                json_pack("{s:f}", strait_bound_kind_name(e->bound.kind), e->bound.value));
        if (e->settings[0])
            json_object_set_new(o, "settings", json_string(e->settings));
        json_object_set_new(o, "kind", json_string(e->kind));
        if (e->model[0])
            json_object_set_new(o, "model", json_string(e->model));
        json_object_set_new(o, "ratio",
                            json_pack("{s:f, s:f, s:f, s:f}", "aggregate", saved(e->ratio), "p10",
                                      saved(e->ratios.p10), "p50", saved(e->ratios.p50), "p90",
                                      saved(e->ratios.p90)));
        json_object_set_new(o, "encode",
                            speed_json(e->encode_bytes_per_s, e->encode_fixed_s, &e->encode));
        json_object_set_new(o, "decode",
                            speed_json(e->decode_bytes_per_s, e->decode_fixed_s, &e->decode));
        json_array_append_new(entries, o);
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:o, s:o, s:o}", "schema",
                     "strait-profile/1", "title", p->title, "machine", p->machine, "date", p->date,
                     "version", p->version, "source", p->source, "stated", p->stated, "add",
                     quantity(p->add_bytes_per_s, 1e6, "MB/s"), "copy",
                     quantity(p->copy_bytes_per_s, 1e6, "MB/s"), "entries", entries);
}

int strait_profile_save(const struct strait_profile *p, const char *path, struct strait_error *err)
{
    char temporary[4096];
    json_t *json = strait_profile_json(p);
    if (!json)
        return strait_error_memory(err, path);
    struct stat info; /* a device or a pipe is written to, never replaced */
    const bool is_device = stat(path, &info) == 0 && !S_ISREG(info.st_mode);
    const int n = snprintf(temporary, sizeof(temporary), "%s%s", path, is_device ? "" : ".part");
    int failed = n < 0 || (size_t)n >= sizeof(temporary) ||
                 json_dump_file(json, temporary, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) != 0 ||
                 (!is_device && rename(temporary, path) != 0);
    json_decref(json);
    if (failed) {
        strait_error_path(err, path, "cannot write the profile");
        if (!is_device)
            remove(temporary);
    }
    return failed ? -1 : 0;
}

const char *strait_profile_hash(char key[STRAIT_KEY_CHARS], const struct strait_profile *p)
{
    const struct strait_profile_table *table = strait_profile_table_of(p);
    if (table)
        return strcpy(key, table->hash);
    json_t *json = strait_profile_json(p);
    const char *hashed = json ? strait_hash_json(key, json) : NULL;
    json_decref(json);
    return hashed;
}

const char *strait_profile_text(char **made, const struct strait_profile *p)
{
    const struct strait_profile_table *table = strait_profile_table_of(p);
    *made = NULL;
    if (table)
        return table->text;
    json_t *json = strait_profile_json(p);
    *made = json ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    return *made;
}
