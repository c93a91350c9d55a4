/* Names for people. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "label.h"

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

char *strait_label_axis(const char *pointer)
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
    char *text = strdup(from);
    for (char *p = text; p && *p; p++)
        if (*p == '_' || *p == '/')
            *p = ' ';
    return text;
}

/* --- values ------------------------------------------------------------------------------- */

enum { DIGITS_CHARS = 40 };

/* The fewest digits that give the number back: 1e-3 and not 0.001, 0.05 and 4.5. */
static const char *number(char buf[DIGITS_CHARS], double value)
{
    char power[DIGITS_CHARS];
    int digits = 1;
    do
        snprintf(buf, DIGITS_CHARS, "%.*g", digits, value);
    while (strtod(buf, NULL) != value && digits++ < 17);
    if (value >= 1 && value < 1e6 && value == floor(value)) /* 20 and not 2e+01 */
        snprintf(buf, DIGITS_CHARS, "%.0f", value);
    snprintf(power, sizeof(power), "1e%d", value > 0 ? (int)round(log10(value)) : 0);
    if (value > 0 && value < 0.1 && strtod(power, NULL) == value)
        memcpy(buf, power, sizeof(power));
    char *e = strchr(buf, 'e'); /* 1e-05: C's two digits are one too many */
    if (e && (e[1] == '-' || e[1] == '+') && e[2] == '0')
        memmove(e + 2, e + 3, strlen(e + 3) + 1);
    return buf;
}

static void put_json(FILE *out, const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS |
                                       JSON_REAL_PRECISION(15));
    fputs(text ? text : "?", out);
    free(text);
}

static void put_number(FILE *out, const json_t *value)
{
    char digits[DIGITS_CHARS];
    const double as_real = json_number_value(value);
    if (json_is_integer(value) && fabs(as_real) >= 9007199254740992.0) /* 2^53: no double has it */
        fprintf(out, "%lld", (long long)json_integer_value(value));
    else
        fputs(number(digits, as_real), out);
}

static void put_codec(FILE *out, const json_t *codec);

static void put_value(FILE *out, const json_t *value)
{
    if (json_is_string(value))
        fputs(json_string_value(value), out);
    else if (json_is_number(value))
        put_number(out, value);
    else if (json_is_string(json_object_get(value, "name")))
        put_codec(out, value);
    else if (value)
        put_json(out, value);
    else
        fputs("-", out);
}

/* --- codecs ------------------------------------------------------------------------------- */

/* "traces/profiles/sz3-class.json" is "sz3-class". */
static void put_base_name(FILE *out, const char *path)
{
    const char *slash = strrchr(path, '/'), *from = slash ? slash + 1 : path,
               *dot = strrchr(from, '.');
    fprintf(out, "%.*s", (int)(dot && strcmp(dot, ".json") == 0 ? dot - from : (int)strlen(from)),
            from);
}

/* Settings of a codec, of a row ("settings") or as an experiment writes them (further keys). */
static void put_settings(FILE *out, const json_t *codec)
{
    static const char *const others[] = {"name", "bound", "profile", "lossless", "cutoff", "speed"};
    const char *of_row = json_string_value(json_object_get(codec, "settings")), *key, *comma = " ";
    json_t *value;
    if (of_row) {
        fprintf(out, " %s", of_row);
        return;
    }
    json_object_foreach ((json_t *)(uintptr_t)codec, key, value) {
        bool other = false;
        for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
            other = other || strcmp(key, others[i]) == 0;
        if (other)
            continue;
        fprintf(out, "%s%s=", comma, key);
        if (json_is_boolean(value))
            fputs(json_is_true(value) ? "yes" : "no", out);
        else
            put_value(out, value);
        comma = ",";
    }
}

static void put_codec(FILE *out, const json_t *codec)
{
    const char *name = json_is_string(codec) ? json_string_value(codec)
                                             : json_string_value(json_object_get(codec, "name"));
    const char *profile = json_string_value(json_object_get(codec, "profile"));
    const char *kind;
    char digits[DIGITS_CHARS];
    json_t *value;
    fputs(name ? name : "none", out);
    put_settings(out, codec);
    json_object_foreach (json_object_get(codec, "bound"), kind, value) {
        fprintf(out, " %s%s", strcmp(kind, "range") == 0 ? "" : kind,
                strcmp(kind, "range") == 0 ? "" : " ");
        put_value(out, value);
    }
    if ((value = json_object_get(codec, "speed")))
        fprintf(out, " x%s", number(digits, json_number_value(value)));
    if (profile) {
        fputs(" [", out);
        put_base_name(out, profile);
        fputs("]", out);
    }
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

static void put_row_codec(FILE *out, const json_t *row)
{
    const json_t *down = json_object_get(row, "download_codec");
    put_codec(out, json_object_get(row, "codec"));
    if (!is_none(down)) {
        fputs(", down ", out);
        put_codec(out, down);
    }
}

static void put_set(FILE *out, const json_t *set)
{
    const char *pointer, *comma = "";
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)set, pointer, value) {
        fprintf(out, "%s%s=", comma, pointer);
        if (json_is_string(value))
            fputs(json_string_value(value), out);
        else if (json_is_number(value))
            put_number(out, value);
        else
            put_json(out, value);
        comma = ", ";
    }
}

/* --- as new strings ----------------------------------------------------------------------- */

static char *text_of(void (*put)(FILE *, const json_t *), const json_t *json)
{
    char *text = NULL;
    size_t len_bytes;
    FILE *out = open_memstream(&text, &len_bytes);
    if (!out)
        return NULL;
    put(out, json);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

char *strait_label_value(const json_t *value)
{
    return text_of(put_value, value);
}

char *strait_label_row_codec(const json_t *row)
{
    return text_of(put_row_codec, row);
}

char *strait_label_set(const json_t *set)
{
    return text_of(put_set, set);
}
