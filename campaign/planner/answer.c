/* Put the answer together. */
#include "answer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/fields.h"
#include "analysis/label.h"
#include "analysis/row.h"
#include "analysis/table.h"
#include "breakeven_over.h"
#include "campaign/backends.h"
#include "campaign/worker_pool.h"
#include "why.h"

/* A codec's break-even is looked for from a 16th of each figure to 16 times it: four octaves each
 * way; of clients two. */
static const struct {
    const char *pointer;
    double span;
} axes[] = {{"/clients", 4},
            {"/network/client/rate", 16},
            {"/network/client/rtt", 16},
            {"/codec/speed", 16}};
enum { N_AXES = sizeof(axes) / sizeof(axes[0]), N_CHECKED = 2 };

struct answer {
    const struct strait_plan_question *q;
    const struct strait_plan_setup *setup;
    const struct strait_candidates *c;
    const struct strait_backend *backend; /* of the rows below */
    size_t best[STRAIT_ANSWER_BEST];      /* ranks: the first that differ */
    json_t *rows[STRAIT_ANSWER_BEST];     /* of them, on the backend */
    json_t *failures[STRAIT_ANSWER_BEST]; /* why there is no row; of emulations */
    size_t n_rows;
    struct strait_error *unchecked; /* why the first emulation that failed did; NULL: not asked */
    const json_t *with_codec;       /* the point whose codec's break-even is asked */
    json_t *break_even[N_AXES];
};

/* --- the best on another backend ---------------------------------------------------------- */

static json_t *run_best(size_t i, void *context, struct strait_error *err)
{
    const struct answer *a = context;
    struct strait_plan plan = {.setup = *a->setup};
    struct strait_sweep *sweep;
    json_t *row = NULL;
    if (strait_sweep_of(&sweep, a->setup->file, a->c->all[a->best[i]].point, NULL, err) != 0)
        return NULL;
    if (strait_plan_add(&plan, sweep, a->backend, 1, false, err) == 0)
        row = strait_plan_run_task(&plan, 0, err);
    strait_plan_release(&plan);
    strait_sweep_free(sweep);
    return row;
}

static int take_best(size_t i, const json_t *row, void *context, struct strait_error *err)
{
    struct answer *a = context;
    (void)err;
    a->rows[i] = json_deep_copy(row);
    return 0;
}

static void drop_rows(struct answer *a)
{
    for (size_t i = 0; i < a->n_rows; i++) {
        json_decref(a->rows[i]);
        json_decref(a->failures[i]);
        a->rows[i] = a->failures[i] = NULL;
    }
    a->n_rows = 0;
}

static void begin_rows(struct answer *a, const struct strait_backend *backend, size_t n)
{
    drop_rows(a);
    a->backend = backend;
    for (size_t rank = 0; rank < a->c->n && a->n_rows < n; rank++)
        if (a->c->all[rank].equal_to == rank)
            a->best[a->n_rows++] = rank;
}

static int simulate_best(struct answer *a, int n_jobs, struct strait_error *err)
{
    begin_rows(a, &strait_sim, STRAIT_ANSWER_BEST);
    return strait_pool_run(a->n_rows, n_jobs, run_best, take_best, a, "the best again, by SimGrid",
                           err);
}

/* The best candidates, each with its row of SimGrid. */
static json_t *best_json(const struct answer *a)
{
    static const char *const kept[] = {"round_s", "total_s",     "interval_s", "critical_path",
                                       "limits",  "utilisation", "evidence",   "approximations"};
    json_t *best = json_array();
    for (size_t i = 0; i < a->n_rows; i++) {
        char *name = strait_candidate_name(&a->c->all[a->best[i]]);
        json_t *one = strait_candidate_json(&a->c->all[a->best[i]]), *sim = json_object();
        for (size_t k = 0; k < sizeof(kept) / sizeof(*kept); k++)
            json_object_set(sim, kept[k], json_object_get(a->rows[i], kept[k]));
        json_object_set_new(one, "name", json_string(name ? name : "?"));
        json_object_set_new(one, "sim", sim);
        json_array_append_new(best, one);
        free(name);
    }
    return best;
}

/* --- the first two, emulated -------------------------------------------------------------- */

/* What takes the place of a row says why: an answer stands without its emulation. */
static json_t *emulate(size_t i, void *context, struct strait_error *err)
{
    char *text = strait_pool_make_answer(i, run_best, context);
    json_t *answer = text ? json_loads(text, 0, NULL) : NULL;
    free(text);
    if (!answer)
        strait_error_memory(err, "plan");
    return answer;
}

