/* Load shipped models by name and layer tables by path. */
#include <stdio.h>
#include <string.h>
#include "core/names.h"
#include "core/shipped.h"
#include "architectures.h"
#include "layer_csv.h"
#include "model.h"

/* Those of PyTorch; tables of our own trainer say the rest themselves. */
struct recorded {
    const char *name, *source;
    unsigned batch;
    const char *batch_text;
};
static const struct recorded recordings[] = {
    {"cnn", "own recording: 2 convolutions and 2 dense layers on Fashion-MNIST", 64, "64"},
    {"resnet", "own recording: residual network with batch normalisation on Fashion-MNIST", 64,
     "64"},
    {"gpt", "own recording: 4 attention blocks of width 192, vocabulary 3072, untied head", 16,
     "16 x 64 tokens"},
    {.name = "quadratic"},
    {.name = "fashion-mlp"},
    {.name = "fashion-resnet"},
    {.name = "char-transformer"},
};

/* Recorded models first, then the architectures in the order of their table. */
static const char *const names[] = {"cnn",
                                    "resnet",
                                    "gpt",
                                    "quadratic",
                                    "fashion-mlp",
                                    "fashion-resnet",
                                    "char-transformer",
                                    "resnet50",
                                    "vgg16",
                                    "mobilenet-v2",
                                    "vit-b16",
                                    "bert-base",
                                    "bert-large",
                                    "gpt2-small",
                                    NULL};

const char *const *strait_model_names(size_t *n)
{
    if (n)
        *n = sizeof names / sizeof names[0] - 1;
    return names;
}

static int load_recorded(struct strait_model **out, const struct recorded *r,
                         struct strait_error *err)
{
    char relative[96], path[1024];
    struct strait_model *m = NULL;
    size_t n_iters;
    snprintf(relative, sizeof relative, "layers/layers_%s.csv", r->name);
    if (strait_layer_csv_load(&m, strait_traces_path(path, sizeof path, relative), err) != 0)
        return -1;
    m->timing = STRAIT_TIMING_RECORDED;
    *out = m;
    if (!r->source)
        return 0;
    snprintf(relative, sizeof relative, "layers/iters_%s.csv", r->name);
    if (strait_iters_csv_load(m, &n_iters, strait_traces_path(path, sizeof path, relative), err) !=
            0 ||
        strait_model_set_source(m, r->source, err) != 0) {
        strait_model_free(m);
        *out = NULL;
        return -1;
    }
    m->on_cpu = true;
    m->batch = r->batch;
    snprintf(m->device, sizeof m->device, "one core of a server CPU with AVX-512");
    snprintf(m->timing_source, sizeof m->timing_source,
             "medians of %zu iterations, batch %s, PyTorch 1.13, one thread on %s", n_iters,
             r->batch_text, m->device);
    return 0;
}

int strait_model_load(struct strait_model **out, const char *name_or_path, struct strait_error *err)
{
    const size_t len = strlen(name_or_path);
    char shipped[4096];
    if (strchr(name_or_path, '/') || (len > 4 && strcmp(name_or_path + len - 4, ".csv") == 0))
        return strait_layer_csv_load(
            out, strait_shipped_path(shipped, sizeof(shipped), name_or_path), err);
    for (size_t i = 0; i < sizeof recordings / sizeof recordings[0]; i++)
        if (strcmp(recordings[i].name, name_or_path) == 0)
            return load_recorded(out, &recordings[i], err);
    size_t n;
    const struct strait_architecture *a = strait_architectures(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(a[i].name, name_or_path) == 0)
            return strait_architecture_load(out, &a[i], err);
    return strait_refuse_name(err, STRAIT_ERR_INPUT, NULL,
                              "a shipped model or the path of a layer table", name_or_path, names);
}
