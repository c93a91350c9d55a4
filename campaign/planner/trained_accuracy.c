#include "trained_accuracy.h"

#include <math.h>
#include "analysis/fields.h"
#include "analysis/store.h"
#include "analysis/tradeoff.h"
#include "analysis/training/spread.h"
#include "why.h"

enum { LAST = 3 };

/* Mean of the last evaluations; deviation: theirs, NAN of fewer than two. */
static double last_mean(double *deviation, const json_t *accuracy)
{
    const size_t n_all = json_array_size(accuracy), n = n_all < LAST ? n_all : LAST;
    double sum = 0, squares = 0;
    for (size_t i = n_all - n; i < n_all; i++)
        sum += json_number_value(json_array_get(accuracy, i));
    const double mean = sum / (double)n;
    for (size_t i = n_all - n; i < n_all; i++)
        squares += pow(json_number_value(json_array_get(accuracy, i)) - mean, 2);
    *deviation = n > 1 ? sqrt(squares / (double)(n - 1)) : NAN;
    return mean;
}

/* Rounds until the target; 0: never. Round i of the row is the i + 1st. */
static json_int_t rounds_to(const json_t *training, double target)
{
    const json_t *accuracy = json_object_get(training, "accuracy"),
                 *rounds = json_object_get(training, "rounds");
    for (size_t i = 0; i < json_array_size(accuracy); i++)
        if (json_number_value(json_array_get(accuracy, i)) >= target)
            return json_integer_value(json_array_get(rounds, i)) + 1;
    return 0;
}

static json_t *entry_of(const json_t *row, const json_t *point, const char *folder, double target)
{
    const json_t *training = json_object_get(row, "training"),
                 *over_seeds = json_object_get(json_object_get(training, "spread"), "accuracy");
    const size_t n_rounds = json_array_size(json_object_get(training, "accuracy"));
    const double n_seeds = strait_row_number(training, "seeds"),
                 sd = strait_row_number(over_seeds, "sd");
    double deviation, accuracy = last_mean(&deviation, json_object_get(training, "accuracy")),
                      spread = 2 * deviation;
    if (n_seeds > 1 && isfinite(sd)) {
        accuracy = strait_row_number(over_seeds, "mean");
        spread = strait_student_t((size_t)n_seeds - 1) * sd / sqrt(n_seeds);
    }
    json_t *entry = json_pack(
        "{s:O?, s:O?, s:f, s:I, s:o, s:{s:O, s:O, s:O}}", "codec", json_object_get(point, "codec"),
        "download_codec", json_object_get(point, "download_codec"), "accuracy", accuracy, "rounds",
        rounds_to(training, target), "source",
        json_sprintf("trained: %s, %zu rounds%s", folder, n_rounds,
                     n_seeds > 1 ? ", mean of its seeds" : ""),
        "of", "model", json_object_get(row, "model"), "strategy", json_object_get(row, "strategy"),
        "clients", json_object_get(row, "clients"));
    if (entry && isfinite(spread))
        json_object_set_new(entry, "spread", json_real(spread));
    return entry;
}

static int add_rows(json_t *entries, const struct strait_store *store, const char *folder,
                    double target, const char *where, struct strait_error *err)
{
    const size_t n_before = json_array_size(entries);
    json_t *rows = strait_store_rows(store), *row;
    size_t i;
    int failed = 0;
    json_array_foreach (rows, i, row) {
        const json_t *training = json_object_get(row, "training");
        if (failed || !json_is_true(json_object_get(row, "valid")) ||
            json_array_size(json_object_get(training, "accuracy")) == 0)
            continue;
        json_t *point = strait_why_point(NULL, NULL, store, row, err);
        failed =
            !point || json_array_append_new(entries, entry_of(row, point, folder, target)) != 0;
        json_decref(point);
    }
    json_decref(rows);
    if (!failed && json_array_size(entries) == n_before)
        return strait_refuse(
            err, where, "expected results of runs that trained for real, found none in \"%.200s\"",
            folder);
    return failed ? strait_error_memory(err, where) : 0;
}

int strait_trained_accuracy_add(json_t *entries, const char *folder, double target,
                                const char *where, struct strait_error *err)
{
    struct strait_store *store;
    if (strait_store_open(&store, folder, false, err) != 0)
        return -1;
    const int failed = add_rows(entries, store, folder, target, where, err);
    strait_store_free(store);
    return failed;
}
