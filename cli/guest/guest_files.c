#include "guest_files.h"
#include "core/names.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_CHARS = STRAIT_GUEST_PATH_CHARS, WORD_CHARS = 512 };
/* Files name files that name files: an experiment, a layer table, its iterations. Large ones are
 * data and not read for names. */
enum { OF_ARGUMENT, OF_TEXT, MAX_DEPTH = 3, MAX_TEXT_BYTES = 1 << 20 };

static void see(const struct strait_guest_files *f, const char *name, const char *folder,
                int depth);

static void see_json(const struct strait_guest_files *f, const json_t *value, const char *folder,
                     int depth)
{
    const char *key;
    json_t *inner;
    size_t i;
    if (json_is_string(value))
        see(f, json_string_value(value), folder, depth);
    json_array_foreach (value, i, inner)
        see_json(f, inner, folder, depth);
    json_object_foreach ((json_t *)value, key, inner)
        see_json(f, inner, folder, depth);
}

/* Words of a table that may be names of files: a letter, and a dot or a slash. */
static void see_words(const struct strait_guest_files *f, char *text, const char *folder, int depth)
{
    static const char between[] = " \t\r\n,;:\"'";
    char *rest = NULL;
    for (char *word = strtok_r(text, between, &rest); word; word = strtok_r(NULL, between, &rest)) {
        bool has_letter = false;
        for (const char *c = word; *c; c++)
            has_letter |= isalpha((unsigned char)*c) != 0;
        if (has_letter && strpbrk(word, "./") && strlen(word) < WORD_CHARS)
            see(f, word, folder, depth);
    }
}

/* What the file names, beside itself or from where the command runs. */
static void see_inside(const struct strait_guest_files *f, const char *path, int depth)
{
    char folder[PATH_CHARS];
    const bool json = strait_text_ends_with(path, ".json");
    if (!json && !strait_text_ends_with(path, ".csv"))
        return;
    char *text = calloc(1, MAX_TEXT_BYTES + 1);
    FILE *from = text ? fopen(path, "re") : NULL;
    const size_t n = from ? fread(text, 1, MAX_TEXT_BYTES, from) : 0;
    snprintf(folder, sizeof(folder), "%s", path);
    *strrchr(folder, '/') = '\0';
    json_t *value = json && n > 0 ? json_loadb(text, n, 0, NULL) : NULL;
    if (value)
        see_json(f, value, folder, depth);
    else if (!json && n > 0)
        see_words(f, text, folder, depth);
    json_decref(value);
    if (from)
        fclose(from);
    free(text);
}

/* A path that leads somewhere, and where: as it is written, without a link followed. */
static bool find(char written[PATH_CHARS], char real[PATH_CHARS], struct stat *st, const char *name,
                 const char *folder)
{
    char here[PATH_CHARS];
    if (!*name || strlen(name) >= WORD_CHARS)
        return false;
    if (*name != '/' && !folder && !(folder = getcwd(here, sizeof(here))))
        return false;
    const int n = *name == '/' ? snprintf(written, PATH_CHARS, "%s", name)
                               : snprintf(written, PATH_CHARS, "%s/%s", folder, name);
    return n > 0 && n < PATH_CHARS && realpath(written, real) && stat(real, st) == 0;
}

/* Whether it leads through itself or back, as "/tmp/." and "/tmp/a/../b" do. */
static bool has_dots(const char *path)
{
    return strstr(path, "/./") || strstr(path, "/../") || strait_text_ends_with(path, "/.") ||
           strait_text_ends_with(path, "/..");
}

/* A name from where the command runs, or beside the file that has it. Only an argument may mean a
 * whole folder: in a text, "." and "/run/user" are words. */
static void see(const struct strait_guest_files *f, const char *name, const char *folder, int depth)
{
    char written[PATH_CHARS], real[PATH_CHARS];
    struct stat st;
    if (!find(written, real, &st, name, NULL) &&
        (!folder || !find(written, real, &st, name, folder)))
        return;
    const bool is_file = S_ISREG(st.st_mode);
    if (!is_file && (depth > OF_ARGUMENT || f->has_none))
        return;
    if (f->has_none)
        strait_guest_texts_add_once(f->read, real);
    if (!f->has_none) {
        strait_guest_add_folder(f->read, real);
        if (!has_dots(written))
            strait_guest_add_folder(f->read, written); /* through a link */
    }
    if (is_file && depth < MAX_DEPTH)
        see_inside(f, real, depth + 1);
}

void strait_guest_see_json(const struct strait_guest_files *f, const json_t *value)
{
    see_json(f, value, NULL, OF_TEXT);
}

void strait_guest_see_argument(const struct strait_guest_files *f, const char *argument)
{
    const char *value = strchr(argument, '=');
    see(f, argument, NULL, OF_ARGUMENT);
    if (!value)
        return;
    see(f, value + 1, NULL, OF_ARGUMENT);
    see(f, strrchr(argument, '=') + 1, NULL, OF_ARGUMENT); /* --set=/model=FILE */
    json_t *json = json_loads(value + 1, JSON_DECODE_ANY, NULL);
    see_json(f, json, NULL, OF_TEXT);
    json_decref(json);
}
