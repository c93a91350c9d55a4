#include "claims.h"

#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include "analysis/fields.h"
#include "analysis/label.h"
#include "analysis/row.h"
#include "analysis/tradeoff.h"
#include "analysis/training/target.h"
#include "core/shipped.h"
#include "published.h"

/* --- rows of results ---------------------------------------------------------------------- */

/* "codec/name" of a row; NULL: it has none. */
static const json_t *at_path(const json_t *row, const char *path)
{
    char buf[128], *rest = buf;
    snprintf(buf, sizeof(buf), "%s", path);
    for (const char *key; row && (key = strsep(&rest, "/"));)
        row = json_object_get(row, key);
    return row;
}

static bool matches(const json_t *row, const json_t *where, const json_t *instead)
{
    const char *path;
    json_t *value;
    json_object_foreach ((json_t *)where, path, value)
        if (!json_object_get(instead, path) && !json_equal(at_path(row, path), value))
            return false;
    json_object_foreach ((json_t *)instead, path, value)
        if (!json_equal(at_path(row, path), value))
            return false;
    return true;
}

/* The row that a row is held against: alike in all that it is not searched by. */
static const json_t *partner_of(const json_t *row, const json_t *rows, const json_t *asked)
{
    static const char *const alike[] = {"model", "clients", "training/task", "training/seeds"};
    const json_t *where = json_object_get(asked, "where");
    size_t i;
    json_t *other;
    json_array_foreach (rows, i, other) {
        bool same = matches(other, where, json_object_get(asked, "against"));
        for (size_t k = 0; k < sizeof(alike) / sizeof(alike[0]) && same; k++)
            same = json_equal(at_path(row, alike[k]), at_path(other, alike[k]));
        if (same)
            return other;
    }
    return NULL;
}

/* --- the accuracy half -------------------------------------------------------------------- */

/* kept: no lower than without compression by more than seeds lie apart there, and not surely lower;
 * lost: surely lower; unclear: too few seeds to tell. */
static const char *state_of(double difference, double most, double spread)
{
    if (most < 0)
        return "lost";
    return difference >= -spread ? "kept" : "unclear";
}

/* Difference of two means over seeds with its 95 % interval; of degrees of freedom those of one
 * sample, which is the cautious choice for spreads that differ. NULL: fewer than 2 seeds. */
static json_t *accuracy_of(const json_t *row, const json_t *plain)
{
    const struct strait_spread a = strait_spread_of(row, "accuracy"),
                               b = strait_spread_of(plain, "accuracy");
    const double n = json_number_value(at_path(row, "training/seeds"));
    const double difference = a.mean - b.mean, error = sqrt((a.sd * a.sd + b.sd * b.sd) / n);
    if (n < 2 || !isfinite(error) || !isfinite(difference))
        return NULL;
    const double half = error * strait_student_t((size_t)n - 1);
    char *codec = strait_label_row_codec(row);
    json_t *out = json_pack("{s:s, s:f, s:[f, f], s:i, s:s?}", "state",
                            state_of(difference, difference + half, b.sd), "difference", difference,
                            "interval", difference - half, difference + half, "seeds", (int)n,
                            "codec", codec);
    free(codec);
    return out;
}

static bool is_state(const json_t *accuracy, const char *state)
{
    return strcmp(strait_text_of(accuracy, "state"), state) == 0;
}

static int rank_of(const json_t *accuracy)
{
    return is_state(accuracy, "kept") ? 2 : is_state(accuracy, "unclear") ? 1 : 0;
}

static bool is_as_claimed(const json_t *halves, double ours, double published)
{
    return strcmp(strait_text_of(halves, "sense"), "at most") == 0 ? ours <= published
                                                                   : ours >= published;
}

/* A row's figure of the first half; NAN: the rows are not asked for it. */
static double figure_of(const json_t *asked, const json_t *row)
{
    const char *metric = strait_text_of(asked, "metric");
    const json_t *value = *metric ? at_path(row, metric) : NULL;
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* Both halves come from one row: of those that keep the accuracy the one with the best figure; if
 * none does, the best of all. Where rows have no figure for the first half, the most accurate. */
static void search(json_t *claim, const json_t *halves, const json_t *rows)
{
    const json_t *asked = json_object_get(halves, "rows");
    double best = NAN;
    json_t *found = NULL, *row;
    size_t i;
    json_array_foreach (rows, i, row) {
        const json_t *plain = matches(row, json_object_get(asked, "where"), NULL)
                                  ? partner_of(row, rows, asked)
                                  : NULL;
        json_t *accuracy = plain ? accuracy_of(row, plain) : NULL;
        const double figure = figure_of(asked, row);
        const bool better = rank_of(accuracy) != rank_of(found) ? rank_of(accuracy) > rank_of(found)
                            : isnan(figure) ? strait_row_number(accuracy, "difference") >
                                                  strait_row_number(found, "difference")
                                            : is_as_claimed(halves, figure, best);
        if (accuracy && (!found || better)) {
            json_decref(found);
            found = json_incref(accuracy);
            best = figure;
        }
        json_decref(accuracy);
    }
    if (found && !isnan(best))
        json_object_set_new(claim, "ours", strait_json_number(best));
    json_object_set_new(claim, "accuracy",
                        found ? found : json_pack("{s:s}", "state", "not measured here"));
}

/* --- a claim ------------------------------------------------------------------------------ */

static void judge(json_t *claim, const json_t *rows)
{
    const json_t *halves = json_object_get(claim, "halves");
    const char *first = "not measured here", *verdict = "not measured here";
    if (json_object_get(halves, "rows"))
        search(claim, halves, rows);
    else
        json_object_set_new(
            claim, "accuracy",
            json_pack("{s:s}", "state",
                      *strait_text_of(halves, "accuracy") ? "not measured here" : "none claimed"));
    const json_t *ours = json_object_get(claim, "ours"),
                 *accuracy = json_object_get(claim, "accuracy");
    if (json_is_number(ours) && strcmp(strait_text_of(claim, "kind"), "from") == 0)
        first = json_is_true(json_object_get(claim, "reached")) ? "holds" : "fails";
    else if (json_is_number(ours))
        first =
            is_as_claimed(halves, json_number_value(ours), strait_row_number(claim, "published"))
                ? "holds"
                : "fails";
    if (strcmp(first, "fails") == 0 || is_state(accuracy, "lost"))
        verdict = "not reached";
    else if (is_state(accuracy, "unclear"))
        verdict = "unclear";
    else if (strcmp(first, "holds") == 0 && !is_state(accuracy, "not measured here"))
        verdict = "reached";
    json_object_set_new(claim, "first", json_string(first));
    json_object_set_new(claim, "verdict", json_string(verdict));
    json_object_set(claim, "commands", json_object_get(halves, "commands"));
    json_object_del(claim, "halves");
    json_object_del(claim, "reached"); /* it is of the first half alone */
}

json_t *strait_claims(const char *path, const json_t *rows, const struct strait_profile *profile,
                      int n_workers, struct strait_error *err)
{
    char shipped[4096];
    if (!path)
        path = strait_share_path(shipped, sizeof(shipped), "traces/claims.json");
    json_t *published = strait_published(path, NULL, 0, false, profile, n_workers, err);
    json_t *claims = published ? json_deep_copy(json_object_get(published, "rows")) : NULL, *claim;
    size_t i;
    json_decref(published);
    json_array_foreach (claims, i, claim)
        judge(claim, rows);
    return claims;
}
