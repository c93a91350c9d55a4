/* From points to a ranked list. */
#include "candidates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/fields.h"
#include "analysis/row_names.h"
#include "analysis/row.h"
#include "campaign/worker_pool.h"
#include "what_if.h"

struct search {
    const struct strait_plan_question *q;
    const struct strait_plan_setup *setup;
    const struct strait_curves *curves;
    struct strait_candidates *out;
};

/* --- simulating --------------------------------------------------------------------------- */

/* Values that do not go together (a strategy without that parameter) are no failure. */
static json_t *simulate(size_t i, void *context, struct strait_error *err)
{
    const struct search *s = context;
    struct strait_error why = {0};
    json_t *point = strait_plan_question_point(s->q, i, NULL, &why);
    json_t *row =
        point ? strait_what_if(s->setup, point, STRAIT_FASTER_NOTHING, 1, NAN, &why) : NULL;
    json_decref(point);
    if (row)
        return json_pack("{s:o}", "row", row);
    if (why.code != STRAIT_ERR_INPUT) {
        strait_error_set(err, why.code, why.where, "%s", why.text);
        return NULL;
    }
    return json_pack("{s:s, s:s}", "where", why.where, "why", why.text);
}

/* What a row's round used. */
static struct strait_use_of_round use_of(const json_t *row, double n_server_cores)
{
    const json_t *bytes = json_object_get(row, "bytes"), *use = json_object_get(row, "utilisation");
    const json_t *accelerators = json_object_get(use, "accelerators"),
                 *clients = json_object_get(use, "client_cores"),
                 *busy = json_object_get(row, "busy_s");
    const double n = (double)json_array_size(json_object_get(row, "rounds_s")),
                 round_s = strait_row_number(row, "round_s"),
                 payload = strait_row_number(bytes, "payload"),
                 down = fmax(0, strait_row_number(bytes, "down")),
                 frame_share = payload > 0 ? strait_row_number(bytes, "frame") / payload : 0;
    const double n_clients = strait_row_number(clients, "n");
    double server_busy_s = 0;
    const char *kind;
    json_t *seconds;
    json_object_foreach (json_object_get(busy, "server"), kind, seconds)
        if (strcmp(kind, "transfer") != 0 && strcmp(kind, "wait") != 0)
            server_busy_s += json_number_value(seconds);
    const double cores = strait_row_number(clients, "mean") * n_clients * round_s,
                 computing = strait_row_number(accelerators, "mean") *
                             strait_row_number(accelerators, "n") * round_s;
    return (struct strait_use_of_round){
        .round_s = round_s,
        .n_accelerators = n_clients,
        .n_server_cores = n_server_cores,
        .server_bytes = (isfinite(down) ? down : 0) * (1 + frame_share) / n,
        .clients_bytes = (payload - (isfinite(down) ? down : 0)) * (1 + frame_share) / n,
        .accelerator_busy_s = isfinite(computing) ? computing : 0,
        .core_busy_s = cores + server_busy_s};
}

static double cores_of(const struct strait_plan_setup *setup, const json_t *point)
{
    struct strait_experiment *e;
    double n = 0;
    if (strait_experiment_read(&e, setup->file, point, NULL) != 0)
        return 0;
    if (e->strategy->has_server)
        n = strait_experiment_has_param(e, "decode_cores")
                ? strait_experiment_param(e, "decode_cores")
                : 1;
    strait_experiment_free(e);
    return n;
}

static void fill(struct strait_candidate *c, const struct search *s)
{
    const struct strait_plan_question *q = s->q;
    const json_t *interval = json_object_get(c->row, "interval_s");
    json_object_set(c->row, "labels", c->labels);
    const struct strait_use_of_round use = use_of(c->row, cores_of(s->setup, c->point));
    c->round_s = use.round_s;
    c->high_s = json_array_size(interval) == 2 ? json_number_value(json_array_get(interval, 1))
                                               : use.round_s;
    c->bytes = use.server_bytes + use.clients_bytes;
    c->money = strait_prices_of_round(&q->prices, &use, c->labels, c->point);
    c->energy_j = strait_energy_of_round_j(&q->prices, &use);
    strait_known_accuracy_of(&c->accuracy, q, s->curves, c->point, c->row);
    c->n_rounds = q->target == STRAIT_TARGET_ACCURACY ? c->accuracy.n_rounds
                  : q->n_rounds > 0                   ? (double)q->n_rounds
                                                      : NAN;
    c->time_s = c->n_rounds * c->round_s;
}

