/* Fields of CSV. */
#include "csv_fields.h"

#include <stdlib.h>
#include <string.h>

enum { DIGITS_CHARS = 40 };

static void put_text(FILE *out, const char *text)
{
    if (!text[strcspn(text, ",\"\r\n")]) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void put_real(FILE *out, double value)
{
    char buf[DIGITS_CHARS];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buf, sizeof(buf), "%.*g", digits, value);
        if (strtod(buf, NULL) == value)
            break;
    }
    fputs(buf, out);
}

void strait_csv_put(FILE *out, const json_t *value)
{
    if (!value || json_is_null(value))
        return;
    if (json_is_integer(value)) {
        fprintf(out, "%lld", (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        put_real(out, json_real_value(value));
    } else if (json_is_string(value)) {
        put_text(out, json_string_value(value));
    } else {
        char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        put_text(out, text ? text : "");
        free(text);
    }
}
