#include "golden_rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include "tests/kit/data.h"
#include "tests/kit/program.h"

/* Sums of the same numbers in another order, logarithms of another C library; live training takes
 * single precision through these. */
static const double TOLERANCE_RATIO = 1e-9, LIVE_RATIO = 1e-6;

/* What names the row, or is of this run, machine and program alone. */
static bool is_left_out(const char *key)
{
    static const char *const out[] = {"key",     "point",     "setting_key", "codec_key", "machine",
                                      "profile", "constants", "wall_s",      "labels",    "stored"};
    for (size_t i = 0; i < sizeof(out) / sizeof(*out); i++)
        if (strcmp(key, out[i]) == 0)
            return true;
    return false;
}

/* Numbers below v times their places, from 1 on; texts and keys count by their bytes. */
static double folded(const json_t *v, double *place)
{
    const char *key;
    const json_t *of;
    size_t i;
    double sum = 0;
    if (json_is_object(v)) {
        json_object_foreach ((json_t *)v, key, of)
            sum += folded(of, place);
    } else if (json_is_array(v)) {
        json_array_foreach (v, i, of)
            sum += folded(of, place);
    } else if (json_is_number(v)) {
        sum = json_number_value(v) * ++*place;
    } else if (json_is_string(v)) {
        for (const char *c = json_string_value(v); *c; c++)
            sum += (unsigned char)*c * (double)(c - json_string_value(v) + 1);
        sum *= 1e-6 * ++*place;
    } else {
        sum = (json_is_true(v) ? 1 : json_is_null(v) ? -2 : -1) * ++*place;
    }
    return sum;
}

static json_t *kept_of(const json_t *row)
{
    const char *key;
    const json_t *of;
    json_t *out = json_object();
    json_object_foreach ((json_t *)row, key, of)
        if (!is_left_out(key))
            json_object_set_new(out, key, json_real(folded(of, &(double){0})));
    return out;
}

static void compare(const char *line, size_t at, const json_t *found, bool live)
{
    const char *key;
    const json_t *of;
    json_t *wanted = json_loads(line, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(wanted);
    CU_ASSERT_EQUAL(json_object_size(found), json_object_size(wanted));
    json_object_foreach (wanted, key, of) {
        const double w = json_number_value(of), f = json_number_value(json_object_get(found, key));
        const bool alike = fabs(f - w) <= (live ? LIVE_RATIO : TOLERANCE_RATIO) * fabs(w);
        if (!alike)
            fprintf(stderr, "line %zu, %s: expected %.17g, found %.17g\n", at, key, w, f);
        CU_ASSERT(alike);
    }
    json_decref(wanted);
}

void golden_open(struct golden *g, const char *name, const char *backend)
{
    char file[256];
    const char *const write = getenv("STRAIT_WRITE_GOLDEN");
    *g = (struct golden){.writes = write != NULL,
                         .all_anew = write && strcmp(write, "all") == 0,
                         .live = strcmp(name, "live") == 0 || strcmp(name, "scored") == 0 ||
                                 strcmp(name, "trained") == 0};
    snprintf(file, sizeof(file), "tests/golden/rows/%s.%s", name, backend);
    g->f = fopen(DATA(file), g->all_anew ? "w" : write ? "r+" : "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(g->f);
}

void golden_rows(struct golden *g, char *rows)
{
    char *rest;
    for (char *at = strtok_r(rows, "\n", &rest); at; at = strtok_r(NULL, "\n", &rest), g->n++) {
        json_t *row = json_loads(at, 0, NULL), *found = kept_of(row);
        CU_ASSERT_PTR_NOT_NULL_FATAL(row);
        if (!g->all_anew && getline(&g->line, &g->cap, g->f) > 0) {
            compare(g->line, g->n + 1, found, g->live);
        } else if (g->writes) {
            fseek(g->f, 0, SEEK_CUR); /* what was read to the end is now written */
            json_dumpf(found, g->f, JSON_COMPACT | JSON_REAL_PRECISION(12));
            fputc('\n', g->f);
        } else {
            CU_FAIL("there are more rows than lines");
        }
        json_decref(found);
        json_decref(row);
    }
}

void golden_close(struct golden *g)
{
    CU_ASSERT(g->n > 0);
    CU_ASSERT(g->writes || getline(&g->line, &g->cap, g->f) < 0);
    free(g->line);
    CU_ASSERT_EQUAL(fclose(g->f), 0);
}

void golden_rows_of(const char *name, const char *backend)
{
    struct program p;
    struct golden g;
    char file[256];
    program_set_up(&p);
    strait_test_context("%s on %s", name, backend);
    snprintf(file, sizeof(file), "tests/golden/rows/%s.json", name);
    struct said s = PROGRAM_CALL(&p, "run", DATA(file), "--on", backend, "--json", "-j", "1",
                                 "--no-break-even", "--out", "out");
    CU_ASSERT_EQUAL(s.status, 0);
    golden_open(&g, name, backend);
    golden_rows(&g, s.out);
    golden_close(&g);
    said_release(&s);
    program_tear_down(&p);
}
