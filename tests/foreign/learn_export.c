/* learn_export FOLDER TRAINING: what `make torch-check` compares. For the settings "training" of an
 * experiment, given as text, it writes weights, a batch, its loss and gradient, and five steps of
 * the optimiser into a folder that is there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/random.h"
#include "learn/char_transformer.h"
#include "learn/images.h"
#include "learn/learn_network.h"
#include "tests/kit/task.h"

enum { STEPS = 5 };

static FILE *file(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    if (!f) {
        perror(path);
        exit(1);
    }
    return f;
}

static void put(const char *folder, const char *name, const void *bytes, size_t len_bytes)
{
    FILE *f = file(folder, name);
    if (fwrite(bytes, 1, len_bytes, f) != len_bytes || fclose(f) != 0) {
        perror(name);
        exit(1);
    }
}

static void put_params(const char *folder, const struct strait_learn *l)
{
    size_t n;
    const struct strait_learn_param *p = strait_learn_params(l, &n);
    FILE *f = file(folder, "params.txt");
    for (size_t i = 0; i < n; i++) {
        fprintf(f, "%s %s %s", p[i].layer, p[i].param, p[i].type);
        for (unsigned d = 0; d < p[i].n_dims; d++)
            fprintf(f, " %zu", p[i].shape[d]);
        fputc('\n', f);
    }
    fclose(f);
}

/* The first batch of worker 0. */
static void put_batch(const char *folder, const struct strait_learn *l)
{
    const size_t n = (size_t)l->training.batch;
    uint32_t *examples = malloc(n * sizeof(*examples));
    strait_split_batch(&l->split, l->seed, 0, 0, (int)n, examples);
    const struct strait_batch batch = {.examples = examples, .n = (int)n};
    if (strcmp(l->training.task, "char-transformer") == 0) {
        const size_t len_bytes = n * (strait_char_transformer_shape(l)->context + 1);
        unsigned char *words = malloc(len_bytes);
        strait_char_transformer_words(l, words, examples, n, false);
        put(folder, "words.u8", words, len_bytes);
        free(words);
    } else {
        float *x = malloc(n * STRAIT_FASHION_PIXELS * sizeof(*x));
        unsigned char *labels = malloc(n);
        strait_image_batch(l, &batch, x, labels);
        put(folder, "images.f32", x, n * STRAIT_FASHION_PIXELS * sizeof(*x));
        put(folder, "labels.u8", labels, n);
        free(x);
        free(labels);
    }
    free(examples);
}

/* Tasks of images and of text have batches; `quadratic` has none. */
static bool has_batch(const struct strait_learn *l)
{
    return l->network->info.package != NULL;
}

/* Away from the first weights, so that nothing is 0 or 1. */
static void draw_weights(const struct strait_learn *l, float *w)
{
    strait_learn_init(l, w);
    for (size_t i = 0; i < strait_learn_n_elems(l); i++)
        w[i] += 0.1f * (float)(strait_random_unit(1, "torch", i, 0) - 0.5);
}

static void put_steps(const char *folder, struct strait_learn *l, struct strait_learner *x,
                      struct strait_optimiser *o)
{
    const size_t n = strait_learn_n_elems(l), len_bytes = n * sizeof(float);
    float *w = malloc(len_bytes), *g = malloc(len_bytes);
    FILE *loss = file(folder, "loss.txt");
    char name[64];
    draw_weights(l, w);
    put(folder, "weights0.f32", w, len_bytes);
    for (int step = 0; step < STEPS; step++) {
        fprintf(loss, "%.9g\n", strait_learner_gradient(x, w, (uint64_t)step, g));
        snprintf(name, sizeof(name), "gradient%d.f32", step);
        put(folder, name, g, len_bytes);
        strait_optimiser_begin(o);
        strait_optimiser_step(o, w, g, 0, n);
        snprintf(name, sizeof(name), "weights%d.f32", step + 1);
        put(folder, name, w, len_bytes);
    }
    fclose(loss);
    free(w);
    free(g);
}

int main(int argc, char **argv)
{
    struct task t;
    if (argc != 3) {
        fprintf(stderr, "learn_export FOLDER TRAINING\n");
        return 2;
    }
    const int failed = task_open(&t, argv[2]);
    if (failed)
        return failed;
    put_params(argv[1], t.learn);
    if (has_batch(t.learn))
        put_batch(argv[1], t.learn);
    put_steps(argv[1], t.learn, t.learner, t.optimiser);
    task_close(&t);
    return 0;
}
