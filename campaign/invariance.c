#include "core/heap.h"
#include "invariance.h"
#include <math.h>
#include <stdlib.h>
#include "analysis/row.h"

/* A larger difference between a run and one at twice its dilation means that the host distorted one
 * of them. */
static const double INVARIANCE_RATIO = 0.02;

static double median_round_s(const json_t *row)
{
    const json_t *rounds = json_object_get(row, "rounds_s");
    const size_t n = json_array_size(rounds);
    double *all = calloc(n + 1, sizeof(*all)), median_s = NAN;
    for (size_t i = 0; all && i < n; i++)
        all[i] = json_number_value(json_array_get(rounds, i));
    if (all && n > 0) {
        median_s = strait_median(all, n);
    }
    free(all);
    return median_s;
}

double strait_invariance_dilation(const json_t *row)
{
    return json_number_value(json_object_get(json_object_get(row, "report"), "dilation"));
}

static json_t *reason(const json_t *again, bool valid, double s, double again_s, double k)
{
    if (valid)
        return json_sprintf("a median round took %.4g s at dilation %g and %.4g s at %g, expected "
                            "at most %.0f %% between them",
                            s, k, again_s, 2 * k, 100 * INVARIANCE_RATIO);
    const json_t *first = json_array_get(json_object_get(again, "invalid"), 0);
    return json_sprintf("the check at dilation %g was invalid itself: %s", 2 * k,
                        json_string_value(first));
}

void strait_invariance_note(json_t *row, const json_t *again)
{
    const double k = strait_invariance_dilation(row);
    const double s = median_round_s(row), again_s = median_round_s(again);
    const bool valid = json_is_true(json_object_get(again, "valid"));
    json_object_set_new(row, "invariance",
                        json_pack("{s:f, s:o, s:b, s:o}", "dilation", 2 * k, "round_s",
                                  strait_json_number(again_s), "valid", valid, "relative",
                                  strait_json_number(again_s / s - 1)));
    if (valid && fabs(again_s / s - 1) <= INVARIANCE_RATIO)
        return;
    json_array_append_new(json_object_get(row, "invalid"), reason(again, valid, s, again_s, k));
    json_object_set_new(row, "valid", json_false());
}