static int take(size_t i, const json_t *result, void *context, struct strait_error *err)
{
    struct search *s = context;
    json_t *row = json_object_get(result, "row"), *labels = NULL;
    json_t *point = strait_plan_question_point(s->q, i, &labels, NULL);
    if (!row) {
        json_array_append_new(s->out->refused,
                              json_pack("{s:I, s:O?, s:O, s:O}", "index", (json_int_t)i, "labels",
                                        labels, "where", json_object_get(result, "where"), "why",
                                        json_object_get(result, "why")));
        json_decref(labels);
        json_decref(point);
        return 0;
    }
    struct strait_candidate *all = realloc(s->out->all, (s->out->n + 1) * sizeof(*s->out->all));
    if (all)
        s->out->all = all;
    if (!all || !point) {
        json_decref(labels);
        json_decref(point);
        return strait_error_memory(err, "plan");
    }
    all[s->out->n] = (struct strait_candidate){
        .index = i, .point = point, .labels = labels, .row = json_deep_copy(row)};
    fill(&all[s->out->n++], s);
    return 0;
}

/* --- judging ------------------------------------------------------------------------------ */

/* The best accuracy without a codec that is known, and its spread. */
static const struct strait_known_accuracy *without_codec(const struct strait_candidates *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->all[i].accuracy.lossless && isfinite(c->all[i].accuracy.accuracy))
            return &c->all[i].accuracy;
    return NULL;
}

static bool is_accurate(const struct strait_known_accuracy *a, double least,
                        const struct strait_known_accuracy *plain)
{
    if (!a->known)
        return false;
    if (!isnan(least))
        return a->lossless && isnan(a->accuracy) ? true : a->accuracy >= least;
    if (a->lossless || !plain || isnan(a->accuracy))
        return true;
    const double chance =
        isfinite(a->spread) && isfinite(plain->spread) ? hypot(a->spread, plain->spread) : 0;
    return a->accuracy >= plain->accuracy - chance;
}

static enum strait_holds holds(const struct strait_candidate *c,
                               const struct strait_plan_question *q)
{
    if (q->target == STRAIT_TARGET_ACCURACY)
        return isfinite(c->time_s) ? STRAIT_SURELY : STRAIT_MISSES;
    const double found =
                     q->target == STRAIT_TARGET_ROUND ? c->round_s : c->money * (double)q->n_rounds,
                 high =
                     q->target == STRAIT_TARGET_ROUND ? c->high_s : found * c->high_s / c->round_s;
    return high <= q->target_value    ? STRAIT_SURELY
           : found <= q->target_value ? STRAIT_PROBABLY
                                      : STRAIT_MISSES;
}

enum { TIME_DIGITS = 4, MONEY_DIGITS = 3 };

/* Smaller is better; what is not known is worst. */
static double worse(double value)
{
    return isfinite(value) ? value : INFINITY;
}

/* To so many digits, as it is shown: what lies below is the headers of some packets, or a sum in
 * another order, and decides nothing. */
static double shown(double value, int digits)
{
    if (value == 0 || !isfinite(value))
        return value;
    const double unit = pow(10, floor(log10(fabs(value))) - digits + 1);
    return round(value / unit) * unit;
}

/* Money as it is shown, so that of two that cost the same the quicker is better. */
static double shown_money(double money)
{
    return shown(worse(money), MONEY_DIGITS);
}

/* What the front is about. */
enum { N_GOALS = 5 };
static const int digits_of[N_GOALS] = {TIME_DIGITS, TIME_DIGITS, MONEY_DIGITS, MONEY_DIGITS,
                                       MONEY_DIGITS}; /* of each in tables */
