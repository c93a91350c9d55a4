#include "trained_weights.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/progress.h"

/* There is such a file: read it. */
static int read_weights(float *w, size_t n, FILE *f, const char *path, struct strait_error *err)
{
    const size_t got = fread(w, sizeof(*w), n, f);
    if (ferror(f))
        return strait_error_system(err, path, "cannot read weights");
    if (got != n || fgetc(f) != EOF)
        return strait_refuse(err, path, "expected %zu weights of 4 bytes, found another length", n);
    return 0;
}

static int write_weights(const char *path, const float *w, size_t n, struct strait_error *err)
{
    FILE *f = fopen(path, "wb");
    if (!f)
        return strait_error_path(err, path, "cannot write weights");
    const bool bad = fwrite(w, sizeof(*w), n, f) != n;
    return fclose(f) != 0 || bad ? strait_error_system(err, path, "cannot write weights") : 0;
}

static int train(float *w, double *loss, struct strait_learner *x, struct strait_optimiser *o,
                 const struct strait_learn *l, long n_steps, struct strait_error *err)
{
    const size_t n = strait_learn_n_elems(l);
    const long last = n_steps - (n_steps + 9) / 10;
    float *gradient = malloc(n * sizeof(*gradient));
    struct strait_progress progress;
    if (!gradient)
        return strait_error_memory(err, "training");
    strait_progress_init(&progress, "training", (size_t)n_steps);
    strait_learn_init(l, w);
    *loss = 0;
    for (long step = 0; step < n_steps && isfinite(*loss); step++) {
        const double now = strait_learner_gradient(x, w, (uint64_t)step, gradient);
        *loss += step >= last || !isfinite(now) ? now / (double)(n_steps - last) : 0;
        strait_optimiser_begin(o);
        strait_optimiser_step(o, w, gradient, 0, n);
        strait_progress_step(&progress, (size_t)step + 1);
    }
    strait_progress_release(&progress);
    free(gradient);
    return isfinite(*loss) ? 0
                           : strait_error_set(err, STRAIT_ERR_BACKEND, "training",
                                              "expected a finite loss, found %g", *loss);
}

static int make_weights(float *w, double *loss, const struct strait_learn *l,
                        const struct strait_training *t, long n_steps, struct strait_error *err)
{
    struct strait_learner *x = NULL;
    struct strait_optimiser *o = NULL;
    const int failed = strait_learner_new(&x, l, 0, err) != 0 ||
                       strait_optimiser_new(&o, t, l, err) != 0 ||
                       train(w, loss, x, o, l, n_steps, err) != 0;
    strait_optimiser_free(o);
    strait_learner_free(x);
    return failed ? -1 : 0;
}

int strait_trained_weights(float **w, double *loss, const struct strait_learn *l,
                           const struct strait_training *t, long n_steps, const char *path,
                           struct strait_error *err)
{
    const size_t n = strait_learn_n_elems(l);
    int status;
    *loss = NAN;
    *w = malloc(n * sizeof(**w));
    if (!*w)
        return strait_error_memory(err, "training");
    FILE *f = path ? fopen(path, "rb") : NULL;
    if (f) {
        status = read_weights(*w, n, f, path, err);
        fclose(f);
    } else if (path && errno != ENOENT) {
        status = strait_error_path(err, path, "cannot read weights");
    } else {
        status = make_weights(*w, loss, l, t, n_steps, err);
        if (status == 0 && path)
            status = write_weights(path, *w, n, err);
    }
    if (status != 0) {
        free(*w);
        *w = NULL;
    }
    return status;
}
