/* Whose loss: a model that is trained here, or a user's checkpoint and program. */
#include "sensitivity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/process.h"
#include "learn/learner.h"
#include "learn/optimiser.h"

struct strait_trained_model {
    struct strait_learn *learn;
    struct strait_learner *learner;
    long eval_samples;
    float *w;
};

static int train(struct strait_trained_model *m, const struct strait_training *t, long n_steps,
                 struct strait_error *err)
{
    struct strait_optimiser *o = NULL;
    const size_t n = strait_learn_n_elems(m->learn);
    float *gradient = calloc(n, sizeof(*gradient));
    int failed = !gradient ? strait_error_memory(err, "sensitivity")
                           : strait_optimiser_new(&o, t, m->learn, err);
    for (long step = 0; step < n_steps && !failed; step++) {
        const double loss = strait_learner_gradient(m->learner, m->w, (uint64_t)step, gradient);
        if (!isfinite(loss))
            failed = strait_error_set(err, STRAIT_ERR_BACKEND, "sensitivity",
                                      "training diverged in step %ld", step);
        strait_optimiser_begin(o);
        strait_optimiser_step(o, m->w, gradient, 0, n);
    }
    strait_optimiser_free(o);
    free(gradient);
    return failed;
}

int strait_trained_model_new(struct strait_trained_model **out, const struct strait_experiment *e,
                             long n_steps, struct strait_error *err)
{
    struct strait_trained_model *m = calloc(1, sizeof(*m));
    *out = NULL;
    if (!m)
        return strait_error_memory(err, "sensitivity");
    m->eval_samples = e->training.eval_samples;
    if (strait_learn_open(&m->learn, &e->training, 1, e->seed, err) != 0 ||
        strait_experiment_fits(e, m->learn, err) != 0 ||
        strait_learner_new(&m->learner, m->learn, 0, err) != 0 ||
        !(m->w = malloc(strait_learn_n_elems(m->learn) * sizeof(*m->w)))) {
        strait_trained_model_free(m);
        return err && err->code != STRAIT_OK ? -1 : strait_error_memory(err, "sensitivity");
    }
    strait_learn_init(m->learn, m->w);
    if (train(m, &e->training, n_steps, err) != 0) {
        strait_trained_model_free(m);
        return -1;
    }
    *out = m;
    return 0;
}

void strait_trained_model_free(struct strait_trained_model *m)
{
    if (!m)
        return;
    strait_learner_free(m->learner);
    strait_learn_free(m->learn);
    free(m->w);
    free(m);
}

float *strait_trained_model_values(struct strait_trained_model *m)
{
    return m->w;
}

int strait_trained_model_loss(void *arg, double *loss, const float *w, struct strait_error *err)
{
    struct strait_trained_model *m = arg;
    struct strait_score score;
    (void)err;
    strait_learner_evaluate(m->learner, w, m->eval_samples, &score);
    *loss = score.loss;
    return 0;
}

float *strait_checkpoint_read(const char *path, size_t n_elems, struct strait_error *err)
{
    FILE *f = fopen(path, "rb");
    float *w = malloc((n_elems + 1) * sizeof(*w));
    const size_t n = f && w ? fread(w, sizeof(*w), n_elems + 1, f) : 0;
    if (f)
        fclose(f);
    if (n == n_elems && w)
        return w;
    if (!f)
        strait_error_path(err, path, "expected a checkpoint of raw float32");
    else
        strait_refuse(err, path, "expected the %zu float32 of the model's table, found %s", n_elems,
                      n < n_elems ? "fewer" : "more");
    free(w);
    return NULL;
}

/* The last number of the program's output. */
static int last_number(double *out, const char *text)
{
    const char *end = text + strlen(text);
    while (end > text && strchr(" \t\r\n", end[-1]))
        end--;
    const char *begin = end;
    while (begin > text && !strchr(" \t\r\n", begin[-1]))
        begin--;
    char *rest;
    *out = strtod(begin, &rest);
    return begin < end && rest == end ? 0 : -1;
}

int strait_checkpoint_loss(void *arg, double *loss, const float *w, struct strait_error *err)
{
    enum { OUT_BYTES = 65536 };
    struct strait_checkpoint *c = arg;
    const char *const argv[] = {c->program, c->path, NULL};
    FILE *f = fopen(c->path, "wb");
    const bool written = f && fwrite(w, sizeof(*w), c->n_elems, f) == c->n_elems;
    if (!f || fclose(f) != 0 || !written)
        return strait_error_system(err, c->path, "cannot write");
    char *text = malloc(OUT_BYTES);
    if (!text)
        return strait_error_memory(err, "sensitivity");
    const int status = strait_process_run(text, OUT_BYTES, argv, NULL, c->limit_s, err);
    int failed = status == 0 ? 0 : -1;
    if (!failed && last_number(loss, text) != 0)
        failed = strait_error_set(err, STRAIT_ERR_BACKEND, c->program,
                                  "expected a loss as the last word of its output, found \"%.40s\"",
                                  text);
    free(text);
    return failed;
}