static void goals_of(double goals[N_GOALS], const struct strait_candidate *c, bool to_accuracy,
                     double plain)
{
    const double accuracy = isfinite(c->accuracy.accuracy) ? c->accuracy.accuracy
                            : c->accuracy.lossless         ? plain
                                                           : -INFINITY;
    goals[0] = to_accuracy ? worse(c->time_s) : c->round_s;
    goals[1] = -accuracy;
    goals[2] = c->bytes;
    goals[3] = worse(c->money);
    goals[4] = worse(c->energy_j);
}

static void find_front(struct strait_candidates *c, const struct strait_plan_question *q)
{
    const struct strait_known_accuracy *plain = without_codec(c);
    const bool to_accuracy = q->target == STRAIT_TARGET_ACCURACY;
    double a[N_GOALS], b[N_GOALS];
    for (size_t i = 0; i < c->n; i++) {
        c->all[i].front = true;
        goals_of(a, &c->all[i], to_accuracy, plain ? plain->accuracy : 1);
        for (size_t k = 0; k < c->n && c->all[i].front; k++) {
            bool worse_in_none = true, better = false;
            goals_of(b, &c->all[k], to_accuracy, plain ? plain->accuracy : 1);
            for (int g = 0; g < N_GOALS; g++) {
                const double x = shown(a[g], digits_of[g]), y = shown(b[g], digits_of[g]);
                worse_in_none = worse_in_none && y <= x;
                better = better || y < x;
            }
            c->all[i].front = !(worse_in_none && better);
        }
    }
}

/* What is made small among those that may be recommended. */
static double aim_of(const struct strait_candidate *c, const struct strait_plan_question *q)
{
    if (q->target == STRAIT_TARGET_ACCURACY)
        return worse(c->time_s);
    const bool misses = c->holds == STRAIT_MISSES;
    const bool money = q->target == STRAIT_TARGET_ROUND ? q->prices.any && !misses : misses;
    return money ? shown_money(c->money) : c->round_s;
}

