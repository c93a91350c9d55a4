/* Leave out of names what they have in common. */
#include "shorten.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "ps rounds=2,servers=1" is "ps" and the parts behind the first blank, between commas. */
static const char *parts_of(const char *name)
{
    const char *blank = strchr(name, ' ');
    return blank ? blank + 1 : name + strlen(name);
}

static bool is_setting(const char *part, size_t n)
{
    return memchr(part, '=', n) != NULL;
}

static bool has_part(const char *name, const char *part, size_t n)
{
    for (const char *at = parts_of(name); *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == n && strncmp(at, part, n) == 0)
            return true;
    return false;
}

static bool is_none(const char *name)
{
    return strcmp(name, "none") == 0 || strcmp(name, "no compression") == 0;
}

static bool all_have(const json_t *names, const char *part, size_t n)
{
    size_t i;
    json_t *name;
    json_array_foreach (names, i, name)
        if (!is_none(json_string_value(name)) && !has_part(json_string_value(name), part, n))
            return false;
    return true;
}

/* The parts of a name that not all have, or those that all have. */
static char *chosen(const json_t *names, const char *name, bool common)
{
    const char *const parts = parts_of(name), *comma = "";
    char *text = NULL;
    size_t len_bytes;
    FILE *out = open_memstream(&text, &len_bytes);
    if (!out)
        return NULL;
    if (!common)
        fprintf(out, "%.*s", (int)strcspn(name, " "), name);
    for (const char *at = parts; *at; at += strcspn(at, ","), at += *at == ',') {
        const size_t n = strcspn(at, ",");
        if ((is_setting(at, n) && all_have(names, at, n)) != common)
            continue;
        fprintf(out, "%s%.*s", *comma || common ? comma : " ", (int)n, at);
        comma = ",";
    }
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

char *strait_plot_shorten(json_t *names)
{
    json_t *shorter = json_array(), *seen = json_object(), *name;
    const char *some = "";
    size_t i, n_with = 0;
    json_array_foreach (names, i, name) {
        const char *text = json_string_value(name);
        char *left = chosen(names, text, false);
        n_with += !is_none(text);
        some = is_none(text) ? some : text;
        json_array_append_new(shorter, json_string(left ? left : text));
        json_object_set_new(seen, left ? left : text, json_true());
        free(left);
    }
    const bool apart = n_with > 1 && json_object_size(seen) == json_array_size(names);
    char *taken = apart ? chosen(names, some, true) : strdup("");
    if (apart && taken && *taken) {
        json_array_clear(names);
        json_array_extend(names, shorter);
    }
    json_decref(shorter);
    json_decref(seen);
    return taken;
}