static int take_emulated(size_t i, const json_t *answer, void *context, struct strait_error *err)
{
    struct answer *a = context;
    struct strait_error why = {0};
    (void)err;
    if (strait_pool_take_answer(answer, i, take_best, a, &why) == 0)
        return 0;
    a->failures[i] = json_sprintf("%s%s%s", why.where, *why.where ? ": " : "", why.text);
    if (a->unchecked && a->unchecked->code == STRAIT_OK)
        *a->unchecked = why;
    return 0;
}

static void emulate_best(struct answer *a)
{
    begin_rows(a, &strait_emu, N_CHECKED);
    strait_pool_run(a->n_rows, 1, emulate, take_emulated, a, "emulating the first two",
                    a->unchecked);
}

/* Emulated beside predicted, and whether the measured round lies in the interval. */
static json_t *checked_json(const json_t *best, const json_t *row)
{
    const json_t *sim = json_object_get(best, "sim"),
                 *interval = json_object_get(sim, "interval_s");
    const double measured_s = strait_row_number(row, "round_s");
    const bool held = json_array_size(interval) == 2 &&
                      measured_s >= json_number_value(json_array_get(interval, 0)) &&
                      measured_s <= json_number_value(json_array_get(interval, 1));
    return json_pack("{s:O, s:O, s:O, s:o, s:O*, s:O*, s:b}", "name", json_object_get(best, "name"),
                     "predicted_s", json_object_get(sim, "round_s"), "interval_s", interval,
                     "measured_s", strait_json_number(measured_s), "valid",
                     json_object_get(row, "valid"), "invalid", json_object_get(row, "invalid"),
                     "inside", held);
}

/* NULL rows: whose emulation failed, or was not reached. */
static json_t *check_json(const struct answer *a, const json_t *best)
{
    json_t *check = json_array();
    for (size_t i = 0; i < a->n_rows; i++) {
        json_t *one = checked_json(json_array_get(best, i), a->rows[i]);
        if (a->failures[i])
            json_object_set(one, "failure", a->failures[i]);
        json_array_append_new(check, one);
    }
    return check;
}

/* --- break-even --------------------------------------------------------------------------- */

static json_t *search_axis(size_t i, void *context, struct strait_error *err)
{
    const struct answer *a = context;
    json_t *record;
    return strait_breakeven_over(&record, a->setup, a->with_codec, axes[i].pointer, axes[i].span,
                                 err) == 0
               ? record
               : NULL;
}

static int take_axis(size_t i, const json_t *record, void *context, struct strait_error *err)
{
    struct answer *a = context;
    (void)err;
    a->break_even[i] = json_deep_copy(record);
    return 0;
}

/* Of the first candidate that has a codec. NULL: none has; with *err if it failed. */
static json_t *break_even_json(struct answer *a, int n_jobs, struct strait_error *err)
{
    size_t k = 0;
    while (k < a->c->n && strait_label_row_is_plain(a->c->all[k].row))
        k++;
    if (k == a->c->n)
        return json_null();
    a->with_codec = a->c->all[k].point;
    if (strait_pool_run(N_AXES, n_jobs, search_axis, take_axis, a, "break-even", err) != 0)
        return NULL;
    char *name = strait_candidate_name(&a->c->all[k]);
    json_t *out = json_pack("{s:s, s:[]}", "of", name ? name : "?", "axes");
    for (size_t i = 0; i < N_AXES; i++)
        json_array_append(json_object_get(out, "axes"), a->break_even[i]);
    free(name);
    return out;
}

/* --- in words ----------------------------------------------------------------------------- */

static void put_amount(FILE *out, const struct strait_plan_question *q,
                       const struct strait_candidate *c)
{
    char number[STRAIT_NUMBER_CHARS];
    if (!isfinite(c->money))
        return;
    const double n = isfinite(c->n_rounds) ? c->n_rounds : 1;
    fprintf(out, "; %s %s ", strait_format_number(number, n * c->money, 3), q->prices.currency);
    if (n > 1)
        fprintf(out, "for %.0f rounds", n);
    else
        fputs("a round", out);
}

/* "; without a codec 23.5 s" of the same machines and strategy, where that is a candidate. */
static void put_plain(FILE *out, const struct strait_candidates *c)
{
    char number[STRAIT_NUMBER_CHARS];
    for (size_t i = 1; i < c->n && !strait_label_row_is_plain(c->all[0].row); i++) {
        const char *pointer;
        json_t *value;
        bool same = strait_label_row_is_plain(c->all[i].row);
        json_object_foreach (c->all[0].labels, pointer, value)
            same = same && (strait_label_is_codec(pointer) ||
                            json_equal(value, json_object_get(c->all[i].labels, pointer)));
        if (!same)
            continue;
        fprintf(out, "; without a codec %s", strait_seconds_text(number, c->all[i].round_s));
        return;
    }
}

