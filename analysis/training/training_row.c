#include "training_row.h"
#include "core/json.h"

#include <math.h>
#include <stdlib.h>

/* The round of rank 0 in which something happened. */
static size_t first_after(const struct strait_training_rounds *of, double time_s)
{
    size_t lo = 0, hi = of->n; /* the first that ends after time_s: the next one's first
                                             messages are posted when one ends */
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (of->scored[mid].time_s <= time_s)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Bytes of messages that were posted by the end of each round: cumulative. NAN from the round on in
 * which a log lost spans. */
static void sum_bytes(double *bytes, const struct strait_trial *p,
                      const struct strait_training_rounds *of)
{
    const size_t n = of->n;
    double known_s = INFINITY;
    for (int r = 0; r < p->experiment->n_ranks; r++) {
        const struct strait_log *log = &p->logs[r];
        if (log->n_lost > 0)
            known_s = fmin(known_s, log->lost_from_s);
        struct strait_span_walk walk;
        strait_spans_begin(&walk, &log->spans);
        for (const struct strait_span *s; (s = strait_spans_next(&walk));) {
            if (s->kind != STRAIT_SPAN_TRANSFER || s->peer < 0)
                continue;
            const size_t at = first_after(of, s->start_s);
            if (at < n)
                bytes[at] += (double)s->bytes;
        }
    }
    for (size_t i = 1; i < n; i++)
        bytes[i] += bytes[i - 1];
    for (size_t i = 0; i < n; i++)
        if (of->scored[i].time_s > known_s)
            bytes[i] = NAN;
}

/* Mean loss of the minibatches of all ranks in each round; NAN: there were none. Where ranks count
 * rounds of their own, by time. */
static void mean_losses(double *losses, const struct strait_trial *p,
                        const struct strait_training_rounds *of)
{
    const size_t n = of->n;
    const bool by_time = p->experiment->strategy->ends_with_rank_0;
    double *n_batches = calloc(n + 1, sizeof(*n_batches));
    for (int r = 0; n_batches && r < p->experiment->n_ranks; r++)
        for (size_t i = 0; i < p->logs[r].n_trained; i++) {
            const struct strait_trained *t = &p->logs[r].trained[i];
            const size_t at = by_time ? first_after(of, t->time_s) : (size_t)t->round;
            if (at >= n)
                continue;
            losses[at] += t->n_batches * t->loss;
            n_batches[at] += t->n_batches;
        }
    for (size_t i = 0; i < n; i++)
        losses[i] = n_batches && n_batches[i] > 0 ? losses[i] / n_batches[i] : NAN;
    free(n_batches);
}

static json_t *reached(const struct strait_trial *p, const struct strait_training_rounds *of,
                       const double *bytes)
{
    const struct strait_until *until = &p->experiment->until;
    for (size_t i = 0; i < of->n && p->experiment->has_until; i++) {
        const struct strait_scored *s = &of->scored[i];
        if (s->accuracy >= until->accuracy || s->loss <= until->loss)
            return json_pack("{s:i, s:o, s:o}", "round", s->round, "time_s",
                             strait_json_number(s->time_s), "bytes", strait_json_number(bytes[i]));
    }
    return json_null();
}

/* As the experiment has it. */
static json_t *until_of(const struct strait_until *until)
{
    const bool by_loss = isfinite(until->loss);
    return json_pack("{s:f}", by_loss ? "loss" : "accuracy",
                     by_loss ? until->loss : until->accuracy);
}

/* How far clients lie apart: their accuracies, the root of the mean square distance from their
 * mean, the least, and Jain's index (sum)^2 / (n sum of squares), 1 where all are equal (Jain, Chiu
 * and Hawe, DEC TR-301, 1984). Null where clients have data alike, or answers cannot be right. */
static json_t *of_clients(const struct strait_log *rank_0)
{
    const size_t n = rank_0->n_of_workers;
    const double *x = rank_0->of_workers;
    double sum = 0, squares = 0, away = 0, least = INFINITY;
    if (n == 0)
        return json_null();
    json_t *each = json_array();
    for (size_t k = 0; k < n; k++) {
        json_array_append_new(each, strait_json_number(x[k]));
        sum += x[k];
        squares += x[k] * x[k];
        least = x[k] < least ? x[k] : least;
    }
    for (size_t k = 0; k < n; k++)
        away += (x[k] - sum / (double)n) * (x[k] - sum / (double)n);
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "accuracy", each, "mean",
                     strait_json_number(sum / (double)n), "sd",
                     strait_json_number(sqrt(away / (double)n)), "least",
                     strait_json_number(isfinite(sum) ? least : NAN), "jain",
                     strait_json_number(sum * sum / ((double)n * squares)));
}

json_t *strait_training_of(const struct strait_trial *p, const struct strait_training_rounds *of)
{
    static const char *const names[] = {"rounds", "end_s",    "bytes", "train_loss",
                                        "loss",   "accuracy", "bound"};
    enum { N_LISTS = sizeof(names) / sizeof(names[0]) };
    const size_t n = of->n;
    double *bytes = calloc(n + 1, sizeof(*bytes));
    json_t *lists[N_LISTS], *out;
    if (!bytes)
        return NULL;
    sum_bytes(bytes, p, of);
    out = json_pack("{s:s, s:s}", "task", of->task, "payload", of->payload);
    for (int k = 0; k < N_LISTS; k++)
        lists[k] = json_array();
    for (size_t i = 0; i < n; i++) {
        const struct strait_scored *s = &of->scored[i];
        const double values[N_LISTS] = {s->round, s->time_s,   bytes[i], of->losses[i],
                                        s->loss,  s->accuracy, s->bound};
        json_array_append_new(lists[0], json_integer(s->round));
        for (int k = 1; k < N_LISTS; k++)
            json_array_append_new(lists[k], strait_json_number(values[k]));
    }
    for (int k = 0; k < N_LISTS; k++)
        json_object_set_new(out, names[k], lists[k]);
    const double loss = n > 0 ? of->scored[n - 1].loss : NAN;
    const double accuracy = n > 0 ? of->scored[n - 1].accuracy : NAN;
    json_object_set_new(out, "final",
                        json_pack("{s:o, s:o}", "loss", strait_json_number(loss), "accuracy",
                                  strait_json_number(accuracy)));
    json_object_set_new(out, "clients", of_clients(&p->logs[0]));
    if (p->experiment->has_until)
        json_object_set_new(out, "until", until_of(&p->experiment->until));
    json_object_set_new(out, "reached", reached(p, of, bytes));
    free(bytes);
    return out;
}

json_t *strait_training_row(const struct strait_trial *p)
{
    const struct strait_log *log = &p->logs[0];
    double *losses = calloc(log->n_scored + 1, sizeof(*losses));
    const struct strait_training_rounds of = {.task = p->experiment->training.task,
                                              .payload = "live",
                                              .scored = log->scored,
                                              .losses = losses,
                                              .n = log->n_scored};
    json_t *out = NULL;
    if (losses) {
        mean_losses(losses, p, &of);
        out = strait_training_of(p, &of);
    }
    free(losses);
    return out;
}
