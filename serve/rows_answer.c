#include "rows_answer.h"
#include "analysis/breakdown.h"
#include "campaign/planner/why.h"
#include "core/shipped.h"
#include "estimate.h"
#include "sim/loss_formula.h"

enum { MAX_SPANS = 4000 };
#define FACTOR 2.0 /* how many times as fast each is tried */

int strait_answers_load(struct strait_answers *a, struct strait_error *err)
{
    char path[4096];
    *a = (struct strait_answers){.profile = NULL};
    strait_share_path(path, sizeof(path), STRAIT_LEARNED_FILE);
    if (strait_profile_load(&a->profile, "default", err) != 0 ||
        strait_learned_load(&a->learned, path, err) != 0)
        return -1;
    a->setup = (struct strait_plan_setup){
        .file = "experiment", .profile = a->profile, .learned = &a->learned};
    return strait_plan_setup_hashes(&a->setup, err);
}

void strait_answers_release(struct strait_answers *a)
{
    strait_learned_release(&a->learned);
    strait_profile_free(a->profile);
}

/* The last round that rank 0 logged: in a steady state one like all that follow. False: none. */
static bool last_round(struct strait_span *out, const struct strait_log *log)
{
    bool found = false;
    struct strait_span_walk walk;
    strait_spans_begin_kind(&walk, &log->spans, STRAIT_SPAN_ROUND);
    for (const struct strait_span *s; (s = strait_spans_next(&walk));)
        if (s->kind == STRAIT_SPAN_ROUND) {
            *out = *s;
            found = true;
        }
    return found;
}

static json_t *span_json(const struct strait_span *s)
{
    return json_pack("[s, i, i, f, f, I, i]", strait_span_kind_name((enum strait_span_kind)s->kind),
                     (int)s->rank, (int)s->peer, s->start_s, s->end_s, (json_int_t)s->bytes,
                     (int)s->lane);
}

/* Spans that reach into the round, rank by rank. */
static json_t *round_json(const struct strait_trial *p, bool has_server)
{
    struct strait_span round;
    struct strait_span_walk walk;
    if (!last_round(&round, &p->logs[0]))
        return json_null();
    json_t *spans = json_array();
    size_t n_spans = 0;
    for (int r = 0; r < p->experiment->n_ranks; r++) {
        strait_spans_begin(&walk, &p->logs[r].spans);
        for (const struct strait_span *s; (s = strait_spans_next(&walk));) {
            if (s->kind == STRAIT_SPAN_ROUND || s->end_s <= round.start_s ||
                s->start_s >= round.end_s)
                continue;
            if (++n_spans <= MAX_SPANS)
                json_array_append_new(spans, span_json(s));
        }
    }
    return json_pack("{s:f, s:f, s:i, s:b, s:I, s:o}", "start_s", round.start_s, "end_s",
                     round.end_s, "ranks", p->experiment->n_ranks, "has_server", (int)has_server,
                     "n_spans", (json_int_t)n_spans, "spans", spans);
}

/* One round of the base, whose logs are kept. */
static json_t *base_round(const struct strait_answers *a, const struct strait_asked *q,
                          struct strait_error *err)
{
    const struct strait_trial_options options = strait_plan_point_options(&a->setup, &strait_fluid);
    struct strait_experiment *e = NULL;
    struct strait_trial *p = NULL;
    json_t *round = NULL;
    if (strait_experiment_read(&e, a->setup.file, q->sweep->base, err) != 0)
        return NULL;
    if (q->wants_estimate && strait_network_by_packets(e->network))
        strait_network_slow_by_losses(e->network);
    if (strait_trial_new(&p, e, a->profile, &options, err) == 0 &&
        strait_trial_run(p, &strait_fluid, err) == 0)
        round = round_json(p, e->network->has_server);
    strait_trial_free(p);
    strait_experiment_free(e);
    return round;
}

/* What the round would be if one thing were twice as fast; of one point alone. */
static json_t *why_json(const struct strait_answers *a, const struct strait_asked *q,
                        const json_t *rows, struct strait_error *err)
{
    if (q->sweep->n_axes > 0) {
        strait_refuse(err, "body#/why", "expected an experiment without \"vary\"");
        return NULL;
    }
    json_t *why = strait_why(&a->setup, json_array_get(rows, 0), q->sweep->base, FACTOR, 1, err);
    json_t *faster = json_incref(json_object_get(why, "faster"));
    json_decref(why);
    return faster;
}

json_t *strait_asked_answer(const struct strait_answers *a, const struct strait_asked *q,
                            struct strait_error *err)
{
    struct strait_plan plan = {.setup = a->setup};
    json_t *rows = json_array(), *round = NULL, *why = NULL;
    int failed = strait_plan_add(&plan, q->sweep, &strait_fluid, 1, true, err);
    for (size_t i = 0; i < plan.n_tasks && !failed; i++) {
        json_t *row = q->wants_estimate ? strait_estimate_row(&plan, &plan.tasks[i], err)
                                        : strait_plan_run_task(&plan, i, err);
        failed = !row;
        json_object_del(row, "facts_constants"); /* for a results folder, which keeps them once */
        json_array_append_new(rows, row);
    }
    strait_plan_release(&plan);
    if (!failed)
        round = q->wants_round ? base_round(a, q, err) : json_null();
    if (round)
        why = q->wants_why ? why_json(a, q, rows, err) : json_null();
    if (!why) {
        json_decref(rows);
        json_decref(round);
        return NULL;
    }
    return json_pack("{s:o, s:o, s:o}", "rows", rows, "round", round, "faster", why);
}
