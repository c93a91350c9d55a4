/* What determines a row: hashes of the model, the tensors, the files and of all that is asked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/names.h"
#include "row.h"
#include "workloads/ask/software.h"

const char *strait_row_model_hash(char key[STRAIT_KEY_CHARS], const struct strait_model *m)
{
    enum { PER_ROW = 9 };
    const size_t n = m->n_rows * PER_ROW + 6;
    double *numbers = calloc(n, sizeof(*numbers));
    if (!numbers)
        return NULL;
    size_t at = 0;
    for (size_t i = 0; i < m->n_rows; i++) {
        const struct strait_param_row *r = &m->rows[i];
        const double row[PER_ROW] = {
            (double)r->layer_index, (double)r->n_dims, (double)r->n_elems,
            r->fwd_s_p50,           r->fwd_s_p90,      r->bwd_s_p50,
            r->bwd_s_p90,           r->ready_s_p50,    (double)r->ready_order};
        memcpy(numbers + at, row, sizeof(row));
        at += PER_ROW;
    }
    const double whole[6] = {m->fwd_s,           m->bwd_s,         m->opt_s,
                             (double)m->n_elems, (double)m->batch, m->on_cpu};
    memcpy(numbers + at, whole, sizeof(whole));
    strait_hash_bytes(key, numbers, n * sizeof(*numbers));
    free(numbers);
    return key;
}

int strait_row_tensors_hash(char key[STRAIT_KEY_CHARS], const char *folder,
                            struct strait_error *err)
{
    struct strait_tensors *tensors;
    if (strait_tensors_load(&tensors, folder, err) != 0)
        return -1;
    json_t *all = json_array();
    bool hashed = all != NULL;
    for (size_t i = 0; i < tensors->n_recordings; i++) {
        const struct strait_recording *r = &tensors->recordings[i];
        strait_hash_bytes(key, r->values, r->n_elems * sizeof(*r->values));
        hashed =
            hashed && json_array_append_new(all, json_pack("[s, s, s, I, s]", r->model, r->layer,
                                                           r->kind, (json_int_t)r->step, key)) == 0;
    }
    strait_tensors_free(tensors);
    hashed = hashed && strait_hash_json(key, all) != NULL;
    json_decref(all);
    return hashed ? 0 : strait_error_memory(err, "row");
}

/* A curve of a file that may change under its name. */
static bool put_measured(json_t *all, const char *name, const struct strait_measured *m)
{
    char x[STRAIT_KEY_CHARS], y[STRAIT_KEY_CHARS];
    if (m->n == 0)
        return true;
    strait_hash_bytes(x, m->x, m->n * sizeof(*m->x));
    strait_hash_bytes(y, m->y, m->n * sizeof(*m->y));
    return json_object_set_new(all, name, json_pack("[s, s]", x, y)) == 0;
}

/* A part of the key that not every row has; without memory there is no key. */
static bool put(json_t *all, const char *name, json_t *value)
{
    return json_object_set_new(all, name, value) == 0;
}

/* The steps of all links whose rates change: some may come from traces. */
static const char *hash_rates(char hash[STRAIT_KEY_CHARS], const struct strait_network *n)
{
    char all[3 * STRAIT_KEY_CHARS] = "";
    for (const struct strait_schedule *s = n->schedules; s; s = s->next) {
        char steps[STRAIT_KEY_CHARS], period[STRAIT_KEY_CHARS];
        strait_hash_bytes(steps, s->at_s, 2 * s->n * sizeof(*s->at_s)); /* and the rates behind */
        strait_hash_bytes(period, &s->period_s, sizeof(s->period_s));
        strait_text_add(all, sizeof(all), "%s%s", steps, period);
        strait_hash_bytes(hash, all, strlen(all));
        snprintf(all, sizeof(all), "%s", hash);
    }
    return hash;
}

