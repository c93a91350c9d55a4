#include "tables.h"
#include <stdlib.h>
#include <string.h>
#include "core/process.h"

enum { TABLE_BYTES = 65536, MAX_WORDS = 2 };
static const double LIMIT_S = 10;

json_t *strait_help_table(const char *const *words, size_t n_words, struct strait_error *err)
{
    const char *argv[MAX_WORDS + 3] = {"/proc/self/exe"};
    size_t n = 1;
    json_error_t why;
    struct strait_error failure = {0};
    char *text = malloc(TABLE_BYTES);
    json_t *table = NULL;
    if (!text) {
        strait_error_memory(err, "help");
        return NULL;
    }
    for (size_t i = 0; i < n_words && i < MAX_WORDS; i++)
        argv[n++] = words[i];
    argv[n] = "--help=json";
    if (strait_process_run(text, TABLE_BYTES, argv, NULL, LIMIT_S, &failure) == 0)
        table = json_loads(text, 0, &why);
    if (!table) { /* its complaint begins with the program's name */
        const size_t n_name = strncmp(failure.text, "strait: ", 8) == 0 ? 8 : 0;
        strait_error_set(err, STRAIT_ERR_USAGE, "help", "%s",
                         *failure.text ? failure.text + n_name
                                       : "expected a command with a table of options");
    }
    free(text);
    return table;
}
