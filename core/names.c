/* Texts; names: edit distance, and the names that a folder of JSON files stands for. */
#include <ctype.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "names.h"
#include "heap.h"

enum { NAME_CHARS = 64 };

void strait_text_add(char *buf, size_t cap_bytes, const char *format, ...)
{
    const size_t used = strlen(buf);
    va_list args;
    va_start(args, format);
    vsnprintf(buf + used, cap_bytes - used, format, args);
    va_end(args);
}

bool strait_text_ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), n_end = strlen(end);
    return n > n_end && strcmp(text + n - n_end, end) == 0;
}

/* Insertions, deletions, replacements and swaps of neighbours; letters without their case. */
static size_t edit_distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
    size_t d[NAME_CHARS + 1][NAME_CHARS + 1];
    for (size_t i = 0; i <= n_a; i++)
        for (size_t j = 0; j <= n_b; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            const int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
            d[i][j] = strait_smaller(strait_smaller(d[i - 1][j], d[i][j - 1]) + 1,
                                     d[i - 1][j - 1] + (x != y));
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
                y == tolower((unsigned char)a[i - 2]))
                d[i][j] = strait_smaller(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[n_a][n_b];
}

const char *strait_nearest(const char *name, const char *const *names)
{
    const char *nearest = NULL;
    size_t best = NAME_CHARS + 1;
    const size_t n_a = strlen(name);
    for (; *names && n_a <= NAME_CHARS; names++) {
        const size_t n_b = strlen(*names);
        if (n_b > NAME_CHARS)
            continue;
        const size_t distance = edit_distance(name, n_a, *names, n_b);
        if (2 * distance <= (n_a > n_b ? n_a : n_b) && distance < best) {
            nearest = *names;
            best = distance;
        }
    }
    return nearest;
}

int strait_refuse_name(struct strait_error *err, enum strait_error_code code, const char *where,
                       const char *expected, const char *found, const char *const *names)
{
    const char *nearest = strait_nearest(found, names);
    return strait_error_set(err, code, where, "expected %s, found \"%s\"%s%s%s", expected, found,
                            nearest ? ", did you mean \"" : "", nearest ? nearest : "",
                            nearest ? "\"?" : "");
}

static int is_json(const struct dirent *entry)
{
    const size_t n = strlen(entry->d_name);
    return n > 5 && strcmp(entry->d_name + n - 5, ".json") == 0;
}

int strait_refuse_file_name(struct strait_error *err, enum strait_error_code code,
                            const char *where, const char *expected, const char *found,
                            const char *folder)
{
    struct dirent **entries = NULL;
    const int n = scandir(folder, &entries, is_json, alphasort);
    const char **names = n > 0 ? calloc((size_t)n + 1, sizeof(*names)) : NULL;
    const char *const none[] = {NULL};
    for (int i = 0; i < n; i++) {
        entries[i]->d_name[strlen(entries[i]->d_name) - 5] = '\0';
        if (names)
            names[i] = entries[i]->d_name;
    }
    strait_refuse_name(err, code, where, expected, found, names ? names : none);
    for (int i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
    free(names);
    return -1;
}