/* "a round takes 12.3 s (11 to 13 s), which keeps 30 s" */
static void put_target(FILE *out, const struct strait_plan_question *q,
                       const struct strait_candidate *c)
{
    static const char *const words[] = {"misses", "probably keeps", "keeps"};
    char number[STRAIT_NUMBER_CHARS], time[STRAIT_NUMBER_CHARS];
    if (q->target == STRAIT_TARGET_ROUND)
        fprintf(out, ", which %s the target of %s", words[c->holds],
                strait_seconds_text(number, q->target_value));
    else if (q->target == STRAIT_TARGET_BUDGET)
        fprintf(out, "; the job %s the budget of %s %s", words[c->holds],
                strait_format_number(number, q->target_value, 4), q->prices.currency);
    else if (isfinite(c->time_s))
        fprintf(out, ", %.0f rounds to accuracy %.4g: %s", c->n_rounds, q->target_value,
                strait_seconds_text(time, c->time_s));
    else
        fprintf(out, ", and is not known to reach accuracy %.4g", q->target_value);
}

/* What would keep a target that is missed, if its accuracy were known. */
static void put_unknown(FILE *out, const struct strait_candidates *c)
{
    char number[STRAIT_NUMBER_CHARS];
    for (size_t i = 0; i < c->n && c->all[0].holds == STRAIT_MISSES; i++) {
        const struct strait_candidate *one = &c->all[i];
        if (one->accuracy.known || one->holds == STRAIT_MISSES)
            continue;
        char *name = strait_candidate_name(one);
        fprintf(out, " It would be kept by %s (%s), whose accuracy nobody knows.",
                name ? name : "?", strait_seconds_text(number, one->round_s));
        free(name);
        return;
    }
}

static json_t *text_json(const struct answer *a, const json_t *best)
{
    const struct strait_candidate *c = &a->c->all[0];
    const json_t *interval = json_object_get(json_object_get(best, "sim"), "interval_s");
    char *text = NULL, *name = strait_candidate_name(c), low[STRAIT_NUMBER_CHARS],
         high[STRAIT_NUMBER_CHARS], round[STRAIT_NUMBER_CHARS];
    size_t len_bytes;
    FILE *out = open_memstream(&text, &len_bytes);
    if (!out) {
        free(name);
        return json_string("");
    }
    fprintf(out, "Take %s: a round takes %s", name ? name : "?",
            strait_seconds_text(round, c->round_s));
    if (json_array_size(interval) == 2)
        fprintf(out, " (%s to %s in 90 %% of cases)",
                strait_seconds_text(low, json_number_value(json_array_get(interval, 0))),
                strait_seconds_text(high, json_number_value(json_array_get(interval, 1))));
    put_target(out, a->q, c);
    put_amount(out, a->q, c);
    put_plain(out, a->c);
    fputs(".", out);
    put_unknown(out, a->c);
    if (!c->eligible)
        fputs(" No candidate has an accuracy that is known and high enough.", out);
    fclose(out);
    json_t *json = json_string(text);
    free(text);
    free(name);
    return json;
}

/* Each text with how often it stands there. */
static void count_text(json_t *counts, const char *text)
{
    json_object_set_new(counts, text,
                        json_integer(1 + json_integer_value(json_object_get(counts, text))));
}

/* Prices an hour of what no candidate has: a pointer that is misspelled, or of another experiment.
 */
static void put_unused_prices(json_t *out, const struct answer *a)
{
    const char *pointer;
    json_t *values;
    json_object_foreach (a->q->prices.per_h, pointer, values) {
        bool used = false;
        for (size_t i = 0; i < a->c->n && !used; i++) {
            json_t *there = strait_json_leaf(a->c->all[i].point, pointer);
            used = there || json_object_get(a->c->all[i].labels, pointer);
            json_decref(there);
        }
        if (!used)
            json_array_append_new(
                out, json_sprintf("prices an hour of %s, which no candidate has", pointer));
    }
}