static const char *hash_jitters(char hash[STRAIT_KEY_CHARS], const struct strait_jitter *j)
{
    char all[2 * STRAIT_KEY_CHARS] = "";
    for (; j; j = j->next) {
        char one[STRAIT_KEY_CHARS];
        strait_text_add(all, sizeof(all), "%s", strait_hash_bytes(one, j->x, j->n * sizeof(*j->x)));
        snprintf(all, sizeof(all), "%s", strait_hash_bytes(hash, all, strlen(all)));
    }
    return hash;
}

/* What the files say that a point names: they may change under their names. NULL: memory ran
 * out. */
static json_t *files_of(const struct strait_trial *trial)
{
    const struct strait_experiment *e = trial->experiment;
    char model[STRAIT_KEY_CHARS], own[2][STRAIT_KEY_CHARS] = {"", ""};
    bool hashed = strait_row_model_hash(model, e->model) != NULL;
    for (int i = 0; i < 2; i++)
        if (trial->own_profiles[i])
            hashed = hashed && strait_profile_hash(own[i], trial->own_profiles[i]);
    json_t *files =
        hashed ? json_pack("{s:s, s:s, s:s}", "model", model, "up", own[0], "down", own[1]) : NULL;
    bool whole = files != NULL;
    if (e->graph) {
        char graph[STRAIT_KEY_CHARS];
        strait_hash_bytes(graph, &e->graph->hash, sizeof(e->graph->hash));
        whole = whole && put(files, "trace", json_string(graph));
    }
    if (e->curves)
        whole = whole && put(files, "curves", json_string(e->curves->hash));
    if (e->n_slowness > 0) {
        char slowness[STRAIT_KEY_CHARS];
        strait_hash_bytes(slowness, e->slowness, e->n_slowness * sizeof(*e->slowness));
        whole = whole && put(files, "slowness", json_string(slowness));
    }
    char rates[STRAIT_KEY_CHARS];
    if (strait_network_n_scheduled(e->network) > 0)
        whole = whole && put(files, "rates", json_string(hash_rates(rates, e->network)));
    if (e->network->jitters)
        whole =
            whole && put(files, "jitters", json_string(hash_jitters(rates, e->network->jitters)));
    whole = whole && put_measured(files, "gather", &e->link.gather) &&
            put_measured(files, "inverse", &e->inverse_s);
    if (whole)
        return files;
    json_decref(files);
    return NULL;
}

const char *strait_row_files_hash(char key[STRAIT_KEY_CHARS], const struct strait_trial *trial)
{
    json_t *files = files_of(trial);
    const char *hashed = files ? strait_hash_json(key, files) : NULL;
    json_decref(files);
    return hashed;
}

int strait_row_key(char key[STRAIT_KEY_CHARS], const struct strait_row_inputs *in,
                   struct strait_error *err)
{
    json_t *files = files_of(in->trial);
    json_t *all = json_pack("{s:O, s:s, s:s?, s:s?, s:s?, s:s?, s:s?, s:i}", "point", in->resolved,
                            "backend", in->backend, "control", in->control, "profile", in->profile,
                            "program", in->program, "machine", in->machine, "tensors", in->tensors,
                            "repeat", in->repeat);
    bool hashed = files && all && json_object_update(all, files) == 0 &&
                  put(all, "dilation", strait_json_number(in->dilation));
    json_decref(files);
    if (in->timing)
        hashed = hashed && put(all, "timing", json_string(in->timing));
    if (in->check)
        hashed = hashed && put(all, "check", json_true());
    if (in->every_round)
        hashed = hashed && put(all, "every_round", json_true());
    if (in->sizes)
        hashed = hashed && put(all, "sizes", json_string(in->sizes));
    if (in->learned)
        hashed = hashed && put(all, "learned", json_string(in->learned));
    if (in->realisation)
        hashed = hashed && put(all, "realisation", json_string(in->realisation));
    if (in->launcher)
        hashed = hashed && put(all, "launcher", json_string(in->launcher));
    hashed = hashed && strait_hash_json(key, all);
    json_decref(all);
    return hashed ? 0 : strait_error_memory(err, "row");
}
