/* Recorded tensors and their manifest. */
#include "tensors.h"
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/json.h"
#include "traces/models/model_build.h"

static const char format_name[] = "raw float32 little-endian, C order";

static int fail_key(const struct strait_object *o, const char *key, struct strait_error *err,
                    const char *expected, const char *found)
{
    char where[256];
    return strait_refuse(err, strait_object_where(o, key, where, sizeof where),
                         "expected %s, found \"%.80s\"", expected, found);
}

static int read_text(struct strait_object *o, char *out, size_t cap, const char *key,
                     struct strait_error *err)
{
    const char *text;
    if (strait_object_string(o, &text, key, err) != 0)
        return -1;
    const size_t len = strlen(text);
    if (len == 0 || len >= cap)
        return fail_key(o, key, err, len ? "a shorter text" : "a text", text);
    memcpy(out, text, len + 1);
    return 0;
}

static int read_shape(struct strait_object *o, struct strait_recording *r, struct strait_error *err)
{
    const json_t *shape = strait_object_value(o, "shape");
    const size_t n = json_array_size(shape);
    char where[256];
    strait_object_where(o, "shape", where, sizeof where);
    if (!json_is_array(shape))
        return strait_refuse_value(err, where, "an array of dimensions", shape);
    if (n == 0 || n > STRAIT_MAX_DIMS)
        return strait_refuse(err, where, "expected 1 to %d dimensions, found %zu", STRAIT_MAX_DIMS,
                             n);
    for (size_t i = 0; i < n; i++) {
        const json_t *dim = json_array_get(shape, i);
        if (!json_is_integer(dim) || json_integer_value(dim) < 1)
            return strait_refuse_value(err, where, "whole dimensions of at least 1", dim);
        r->shape[i] = (size_t)json_integer_value(dim);
    }
    r->n_dims = (unsigned)n;
    if (!strait_shape_elems(&r->n_elems, r->shape, n))
        return strait_refuse(err, where, "expected a shape that fits an address");
    return 0;
}

/* Read the statistics; min, max and rms are null for non-finite data. */
static int read_statistics(struct strait_object *o, struct strait_recording *r,
                           struct strait_error *err)
{
    static const char *const keys[] = {"min", "max", "rms"};
    double *const out[] = {&r->min, &r->max, &r->rms};
    double ignored;
    long n_zeros, ignored_steps;
    for (size_t i = 0; i < 3; i++) {
        if (json_is_null(strait_object_value(o, keys[i])))
            *out[i] = NAN;
        else if (strait_object_number(o, out[i], keys[i], i == 2 ? 0 : -(double)FLT_MAX, FLT_MAX,
                                      err) != 0)
            return -1;
    }
    if (r->min > r->max) {
        char found[64];
        snprintf(found, sizeof found, "%g", r->min);
        return fail_key(o, "min", err, "a min of at most the max", found);
    }
    if (strait_object_integer(o, &n_zeros, "zeros", 0, LONG_MAX, err) != 0 ||
        strait_object_number_or(o, &ignored, "loss", -DBL_MAX, DBL_MAX, 0, err) != 0 ||
        strait_object_integer_or(o, &ignored_steps, "local_steps", 0, LONG_MAX, 0, err) != 0)
        return -1;
    r->n_zeros = (size_t)n_zeros;
    return 0;
}

static int read_recording(struct strait_object *o, struct strait_recording *r,
                          struct strait_error *err)
{
    const char *dtype;
    long n;
    if (read_text(o, r->file, sizeof r->file, "file", err) != 0 ||
        read_text(o, r->model, sizeof r->model, "model", err) != 0 ||
        read_text(o, r->layer, sizeof r->layer, "layer", err) != 0 ||
        read_text(o, r->kind, sizeof r->kind, "kind", err) != 0 ||
        strait_object_integer(o, &r->step, "step", 0, LONG_MAX, err) != 0 ||
        strait_object_string(o, &dtype, "dtype", err) != 0 || read_shape(o, r, err) != 0 ||
        strait_object_integer(o, &n, "n", 1, LONG_MAX, err) != 0)
        return -1;
    if (strchr(r->file, '/') || r->file[0] == '.')
        return fail_key(o, "file", err, "the name of a file in the same folder", r->file);
    if (strcmp(r->kind, "param") != 0 && strcmp(r->kind, "grad") != 0 &&
        strcmp(r->kind, "update") != 0)
        return fail_key(o, "kind", err, "param, grad or update", r->kind);
    if (strcmp(dtype, "f32le") != 0)
        return fail_key(o, "dtype", err, "f32le", dtype);
    if ((size_t)n != r->n_elems) {
        char expected[64], found[32];
        snprintf(expected, sizeof expected, "%zu, the product of the shape", r->n_elems);
        snprintf(found, sizeof found, "%ld", n);
        return fail_key(o, "n", err, expected, found);
    }
    return read_statistics(o, r, err);
}

