#include "profile.h"

#include <dirent.h>
#include <float.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/json.h"
#include "core/names.h"
#include "core/shipped.h"
#include "profile_table.h"

enum { MAX_ENTRIES = 100000 };

/* --- reading ------------------------------------------------------------------------------ */

static int read_name(char *out, size_t cap, struct strait_object *o, const char *key,
                     const char *fallback, struct strait_error *err)
{
    const char *text;
    char where[2 * STRAIT_JSON_POINTER_MAX];
    if ((fallback ? strait_object_string_or(o, &text, key, fallback, err)
                  : strait_object_string(o, &text, key, err)) != 0)
        return -1;
    if (strlen(text) >= cap)
        return strait_refuse(err, strait_object_where(o, key, where, sizeof(where)),
                             "expected a name of fewer than %zu letters, found %zu", cap,
                             strlen(text));
    strcpy(out, text);
    return 0;
}

static int read_text(char **out, struct strait_object *o, const char *key, struct strait_error *err)
{
    const char *text;
    if (strait_object_string(o, &text, key, err) != 0)
        return -1;
    *out = strdup(text);
    return *out ? 0 : strait_error_memory(err, NULL);
}

static int read_speed(double *bytes_per_s, double *fixed_s, struct strait_quantiles *q,
                      struct strait_object *entry, const char *key, struct strait_error *err)
{
    struct strait_object o;
    if (strait_object_enter(&o, entry, key, false, err) != 0 ||
        strait_object_quantity(&o, bytes_per_s, "speed", STRAIT_UNIT_SPEED, DBL_MIN, DBL_MAX,
                               err) != 0 ||
        strait_object_quantity_or(&o, fixed_s, "fixed", STRAIT_UNIT_TIME, 0, 1, 0, err) != 0 ||
        strait_object_quantity_or(&o, &q->p10, "p10", STRAIT_UNIT_SPEED, DBL_MIN, DBL_MAX,
                                  *bytes_per_s, err) != 0 ||
        strait_object_quantity_or(&o, &q->p50, "p50", STRAIT_UNIT_SPEED, DBL_MIN, DBL_MAX,
                                  *bytes_per_s, err) != 0 ||
        strait_object_quantity_or(&o, &q->p90, "p90", STRAIT_UNIT_SPEED, DBL_MIN, DBL_MAX,
                                  *bytes_per_s, err) != 0)
        return -1;
    return strait_object_close(&o, err);
}

static int read_bound(struct strait_bound *bound, struct strait_object *entry,
                      struct strait_error *err)
{
    struct strait_object o;
    char where[2 * STRAIT_JSON_POINTER_MAX];
    unsigned n = 0;
    if (!strait_object_has(entry, "bound"))
        return 0;
    if (strait_object_enter(&o, entry, "bound", false, err) != 0)
        return -1;
    for (unsigned k = STRAIT_BOUND_ABS; k < N_STRAIT_BOUNDS; k++) {
        const char *name = strait_bound_kind_name((enum strait_bound_kind)k);
        if (!strait_object_has(&o, name))
            continue;
        bound->kind = (enum strait_bound_kind)k;
        n++;
        if (strait_object_number(&o, &bound->value, name, 0, DBL_MAX, err) != 0)
            return -1;
    }
    if (n != 1)
        return strait_refuse(err, strait_object_where(entry, "bound", where, sizeof(where)),
                             "expected one bound such as {\"range\": 1e-3}, found %u", n);
    return strait_object_close(&o, err);
}

/* Settings are kept as the text that strait_codec_settings_text makes, whatever their order was. */
static int read_settings(struct strait_profile_entry *e, struct strait_object *o,
                         struct strait_error *err)
{
    struct strait_codec_spec spec;
    struct strait_error why = {0};
    const char *settings;
    char text[sizeof(e->codec) + STRAIT_SPEC_CHARS], where[2 * STRAIT_JSON_POINTER_MAX];
    if (!strait_codec_find(e->codec))
        return strait_refuse(err, strait_object_where(o, "codec", where, sizeof(where)),
                             "expected a codec (strait codec list), found \"%s\"", e->codec);
    if (strait_object_string_or(o, &settings, "settings", "", err) != 0)
        return -1;
    if ((size_t)snprintf(text, sizeof(text), "%s%s%s", e->codec, *settings ? ":" : "", settings) >=
            sizeof(text) ||
        strait_codec_spec_parse(&spec, text, &why) != 0 || spec.bound.kind != STRAIT_BOUND_NONE)
        return strait_refuse(err, strait_object_where(o, "settings", where, sizeof(where)),
                             "expected settings of codec \"%s\" without a bound, found \"%s\"",
                             e->codec, settings);
    strait_codec_settings_text(e->settings, &spec);
    return 0;
}

