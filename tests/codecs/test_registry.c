/* The table of codecs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "codecs/codec.h"
#include "tests/kit/data.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

static void table_is_sound(void)
{
    size_t n;
    const struct strait_codec_ops *const *codecs = strait_codecs(&n);
    CU_ASSERT_FATAL(n >= 4);
    for (size_t i = 0; i < n; i++) {
        CU_ASSERT(codecs[i]->id >= 1 && codecs[i]->id <= 255);
        CU_ASSERT_PTR_EQUAL(strait_codec_find(codecs[i]->name), codecs[i]);
        CU_ASSERT_PTR_EQUAL(strait_codec_by_id(codecs[i]->id), codecs[i]);
        CU_ASSERT_EQUAL((codecs[i]->flags & STRAIT_CODEC_BOUNDED) != 0,
                        (codecs[i]->bounds & ~(1u << STRAIT_BOUND_NONE)) != 0);
    }
    CU_ASSERT_PTR_NULL(strait_codec_find("sz9"));
    CU_ASSERT_PTR_NULL(strait_codec_by_id(200));
}

/* Every strait_codec_NAME that the header declares is in the table: one that is forgotten there is
 * built, and nobody can use it. */
static void declared_are_listed(void)
{
    static const char prefix[] = "strait_codec_";
    size_t n_listed, n_declared = 0;
    char *text = folder_text(DATA(""), "codecs/builtin.h");
    strait_codecs(&n_listed);
    for (char *at = text; (at = strstr(at, prefix));) {
        char name[64];
        at += strlen(prefix);
        CU_ASSERT_EQUAL_FATAL(sscanf(at, "%63[a-z0-9_]", name), 1);
        if (strcmp(name, "ops") == 0)
            continue;
        strait_test_context("codecs/builtin.h declares strait_codec_%s", name);
        CU_ASSERT_PTR_NOT_NULL(strait_codec_find(name));
        n_declared++;
    }
    strait_test_context(NULL);
    CU_ASSERT_EQUAL(n_declared, n_listed);
    free(text);
}

static const struct strait_test tests[] = {
    {"every codec has its own name, id and kind of guarantee", table_is_sound},
    {"every codec that is declared is in the table", declared_are_listed},
};
STRAIT_SUITE("codecs/registry", tests);
