#include "target.h"
#include "core/names.h"
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

json_t *strait_target_speedup(const json_t *with, const json_t *without)
{
    const struct strait_target a = strait_target_of(with), b = strait_target_of(without);
    const double times = b.time_s.mean / a.time_s.mean;
    if (!a.asked || !b.asked)
        return NULL;
    return json_pack("[O, o]", json_object_get(with, "clients"),
                     isfinite(times) ? json_real(times) : json_null());
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
