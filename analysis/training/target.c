#include "target.h"
#include "core/names.h"
#include "spread.h"
#include "core/json.h"
#include <math.h>

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

struct strait_spread strait_spread_of(const json_t *row, const char *figure)
{
    const json_t *training = json_object_get(row, "training");
    const json_t *of = json_object_get(json_object_get(training, "spread"), figure);
    return (struct strait_spread){number_of(of, "mean"), number_of(of, "sd")};
}

struct strait_target strait_target_of(const json_t *row)
{
    const json_t *training = json_object_get(row, "training");
    const json_t *times =
        json_object_get(json_object_get(json_object_get(training, "spread"), "reached_s"), "each");
    struct strait_target t = {.asked = json_is_object(json_object_get(training, "until")),
                              .n_seeds = json_array_size(times),
                              .round = strait_spread_of(row, "reached_round"),
                              .time_s = strait_spread_of(row, "reached_s"),
                              .bytes = strait_spread_of(row, "reached_bytes")};
    for (size_t i = 0; i < t.n_seeds; i++)
        t.n_reached += json_is_number(json_array_get(times, i));
    return t;
}

static const json_t *each_of(const json_t *row)
{
    return json_object_get(
        json_object_get(json_object_get(json_object_get(row, "training"), "spread"), "reached_s"),
        "each");
}

/* Half of the 95 % interval of the mean logarithm of the ratios seed by seed: both rows have the
 * same seeds. NAN: fewer than two, or one without a target. */
static double half_log(const json_t *with, const json_t *without)
{
    const json_t *a = each_of(with), *b = each_of(without);
    const size_t n = json_array_size(a);
    double sum = 0, squares = 0;
    if (n < 2 || json_array_size(b) != n)
        return NAN;
    for (size_t i = 0; i < n; i++) {
        const double x =
            log(json_number_value(json_array_get(b, i)) / json_number_value(json_array_get(a, i)));
        sum += x;
        squares += x * x;
    }
    const double variance = fmax(0, squares - sum * sum / (double)n) / (double)(n - 1);
    return strait_student_t(n - 1) * sqrt(variance / (double)n);
}

json_t *strait_target_speedup(const json_t *with, const json_t *without)
{
    const struct strait_target a = strait_target_of(with), b = strait_target_of(without);
    const double times = b.time_s.mean / a.time_s.mean, half = half_log(with, without);
    if (!a.asked || !b.asked)
        return NULL;
    return json_pack("[O, o, o, o]", json_object_get(with, "clients"), strait_json_number(times),
                     strait_json_number(times * exp(-half)), strait_json_number(times * exp(half)));
}

/* Clients at which the line through figure i of two pairs crosses 1, in logarithms of both; -1
 * where it does so before the first, 1e9 where after the second; NAN where it is unknown. */
static double crossing(const json_t *before, const json_t *after, size_t i)
{
    const json_t *first = json_array_get(before, i), *second = json_array_get(after, i);
    const double n0 = log(json_number_value(json_array_get(before, 0))),
                 n1 = log(json_number_value(json_array_get(after, 0))),
                 t0 = log(json_number_value(first)), t1 = log(json_number_value(second));
    if (!json_is_number(first) || !json_is_number(second))
        return NAN;
    if (t0 > 0)
        return -1;
    return t1 <= 0 ? 1e9 : exp(n0 - t0 * (n1 - n0) / (t1 - t0));
}

/* ", between them from about 5.1 on (4.6 to 5.9)": what the count before and the first that pays
 * tell; or why they do not. */
static void put_crossing(char *buf, size_t cap, const json_t *speedups, long from)
{
    const json_t *before = NULL, *after = NULL;
    size_t i;
    json_t *pair;
    json_array_foreach (speedups, i, pair) {
        if (json_integer_value(json_array_get(pair, 0)) < from)
            before = pair;
        else if (!after)
            after = pair;
    }
    if (!before)
        return;
    const long least_n = (long)json_integer_value(json_array_get(before, 0));
    const double at = crossing(before, after, 1), least = crossing(before, after, 3),
                 most = crossing(before, after, 2);
    if (isnan(at)) {
        strait_text_add(buf, cap, ", between counts not known: no target in all seeds at %ld",
                        least_n);
        return;
    }
    strait_text_add(buf, cap, ", between counts from about %.3g", at);
    if (isnan(least) || isnan(most)) {
        strait_text_add(buf, cap, " (one seed: no interval)");
        return;
    }
    if (least < 0)
        strait_text_add(buf, cap, " (%ld or fewer to ", least_n);
    else
        strait_text_add(buf, cap, " (%.3g to ", least);
    if (most > 1e8)
        strait_text_add(buf, cap, "more than %ld)", from);
    else
        strait_text_add(buf, cap, "%.3g)", most);
}

static void put_counts(char *buf, size_t cap, const json_t *speedups, bool unknown)
{
    const char *comma = "";
    size_t i;
    json_t *pair;
    json_array_foreach (speedups, i, pair) {
        if (unknown && json_is_number(json_array_get(pair, 1)))
            continue;
        strait_text_add(buf, cap, "%s%lld", comma,
                        (long long)json_integer_value(json_array_get(pair, 0)));
        comma = ", ";
    }
}

const char *strait_target_pays_text(char *buf, size_t cap, const json_t *speedups)
{
    const size_t n = json_array_size(speedups);
    size_t n_known = 0, n_paying = 0;
    long from = -1;
    buf[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        const json_t *pair = json_array_get(speedups, i), *times = json_array_get(pair, 1);
        if (!json_is_number(times))
            continue;
        const bool pays = json_number_value(times) > 1;
        n_known++;
        n_paying += pays;
        if (!pays)
            from = -1;
        else if (from < 0)
            from = (long)json_integer_value(json_array_get(pair, 0));
    }
    if (n == 0)
        return buf;
    if (n_known == 0)
        strait_text_add(buf, cap, "unknown");
    else if (n_paying == n_known)
        strait_text_add(buf, cap, "pays");
    else if (from < 0)
        strait_text_add(buf, cap, "%s",
                        n_paying > 0 ? "pays at some of these counts, not at the largest"
                                     : "never pays");
    else
        strait_text_add(buf, cap, "pays from %ld clients on", from);
    if (n_known > 0 && n_paying < n_known && from >= 0)
        put_crossing(buf, cap, speedups, from);
    strait_text_add(buf, cap, " (");
    put_counts(buf, cap, speedups, false);
    strait_text_add(buf, cap, " clients run");
    if (n_known < n) {
        strait_text_add(buf, cap, "; target not reached in all seeds at ");
        put_counts(buf, cap, speedups, true);
    }
    strait_text_add(buf, cap, ")");
    return buf;
}
