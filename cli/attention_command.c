/* strait attention: what approximate attention costs in accuracy, on trained weights. */
#include <math.h>
#include <stdlib.h>
#include "analysis/table.h"
#include "campaign/trained/trained_weights.h"
#include "cli/kit/command.h"
#include "cli/kit/options.h"
#include "core/progress.h"
#include "learn/char_transformer.h"
#include "workloads/train/kvcache/trained_attention.h"

enum { MAX_WAYS = 64, WAY_CHARS = 64 };
static const double BEND = 0.01; /* of the perplexity, as notes say */

/* One axis of the curve, ways[first] to ways[first + n - 1]; the last leaves nothing out, or
 * least. */
struct axis {
    const char *name;
    size_t first, n;
};

struct curve {
    long n_steps, n_examples, batch;
    const char *weights;
    bool json;
    struct strait_training training;
    struct strait_learn *l;
    float *w;
    double train_loss;
    struct strait_attention_way ways[MAX_WAYS];
    struct strait_way_quality quality[MAX_WAYS];
    size_t n_ways;
    struct axis top_k, rank, bits;
};

static void add(struct curve *c, size_t top_k, size_t rank, unsigned bits)
{
    c->ways[c->n_ways++] = (struct strait_attention_way){top_k, rank, bits};
}

/* Full attention, three axes alone, then 16 tokens chosen by approximate keys. */
static void choose_ways(struct curve *c)
{
    const struct learn_gpt *shape = strait_char_transformer_shape(c->l);
    const size_t d = shape->width / shape->heads;
    add(c, 0, 0, 0);
    c->top_k = (struct axis){"top-k tokens", c->n_ways, 0};
    for (size_t k = 1; k < shape->context; k *= 2, c->top_k.n++)
        add(c, k, 0, 0);
    c->rank = (struct axis){"directions of keys", c->n_ways, 0};
    for (size_t r = 1; r < d; r *= 2, c->rank.n++)
        add(c, 0, r, 0);
    c->bits = (struct axis){"bits of keys and values", c->n_ways, 0};
    for (unsigned b = 1; b <= 8; b++, c->bits.n++)
        add(c, 0, 0, b);
    for (size_t r = 1; r < d; r *= 2)
        add(c, 16, r, 0);
    for (unsigned b = 1; b <= 4; b *= 2)
        add(c, 16, 0, b);
}

/* --- the network ----------------------------------------------------------------------------- */

static int open_task(struct curve *c, struct strait_error *err)
{
    json_t *json = json_pack("{s:s, s:s, s:f, s:i}", "task", "char-transformer", "optimiser",
                             "adamw", "lr", 1e-3, "batch", (int)c->batch);
    struct strait_object o;
    int failed = !json ? strait_error_memory(err, "attention")
                       : strait_object_open(&o, "attention", "/training", json, err);
    failed = failed || strait_training_read(&c->training, &o, err) != 0 ||
             strait_learn_open(&c->l, &c->training, 1, 1, err) != 0;
    json_decref(json);
    return failed ? -1 : 0;
}

/* One way at a time, for the progress line. */
static int measure(struct curve *c, struct strait_error *err)
{
    struct strait_progress progress;
    int status = 0;
    strait_progress_init(&progress, "evaluating", c->n_ways);
    for (size_t i = 0; i < c->n_ways && status == 0; i++) {
        status =
            strait_attention_ways(&c->quality[i], &c->ways[i], 1, c->l, c->w, c->n_examples, err);
        strait_progress_step(&progress, i + 1);
    }
    strait_progress_release(&progress);
    return status;
}

/* --- what it says ---------------------------------------------------------------------------- */

static double more_perplexity(const struct curve *c, size_t i)
{
    return exp(c->quality[i].loss - c->quality[0].loss) - 1;
}

/* The first of the axis from which on the perplexity is within BEND of full attention's; NULL:
 * none. */
static const struct strait_attention_way *bend(const struct curve *c, const struct axis *a)
{
    size_t i = a->first + a->n;
    while (i > a->first && fabs(more_perplexity(c, i - 1)) <= BEND)
        i--;
    return i < a->first + a->n ? &c->ways[i] : NULL;
}

static const char *way_text(char text[WAY_CHARS], const struct strait_attention_way *way)
{
    char top[WAY_CHARS] = "", keys[WAY_CHARS] = "";
    if (way->top_k > 0)
        snprintf(top, sizeof(top), "top %zu", way->top_k);
    if (way->rank > 0)
        snprintf(keys, sizeof(keys), "rank %zu", way->rank);
    if (way->bits > 0)
        snprintf(keys, sizeof(keys), "%u %s", way->bits, way->bits > 1 ? "bits" : "bit");
    snprintf(text, WAY_CHARS, "%.20s%s%.20s", top, *top && *keys ? " by " : "", keys);
    return *text ? text : "full";
}

