/* What jansson refuses, in the words of all other errors. */
#include <string.h>
#include "json.h"
#include "names.h"

static const char NEAR[] = " near ", THE_END[] = "end of file";

/* What the parser's text begins with, and what was expected there. `found` NULL: the text that the
 * parser stopped at; SAID: the rest of what it said. */
struct phrase {
    const char *said, *expected, *found;
};
static const char SAID[] = "";

/* The parser names what closes an object or a list and not the comma that is missing more often. */
static const struct phrase phrases[] = {
    {"'}' expected", "',' or '}'", NULL},
    {"']' expected", "',' or ']'", NULL},
    {"string or '}' expected", "a name in double quotes", NULL},
    {"':' expected", "':' after a name", NULL},
    {"'[' or '{' expected", "an object or a list", NULL},
    {"end of file expected", "the end of the text", NULL},
    {"invalid token", "a value", NULL},
    {"unexpected token", "a value", NULL},
    {"duplicate object key", "each name once in an object", NULL},
    {"invalid escape", "an escape such as \\n or \\u00e9", NULL},
    {"real number overflow", "a number below 1.8e308", NULL},
    {"too big integer", "an integer of at most 64 bits", NULL},
    {"too big negative integer", "an integer of at most 64 bits", NULL},
    {"premature end of input", "a closing quote", "the end of the text"},
    {"unexpected newline", "a closing quote", "the end of the line"},
    {"maximum parsing depth reached", "less nesting", "more"},
    {"\\u0000 is not allowed", "a string without \\u0000", "one with it"},
    {"NUL byte in object key", "a name without \\u0000", "one with it"},
    {"unable to decode ", "UTF-8", SAID},
    {"invalid Unicode ", "an escape of one character", SAID},
    {"control character", "an escape such as \\n or \\t", "a control character"},
};

/* Add what the parser stopped at: strings as they stand, all else in its quotes. */
static void add_place(char *buf, size_t cap, const char *place)
{
    const size_t len = strlen(place);
    if (strcmp(place, THE_END) == 0)
        strait_text_add(buf, cap, ", found the end of the text");
    else if (len > 2 && place[1] == '"')
        strait_text_add(buf, cap, ", found %.*s", (int)(len - 2), place + 1);
    else
        strait_text_add(buf, cap, ", found %s", place);
}

const char *strait_json_syntax(char *buf, size_t cap, const json_error_t *why)
{
    const char *near = strstr(why->text, NEAR), *end = near ? near : strchr(why->text, '\0');
    *buf = '\0';
    for (size_t i = 0; i < sizeof(phrases) / sizeof(*phrases); i++) {
        const struct phrase *p = &phrases[i];
        const size_t n = strlen(p->said);
        if (strncmp(why->text, p->said, n) != 0)
            continue;
        strait_text_add(buf, cap, "expected %s", p->expected);
        if (p->found == SAID)
            strait_text_add(buf, cap, ", found %.*s", (int)(end - why->text - (ptrdiff_t)n),
                            why->text + n);
        else if (p->found)
            strait_text_add(buf, cap, ", found %s", p->found);
        else if (near)
            add_place(buf, cap, near + strlen(NEAR));
        return buf;
    }
    strait_text_add(buf, cap, "expected JSON: %s", why->text);
    return buf;
}