static int by_rank(const void *a, const void *b)
{
    const struct strait_candidate *x = a, *y = b;
    const int kept_x = x->holds != STRAIT_MISSES, kept_y = y->holds != STRAIT_MISSES;
    if (x->eligible != y->eligible)
        return x->eligible ? -1 : 1;
    if (kept_x != kept_y)
        return kept_y - kept_x;
    const double by[2][2] = {{x->aim, y->aim}, {x->round_s, y->round_s}};
    for (int i = 0; i < 2; i++)
        if (by[i][0] != by[i][1])
            return by[i][0] < by[i][1] ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static int by_index(const void *a, const void *b)
{
    const struct strait_candidate *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

/* Workers end in any order. */
static void order(struct strait_candidates *c)
{
    json_t *sorted = json_array(), *one;
    size_t i;
    if (c->n > 0)
        qsort(c->all, c->n, sizeof(*c->all), by_index);
    while (json_array_size(c->refused) > 0) {
        size_t first = 0;
        json_array_foreach (c->refused, i, one)
            if (json_integer_value(json_object_get(one, "index")) <
                json_integer_value(json_object_get(json_array_get(c->refused, first), "index")))
                first = i;
        json_array_append(sorted, json_array_get(c->refused, first));
        json_array_remove(c->refused, first);
    }
    json_decref(c->refused);
    c->refused = sorted;
}

/* Cores that are not used and pieces of what is not encoded change nothing that is shown. */
static void find_equals(struct strait_candidates *c)
{
    double a[N_GOALS], b[N_GOALS];
    for (size_t i = 0; i < c->n; i++) {
        c->all[i].equal_to = i;
        goals_of(a, &c->all[i], false, 1);
        for (size_t k = 0; k < i && c->all[i].equal_to == i; k++) {
            bool same = json_equal(json_object_get(c->all[i].row, "codec"),
                                   json_object_get(c->all[k].row, "codec"));
            goals_of(b, &c->all[k], false, 1);
            for (int g = 0; g < N_GOALS; g++)
                same = same && shown(a[g], digits_of[g]) == shown(b[g], digits_of[g]);
            if (same)
                c->all[i].equal_to = k;
        }
    }
}

static void judge(struct strait_candidates *c, const struct strait_plan_question *q,
                  bool any_accuracy)
{
    const struct strait_known_accuracy *plain = without_codec(c);
    for (size_t i = 0; i < c->n; i++) {
        struct strait_candidate *one = &c->all[i];
        one->eligible = any_accuracy || is_accurate(&one->accuracy, q->least_accuracy, plain);
        one->holds = holds(one, q);
        one->aim = aim_of(one, q);
    }
    find_front(c, q);
    if (c->n > 0)
        qsort(c->all, c->n, sizeof(*c->all), by_rank);
    find_equals(c);
}

static int name_codecs(struct strait_candidates *c, struct strait_error *err)
{
    struct strait_names *names = NULL;
    json_t *rows = json_array();
    for (size_t i = 0; i < c->n; i++)
        json_array_append(rows, c->all[i].row);
    int failed = strait_names_new(&names, rows, err);
    for (size_t i = 0; !failed && i < c->n; i++)
        if (!(c->all[i].codec = strdup(strait_names_codec(names, c->all[i].row))))
            failed = strait_error_memory(err, "plan");
    strait_names_free(names);
    json_decref(rows);
    return failed;
}

int strait_candidates_find(struct strait_candidates *out, const struct strait_plan_question *q,
                           const struct strait_plan_setup *setup, bool any_accuracy, int n_jobs,
                           struct strait_error *err)
{
    struct strait_curves *curves = NULL;
    *out = (struct strait_candidates){.refused = json_array()};
    if (strait_curves_load(&curves, NULL, err) != 0)
        return -1;
    struct search s = {q, setup, curves, out};
    int failed = strait_pool_run(q->sweep->n_points, n_jobs, simulate, take, &s, "candidates", err);
    strait_curves_free(curves);
    order(out);
    if (!failed && out->n == 0) {
        const json_t *first = json_array_get(out->refused, 0);
        failed =
            strait_refuse(err, strait_text_of(first, "where"), "%s", strait_text_of(first, "why"));
    }
    if (!failed)
        judge(out, q, any_accuracy);
    return failed || name_codecs(out, err) != 0 ? -1 : 0;
}

void strait_candidates_release(struct strait_candidates *c)
{
    for (size_t i = 0; i < c->n; i++) {
        json_decref(c->all[i].point);
        json_decref(c->all[i].labels);
        json_decref(c->all[i].row);
        free(c->all[i].codec);
    }
    free(c->all);
    json_decref(c->refused);
    memset(c, 0, sizeof(*c));
}

json_t *strait_candidate_json(const struct strait_candidate *c)
{
    static const char *const words[] = {"no", "probably", "surely"};
    static const char *const kept[] = {"codec",         "download_codec", "strategy", "clients",
                                       "interval_s",    "path_s",         "limits",   "utilisation",
                                       "critical_path", "bytes",          "ratio",    "evidence"};
    json_t *out = json_pack(
        "{s:O, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:s, s:b, s:s, s:b}", "labels", c->labels,
        "round_s", strait_json_number(c->round_s), "bytes_a_round", strait_json_number(c->bytes),
        "money_a_round", strait_json_number(c->money), "energy_a_round_j",
        strait_json_number(c->energy_j), "accuracy", strait_json_number(c->accuracy.accuracy),
        "rounds", strait_json_number(c->n_rounds), "time_s", strait_json_number(c->time_s),
        "accuracy_known", c->accuracy.known, "accuracy_from", c->accuracy.source, "eligible",
        c->eligible, "holds", words[c->holds], "front", c->front);
    for (size_t i = 0; out && i < sizeof(kept) / sizeof(*kept); i++)
        json_object_set(out, kept[i], json_object_get(c->row, kept[i]));
    return out;
}