static void print_json(const struct curve *c)
{
    for (size_t i = 0; i < c->n_ways; i++) {
        const struct strait_way_quality *q = &c->quality[i];
        const struct strait_attention_way *way = &c->ways[i];
        json_t *record =
            json_pack("{s:s, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:I}", "record", "attention",
                      "top_k", (int)way->top_k, "rank", (int)way->rank, "bits", (int)way->bits,
                      "loss", q->loss, "perplexity", exp(q->loss), "accuracy", q->accuracy,
                      "agreement", q->agreement, "characters", (json_int_t)q->n);
        strait_command_print_json(record);
        json_decref(record);
    }
}

static int print_table(const struct curve *c, struct strait_error *err)
{
    const struct axis *axes[] = {&c->top_k, &c->rank, &c->bits};
    struct strait_table *table = strait_table_new();
    char text[WAY_CHARS];
    strait_table_column(table, "attention", false);
    strait_table_column(table, "loss", true);
    strait_table_column(table, "perplexity", true);
    strait_table_column(table, "more", true);
    strait_table_column(table, "right", true);
    strait_table_column(table, "as full", true);
    for (size_t i = 0; i < c->n_ways; i++) {
        const struct strait_way_quality *q = &c->quality[i];
        if (i == c->top_k.first || i == c->rank.first || i == c->bits.first ||
            i == c->bits.first + c->bits.n)
            strait_table_rule(table);
        strait_table_cell(table, way_text(text, &c->ways[i]));
        strait_table_cellf(table, "%.4f", q->loss);
        strait_table_cellf(table, "%.4f", exp(q->loss));
        strait_table_cellf(table, "%+.2f %%", 100 * more_perplexity(c, i));
        strait_table_cellf(table, "%.2f %%", 100 * q->accuracy);
        strait_table_cellf(table, "%.2f %%", 100 * q->agreement);
    }
    if (strait_table_finish(table, stdout, err) != 0)
        return -1;
    printf("\n");
    for (size_t i = 0; i < sizeof(axes) / sizeof(*axes); i++) {
        const struct strait_attention_way *way = bend(c, axes[i]);
        const size_t value = !way ? 0 : way->top_k + way->rank + way->bits;
        if (way)
            printf("%s: within %g %% of full attention's perplexity from %zu on\n", axes[i]->name,
                   100 * BEND, value);
        else
            printf("%s: nowhere within %g %% of full attention's perplexity\n", axes[i]->name,
                   100 * BEND);
    }
    return 0;
}

static const char notes[] =
    "Trains the task char-transformer for --steps, then predicts characters that it\n"
    "has not seen with full attention and with approximations of it:\n"
    "  top K            only the K tokens with the largest scores\n"
    "  rank R, B bits   keys in R directions; keys and values in B bits\n"
    "  top K by ...     such keys choose K tokens, which are attended to exactly\n"
    "\"more\" is the perplexity above that of full attention, \"as full\" how often the\n"
    "likeliest character is the same. Training takes five minutes of one core.\n"
    "\n"
    "  strait attention --weights /tmp/text.f32\n";

int strait_command_attention(int argc, char **argv)
{
    struct curve *c = calloc(1, sizeof(*c));
    struct strait_error err = {0};
    int status;
    if (!c) {
        strait_error_memory(&err, "attention");
        return strait_command_fail(&err);
    }
    c->n_steps = 4000;
    c->n_examples = 64;
    c->batch = 8;
    const struct strait_option options[] = {
        {"steps", 0, STRAIT_OPTION_COUNT, &c->n_steps, "N", "steps of training (4000)"},
        {"weights", 0, STRAIT_OPTION_TEXT, &c->weights, "FILE",
         "weights to read, or to write after training"},
        {"examples", 0, STRAIT_OPTION_COUNT, &c->n_examples, "N",
         "held-out examples of 128 characters (64)"},
        {"json", 0, STRAIT_OPTION_FLAG, &c->json, NULL, "one line of JSON for each way"},
        STRAIT_WIDE_OPTION};
    const struct strait_usage usage = {"attention", "",
                                       "Measure what approximate attention costs in accuracy.",
                                       STRAIT_OPTIONS(options), notes};
    strait_command_begins_again();
    if (!strait_command_begin(&status, &usage, argc, argv, NULL, 0, NULL))
        goto out;
    status = open_task(c, &err);
    if (status == 0)
        status = strait_trained_weights(&c->w, &c->train_loss, c->l, &c->training, c->n_steps,
                                        c->weights, &err);
    if (status == 0) {
        choose_ways(c);
        status = measure(c, &err);
    }
    if (status == 0 && c->json)
        print_json(c);
    else if (status == 0)
        status = print_table(c, &err);
    status = status == 0 ? 0 : strait_command_fail(&err);
out:
    strait_learn_free(c->l);
    free(c->w);
    free(c);
    return status;
}
