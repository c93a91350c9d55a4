/* Which points of a sweep train the same. */
#include <jansson.h>
#include "campaign/session.h"
#include "tests/kit/suite.h"

static json_t *point(const char *model, const char *codec, int clients)
{
    json_t *p = json_pack("{s:{s:s}, s:{s:s}, s:s, s:i}", "training", "task", "fashion-mlp",
                          "strategy", "name", "grace", "codec", codec, "clients", clients);
    if (model)
        json_object_set_new(p, "model", json_string(model));
    return p;
}

/* Codecs are not asked; and a point that names no model is like another that names none. */
static void alike(void)
{
    static const struct {
        const char *model_a, *model_b;
        int clients_a, clients_b;
        bool alike;
    } cases[] = {
        {NULL, NULL, 4, 4, true},   {"cnn", "cnn", 4, 4, true},          {NULL, "cnn", 4, 4, false},
        {"cnn", NULL, 4, 4, false}, {"cnn", "fashion-mlp", 4, 4, false}, {NULL, NULL, 4, 5, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *a = point(cases[i].model_a, "none", cases[i].clients_a),
               *b = point(cases[i].model_b, "topk", cases[i].clients_b);
        strait_test_context("case %zu", i);
        CU_ASSERT_EQUAL(strait_session_trains_alike(a, b), cases[i].alike);
        CU_ASSERT_FALSE(strait_session_trains_alike(a, NULL)); /* the first point */
        json_decref(a);
        json_decref(b);
    }
}

static const struct strait_test tests[] = {
    {"points train alike that differ in their codecs alone, with a model or without", alike},
};
STRAIT_SUITE("campaign/session_alike", tests);
