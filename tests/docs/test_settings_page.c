/* docs/settings.md names every setting of every strategy, codec and task with what it takes and
 * where it begins, as `strait list` says it: no range or default changes without the page.
 * `make settings` writes it. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kit/data.h"
#include "tests/kit/folder.h"
#include "tests/kit/program.h"
#include "tests/kit/suite.h"

static const char head[] =
    "# Every setting\n"
    "\n"
    "Written by `make settings` from what `strait list strategies`, `codecs` and `tasks` say. A\n"
    "setting is a key of the object that names its strategy, codec or task ([the experiment\n"
    "file](experiment.md)); `--set /strategy/local_steps=50` changes one. What is not given is "
    "the\n"
    "default.\n";

static const char *field(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

/* A cell: a bar would end it. */
static void cell(FILE *page, const char *text)
{
    fputs("| ", page);
    for (; *text; text++)
        fprintf(page, *text == '|' ? "\\|" : "%c", *text);
    fputc(' ', page);
}

static void words(FILE *page, const json_t *list)
{
    size_t i;
    const json_t *word;
    json_array_foreach (list, i, word)
        fprintf(page, "%s%s", i > 0 ? ", " : "", json_string_value(word));
}

/* "1 to 16", or its choices. Codecs say both ends as numbers. */
static void takes(FILE *page, const json_t *setting)
{
    fputs("| ", page);
    if (json_object_get(setting, "choices"))
        words(page, json_object_get(setting, "choices"));
    else if (field(setting, "takes"))
        fputs(field(setting, "takes"), page);
    else
        fprintf(page, "%.15g to %.15g", json_number_value(json_object_get(setting, "min")),
                json_number_value(json_object_get(setting, "max")));
    fputc(' ', page);
}

static void fallback(FILE *page, const json_t *value)
{
    if (json_is_string(value))
        cell(page, json_string_value(value));
    else
        fprintf(page, "| %.15g ", json_number_value(value));
}

static void settings(FILE *page, const json_t *list)
{
    size_t i;
    const json_t *s;
    if (json_array_size(list) == 0)
        return;
    fputs("\n| setting | takes | default | meaning |\n|---|---|---|---|\n", page);
    json_array_foreach (list, i, s) {
        fprintf(page, "| `%s` ", field(s, "name"));
        takes(page, s);
        fallback(page, json_object_get(s, "default"));
        cell(page, field(s, "doc"));
        fputs("|\n", page);
    }
}

/* What a codec can do where it has no setting for it. */
static void abilities(FILE *page, const json_t *o)
{
    const json_t *bounds = json_object_get(o, "bounds"), *memory = json_object_get(o, "memory");
    if (!bounds)
        return;
    fprintf(page, "\nFamily %s; ", field(o, "family"));
    if (json_array_size(bounds) > 0) {
        fputs("bounds ", page);
        words(page, bounds);
        fputs("; ", page);
    }
    fprintf(page, "carried by ");
    words(page, json_object_get(o, "collectives"));
    fprintf(page, "; sums of encodings: %s", field(o, "all_reduce"));
    if (json_is_true(json_object_get(memory, "error_feedback")))
        fprintf(page, "; error feedback, decay %.15g, momentum %.15g",
                json_number_value(json_object_get(memory, "feedback_decay")),
                json_number_value(json_object_get(memory, "momentum")));
    fputs(".\n", page);
}

static void section(FILE *page, const struct program *p, const char *title, const char *kind)
{
    struct said s = PROGRAM_CALL(p, "list", kind, "--json");
    CU_ASSERT_EQUAL_FATAL(s.status, 0);
    fprintf(page, "\n## %s\n", title);
    size_t n = 0;
    for (char *rest = s.out, *line; (line = strsep(&rest, "\n")) && *line; n++) {
        json_t *o = json_loads(line, 0, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(o);
        fprintf(page, "\n### %s\n\n", field(o, "name"));
        if (field(o, "summary"))
            fprintf(page, "%s. ", field(o, "summary"));
        fprintf(page, "%s%s%s", field(o, "source") ? "Source: " : "",
                field(o, "source") ? field(o, "source") : "", field(o, "source") ? ".\n" : "\n");
        abilities(page, o);
        settings(page, json_object_get(o, "parameters"));
        json_decref(o);
    }
    CU_ASSERT(n > 4);
    said_release(&s);
}

static void settings_page(void)
{
    const char *path = DATA("docs/settings.md");
    struct program p;
    char *now = NULL;
    size_t len_bytes;
    program_set_up(&p);
    FILE *page = open_memstream(&now, &len_bytes);
    fputs(head, page);
    section(page, &p, "Strategies", "strategies");
    section(page, &p, "Codecs", "codecs");
    section(page, &p, "Tasks", "tasks");
    fclose(page);
    program_tear_down(&p);
    if (getenv("STRAIT_WRITE_SETTINGS")) {
        FILE *out = fopen(path, "w");
        CU_ASSERT_PTR_NOT_NULL_FATAL(out);
        fputs(now, out);
        fclose(out);
    } else {
        char *text = folder_bytes("", path, &len_bytes);
        CU_ASSERT_PTR_NOT_NULL_FATAL(text);
        size_t line = 1;
        const char *a = now, *b = text;
        for (; *a && *a == *b; a++, b++)
            line += *a == '\n';
        strait_test_context("docs/settings.md:%zu; make settings writes it", line);
        CU_ASSERT_STRING_EQUAL(a, b);
        free(text);
    }
    free(now);
}

static const struct strait_test tests[] = {
    {"docs/settings.md holds every setting, its range and its default", settings_page},
};
STRAIT_SUITE("docs/settings_page", tests);