static bool is_among(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names;
}

/* "grad", or "grad sum 4": of partial sums in a ring of so many ranks, "grad sum 4/2": of those of
 * them that are of two ranks; "grad halving 4": in another all-reduce. */
static bool is_kind(const char *kind)
{
    static const char *const kinds[] = {"param", "update", "grad", "change", "any", NULL},
                             *const sums[] = {"sum", "halving", "tree", "all_to_all", NULL};
    char name[16], how[16];
    int n_ranks, n_added = 1, end = 0;
    if (!strchr(kind, ' '))
        return is_among(kind, kinds);
    return sscanf(kind, "%15[a-z] %15[a-z_] %d%n/%d%n", name, how, &n_ranks, &end, &n_added,
                  &end) >= 3 &&
           kind[end] == '\0' && is_among(name, kinds) && is_among(how, sums) && n_ranks > 1 &&
           n_added >= 1 && n_added <= n_ranks;
}

static int read_entry(struct strait_profile_entry *e, struct strait_object *o,
                      struct strait_error *err)
{
    struct strait_object r;
    char where[2 * STRAIT_JSON_POINTER_MAX];
    if (read_name(e->codec, sizeof(e->codec), o, "codec", NULL, err) != 0 ||
        read_name(e->kind, sizeof(e->kind), o, "kind", NULL, err) != 0 ||
        read_name(e->model, sizeof(e->model), o, "model", "", err) != 0 ||
        read_settings(e, o, err) != 0 || read_bound(&e->bound, o, err) != 0)
        return -1;
    if (!is_kind(e->kind))
        return strait_refuse(
            err, strait_object_where(o, "kind", where, sizeof(where)),
            "expected \"param\", \"update\", \"grad\", \"change\" or \"any\", found \"%s\"",
            e->kind);
    if (strait_object_enter(&r, o, "ratio", false, err) != 0 ||
        strait_object_number(&r, &e->ratio, "aggregate", 1e-3, 1e9, err) != 0 ||
        strait_object_number_or(&r, &e->ratios.p10, "p10", 1e-3, 1e9, e->ratio, err) != 0 ||
        strait_object_number_or(&r, &e->ratios.p50, "p50", 1e-3, 1e9, e->ratio, err) != 0 ||
        strait_object_number_or(&r, &e->ratios.p90, "p90", 1e-3, 1e9, e->ratio, err) != 0 ||
        strait_object_close(&r, err) != 0 ||
        read_speed(&e->encode_bytes_per_s, &e->encode_fixed_s, &e->encode, o, "encode", err) != 0 ||
        read_speed(&e->decode_bytes_per_s, &e->decode_fixed_s, &e->decode, o, "decode", err) != 0)
        return -1;
    return strait_object_close(o, err);
}

