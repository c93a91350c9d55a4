#include "import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/names.h"
#include "traces/models/model_build.h"

/* A new format is one file of this folder and one line here; the first whose sniff agrees is it. */
#define FORMATS(X)                                                                                 \
    X(horovod)                                                                                     \
    X(goal)                                                                                        \
    X(goal_binary)                                                                                 \
    X(fedscale)                                                                                    \
    X(astra)                                                                                       \
    X(mgwfbp)                                                                                      \
    X(chakra_json)                                                                                 \
    X(pytorch_et)                                                                                  \
    X(kineto)                                                                                      \
    X(chakra)                                                                                      \
    X(ti)

#define DECLARE(name) extern const struct strait_import_format strait_import_##name;
#define ROW(name)     &strait_import_##name,
FORMATS(DECLARE)
static const struct strait_import_format *const formats[] = {FORMATS(ROW)};
enum { N_FORMATS = sizeof(formats) / sizeof(formats[0]), HEAD_BYTES = 65536 };

const struct strait_import_format *const *strait_import_formats(size_t *n)
{
    *n = N_FORMATS;
    return formats;
}

const struct strait_import_format *strait_import_format_find(const char *name)
{
    for (size_t i = 0; i < N_FORMATS; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

static const struct strait_import_format *recognise(struct strait_source *s,
                                                    struct strait_error *err)
{
    const size_t n = strait_source_fill(s, HEAD_BYTES);
    char all[512] = "";
    for (size_t i = 0; i < N_FORMATS && !s->has_failed; i++) {
        if (formats[i]->sniff((const char *)s->buffer + s->at, n))
            return formats[i];
        strait_text_add(all, sizeof(all), "%s%s", i > 0 ? ", " : "", formats[i]->name);
    }
    const char *const head = (const char *)s->buffer + s->at;
    if (s->has_failed)
        strait_error_set(err, s->err.code, s->err.where, "%s", s->err.text);
    else if ((n >= 8 && memcmp(head, "# name: ", 8) == 0) ||
             (n >= 12 && memcmp(head, "layer_index,", 12) == 0))
        strait_refuse(err, s->path,
                      "expected a trace of another tool, found a layer table: name it as \"model\" "
                      "in an experiment");
    else
        strait_refuse(err, s->path,
                      "expected a trace of a known format (--format says which: %s), found none "
                      "that begins so",
                      all);
    return NULL;
}

int strait_import_source(struct strait_import *in, struct strait_source *s,
                         const struct strait_import_format *format, bool is_look,
                         struct strait_error *err)
{
    *in = (struct strait_import){.path = s->path,
                                 .facts = json_object(),
                                 .inferred = json_array(),
                                 .missing = json_array(),
                                 .is_look = is_look};
    if (!in->facts || !in->inferred || !in->missing)
        return strait_error_memory(err, s->path);
    in->format = format ? format : recognise(s, err);
    if (!in->format || in->format->read(in, s, err) != 0 ||
        (in->graph && strait_program_finish(in->graph, s->path, err) != 0))
        return -1;
    if (in->graph)
        strait_import_fact(in, "graph", strait_program_facts(in->graph));
    return 0;
}

static int read_file(struct strait_import *in, const char *path,
                     const struct strait_import_format *format, bool is_look,
                     struct strait_error *err)
{
    struct strait_source s;
    *in = (struct strait_import){0};
    const int status = strait_source_open(&s, path, err) != 0
                           ? -1
                           : strait_import_source(in, &s, format, is_look, err);
    in->path = path;
    strait_source_release(&s);
    return status;
}

int strait_import_read(struct strait_import *in, const char *path,
                       const struct strait_import_format *format, struct strait_error *err)
{
    return read_file(in, path, format, false, err);
}

int strait_import_look(struct strait_import *in, const char *path,
                       const struct strait_import_format *format, struct strait_error *err)
{
    if (read_file(in, path, format, true, err) != 0)
        return -1;
    if (!in->graph || !in->graph->look->is_doubtful)
        return 0;
    strait_import_release(in);
    return read_file(in, path, format, false, err);
}

void strait_import_release(struct strait_import *in)
{
    json_decref(in->facts);
    json_decref(in->inferred);
    json_decref(in->missing);
    json_decref(in->experiment);
    strait_model_free(in->model);
    strait_program_free(in->graph);
    free(in->iters);
    free(in->slowness);
    *in = (struct strait_import){0};
}

int strait_import_graph(struct strait_program **out, const char *path, struct strait_error *err)
{
    struct strait_import in;
    int status = strait_import_read(&in, path, NULL, err);
    if (status == 0 && !in.graph)
        status = strait_refuse(
            err, path,
            "expected a trace that says what each rank does (goal, ti, chakra), found %s",
            in.format->name);
    *out = status == 0 ? in.graph : NULL;
    if (status == 0)
        in.graph = NULL;
    strait_import_release(&in);
    return status;
}

int strait_import_stand_in(struct strait_model **out, const char *path, struct strait_error *err)
{
    struct strait_builder b;
    const size_t one = 1;
    const char *slash = strrchr(path, '/');
    strait_build_init(&b, slash ? slash + 1 : path);
    if (b.failed || !strait_build_layer(&b, "trace", "none", 0) ||
        !strait_build_param(&b, "none", 1, &one) || strait_model_set_source(b.m, path, err) != 0) {
        strait_build_release(&b);
        return strait_error_memory(err, NULL);
    }
    snprintf(b.m->timing_source, sizeof(b.m->timing_source), "the trace %.200s", path);
    snprintf(b.m->device, sizeof(b.m->device), "the trace's own");
    b.m->timing = STRAIT_TIMING_RECORDED;
    const int status = strait_build_finish(out, &b, err);
    strait_build_release(&b);
    return status;
}
