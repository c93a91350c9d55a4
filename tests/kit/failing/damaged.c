#include "tests/kit/failing/damaged.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "core/hash.h"
#include "tests/kit/data.h"
#include "tests/kit/failing/misused.h"
#include "tests/kit/suite.h"

#define GOLDEN DATA("tests/golden/damaged.json")

void damaged_add(struct damaged_sum *s, const char *text)
{
    char key[STRAIT_KEY_CHARS];
    strait_hash_bytes(key, text ? text : "", text ? strlen(text) : 0);
    s->value = (s->value ^ strtoull(key + 16, NULL, 16)) * 0x9e3779b97f4a7c15u + 1;
}

void damaged_add_number(struct damaged_sum *s, double v)
{
    char text[40];
    snprintf(text, sizeof(text), "%.9g", v);
    damaged_add(s, text);
}

/* The text, or what follows the path in it; and so of the path of this tree. */
static const char *behind(const char *text, const char *path)
{
    const char *const paths[] = {path, DATA("")};
    for (int i = 0; i < 2; i++) {
        const char *at = paths[i] && strlen(paths[i]) > 1 ? strstr(text, paths[i]) : NULL;
        text = at ? at + strlen(paths[i]) : text;
    }
    return text;
}

void damaged_add_error(struct damaged_sum *s, const struct strait_error *err, const char *path)
{
    damaged_add_number(s, err->code);
    damaged_add(s, behind(err->where, path));
    damaged_add(s, behind(err->text, path));
}

static char letter_of(damaged_read read, void *context, const unsigned char *bytes, size_t n)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    struct damaged_sum s = {0};
    unsigned char *own = malloc(n + 1); /* its end is where a sanitizer looks */
    CU_ASSERT_PTR_NOT_NULL_FATAL(own);
    memcpy(own, bytes, n);
    own[n] = '\0';
    read(&s, context, own, n);
    free(own);
    return letters[s.value >> 58];
}

static void write_line(const char *name, const char *letters, bool anew)
{
    json_t *all = json_load_file(GOLDEN, 0, NULL);
    all = all ? all : json_object();
    if (anew || !json_object_get(all, name))
        json_object_set_new(all, name, json_string(letters));
    CU_ASSERT_EQUAL(json_dump_file(all, GOLDEN, JSON_INDENT(1) | JSON_SORT_KEYS), 0);
    json_decref(all);
}

static void compare(const char *name, const char *found, size_t n)
{
    json_t *all = json_load_file(GOLDEN, 0, NULL);
    const char *expected = json_string_value(json_object_get(all, name));
    if (!expected)
        fprintf(stderr,
                "%s: tests/golden/damaged.json has no such line: make golden (of codecs), make "
                "golden-runs (of all)\n",
                name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(expected);
    size_t same = 0;
    while (found[same] && found[same] == expected[same])
        same++;
    if (found[same] != expected[same])
        fprintf(stderr,
                "%s: damage %zu gives something else (of %zu bytes: first the beginnings, "
                "then a bit of each byte, then two other digits for each digit; what is misused: "
                "each value replaced in turn)\n",
                name, same, n);
    CU_ASSERT_STRING_EQUAL(found, expected);
    json_decref(all);
}

static void hold(const char *name, const char *letters, size_t n)
{
    const char *const write = getenv("STRAIT_WRITE_GOLDEN");
    if (write)
        write_line(name, letters, strcmp(write, "all") == 0);
    compare(name, letters, n);
}

struct misuse {
    json_t *json;
    damaged_read read;
    void *context;
    FILE *letters;
};

static const char *try_misuse(void *context, const char *place, const char *what)
{
    const struct misuse *m = context;
    strait_test_context("%s %s", place, what);
    char *text = json_dumps(m->json, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    fputc(letter_of(m->read, m->context, (const unsigned char *)text, strlen(text)), m->letters);
    free(text);
    return NULL;
}

static void check_misuses(const char *name, json_t *json, damaged_read read, void *context)
{
    char line[200], *letters = NULL;
    size_t n = 0;
    struct misuse m = {json, read, context, open_memstream(&letters, &n)};
    CU_ASSERT_PTR_NOT_NULL_FATAL(m.letters);
    misused_walk(json, try_misuse, &m);
    CU_ASSERT_EQUAL(fclose(m.letters), 0);
    snprintf(line, sizeof(line), "%s, misused", name);
    hold(line, letters, n);
    free(letters);
}

void damaged_check(const char *name, const void *bytes, size_t n, damaged_read read, void *context)
{
    unsigned char *copy = malloc(n + 1);
    char *letters = calloc(4 * n + 2, 1);
    size_t k = 0;
    CU_ASSERT_FATAL(copy != NULL && letters != NULL);
    memcpy(copy, bytes, n);
    for (size_t i = 0; i <= n; i++)
        letters[k++] = letter_of(read, context, copy, i);
    for (size_t i = 0; i < n; i++) {
        copy[i] ^= (unsigned char)(1u << i % 8);
        letters[k++] = letter_of(read, context, copy, n);
        copy[i] ^= (unsigned char)(1u << i % 8);
    }
    for (size_t i = 0; i < n; i++)
        for (int other = 1; other < 10 && isdigit(copy[i]); other += 6) {
            const unsigned char digit = copy[i];
            copy[i] = (unsigned char)('0' + (digit - '0' + other) % 10);
            letters[k++] = letter_of(read, context, copy, n);
            copy[i] = digit;
        }
    hold(name, letters, n);
    free(letters);
    json_t *json = json_loadb((const char *)copy, n, 0, NULL);
    if (json)
        check_misuses(name, json, read, context);
    json_decref(json);
    free(copy);
}
