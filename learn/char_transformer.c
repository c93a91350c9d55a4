/* A transformer that predicts the next character of English text. */
#include <stdlib.h>
#include <string.h>
#include "char_transformer.h"
#include "learn_network.h"
#include "learn/data/text.h"

/* The defaults have 0.8 million parameters; GPT-2 has the same proportions. */
enum option { LAYERS, WIDTH, HEADS, CONTEXT, UNTIED, N_OPTIONS };
static const struct strait_param options[N_OPTIONS] = {
    [LAYERS] = {"layers", "blocks", STRAIT_PARAM_INTEGER, .min = 1, .max = 20, .fallback = 4},
    [WIDTH] = {"width", "values of a character; a multiple of heads", STRAIT_PARAM_INTEGER,
               .min = 8, .max = 1024, .fallback = 128},
    [HEADS] = {"heads", "of attention", STRAIT_PARAM_INTEGER, .min = 1, .max = 64, .fallback = 4},
    [CONTEXT] = {"context", "characters of an example", STRAIT_PARAM_INTEGER, .min = 2, .max = 1024,
                 .fallback = 128},
    [UNTIED] = {"untied", "1: the output head has weights of its own; 0: the embedding's",
                STRAIT_PARAM_INTEGER, .min = 0, .max = 1, .fallback = 0},
};

enum { MAX_LINEARS = 4 * 20 + 1 }; /* of the most layers, and a head */
enum { SCORED = 8 };               /* sequences at a time: more would only take memory */

struct text_data {
    struct learn_gpt shape;
    struct learn_text text;
    struct learn_text_windows windows;
};

/* The workspace: words of a batch, then the room of learn_gpt_room. */
static size_t words_bytes(const struct learn_gpt *t, int n)
{
    return ((size_t)n * (t->context + 1) + 63) / 64 * 64;
}

static int largest(int a, int b)
{
    return a > b ? a : b;
}

static int add_params(struct strait_learn *l, const struct learn_gpt *t, struct strait_error *err)
{
    struct learn_gpt_param *params;
    const size_t n = learn_gpt_params(NULL, t);
    bool good = (params = malloc(n * sizeof(*params))) != NULL;
    if (good)
        learn_gpt_params(params, t);
    for (size_t i = 0; good && i < n; i++)
        good = strait_learn_add(l, params[i].layer, params[i].param, params[i].type,
                                params[i].shape, params[i].shape[1] ? 2 : 1);
    free(params);
    return good ? 0 : strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "no memory for a transformer");
}

static int open_text(struct strait_learn *l, struct strait_error *err)
{
    const double *o = l->training.options;
    struct text_data *data = l->data = calloc(1, sizeof(*data));
    if (!data)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "no memory for a transformer");
    data->shape = (struct learn_gpt){.layers = (size_t)o[LAYERS],
                                     .width = (size_t)o[WIDTH],
                                     .heads = (size_t)o[HEADS],
                                     .context = (size_t)o[CONTEXT],
                                     .words = LEARN_TEXT_WORDS,
                                     .tied = o[UNTIED] == 0};
    if (data->shape.width % data->shape.heads != 0)
        return strait_refuse(err, NULL,
                             "expected a width that heads divides, found %zu and %zu heads",
                             data->shape.width, data->shape.heads);
    if (add_params(l, &data->shape, err) || learn_text_read(&data->text, err) ||
        learn_text_windows(&data->windows, &data->text, data->shape.context, err))
        return -1;
    l->n_train = data->windows.n_train;
    if (l->training.samples > 0 && l->training.samples < l->n_train)
        l->n_train = (uint32_t)l->training.samples;
    l->n_held_out = data->windows.n_held_out;
    l->labels = data->windows.topics;
    l->held_out_labels = data->windows.held_out_topics;
    l->n_labels = LEARN_TEXT_TOPICS;
    l->data_bytes =
        sizeof(*data) + data->text.first[LEARN_TEXT_TOPICS] +
        ((size_t)data->windows.n_train + data->windows.n_held_out) * (sizeof(uint32_t) + 1);
    return 0;
}

static void close_text(struct strait_learn *l)
{
    struct text_data *data = l->data;
    if (data) {
        learn_text_windows_release(&data->windows);
        learn_text_release(&data->text);
    }
    free(data);
}

static void init(const struct strait_learn *l, float *w)
{
    learn_gpt_init(strait_char_transformer_shape(l), w, l->seed);
}

/* Of the layers that have factors, in the order of the model: where they lie from `base` on, which
 * NULL only counts. Returns: floats */
