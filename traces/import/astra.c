/* Text workloads of ASTRA-sim 1 and SimAI: the parallelism, the number of layers, and for each
 * layer times of its forward pass, input gradient and weight gradient, each with a collective
 * behind it. */
#include <stdlib.h>
#include <string.h>

#include "layers.h"

static const double MAX_TIME = 1e15, MAX_BYTES = 1125899906842624.0;
/* Times are cycles of a chip at 1 GHz there: nanoseconds. */
static const double UNIT_S = 1e-9;
enum { MAX_LAYERS = 100000, MAX_LINES = 10000000 };

static bool sniff(const char *head, size_t n)
{
    static const char *const begins[] = {"MICRO", "DATA", "MODEL", "HYBRID_",
                                         "DISTRIBUTED_INFERENCE"};
    (void)n;
    head += strspn(head, " \t\r\n");
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
        if (strncmp(head, begins[i], strlen(begins[i])) == 0)
            return strchr(head, '\n') != NULL;
    return false;
}

struct reader {
    struct strait_import *in;
    struct strait_source *s;
    struct strait_plain_layers layers;
    json_t *collectives;         /* {"fwd ALLREDUCE": bytes} */
    double update, fwd_s, bwd_s; /* of layers before the first one with gradients */
    size_t n_without;
};

static void count(struct reader *r, const char *pass, const char *type, double bytes)
{
    char key[96];
    if (strcmp(type, "NONE") == 0 || bytes == 0 || json_object_size(r->collectives) > 64)
        return;
    snprintf(key, sizeof(key), "%s %.60s", pass, type);
    json_object_set_new(r->collectives, key,
                        json_real(bytes + json_real_value(json_object_get(r->collectives, key))));
}

/* name -1 fwd_time fwd_type fwd_size ig_time ig_type ig_size wg_time wg_type wg_size update_time */
static int read_layer(struct reader *r, char *line, struct strait_error *err)
{
    static const char *const passes[] = {"forward", "input-gradient", "weight-gradient"};
    struct strait_plain_layer layer = {.type = "Layer"};
    const char *name = strait_source_word(&line), *second = strait_source_word(&line), *types[3];
    double times[3], sizes[3], update;
    for (int i = 0; i < 3; i++) {
        const char *time = strait_source_word(&line);
        types[i] = strait_source_word(&line);
        const char *size = strait_source_word(&line);
        if (!second || !types[i] || !strait_source_number(&times[i], time, NULL, 0, MAX_TIME) ||
            !strait_source_number(&sizes[i], size, NULL, 0, MAX_BYTES))
            return strait_source_fail_line(
                r->s, err,
                "expected a time, a collective and a size of the %s pass of \"%.40s\", "
                "found \"%.40s %.40s %.40s\"",
                passes[i], name, time ? time : "", types[i] ? types[i] : "", size ? size : "");
        count(r, passes[i], types[i], sizes[i]);
    }
    const char *word = strait_source_word(&line);
    if (!strait_source_number(&update, word, NULL, 0, MAX_TIME))
        return strait_source_fail_line(r->s, err,
                                       "expected the time of the update last, found "
                                       "\"%.40s\"",
                                       word ? word : "");
    r->update += update;
    snprintf(layer.name, sizeof(layer.name), "%.63s", name);
    layer.fwd_s = times[0] * UNIT_S;
    layer.bwd_s = (times[1] + times[2]) * UNIT_S;
    layer.n_elems = sizes[2] / 4;
    if (layer.n_elems < 1) { /* its time counts for the layer before, or for the first */
        struct strait_plain_layer *last =
            r->layers.n > 0 ? &r->layers.items[r->layers.n - 1] : NULL;
        r->n_without++;
        *(last ? &last->fwd_s : &r->fwd_s) += layer.fwd_s;
        *(last ? &last->bwd_s : &r->bwd_s) += layer.bwd_s;
        return 0;
    }
    if (r->layers.n == 0) {
        layer.fwd_s += r->fwd_s;
        layer.bwd_s += r->bwd_s;
    }
    if (r->layers.n == MAX_LAYERS)
        return strait_source_fail_line(
            r->s, err, "expected at most %d layers that send weight gradients", MAX_LAYERS);
    return strait_plain_layers_add(&r->layers, &layer)
               ? 0
               : strait_error_set(err, STRAIT_ERR_NOMEM, r->s->path, "memory ran out");
}

static int read_head(struct reader *r, int64_t *n_layers, struct strait_error *err)
{
    char *line, *rest, *word;
    if (strait_source_line(r->s, &line, err) <= 0)
        return strait_source_fail_line(r->s, err, "expected the parallelism, found no line");
    strait_import_fact(r->in, "parallelism", json_string(line));
    if (strait_source_line(r->s, &line, err) <= 0)
        return strait_source_fail_line(r->s, err, "expected the number of layers, found no line");
    rest = line;
    word = strait_source_word(&rest);
    if (!strait_source_integer(n_layers, word, NULL, 1, MAX_LINES))
        return strait_source_fail_line(r->s, err, "expected the number of layers, found \"%.40s\"",
                                       word ? word : "");
    return 0;
}

static int read_lines(struct reader *r, int64_t n_layers, struct strait_error *err)
{
    char *line;
    int64_t n = 0;
    int more;
    while ((more = strait_source_line(r->s, &line, err)) > 0) {
        if (line[strspn(line, " \t")] == '\0')
            continue;
        if (read_layer(r, line, err) != 0)
            return -1;
        n++;
    }
    if (more < 0)
        return -1;
    return n == n_layers ? 0
                         : strait_source_fail_line(r->s, err, "expected %lld layers, found %lld",
                                                   (long long)n_layers, (long long)n);
}

static int finish(struct reader *r, struct strait_error *err)
{
    struct strait_import *in = r->in;
    strait_import_fact(in, "collective_bytes", json_incref(r->collectives));
    strait_import_inferred(in, "times are cycles at 1 GHz, as ASTRA-sim 1 takes them: nanoseconds");
    strait_import_inferred(in,
                           "a layer's parameters are what its weight gradient sends, 4 bytes each");
    if (r->n_without > 0)
        strait_import_inferred(in,
                               "%zu layers send no weight gradient: their times count for the "
                               "layer before, or for the first that does",
                               r->n_without);
    if (r->layers.n == 0) /* first: the reason why no table can be made */
        strait_import_missing(in, "layers: none sends a weight gradient");
    if (r->update > 0)
        strait_import_missing(in, "a place for the update times in a layer table: %g us in all",
                              r->update * UNIT_S * 1e6);
    strait_import_missing(in,
                          "collectives of forward passes and input gradients in a layer table: a "
                          "strategy of data parallelism sends weight gradients alone");
    return r->layers.n == 0 ? 0
                            : strait_plain_layers_finish(
                                  &r->layers, in, "an ASTRA-sim text workload", "accelerator", err);
}

static int read_all(struct strait_import *in, struct strait_source *s, struct strait_error *err)
{
    struct reader r = {.in = in, .s = s, .collectives = json_object()};
    int64_t n_layers = 0;
    const int status = read_head(&r, &n_layers, err) != 0 || read_lines(&r, n_layers, err) != 0 ||
                               finish(&r, err) != 0
                           ? -1
                           : 0;
    free(r.layers.items);
    json_decref(r.collectives);
    return status;
}

const struct strait_import_format strait_import_astra = {
    .name = "astra",
    .summary = "text workloads of ASTRA-sim 1 and SimAI: layers, times and collectives",
    .source = "mlcommons/chakra, src/converter/text_converter.py",
    .sniff = sniff,
    .read = read_all,
};
