#include "experiment.h"

#include "core/names.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void strait_experiment_free(struct strait_experiment *e)
{
    if (!e)
        return;
    strait_network_free(e->network);
    strait_model_free(e->model);
    strait_program_free(e->graph);
    strait_curves_free(e->curves);
    free(e->slowness);
    free(e->edges);
    strait_codec_choice_release(&e->up);
    strait_codec_choice_release(&e->down);
    strait_measured_release(&e->inverse_s);
    strait_host_link_release(&e->link);
    json_decref(e->json);
    free((char *)e->file);
    free(e);
}

/* Ranks ask at each message: a name that is the same literal is found without comparing texts. */
static const double *find_param(const struct strait_experiment *e, const char *name)
{
    const struct strait_param *params = e->strategy->params;
    const unsigned n = e->strategy->n_params;
    for (unsigned i = 0; i < n; i++)
        if (params[i].name == name)
            return &e->params[i];
    for (unsigned i = 0; i < n; i++)
        if (*params[i].name == *name && strcmp(params[i].name, name) == 0)
            return &e->params[i];
    return NULL;
}

const char *strait_uplink_kind(const struct strait_experiment *e)
{
    return e->strategy->uplink_kind_of ? e->strategy->uplink_kind_of(e) : e->strategy->uplink_kind;
}

double strait_experiment_slowness(const struct strait_experiment *e, int rank)
{
    const int client = rank - (e->strategy->has_server ? 1 : 0);
    return e->n_slowness > 0 && client >= 0 ? e->slowness[(size_t)client % e->n_slowness] : 1;
}

bool strait_experiment_has_param(const struct strait_experiment *e, const char *name)
{
    return find_param(e, name) != NULL;
}

double strait_experiment_param(const struct strait_experiment *e, const char *name)
{
    const double *value = find_param(e, name);
    assert(value); /* declared by the strategy */
    return *value;
}

bool strait_experiment_chooses(const struct strait_experiment *e, const char *name,
                               const char *choice)
{
    for (unsigned i = 0; i < e->strategy->n_params; i++) {
        const struct strait_param *p = &e->strategy->params[i];
        if (strcmp(p->name, name) == 0 && p->kind == STRAIT_PARAM_CHOICE)
            return strcmp(p->choices[(int)strait_experiment_param(e, name)], choice) == 0;
    }
    return false;
}

const char *strait_experiment_sums(const struct strait_experiment *e)
{
    static const char *const others[] = {"halving", "tree", "all_to_all"};
    for (unsigned i = 0; i < e->strategy->n_params; i++) {
        const struct strait_param *p = &e->strategy->params[i];
        if (strcmp(p->name, "collective") != 0 || !p->choices)
            continue;
        const char *how = p->choices[(size_t)strait_experiment_param(e, p->name)];
        for (size_t k = 0; k < sizeof(others) / sizeof(*others); k++)
            if (strcmp(how, others[k]) == 0)
                return how;
    }
    return "sum";
}

const char *strait_sums_kind(char buf[STRAIT_KIND_CHARS], const char *how, const char *kind,
                             int n_ranks)
{
    snprintf(buf, STRAIT_KIND_CHARS, "%s %s %d", kind, how, n_ranks);
    return buf;
}

int strait_next_sum(int k, int n_ranks)
{
    const int twice = k > 0 ? 2 * k : 1;
    return k >= n_ranks ? 0 : twice < n_ranks ? twice : n_ranks;
}

bool strait_sum_of_kind(char buf[STRAIT_KIND_CHARS], const char *of, int k)
{
    return snprintf(buf, STRAIT_KIND_CHARS, "%s/%d", of, k) < STRAIT_KIND_CHARS;
}

int strait_experiment_n_workers(const struct strait_experiment *e)
{
    return e->strategy->n_workers ? e->strategy->n_workers(e) : e->n_clients;
}

/* "3x3x1x32", or "none" */
static const char *shape_text(char *buf, size_t cap, const size_t *shape, size_t n_dims)
{
    snprintf(buf, cap, "%s", n_dims > 0 ? "" : "none");
    for (size_t i = 0; i < n_dims; i++)
        strait_text_add(buf, cap, "%s%zu", i > 0 ? "x" : "", shape[i]);
    return buf;
}

static bool is_same(const struct strait_learn_param *p, const struct strait_param_row *row)
{
    return p && row && p->n_dims == row->n_dims &&
           memcmp(p->shape, row->shape, p->n_dims * sizeof(p->shape[0])) == 0;
}

int strait_experiment_fits(const struct strait_experiment *e, const struct strait_learn *l,
                           struct strait_error *err)
{
    char wanted[96], found[96];
    size_t n;
    const struct strait_learn_param *params = strait_learn_params(l, &n);
    for (size_t i = 0; i < n || i < e->model->n_rows; i++) {
        const struct strait_learn_param *p = i < n ? &params[i] : NULL;
        const struct strait_param_row *row = i < e->model->n_rows ? &e->model->rows[i] : NULL;
        if (is_same(p, row))
            continue;
        return strait_refuse_at(
            err, e->file, "/training/task",
            "expected a task with the parameters of model \"%s\", whose parameter %zu has the "
            "shape %s, found \"%s\" with %s there",
            e->model->name, i + 1,
            shape_text(wanted, sizeof(wanted), row ? row->shape : NULL, row ? row->n_dims : 0),
            e->training.task,
            shape_text(found, sizeof(found), p ? p->shape : NULL, p ? p->n_dims : 0));
    }
    return 0;
}