static int read_all(struct strait_profile *p, struct strait_object *o, const char *file,
                    struct strait_error *err)
{
    const char *schema;
    char pointer[STRAIT_JSON_POINTER_MAX], where[2 * STRAIT_JSON_POINTER_MAX];
    if (strait_object_string(o, &schema, "schema", err) != 0)
        return -1;
    if (strcmp(schema, "strait-profile/1") != 0)
        return strait_refuse(err, strait_object_where(o, "schema", where, sizeof(where)),
                             "expected \"strait-profile/1\", found \"%s\"", schema);
    if (read_text(&p->title, o, "title", err) != 0 ||
        read_text(&p->machine, o, "machine", err) != 0 ||
        read_text(&p->date, o, "date", err) != 0 ||
        read_text(&p->version, o, "version", err) != 0 ||
        read_text(&p->source, o, "source", err) != 0 ||
        strait_object_bool_or(o, &p->stated, "stated", false, err) != 0 ||
        strait_object_quantity(o, &p->add_bytes_per_s, "add", STRAIT_UNIT_SPEED, DBL_MIN, DBL_MAX,
                               err) != 0 ||
        strait_object_quantity(o, &p->copy_bytes_per_s, "copy", STRAIT_UNIT_SPEED, DBL_MIN, DBL_MAX,
                               err) != 0)
        return -1;
    const json_t *entries = strait_object_value(o, "entries");
    strait_object_where(o, "entries", where, sizeof(where));
    if (!json_is_array(entries))
        return strait_refuse_value(err, where, "an array of entries", entries);
    if (json_array_size(entries) > MAX_ENTRIES)
        return strait_refuse(err, where, "expected at most %d entries, found %zu", MAX_ENTRIES,
                             json_array_size(entries));
    p->entries = calloc(json_array_size(entries) + 1, sizeof(*p->entries));
    if (!p->entries)
        return strait_error_memory(err, file);
    for (size_t i = 0; i < json_array_size(entries); i++) {
        struct strait_object entry;
        snprintf(pointer, sizeof(pointer), "/entries/%zu", i);
        if (strait_object_open(&entry, file, pointer, json_array_get(entries, i), err) != 0 ||
            read_entry(&p->entries[i], &entry, err) != 0)
            return -1;
        p->n_entries++;
    }
    return strait_object_close(o, err);
}

static int read_at(struct strait_profile **out, const json_t *json, const char *file,
                   const char *pointer, struct strait_error *err)
{
    struct strait_object o;
    struct strait_profile *p = *out = calloc(1, sizeof(*p));
    if (p && strait_object_open(&o, file, pointer, json, err) == 0 &&
        read_all(p, &o, file, err) == 0)
        return 0;
    strait_profile_free(p);
    *out = NULL;
    return strait_error_memory(err, NULL); /* or what was before */
}

int strait_profile_read(struct strait_profile **out, const json_t *json, const char *file,
                        struct strait_error *err)
{
    return read_at(out, json, file, "", err);
}

/* To be changed and freed like any other. NULL: memory ran out. */
static struct strait_profile *copy_of(const struct strait_profile *of)
{
    struct strait_profile *p = malloc(sizeof(*p));
    if (!p)
        return NULL;
    const size_t len_bytes = of->n_entries * sizeof(*of->entries);
    *p = *of;
    p->title = strdup(of->title);
    p->machine = strdup(of->machine);
    p->date = strdup(of->date);
    p->version = strdup(of->version);
    p->source = strdup(of->source);
    p->entries = malloc(len_bytes + sizeof(*p->entries));
    if (!p->title || !p->machine || !p->date || !p->version || !p->source || !p->entries) {
        strait_profile_free(p);
        return NULL;
    }
    memcpy(p->entries, of->entries, len_bytes);
    return p;
}

int strait_profile_load(struct strait_profile **out, const char *name_or_path,
                        struct strait_error *err)
{
    char shipped[4096], folder[3500];
    const char *path = name_or_path;
    *out = NULL;
    if (!strchr(path, '/') && !strchr(path, '.')) {
        strait_share_path(folder, sizeof(folder), "codecs/profiles");
        snprintf(shipped, sizeof(shipped), "%s/%.500s.json", folder, path);
        path = shipped;
    } else {
        path = strait_shipped_path(shipped, sizeof(shipped), name_or_path);
    }
    if (access(path, R_OK) != 0 && path == shipped)
        return strait_refuse_file_name(err, STRAIT_ERR_INPUT, name_or_path,
                                       "a shipped profile (strait list profiles) or a path",
                                       name_or_path, folder);
    const struct strait_profile_table *table = strait_profile_table_of_file(path);
    if (table)
        return (*out = copy_of(&table->profile)) ? 0 : strait_error_memory(err, path);
    json_t *json = strait_json_load(path, err);
    if (!json)
        return -1;
    const json_t *inside = json_object_get(json_object_get(json, "machine"), "profile");
    const int failed =
        read_at(out, inside ? inside : json, name_or_path, inside ? "/machine/profile" : "", err);
    json_decref(json);
    return failed;
}

