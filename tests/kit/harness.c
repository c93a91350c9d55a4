#include "harness.h"

#include "check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A sweep without axes and with every setting applied. */
static json_t *resolve(const char *text, json_t *settings)
{
    struct strait_error err = {0};
    struct strait_sweep *sweep;
    char path[] = "/tmp/strait-test-XXXXXX", *texts[16];
    size_t n = 0;
    const char *pointer;
    json_t *value;
    json_object_foreach (settings, pointer, value) {
        char *dumped = json_dumps(value, JSON_ENCODE_ANY);
        texts[n] = malloc(strlen(pointer) + strlen(dumped) + 2);
        sprintf(texts[n++], "%s=%s", pointer, dumped);
        free(dumped);
    }
    const int fd = mkstemp(path);
    CU_ASSERT_EQUAL_FATAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    strait_sweep_load(&sweep, path, (const char *const *)texts, n, &err);
    unlink(path);
    for (size_t i = 0; i < n; i++)
        free(texts[i]);
    if (!sweep)
        fprintf(stderr, "%s: %s\n", err.where, err.text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(sweep);
    json_t *point = strait_sweep_point(sweep, 0, NULL, &err);
    strait_sweep_free(sweep);
    json_decref(settings);
    return point;
}

struct strait_outcome strait_outcome_of(const char *text, json_t *settings, const char *profile,
                                        const struct strait_backend *backend,
                                        struct strait_trial_options options)
{
    struct strait_error err = {0};
    struct strait_outcome o = {0};
    json_t *json = resolve(text, settings);
    if (strait_experiment_read(&o.experiment, "test.json", json, &err) != 0 ||
        strait_profile_load(&o.profile, profile, &err) != 0 ||
        strait_trial_new(&o.point, o.experiment, o.profile, &options, &err) != 0 ||
        strait_trial_run(o.point, backend, &err) != 0)
        fprintf(stderr, "%s of %s: %s: %s\n", o.experiment ? o.experiment->strategy->name : "run",
                text, err.where, err.text);
    json_decref(json);
    CU_ASSERT_EQUAL_FATAL(err.code, STRAIT_OK);
    for (int i = 0; i < o.experiment->n_ranks; i++) {
        o.payload_bytes += o.point->logs[i].payload_bytes;
        o.n_messages += o.point->logs[i].n_messages;
    }
    const struct strait_log *log = &o.point->logs[0];
    for (size_t i = 0; i < log->n_spans; i++)
        if (strait_spans_at(&log->spans, i).kind == STRAIT_SPAN_ROUND)
            o.total_s = strait_spans_at(&log->spans, i).end_s;
    return o;
}

void strait_outcome_free(struct strait_outcome *o)
{
    strait_trial_free(o->point);
    strait_profile_free(o->profile);
    strait_experiment_free(o->experiment);
}

void strait_recorded(float *out, const struct strait_trial *p, enum strait_tensor_kind kind,
                     int rank)
{
    const struct strait_model *m = p->experiment->model;
    for (size_t row = 0; row < m->n_rows; out += m->rows[row++].n_elems)
        strait_tensor_fill_row(out, m->rows[row].n_elems, p->fills[kind], row, 0, (unsigned)rank);
}
