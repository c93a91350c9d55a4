#include "spread.h"
#include "core/json.h"

#include <math.h>
#include <stdbool.h>

/* Where a row has a figure: up to three keys, one inside of the other. */
static const struct {
    const char *name;
    const char *path[3];
} figures[] = {
    {"accuracy", {"training", "final", "accuracy"}},
    {"loss", {"training", "final", "loss"}},
    {"clients_sd", {"training", "clients", "sd"}},
    {"clients_least", {"training", "clients", "least"}},
    {"clients_jain", {"training", "clients", "jain"}},
    {"time_s", {"total_s"}},
    {"bytes", {"bytes", "payload"}},
    {"reached_round", {"training", "reached", "round"}},
    {"reached_s", {"training", "reached", "time_s"}},
    {"reached_bytes", {"training", "reached", "bytes"}},
};
enum { N_FIGURES = sizeof(figures) / sizeof(figures[0]), MAX_PATH = 3 };

static double figure_of(const json_t *row, const char *const *path)
{
    for (int i = 0; i < MAX_PATH && path[i] && row; i++)
        row = json_object_get(row, path[i]);
    return json_is_number(row) ? json_number_value(row) : NAN;
}

/* The sample's: over n - 1. */
static json_t *spread_of(const json_t *rows, const char *const *path)
{
    const double n = (double)json_array_size(rows);
    double sum = 0, squares = 0, least = INFINITY, most = -INFINITY;
    json_t *each = json_array();
    size_t i;
    json_t *row;
    json_array_foreach ((json_t *)rows, i, row) {
        const double value = figure_of(row, path);
        json_array_append_new(each, strait_json_number(value));
        sum += value;
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    json_array_foreach ((json_t *)rows, i, row)
        squares += pow(figure_of(row, path) - sum / n, 2);
    const bool all = isfinite(sum);
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "mean", strait_json_number(sum / n), "sd",
                     strait_json_number(n > 1 ? sqrt(squares / (n - 1)) : NAN), "least",
                     strait_json_number(all ? least : NAN), "most",
                     strait_json_number(all ? most : NAN), "each", each);
}

bool strait_training_spread(json_t *row, const json_t *rows)
{
    json_t *training = json_object_get(row, "training"), *spread = json_object();
    size_t i;
    json_t *other;
    bool fits = spread != NULL;
    for (int k = 0; k < N_FIGURES; k++)
        fits &= json_object_set_new(spread, figures[k].name, spread_of(rows, figures[k].path)) == 0;
    fits &= json_object_set_new(training, "seeds",
                                json_integer((json_int_t)json_array_size(rows))) == 0;
    fits &= json_object_set_new(training, "spread", spread) == 0;
    json_array_foreach ((json_t *)rows, i, other) {
        if (i == 0 || json_is_true(json_object_get(other, "valid")))
            continue;
        json_object_set_new(row, "valid", json_false());
        json_array_extend(json_object_get(row, "invalid"), json_object_get(other, "invalid"));
    }
    return fits;
}

/* Student's t, 97.5 %, by degrees of freedom; above the last, the normal distribution's. */
double strait_student_t(size_t n_free)
{
    static const double table[] = {NAN,   12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
                                   2.306, 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
                                   2.120, 2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069,
                                   2.064, 2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
    return n_free < sizeof(table) / sizeof(*table) ? table[n_free] : 1.96;
}
