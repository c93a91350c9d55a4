/* Which picture fits rows where nobody says which: what they differ in tells. */
#include "plot_default.h"
#include <string.h>
#include "analysis/compare.h"
#include "analysis/fields.h"
#include "analysis/grid.h"
#include "analysis/plot/plot.h"

enum { MAX_SCALING_PANELS = 12, MIN_RATES = 3 };

bool strait_rows_differ(const json_t *rows, const char *key)
{
    size_t i;
    json_t *row;
    const json_t *first = json_object_get(json_array_get(rows, 0), key);
    json_array_foreach (rows, i, row)
        if (!json_equal(json_object_get(row, key), first))
            return true;
    return false;
}

bool strait_rows_are_scaling(const json_t *all)
{
    struct strait_grid *grid;
    json_t *rows = strait_rows_select(all, "", NULL);
    bool is_compared = false;
    if (strait_grid_new(&grid, rows, NULL) == 0) {
        for (size_t c = 0; c < grid->n_codecs; c++)
            is_compared |= grid->codecs[c].is_plain;
        is_compared = is_compared && grid->n_codecs > 1 && grid->n_settings <= MAX_SCALING_PANELS;
        strait_grid_free(grid);
    }
    json_decref(rows);
    return strait_rows_differ(all, "clients") && is_compared;
}

int strait_rows_trained_y(const json_t *rows)
{
    bool has_accuracy = true, has_loss = true;
    size_t i;
    json_t *row;
    json_array_foreach (rows, i, row) {
        const json_t *final = json_object_get(json_object_get(row, "training"), "final");
        has_accuracy = has_accuracy && json_is_number(json_object_get(final, "accuracy"));
        has_loss = has_loss && json_is_number(json_object_get(final, "loss"));
    }
    return json_array_size(rows) == 0 ? -1
           : has_accuracy             ? STRAIT_PLOT_ACCURACY
           : has_loss                 ? STRAIT_PLOT_LOSS
                                      : -1;
}

static const char *task_of(const json_t *row)
{
    return strait_text_of(json_object_get(row, "training"), "task");
}

bool strait_rows_have_tasks(const json_t *rows)
{
    size_t i;
    json_t *row;
    json_array_foreach (rows, i, row)
        if (strcmp(task_of(row), task_of(json_array_get(rows, 0))) != 0)
            return true;
    return false;
}

/* The learning rate of a row whose experiment varies it; NULL: it does not. */
static const json_t *rate_of(const json_t *row)
{
    const json_t *labels = json_object_get(row, "labels"),
                 *rate = json_object_get(labels, "/training/lr");
    return rate ? rate : json_object_get(json_object_get(labels, "/training"), "lr");
}

bool strait_rows_are_search(const json_t *rows)
{
    size_t i, n_rates = 0;
    json_t *row;
    json_array_foreach (rows, i, row) {
        bool is_new = json_is_number(rate_of(row));
        for (size_t k = 0; k < i; k++) {
            const json_t *other = json_array_get(rows, k);
            is_new = is_new && !json_equal(rate_of(other), rate_of(row));
            if (strcmp(task_of(other), task_of(row)) == 0 &&
                !json_equal(json_object_get(other, "bytes"), json_object_get(row, "bytes")))
                return false;
        }
        n_rates += is_new;
    }
    return n_rates >= MIN_RATES;
}

size_t strait_rows_n_codecs(const json_t *rows)
{
    json_t *keys = json_object();
    size_t i;
    json_t *row;
    json_array_foreach (rows, i, row)
        json_object_set_new(keys, strait_text_of(row, "codec_key"), json_true());
    const size_t n = json_object_size(keys);
    json_decref(keys);
    return n;
}
