/* Where an error stands in a plan's file. */
#include <stdio.h>
#include <string.h>
#include "question.h"

/* How many letters of an error's pointer a key of "set" or "vary" has: the error lies at it or
 * inside, or is that it names a key that nothing has. 0: another place. */
static size_t letters_of(const char *key, const char *pointer, const char *text)
{
    static const char unknown[] = "unknown key \"";
    const size_t n = strlen(key), n_pointer = strlen(pointer);
    if (strncmp(pointer, key, n) == 0 && (pointer[n] == '\0' || pointer[n] == '/'))
        return n;
    const char *last = strrchr(key, '/');
    const size_t n_name = last ? strlen(last + 1) : 0;
    if (n_name > 0 && n_pointer == n - n_name - 1 && strncmp(pointer, key, n_pointer) == 0 &&
        strncmp(text, unknown, sizeof(unknown) - 1) == 0 &&
        strncmp(text + sizeof(unknown) - 1, key + n - n_name, n_name) == 0 &&
        text[sizeof(unknown) - 1 + n_name] == '"')
        return n;
    return 0;
}

/* The place in "set" or "vary" that put there what is wrong. False: neither did. */
static bool place_in_axis(const struct strait_plan_question *q, const char *pointer,
                          struct strait_error *err)
{
    const json_t *const both[] = {q->set, q->vary};
    const size_t n = strlen(q->file), n_pointer = strlen(pointer);
    size_t most = 0;
    const char *key;
    json_t *value;
    for (int i = 0; i < 2; i++)
        json_object_foreach ((json_t *)both[i], key, value) {
            const size_t letters = letters_of(key, pointer, err->text);
            if (letters <= most)
                continue;
            most = letters;
            char *at = err->where + n, *const end = err->where + sizeof(err->where);
            at += snprintf(at, (size_t)(end - at), "#/%s/", i == 0 ? "set" : "vary");
            for (const char *c = key; *c && end - at > 3; c++) /* a key is one token */
                at += snprintf(at, (size_t)(end - at),
                               *c == '/'   ? "~1"
                               : *c == '~' ? "~0"
                                           : "%c",
                               *c);
            snprintf(at, (size_t)(end - at), "%s", letters < n_pointer ? pointer + letters : "");
        }
    return most > 0;
}

void strait_plan_question_place(const struct strait_plan_question *q, struct strait_error *err)
{
    static const char *const own[] = {"schema", "title",     "rounds", "least_accuracy",
                                      "prices", "target",    "set",    "accuracy",
                                      "vary",   "experiment"};
    const size_t n = q->file ? strlen(q->file) : 0;
    bool is_own = false;
    char pointer[sizeof(err->where)], key[sizeof(err->where)];
    if (n == 0 || strncmp(err->where, q->file, n) != 0 || strncmp(err->where + n, "#/", 2) != 0)
        return;
    snprintf(pointer, sizeof(pointer), "%s", err->where + n + 1);
    snprintf(key, sizeof(key), "%.*s", (int)strcspn(pointer + 1, "/"), pointer + 1);
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
        is_own |= strcmp(own[i], key) == 0;
    if (is_own || place_in_axis(q, pointer, err))
        return;
    if (q->base_file)
        snprintf(err->where, sizeof(err->where), "%s#%s", q->base_file, pointer);
    else
        snprintf(err->where + n, sizeof(err->where) - n, "#/experiment%s", pointer);
}