static size_t lay_out_factors(struct learn_factors *all, const struct strait_learn *l, float *base)
{
    size_t n = 0, used = 0;
    for (size_t p = 0; p < l->n_params; p++) {
        const struct strait_learn_param *param = &l->params[p];
        if (strcmp(param->type, "Linear") != 0 || param->n_dims < 2)
            continue;
        const bool has_bias = p + 1 < l->n_params && param[1].layer_index == param->layer_index;
        struct learn_factors f = {
            .d_in = param->shape[1] + has_bias, .d_out = param->shape[0], .has_bias = has_bias};
        f.a = base ? base + used : NULL;
        f.g = base ? base + used + f.d_in * f.d_in : NULL;
        used += f.d_in * f.d_in + f.d_out * f.d_out;
        all[n++] = f;
    }
    return l->training.optimiser == STRAIT_KFAC ? used : 0;
}

static size_t training_room(const struct strait_learn *l)
{
    return learn_gpt_room(strait_char_transformer_shape(l), (size_t)l->training.batch, true);
}

static size_t work_bytes(const struct strait_learn *l, int max_batch)
{
    struct learn_factors factors[MAX_LINEARS];
    const struct learn_gpt *t = strait_char_transformer_shape(l);
    const size_t train = training_room(l) + lay_out_factors(factors, l, NULL),
                 score = learn_gpt_room(t, SCORED, false);
    (void)max_batch; /* which only scores: piece by piece */
    return words_bytes(t, largest(l->training.batch, SCORED)) +
           sizeof(float) * (train > score ? train : score);
}

static float *room_of(const struct strait_learner *x)
{
    unsigned char *room = x->work;
    void *behind = room + words_bytes(strait_char_transformer_shape(x->learn),
                                      largest(x->learn->training.batch, SCORED));
    return behind;
}

void strait_char_transformer_words(const struct strait_learn *l, unsigned char *words,
                                   const uint32_t *examples, size_t n, bool held_out)
{
    const struct text_data *data = l->data;
    const uint32_t *starts = held_out ? data->windows.held_out : data->windows.train;
    const size_t length = data->shape.context + 1;
    for (size_t i = 0; i < n; i++)
        memcpy(words + i * length, data->text.words + starts[examples[i]], length);
}

static double gradient(struct strait_learner *x, const float *w, const struct strait_batch *b,
                       float *g)
{
    struct learn_factors factors[MAX_LINEARS];
    const bool kfac = lay_out_factors(factors, x->learn, room_of(x) + training_room(x->learn)) > 0;
    strait_char_transformer_words(x->learn, x->work, b->examples, (size_t)b->n, b->held_out);
    return learn_gpt_gradient(strait_char_transformer_shape(x->learn), g, w, x->work, (size_t)b->n,
                              room_of(x), x->laps, kfac ? factors : NULL);
}

static bool factors(struct strait_learner *x, size_t param, size_t *d_in, size_t *d_out,
                    const float **a, const float **g)
{
    struct learn_factors all[MAX_LINEARS];
    const struct strait_learn *l = x->learn;
    size_t i = 0;
    if (lay_out_factors(all, l, room_of(x) + training_room(l)) == 0 ||
        strcmp(l->params[param].type, "Linear") != 0 || l->params[param].n_dims < 2)
        return false;
    for (size_t p = 0; p < param; p++)
        i += strcmp(l->params[p].type, "Linear") == 0 && l->params[p].n_dims > 1;
    *d_in = all[i].d_in;
    *d_out = all[i].d_out;
    *a = all[i].a;
    *g = all[i].g;
    return true;
}

static void score(struct strait_learner *x, const float *w, const struct strait_batch *b,
                  double *loss, long *right, long *n)
{
    const struct learn_gpt *t = strait_char_transformer_shape(x->learn);
    for (int at = 0; at < b->n; at += SCORED) {
        const size_t some = (size_t)(b->n - at < SCORED ? b->n - at : SCORED);
        double sum;
        strait_char_transformer_words(x->learn, x->work, b->examples + at, some, b->held_out);
        *right += (long)learn_gpt_score(t, &sum, NULL, w, x->work, some, room_of(x), NULL, NULL);
        *loss += sum;
        *n += (long)(some * t->context);
    }
}

const struct learn_gpt *strait_char_transformer_shape(const struct strait_learn *l)
{
    return &((const struct text_data *)l->data)->shape;
}

long strait_char_transformer_held_out(const struct strait_learn *l)
{
    return (long)l->n_held_out;
}

const struct strait_learn_network strait_char_transformer = {
    .info = {.name = "char-transformer",
             .summary = "a transformer that predicts the next character of English text",
             .package = LEARN_TEXT_PACKAGE,
             STRAIT_PARAMS(options)},
    .open = open_text,
    .close = close_text,
    .init = init,
    .work_bytes = work_bytes,
    .gradient = gradient,
    .score = score,
    .factors = factors,
    .has_accuracy = true,
};
