/* The commands of docs/lessons.md print what the page says: "strait run ... # 76.31 s". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include "lib/strait.h"
#include "tests/kit/data.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

enum { MAX_SETTINGS = 8, TEXT_CHARS = 1024 };

/* The next word of a shell's line, without its quotes; NULL at the end. */
static char *next_word(char **line)
{
    char *at = *line + strspn(*line, " \\\n");
    if (!*at)
        return NULL;
    const char quote = *at == '"' || *at == '\'' ? *at : '\0';
    char *word = quote ? at + 1 : at,
         *end = quote ? strchr(word, quote) : word + strcspn(word, " \n");
    *line = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

/* Run "run wan-scaling --on fluid --set ... # 76.31 s". */
static void check(char *command)
{
    const char *settings[MAX_SETTINGS + 1] = {NULL}, *told = NULL;
    size_t n = 0;
    strait_test_context("%s", command);
    for (char *word; !told && (word = next_word(&command));) {
        if (strcmp(word, "--set") == 0 && n < MAX_SETTINGS)
            settings[n++] = next_word(&command);
        else if (strcmp(word, "#") == 0)
            told = next_word(&command);
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(told);
    char *text;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(strait_predict(&text, "wan-scaling", "fluid", NULL, settings, &err), 0);
    json_t *rows = json_loads(text, 0, NULL);
    const json_t *row = json_array_get(rows, 0);
    /* Half of the last digit, of which there are two behind the point. */
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(row, "round_s")), atof(told), 0.005);
    json_decref(rows);
    strait_rows_free(text);
}

static void commands(void)
{
    static const char begin[] = "\n    strait run wan-scaling --on fluid ";
    char *page = folder_text(DATA("docs"), "lessons.md"), command[TEXT_CHARS];
    unsigned n = 0;
    for (char *at = page; (at = strstr(at, begin)); n++) {
        const char *end = strchr(strstr(at, "# "), '\n');
        CU_ASSERT_FATAL(end && end - at < TEXT_CHARS);
        at += sizeof(begin) - 1;
        snprintf(command, sizeof(command), "%.*s", (int)(end - at), at);
        check(command);
        at--; /* the line end may begin the next */
    }
    CU_ASSERT_EQUAL(n, 14);
    free(page);
}

static const struct strait_test tests[] = {
    {"every command of the lesson gives its figure", commands},
};
STRAIT_SUITE("serve/lessons", tests);
