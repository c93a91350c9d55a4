/* Names for people. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "label.h"
#include <stdint.h>

static bool is_or_under(const char *pointer, const char *root)
{
    const size_t n = strlen(root);
    return strncmp(pointer, root, n) == 0 && (pointer[n] == '\0' || pointer[n] == '/');
}

bool strait_label_is_codec(const char *pointer)
{
    return is_or_under(pointer, "/codec") || is_or_under(pointer, "/download_codec");
}

bool strait_label_is_clients(const char *pointer)
{
    return strcmp(pointer, "/clients") == 0;
}

const char *strait_label_axis(char buf[STRAIT_LABEL_CHARS], const char *pointer)
{
    const char *last = strrchr(pointer, '/'), *from = last ? last : pointer;
    static const char *const vague[] = {"/rate",  "/rtt",     "/loss", "/jitter",
                                        "/queue", "/profile", "/name"};
    for (size_t i = 0; i < sizeof(vague) / sizeof(*vague); i++)
        if (last && strcmp(last, vague[i]) == 0)
            while (from > pointer && *--from != '/')
                ;
    if (*from == '/')
        from++;
    snprintf(buf, STRAIT_LABEL_CHARS, "%s", from);
    for (char *p = buf; *p; p++)
        if (*p == '_' || *p == '/')
            *p = ' ';
    return buf;
}

/* The fewest digits that give the number back: 1e-3 and not 0.001, 0.05 and 4.5. */
static const char *number(char *buf, size_t cap, double value)
{
    int digits = 1;
    do
        snprintf(buf, cap, "%.*g", digits, value);
    while (strtod(buf, NULL) != value && digits++ < 17);
    if (value >= 1 && value < 1e6 && value == floor(value)) /* 20 and not 2e+01 */
        snprintf(buf, cap, "%.0f", value);
    const double exponent = value > 0 ? log10(value) : 0;
    if (value > 0 && value < 0.1 && exponent == round(exponent))
        snprintf(buf, cap, "1e%d", (int)exponent);
    char *e = strchr(buf, 'e'); /* 1e-05: C's two digits are one too many */
    if (e && (e[1] == '-' || e[1] == '+') && e[2] == '0')
        memmove(e + 2, e + 3, strlen(e + 3) + 1);
    return buf;
}

const char *strait_label_value(char buf[STRAIT_LABEL_CHARS], const json_t *value)
{
    if (json_is_string(value)) {
        snprintf(buf, STRAIT_LABEL_CHARS, "%s", json_string_value(value));
    } else if (json_is_number(value)) {
        number(buf, STRAIT_LABEL_CHARS, json_number_value(value));
    } else if (json_is_string(json_object_get(value, "name"))) {
        return strait_label_codec(buf, value);
    } else {
        char *text = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
        snprintf(buf, STRAIT_LABEL_CHARS, "%s", text ? text : "-");
        free(text);
    }
    return buf;
}

/* "traces/profiles/sz3-class.json" is "sz3-class". */
static const char *base_name(char *buf, size_t cap, const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(buf, cap, "%s", slash ? slash + 1 : path);
    char *dot = strrchr(buf, '.');
    if (dot && strcmp(dot, ".json") == 0)
        *dot = '\0';
    return buf;
}

/* Settings of a codec, of a row ("settings") or as an experiment writes them (further keys). */
static const char *put_settings(char *buf, size_t cap, const json_t *codec)
{
    static const char *const others[] = {"name", "bound", "profile", "lossless", "cutoff"};
    const char *of_row = json_string_value(json_object_get(codec, "settings")), *key;
    char digits[40];
    size_t used = 0;
    json_t *value;
    buf[0] = '\0';
    if (of_row) {
        snprintf(buf, cap, " %s", of_row);
        return buf;
    }
    json_object_foreach((json_t *)(uintptr_t)codec, key, value)
    {
        bool other = false;
        for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
            other = other || strcmp(key, others[i]) == 0;
        if (other || used >= cap)
            continue;
        const int n = snprintf(buf + used, cap - used, "%c%s=%s", used > 0 ? ',' : ' ', key,
                               json_is_boolean(value) ? (json_is_true(value) ? "yes" : "no")
                               : json_is_string(value)
                                   ? json_string_value(value)
                                   : number(digits, sizeof(digits), json_number_value(value)));
        used += n > 0 ? (size_t)n : 0;
    }
    return buf;
}

const char *strait_label_codec(char buf[STRAIT_LABEL_CHARS], const json_t *codec)
{
    const char *name = json_is_string(codec) ? json_string_value(codec)
                                             : json_string_value(json_object_get(codec, "name"));
    const char *profile = json_string_value(json_object_get(codec, "profile"));
    char settings[96] = "", bound[64] = "", shown_profile[80] = "", base[64], digits[40];
    const char *kind;
    json_t *value;
    json_object_foreach(json_object_get(codec, "bound"), kind, value)
        snprintf(bound, sizeof(bound), " %.12s%s%s", strcmp(kind, "range") == 0 ? "" : kind,
                 strcmp(kind, "range") == 0 ? "" : " ",
                 number(digits, sizeof(digits), json_number_value(value)));
    if (profile)
        snprintf(shown_profile, sizeof(shown_profile), " [%s]",
                 base_name(base, sizeof(base), profile));
    snprintf(buf, STRAIT_LABEL_CHARS, "%.24s%.72s%.32s%.60s", name ? name : "none",
             put_settings(settings, sizeof(settings), codec), bound, shown_profile);
    return buf;
}

static bool is_none(const json_t *codec)
{
    const char *name = json_string_value(json_object_get(codec, "name"));
    return !name || strcmp(name, "none") == 0;
}

bool strait_label_row_is_plain(const json_t *row)
{
    return is_none(json_object_get(row, "codec")) &&
           is_none(json_object_get(row, "download_codec"));
}

const char *strait_label_row_codec(char buf[STRAIT_LABEL_CHARS], const json_t *row)
{
    char down[STRAIT_LABEL_CHARS];
    const json_t *down_codec = json_object_get(row, "download_codec");
    strait_label_codec(buf, json_object_get(row, "codec"));
    if (!is_none(down_codec)) {
        const size_t used = strlen(buf);
        snprintf(buf + used, STRAIT_LABEL_CHARS - used, ", down %s",
                 strait_label_codec(down, down_codec));
    }
    return buf;
}

const char *strait_label_setting(char buf[STRAIT_LABEL_CHARS], const json_t *row)
{
    char axis[STRAIT_LABEL_CHARS], value[STRAIT_LABEL_CHARS];
    const char *pointer;
    json_t *v;
    size_t used = 0;
    buf[0] = '\0';
    json_object_foreach(json_object_get(row, "labels"), pointer, v)
    {
        if (strait_label_is_codec(pointer) || strait_label_is_clients(pointer))
            continue;
        const int n =
            snprintf(buf + used, STRAIT_LABEL_CHARS - used, "%s%s %s", used > 0 ? ", " : "",
                     strait_label_axis(axis, pointer), strait_label_value(value, v));
        used = n > 0 && used + (size_t)n < STRAIT_LABEL_CHARS ? used + (size_t)n
                                                              : STRAIT_LABEL_CHARS - 1;
    }
    return buf;
}
