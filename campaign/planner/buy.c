/* What to buy next: neighbours of a candidate among the values that may vary. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "analysis/label.h"
#include "analysis/row.h"
#include "answer.h"

char *strait_candidate_name(const struct strait_candidate *c)
{
    char *text = NULL;
    size_t len_bytes;
    const char *pointer, *comma = "";
    json_t *value;
    bool varies = json_object_size(c->labels) == 0;
    FILE *out = open_memstream(&text, &len_bytes);
    json_object_foreach (c->labels, pointer, value)
        varies = varies || strait_label_is_codec(pointer);
    if (out) {
        if (varies) {
            fputs(c->codec, out);
            comma = ", ";
        }
        json_object_foreach (c->labels, pointer, value) {
            if (strait_label_is_codec(pointer))
                continue;
            char *axis = strait_label_axis(pointer), *shown = strait_label_value(value);
            fprintf(out, "%s%s %s", comma, axis ? axis : "", shown ? shown : "");
            comma = ", ";
            free(axis);
            free(shown);
        }
        fclose(out);
    }
    return text;
}

/* The pointer in which two candidates differ; NULL: in none, in several or in a codec. */
static const char *only_difference(const json_t *a, const json_t *b)
{
    const char *pointer, *found = NULL;
    json_t *value;
    int n = 0;
    json_object_foreach ((json_t *)a, pointer, value)
        if (!json_equal(value, json_object_get(b, pointer))) {
            found = pointer;
            n++;
        }
    return n == 1 && !strait_label_is_codec(found) ? found : NULL;
}

static json_t *step_of(const struct strait_candidate *from, const struct strait_candidate *to,
                       const char *pointer, const struct strait_plan_question *q)
{
    json_t *was = json_object_get(from->labels, pointer),
           *is = json_object_get(to->labels, pointer);
    char *axis = strait_label_axis(pointer), *old = strait_label_value(was),
         *new = strait_label_value(is);
    json_t *step = json_pack(
        "{s:o, s:s, s:O, s:O, s:f, s:f, s:o, s:o}", "text",
        json_sprintf("%s %s instead of %s", axis ? axis : "", new ? new : "", old ? old : ""),
        "pointer", pointer, "from", was, "to", is, "round_s", to->round_s, "saves_s",
        from->round_s - to->round_s, "more_money_a_round",
        strait_json_number(to->money - from->money), "more_per_hour",
        strait_json_number(q->prices.any
                               ? strait_prices_per_h(&q->prices, to->labels, to->point) -
                                     strait_prices_per_h(&q->prices, from->labels, from->point)
                               : NAN));
    free(axis);
    free(old);
    free(new);
    return step;
}

static int by_gain(const void *a, const void *b)
{
    const double x = json_number_value(json_object_get(*(json_t *const *)a, "saves_s")),
                 y = json_number_value(json_object_get(*(json_t *const *)b, "saves_s"));
    return (y > x) - (y < x);
}

json_t *strait_plan_answer_buy(const struct strait_candidates *c, size_t of,
                               const struct strait_plan_question *q)
{
    const struct strait_candidate *from = &c->all[of];
    json_t **steps = calloc(c->n + 1, sizeof(json_t *)), *out = json_array();
    size_t n = 0;
    for (size_t i = 0; steps && i < c->n; i++) {
        const char *pointer = only_difference(from->labels, c->all[i].labels);
        if (pointer && c->all[i].round_s < from->round_s && (c->all[i].eligible || !from->eligible))
            steps[n++] = step_of(from, &c->all[i], pointer, q);
    }
    if (steps)
        qsort(steps, n, sizeof(*steps), by_gain);
    for (size_t i = 0; i < n; i++)
        json_array_append_new(out, steps[i]);
    free(steps);
    return out;
}