static json_t *not_considered(const struct answer *a)
{
    json_t *out = json_array(), *refused = json_object(), *unknown = json_object(), *one, *n;
    size_t i;
    const char *text;
    json_array_foreach (a->c->refused, i, one) {
        const char *pointer = strchr(strait_text_of(one, "where"), '#');
        json_t *why = json_sprintf("%s%s%s", pointer ? pointer + 1 : "", pointer ? ": " : "",
                                   strait_text_of(one, "why"));
        count_text(refused, json_string_value(why));
        json_decref(why);
    }
    json_object_foreach (refused, text, n)
        json_array_append_new(out, json_sprintf("%d candidate%s: %s", (int)json_integer_value(n),
                                                json_integer_value(n) == 1 ? "" : "s", text));
    for (i = 0; i < a->c->n; i++) {
        const struct strait_candidate *c = &a->c->all[i];
        if (c->eligible || c->accuracy.known)
            continue;
        char name[160];
        const char *strategy = strait_text_of(c->row, "strategy");
        const bool own = strcmp(strategy, a->q->strategy) == 0;
        snprintf(name, sizeof(name), "%s%s%s", c->codec, own ? "" : " with ", own ? "" : strategy);
        count_text(unknown, name);
    }
    json_t *names = json_string("");
    json_object_foreach (unknown, text, n) {
        json_t *more = json_sprintf("%s%s%s", json_string_value(names),
                                    json_string_length(names) > 0 ? "; " : "", text);
        json_decref(names);
        names = more;
    }
    if (json_string_length(names) > 0)
        json_array_append_new(out, json_sprintf("codecs whose accuracy nobody knows here "
                                                "(--any-accuracy takes them): %s",
                                                json_string_value(names)));
    json_decref(names);
    if (a->q->target == STRAIT_TARGET_ROUND && !a->q->prices.any)
        json_array_append_new(
            out, json_string("prices: without any the quickest candidate comes first"));
    put_unused_prices(out, a);
    json_array_extend(out, json_object_get(a->rows[0], "approximations"));
    json_decref(refused);
    json_decref(unknown);
    return out;
}

static json_t *ranked_json(const struct strait_candidates *c)
{
    json_t *ranked = json_array();
    for (size_t i = 0; i < c->n; i++) {
        char *name = strait_candidate_name(&c->all[i]);
        json_t *one = strait_candidate_json(&c->all[i]);
        json_object_set_new(one, "name", json_string(name ? name : "?"));
        json_object_set_new(one, "rank", json_integer((json_int_t)i + 1));
        json_object_set_new(one, "equal_to", json_integer((json_int_t)c->all[i].equal_to + 1));
        json_array_append_new(ranked, one);
        free(name);
    }
    return ranked;
}

/* --- all ---------------------------------------------------------------------------------- */

static json_t *compose(struct answer *a, const struct strait_plan_answer_options *o,
                       struct strait_error *err)
{
    static const char *const holds[] = {"no", "probably", "surely"};
    if (simulate_best(a, o->n_jobs, err) != 0)
        return NULL;
    json_t *best = best_json(a), *rest = not_considered(a), *check = json_null();
    json_t *why = strait_why(a->setup, a->rows[0], a->c->all[0].point, 2, o->n_jobs, err);
    json_t *even = why ? break_even_json(a, o->n_jobs, err) : NULL;
    json_t *out = NULL;
    if (even && o->check) {
        emulate_best(a);
        check = check_json(a, best);
    }
    if (even)
        out = json_pack(
            "{s:s, s:s, s:s, s:O, s:s, s:b, s:o, s:O, s:O, s:o, s:O, s:O, s:o, s:O, s:O, s:O}",
            "record", "plan", "title", a->q->title, "file", a->q->file, "target",
            json_object_get(a->q->json, "target"), "holds", holds[a->c->all[0].holds], "eligible",
            a->c->all[0].eligible, "text", text_json(a, json_array_get(best, 0)), "limits",
            json_object_get(json_object_get(json_array_get(best, 0), "sim"), "limits"), "best",
            best, "buy", strait_plan_answer_buy(a->c, 0, a->q), "faster",
            json_object_get(why, "faster"), "break_even", even, "ranked", ranked_json(a->c),
            "not_considered", rest, "check", check, "names", json_object_get(why, "names"));
    json_decref(best);
    json_decref(rest);
    json_decref(why);
    json_decref(even);
    json_decref(check);
    return out;
}

json_t *strait_plan_answer(const struct strait_plan_question *q,
                           const struct strait_plan_setup *setup,
                           const struct strait_plan_answer_options *options,
                           struct strait_error *err)
{
    struct strait_candidates c;
    struct answer a = {.q = q, .setup = setup, .c = &c, .unchecked = options->unchecked};
    json_t *out = NULL;
    if (strait_candidates_find(&c, q, setup, options->any_accuracy, options->n_jobs, err) == 0)
        out = compose(&a, options, err);
    drop_rows(&a);
    for (size_t i = 0; i < N_AXES; i++)
        json_decref(a.break_even[i]);
    strait_candidates_release(&c);
    if (!out)
        strait_error_memory(err, "plan"); /* or what was before */
    return out;
}