/* Which shipped profile measured a codec, found once: points ask for it one by one. */
enum { MAX_CODECS = 128, NAME_CHARS = 64 };
static pthread_mutex_t measured_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char codec[NAME_CHARS], profile[NAME_CHARS]; /* profile "": none */
} measured[MAX_CODECS];

static int is_profile(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot && strcmp(dot, ".json") == 0 && (size_t)(dot - entry->d_name) < NAME_CHARS;
}

static int search_shipped(char name[NAME_CHARS], const char *codec, struct strait_error *err)
{
    char folder[3500];
    struct dirent **files = NULL;
    const int n = scandir(strait_share_path(folder, sizeof(folder), "codecs/profiles"), &files,
                          is_profile, alphasort);
    int failed = 0;
    *name = '\0';
    for (int i = 0; i < n; i++) {
        struct strait_profile *p = NULL;
        char here[NAME_CHARS];
        snprintf(here, sizeof(here), "%.*s", (int)strcspn(files[i]->d_name, "."), files[i]->d_name);
        if (!failed && !*name)
            failed = strait_profile_load(&p, here, err);
        if (p && !p->stated && strait_profile_has(p, codec))
            strcpy(name, here);
        strait_profile_free(p);
        free(files[i]);
    }
    free(files);
    return failed;
}

int strait_profile_load_shipped_for(struct strait_profile **out, const char *codec,
                                    struct strait_error *err)
{
    size_t i = 0;
    char name[NAME_CHARS];
    *out = NULL;
    pthread_mutex_lock(&measured_lock);
    while (i < MAX_CODECS && *measured[i].codec && strcmp(measured[i].codec, codec) != 0)
        i++;
    const bool known = i < MAX_CODECS && *measured[i].codec;
    const int failed = known ? 0 : search_shipped(name, codec, err);
    if (!failed && !known && i < MAX_CODECS) {
        snprintf(measured[i].codec, NAME_CHARS, "%s", codec);
        strcpy(measured[i].profile, name);
    } else if (known) {
        strcpy(name, measured[i].profile);
    }
    pthread_mutex_unlock(&measured_lock);
    return failed || !*name ? failed : strait_profile_load(out, name, err);
}

static void release(struct strait_profile *p)
{
    free(p->title);
    free(p->machine);
    free(p->date);
    free(p->version);
    free(p->source);
    free(p->entries);
}

void strait_profile_free(struct strait_profile *p)
{
    if (!p)
        return;
    release(p);
    free(p);
}

int strait_profile_round(struct strait_profile *p, struct strait_error *err)
{
    struct strait_object o;
    struct strait_profile read = {0};
    json_t *json = strait_profile_json(p);
    if (!json)
        return strait_error_memory(err, NULL);
    const int failed = strait_object_open(&o, p->title, "", json, err) != 0 ||
                       read_all(&read, &o, p->title, err) != 0;
    if (!failed) {
        const struct strait_profile before = *p;
        *p = read;
        read = before;
    }
    release(&read);
    json_decref(json);
    return failed ? -1 : 0;
}

static bool is_same(const struct strait_profile_entry *a, const struct strait_profile_entry *b)
{
    return strcmp(a->codec, b->codec) == 0 && strcmp(a->settings, b->settings) == 0 &&
           strcmp(a->kind, b->kind) == 0 && strcmp(a->model, b->model) == 0 &&
           a->bound.kind == b->bound.kind && a->bound.value == b->bound.value;
}

int strait_profile_merge(struct strait_profile *p, const struct strait_profile *more,
                         struct strait_error *err)
{
    const size_t most = p->n_entries + more->n_entries;
    struct strait_profile_entry *entries = realloc(p->entries, (most + 1) * sizeof(*entries));
    if (!entries)
        return strait_error_memory(err, NULL);
    p->entries = entries;
    for (size_t i = 0; i < more->n_entries; i++) {
        size_t at = 0;
        while (at < p->n_entries && !is_same(&entries[at], &more->entries[i]))
            at++;
        entries[at] = more->entries[i];
        p->n_entries += at == p->n_entries;
    }
    return 0;
}
