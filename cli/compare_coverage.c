/* Coverage of intervals, on the screen and as the table that intervals are made of. */
#include "cli/compare_coverage.h"

#include <limits.h>
#include <stdio.h>
#include "analysis/fields.h"
#include "analysis/intervals/coverage.h"
#include "analysis/store.h"
#include "analysis/table.h"
#include "cli/kit/command.h"
#include "core/shipped.h"
#include "cli/kit/results.h"

/* Every row in a folder, whichever run it is of; a new reference, or NULL with *err. */
static json_t *all_rows(const char *folder, struct strait_error *err)
{
    struct strait_store *store;
    if (strait_results_open(&store, folder, err) != 0)
        return NULL;
    json_t *rows = json_deep_copy(strait_store_records(store));
    strait_store_free(store);
    return rows;
}

static double percent(const json_t *group, const char *of, const char *key)
{
    return 100 * strait_row_number(of ? json_object_get(group, of) : group, key);
}

static void put_group(struct strait_table *t, const json_t *group)
{
    static const char *const figures[] = {"mean", "median", "p90", "p95", "worst"};
    strait_table_cell(t, strait_text_of(group, "of"));
    strait_table_cellf(t, "%d", (int)json_integer_value(json_object_get(group, "settings")));
    strait_table_cellf(t, "%.0f", percent(group, NULL, "covered"));
    strait_table_cellf(t, "%.1f", percent(group, "width", "mean"));
    strait_table_cellf(t, "%.1f", percent(group, "width", "median"));
    for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
        strait_table_cellf(t, "%.1f", percent(group, "round", figures[i]));
    strait_table_cellf(t, "%.1f", percent(group, "rest", "mean"));
    strait_table_cellf(t, "%.1f", percent(group, "rest", "p95"));
}

static void put_worst(FILE *out, const json_t *worst)
{
    size_t i;
    json_t *one;
    fputs("\nThe worst:\n", out);
    json_array_foreach (worst, i, one)
        fprintf(out, "  %+6.1f %%  %s, %s, %d clients: %.4g s predicted, %.4g s measured%s\n",
                100 * strait_row_number(one, "error"), strait_text_of(one, "title"),
                strait_text_of(one, "model"),
                (int)json_integer_value(json_object_get(one, "clients")),
                strait_row_number(one, "round_s"), strait_row_number(one, "measured_s"),
                json_is_true(json_object_get(one, "covered")) ? "" : ", outside");
}

static int show(FILE *out, const json_t *coverage, struct strait_error *err)
{
    static const char *const titles[] = {"settings",
                                         "of them",
                                         "in interval %",
                                         "width %",
                                         "median",
                                         "error %: mean",
                                         "median",
                                         "p90",
                                         "p95",
                                         "worst",
                                         "without compute: mean",
                                         "p95"};
    struct strait_table *t = strait_table_new();
    size_t i;
    json_t *group;
    strait_prose(out,
                 "Measured rounds inside of the predicted %.0f %% intervals, and errors of the "
                 "predicted round and of it without its compute, %% of what was measured.",
                 100 * strait_row_number(coverage, "level"));
    fputs("\n", out);
    for (size_t c = 0; c < sizeof(titles) / sizeof(*titles); c++)
        strait_table_column(t, titles[c], c > 0);
    json_array_foreach (json_object_get(coverage, "groups"), i, group)
        put_group(t, group);
    if (strait_table_finish(t, out, err) != 0)
        return -1;
    const int n_invalid = (int)json_integer_value(json_object_get(coverage, "invalid")),
              n_learned = (int)json_integer_value(json_object_get(coverage, "learned"));
    put_worst(out, json_object_get(coverage, "worst"));
    if (n_learned > 0)
        strait_prose(out, "Not judged: %d settings that the intervals were learned on.", n_learned);
    if (n_invalid > 0)
        strait_prose(out, "Not judged: %d settings whose measurement is INVALID.", n_invalid);
    return 0;
}

static int write_table(const char *path, const json_t *lines, struct strait_error *err)
{
    FILE *f = fopen(path, "we");
    size_t i;
    json_t *line;
    if (!f)
        return strait_error_system(err, path, "cannot write");
    fprintf(f, "# What intervals are learned from: strait compare --coverage --learn.\n%s\n",
            strait_learned_header);
    json_array_foreach (lines, i, line)
        fprintf(f, "%s\n", json_string_value(line));
    const bool failed = ferror(f) != 0;
    if (fclose(f) != 0 || failed)
        return strait_error_system(err, path, "cannot write");
    return 0;
}

int strait_compare_coverage(const char *const folders[2], const char *table, bool json, bool *kept,
                            struct strait_error *err)
{
    char path[PATH_MAX];
    struct strait_learned learned = {0};
    json_t *predicted = NULL, *measured = NULL, *coverage = NULL;
    int status = -1;
    strait_share_path(path, sizeof(path), STRAIT_LEARNED_FILE);
    if (!table && strait_learned_load(&learned, path, err) != 0)
        goto out;
    predicted = all_rows(folders[0], err);
    measured = predicted && folders[1] ? all_rows(folders[1], err) : NULL;
    if (!predicted || (folders[1] && !measured))
        goto out;
    coverage = strait_coverage(predicted, measured, table ? NULL : &learned, err);
    if (!coverage)
        goto out;
    const double covered = strait_row_number(coverage, "covered");
    *kept = !(covered < STRAIT_COVERAGE_MIN);
    status = table ? write_table(table, json_object_get(coverage, "table"), err) : 0;
    if (status == 0 && json)
        strait_command_print_json(coverage);
    else if (status == 0)
        status = show(stdout, coverage, err);
out:
    strait_learned_release(&learned);
    json_decref(predicted);
    json_decref(measured);
    json_decref(coverage);
    return status;
}
