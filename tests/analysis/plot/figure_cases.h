/* Columns to draw, and what their figure says. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include "analysis/plot/figure.h"
#include "tests/kit/suite.h"

static inline json_t *column(const char *rate, int clients, const char *codec, double round_s)
{
    char point[128];
    snprintf(point, sizeof(point), "%s %d %s", rate, clients, codec);
    return json_pack(
        "{s:{s:s, s:i, s:s}, s:{s:f, s:f, s:f, s:f, s:f}, s:{s:s}, s:{s:s, s:b, s:s, s:s, s:{s:s, "
        "s:i, s:s}}}",
        "settings", "/network/client/rate", rate, "/clients", clients, "/codec/name", codec,
        "numbers", "/round_s", round_s, "/interval_s/0", 0.5 * round_s, "/interval_s/1",
        2 * round_s, "/path_s/compute", 1.0, "/path_s/transfer", round_s - 1, "labels", "/codec",
        codec, "row", "title", "T", "valid", 1, "point", point, "backend", "fluid", "labels",
        "/network/client/rate", rate, "/clients", clients, "/codec", codec);
}

static inline json_t *figure_of(json_t *columns, const struct strait_figure_question *q)
{
    struct strait_error err = {0};
    json_t *figure = strait_figure(columns, q, NULL, &err);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(figure);
    json_decref(columns);
    return figure;
}

static inline const json_t *panel(const json_t *figure, size_t i)
{
    return json_array_get(json_object_get(figure, "panels"), i);
}

static inline const json_t *line(const json_t *figure, size_t i, size_t k)
{
    return json_array_get(json_object_get(panel(figure, i), "lines"), k);
}

static inline void same(const json_t *found, const char *key, const char *expected)
{
    char *text = json_dumps(json_object_get(found, key),
                            JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9));
    CU_ASSERT_STRING_EQUAL(text ? text : "nothing", expected);
    free(text);
}

static inline void refused(json_t *columns, const struct strait_figure_question *q,
                           const char *expected)
{
    struct strait_error err = {0};
    json_t *figure = strait_figure(columns, q, NULL, &err);
    CU_ASSERT_PTR_NULL(figure);
    CU_ASSERT_CONTAINS(err.text, expected);
    json_decref(figure);
    json_decref(columns);
}
