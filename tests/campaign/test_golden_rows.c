/* Whole rows of many small points: all strategies with settings that are not the defaults, odd
 * networks, codecs, live training. tests/golden/rows/NAME.json is an experiment, NAME.BACKEND its
 * rows, one a line, of each field one sum: its numbers times their places, plus a sum of its texts.
 * `make golden-runs` adds those of new points at the end, with CHANGED=1 it writes all anew. What a
 * field is worth is held by closed forms elsewhere; here, that none changes unseen. */
#include <math.h>
#include <stdio.h>
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

static void rows_of(const char *name, const char *backend)
{
    struct program p;
    char file[256], *line = NULL, *rest;
    size_t cap = 0, n = 0;
    const char *const write = getenv("STRAIT_WRITE_GOLDEN");
    const bool all_anew = write && strcmp(write, "all") == 0;
    program_set_up(&p);
    strait_test_context("%s on %s", name, backend);
    snprintf(file, sizeof(file), "tests/golden/rows/%s.json", name);
    struct said s = PROGRAM_CALL(&p, "run", DATA(file), "--on", backend, "--json", "-j", "1",
                                 "--no-break-even", "--out", "out");
    CU_ASSERT_EQUAL(s.status, 0);
    snprintf(file, sizeof(file), "tests/golden/rows/%s.%s", name, backend);
    FILE *f = fopen(DATA(file), all_anew ? "w" : write ? "r+" : "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    for (char *at = strtok_r(s.out, "\n", &rest); at; at = strtok_r(NULL, "\n", &rest), n++) {
        json_t *row = json_loads(at, 0, NULL), *found = kept_of(row);
        CU_ASSERT_PTR_NOT_NULL_FATAL(row);
        if (!all_anew && getline(&line, &cap, f) > 0) {
            compare(line, n + 1, found, strcmp(name, "live") == 0 || strcmp(name, "scored") == 0);
        } else if (write) {
            fseek(f, 0, SEEK_CUR); /* what was read to the end is now written */
            json_dumpf(found, f, JSON_COMPACT | JSON_REAL_PRECISION(12));
            fputc('\n', f);
        } else {
            CU_FAIL("there are more rows than lines");
        }
        json_decref(found);
        json_decref(row);
    }
    CU_ASSERT(n > 0);
    CU_ASSERT(write || getline(&line, &cap, f) < 0);
    free(line);
    CU_ASSERT_EQUAL(fclose(f), 0);
    said_release(&s);
    program_tear_down(&p);
}

static void strategies(void)
{
    rows_of("strategies", "fluid");
    rows_of("strategies", "sim");
}

/* Losses, queues, jitter, rates that change and other traffic, under each congestion control. Packets
 * take the same code on both backends: sim's rows of them are those of "networks". */
static void packets(void)
{
    rows_of("packets", "fluid");
    rows_of("noisy", "fluid");
}

static void networks(void)
{
    rows_of("networks", "fluid");
    rows_of("networks", "sim");
}

static void codecs(void)
{
    rows_of("codecs", "fluid");
}

static void live(void)
{
    rows_of("live", "fluid");
    rows_of("scored", "fluid");
}

static const struct strait_test tests[] = {
    {"rows of all strategies with other settings are what they were", strategies},
    {"rows of odd networks are what they were", networks},
    {"rows of networks that are simulated packet by packet stay as they are", packets},
    {"rows of codecs are what they were", codecs},
    {"rows of trained points are what they were", live},
};
STRAIT_SUITE_WITH("campaign/golden_rows", tests, .slow_s = 4, .release = true);
