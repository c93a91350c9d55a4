/* What a table prints, without what only lines it up. */
#pragma once
#include <stdio.h>
#include <string.h>
#include "tests/kit/suite.h"

enum { TEXT_BYTES = 65536 };
static char text[TEXT_BYTES];

static FILE *begin(void)
{
    memset(text, 0, sizeof(text));
    FILE *f = fmemopen(text, sizeof(text) - 1, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    return f;
}

/* What was printed, with one blank where there are many, none at the ends of lines and no rules. */
static const char *end(FILE *f)
{
    CU_ASSERT_EQUAL_FATAL(fclose(f), 0);
    char *to = text;
    for (const char *c = text; *c; c++) {
        const bool blank =
            *c == ' ' && (c[1] == ' ' || c[1] == '\n' || to == text || to[-1] == '\n');
        const bool rule = (unsigned char)*c >= 0x80 || *c == '-' ? c[1] == *c : false;
        if (!blank && !rule)
            *to++ = *c;
    }
    *to = '\0';
    return text;
}