static int map_file(struct strait_recording *r, const char *folder, struct strait_error *err)
{
    char path[1024];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", folder, r->file);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* FIFOs too */
    if (fd < 0 && (errno == ENOENT || errno == EACCES))
        return strait_refuse(err, path, "expected the tensor that the manifest names, found: %s",
                             strerror(errno));
    if (fd < 0)
        return strait_error_system(err, path, "cannot open");
    const size_t len = r->n_elems * sizeof(float);
    int status = -1;
    if (fstat(fd, &st) != 0)
        strait_error_system(err, path, "cannot read");
    else if (!S_ISREG(st.st_mode))
        strait_refuse(err, path, "expected a file, found something else");
    else if ((size_t)st.st_size != len)
        strait_refuse(err, path, "expected %zu bytes for %zu float32, found %lld", len, r->n_elems,
                      (long long)st.st_size);
    else {
        const void *values = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
        if (values == MAP_FAILED)
            strait_error_system(err, path, "cannot map");
        else {
            r->values = values;
            status = 0;
        }
    }
    close(fd);
    return status;
}

/* Refuse a tensor that is listed twice. */
static int check_unique(const struct strait_tensors *t, size_t i, const struct strait_object *o,
                        struct strait_error *err)
{
    char where[256];
    const struct strait_recording *r = &t->recordings[i];
    for (size_t j = 0; j < i; j++) {
        const struct strait_recording *q = &t->recordings[j];
        if (q->step == r->step && strcmp(q->layer, r->layer) == 0 &&
            strcmp(q->kind, r->kind) == 0 && strcmp(q->model, r->model) == 0)
            return strait_refuse(err, strait_object_where(o, "layer", where, sizeof where),
                                 "expected each tensor once, found %s %s %s step %ld again",
                                 r->model, r->layer, r->kind, r->step);
    }
    return 0;
}

static int read_manifest(struct strait_tensors *t, const char *manifest, const json_t *json,
                         struct strait_error *err)
{
    struct strait_object root, o;
    const char *format;
    if (strait_object_open(&root, manifest, "", json, err) != 0 ||
        strait_object_string(&root, &format, "format", err) != 0)
        return -1;
    if (strcmp(format, format_name) != 0)
        return fail_key(&root, "format", err, "\"raw float32 little-endian, C order\"", format);
    const json_t *list = strait_object_value(&root, "tensors");
    const size_t n = json_array_size(list);
    char where[256], pointer[64];
    strait_object_where(&root, "tensors", where, sizeof where);
    if (!json_is_array(list))
        return strait_refuse_value(err, where, "an array of at least one tensor", list);
    if (n == 0)
        return strait_refuse(err, where, "expected an array of at least one tensor, found none");
    if (strait_object_close(&root, err) != 0)
        return -1;
    t->recordings = calloc(n, sizeof *t->recordings);
    if (!t->recordings)
        return strait_error_memory(err, manifest);
    for (size_t i = 0; i < n; i++) {
        struct strait_recording *r = &t->recordings[i];
        snprintf(pointer, sizeof pointer, "/tensors/%zu", i);
        if (strait_object_open(&o, manifest, pointer, json_array_get(list, i), err) != 0 ||
            read_recording(&o, r, err) != 0 || strait_object_close(&o, err) != 0 ||
            check_unique(t, i, &o, err) != 0 || map_file(r, t->folder, err) != 0)
            return -1;
        t->n_recordings++;
    }
    return 0;
}

int strait_tensors_load(struct strait_tensors **out, const char *folder, struct strait_error *err)
{
    char shipped[1024], manifest[1100];
    json_t *json = NULL;
    struct strait_tensors *t = calloc(1, sizeof *t);
    if (!folder)
        folder = strait_traces_path(shipped, sizeof shipped, "tensors");
    snprintf(manifest, sizeof manifest, "%s/manifest.json", folder);
    int status = -1;
    if (!t || !(t->folder = strdup(folder))) {
        strait_error_memory(err, folder);
        goto out;
    }
    json = strait_json_load(manifest, err);
    if (!json || read_manifest(t, manifest, json, err) != 0)
        goto out;
    *out = t;
    t = NULL;
    status = 0;
out:
    json_decref(json);
    strait_tensors_free(t);
    return status;
}

void strait_tensors_free(struct strait_tensors *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n_recordings; i++) {
        const struct strait_recording *r = &t->recordings[i];
        munmap((void *)(uintptr_t)r->values, r->n_elems * sizeof(float));
    }
    free(t->recordings);
    free(t->folder);
    free(t);
}

const struct strait_recording *strait_tensors_find(const struct strait_tensors *t,
                                                   const char *model, const char *layer,
                                                   const char *kind, long step)
{
    const struct strait_recording *found = NULL;
    for (size_t i = 0; i < t->n_recordings; i++) {
        const struct strait_recording *r = &t->recordings[i];
        if (strcmp(r->layer, layer) != 0 || strcmp(r->kind, kind) != 0 ||
            strcmp(r->model, model) != 0 || (step >= 0 && r->step != step))
            continue;
        if (!found || r->step > found->step)
            found = r;
    }
    return found;
}

bool strait_recording_is_finite(const struct strait_recording *r)
{
    for (size_t i = 0; i < r->n_elems; i++)
        if (!isfinite(r->values[i]))
            return false;
    return true;
}
