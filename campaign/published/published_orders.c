/* Orders, winners and errors over groups of rows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/heap.h"
#include "analysis/fields.h"
#include "analysis/row.h"
#include "published.h"

/* Published figures closer than this, or within one standard deviation of their difference, count
 * as equal. */
static const double NEAR_RATIO = 0.02;

static bool are_near(const json_t *a, const json_t *b)
{
    const double difference =
        fabs(strait_row_number(a, "published") - strait_row_number(b, "published"));
    return difference <= NEAR_RATIO * fabs(strait_row_number(b, "published")) ||
           difference <= hypot(strait_row_number(a, "spread"), strait_row_number(b, "spread"));
}

/* --- errors ------------------------------------------------------------------------------- */

/* Median and largest of |ours / published - 1| over the counted rows; NULL: none. */
static json_t *errors_of(const json_t *rows)
{
    const size_t n_rows = json_array_size(rows);
    double *sizes = calloc(n_rows + 1, sizeof(*sizes)), worst = 0;
    const char *worst_claim = NULL;
    size_t n = 0, i;
    json_t *row, *errors = NULL;
    json_array_foreach (rows, i, row) {
        const double relative = strait_row_number(row, "relative");
        if (!sizes || !strait_published_counts(row) || isnan(relative))
            continue;
        sizes[n++] = fabs(relative);
        if (!worst_claim || fabs(relative) > fabs(worst)) {
            worst = relative;
            worst_claim = strait_text_of(row, "claim");
        }
    }
    if (n > 0) {
        const double median = strait_median(sizes, n);
        errors = json_pack("{s:i, s:f, s:f, s:s}", "rows", (int)n, "median", median, "worst", worst,
                           "worst_claim", worst_claim);
    }
    free(sizes);
    return errors ? errors : json_null();
}

/* --- orders ------------------------------------------------------------------------------- */

/* The reason of the row with the larger error; if it has none, of the other. */
static json_t *reason_of(const json_t *a, const json_t *b)
{
    const bool first =
        fabs(strait_row_number(a, "relative")) >= fabs(strait_row_number(b, "relative"));
    const json_t *reason = json_object_get(first ? a : b, "reason");
    if (!json_is_string(reason))
        reason = json_object_get(first ? b : a, "reason");
    return json_incref((json_t *)reason);
}

static bool is_suspect(const json_t *row)
{
    return json_is_string(json_object_get(row, "suspect"));
}

/* Check a pair published as low < high. Returns: whether it is one */
static bool check_pair(json_t *broken, const json_t *low, const json_t *high)
{
    const double published[2] = {strait_row_number(low, "published"),
                                 strait_row_number(high, "published")},
                 ours[2] = {strait_row_number(low, "ours"), strait_row_number(high, "ours")};
    if (are_near(low, high) || is_suspect(low) || is_suspect(high))
        return false;
    if (ours[0] < ours[1])
        return true;
    const bool even = !(fabs(ours[0] - ours[1]) > 1e-9 * fabs(ours[1]));
    json_t *pair = json_pack("{s:s, s:s, s:[f, f], s:b}", "low", strait_text_of(low, "claim"),
                             "high", strait_text_of(high, "claim"), "published", published[0],
                             published[1], "even", even);
    json_object_set_new(
        pair, "ours",
        json_pack("[o, o]", strait_json_number(ours[0]), strait_json_number(ours[1])));
    json_object_set_new(pair, "reason", reason_of(low, high));
    json_array_append_new(broken, pair);
    return true;
}

static json_t *broken_of(const json_t *members, int *n_pairs)
{
    json_t *broken = json_array();
    *n_pairs = 0;
    for (size_t i = 0; i < json_array_size(members); i++)
        for (size_t k = i + 1; k < json_array_size(members); k++) {
            const json_t *a = json_array_get(members, i), *b = json_array_get(members, k);
            const bool up = strait_row_number(a, "published") < strait_row_number(b, "published");
            *n_pairs += check_pair(broken, up ? a : b, up ? b : a);
        }
    return broken;
}

/* The best of a column: the smallest, or the largest if it is a rate. */
static const json_t *best_of(const json_t *members, const char *column)
{
    const json_t *best = NULL;
    size_t i;
    json_t *row;
    json_array_foreach (members, i, row) {
        const bool rate = strstr(json_string_value(json_object_get(row, "unit")), "/s") != NULL;
        const double x = strait_row_number(row, column),
                     least = best ? strait_row_number(best, column) : NAN;
        if (!isnan(x) && (!best || (rate ? x > least : x < least)))
            best = row;
    }
    return best;
}

static json_t *order_of(const char *group, const json_t *members)
{
    int n_pairs;
    json_t *broken = broken_of(members, &n_pairs);
    const json_t *published = best_of(members, "published"), *ours = best_of(members, "ours");
    /* ours may be any row that ties with the winner */
    const bool same = ours && are_near(ours, published);
    return json_pack(
        "{s:s, s:O, s:i, s:i, s:b, s:{s:s, s:s?, s:b}, s:o, s:o}", "group", group, "case",
        json_object_get(json_array_get(members, 0), "case"), "rows", (int)json_array_size(members),
        "pairs", n_pairs, "kept", json_array_size(broken) == 0, "wins", "published",
        strait_text_of(published, "claim"), "ours", ours ? strait_text_of(ours, "claim") : NULL,
        "same", same, "errors", errors_of(members), "broken", broken);
}

/* Group rows by the text under a key, in order of first occurrence. */
static json_t *gather(const json_t *rows, const char *key)
{
    json_t *groups = json_object(), *row;
    size_t i;
    json_array_foreach (rows, i, row) {
        const char *name = json_string_value(json_object_get(row, key));
        if (name && !json_object_get(groups, name))
            json_object_set_new(groups, name, json_array());
        if (name)
            json_array_append(json_object_get(groups, name), row);
    }
    return groups;
}

json_t *strait_published_orders(const json_t *rows)
{
    json_t *groups = gather(rows, "group"), *orders = json_array(), *members;
    const char *name;
    json_object_foreach (groups, name, members)
        json_array_append_new(orders, order_of(name, members));
    json_decref(groups);
    return orders;
}

json_t *strait_published_errors(const json_t *rows)
{
    json_t *cases = gather(rows, "case"), *all = json_object(), *members;
    const char *name;
    json_object_foreach (cases, name, members)
        json_object_set_new(all, name, errors_of(members));
    json_decref(cases);
    return all;
}
