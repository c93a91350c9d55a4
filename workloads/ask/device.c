#include "experiment_parts.h"
#include "core/names.h"

#include <stdlib.h>
#include "traces/models/csv.h"

/* Read a table of factors, one a client, taken in turn when there are more clients. */
static int read_slowness(struct strait_experiment *e, const char *path, const char *where,
                         struct strait_error *err)
{
    struct strait_csv csv = {0};
    struct strait_error why = {0};
    bool more;
    if (strait_csv_open(&csv, path, &why) != 0) {
        strait_csv_release(&csv);
        return strait_error_set(err, why.code, where, "%s: %s", path, why.text);
    }
    int failed = strait_csv_header(&csv, "slowness", err);
    while (!failed && !(failed = strait_csv_next(&csv, &more, err)) && more) {
        double *all = realloc(e->slowness, (e->n_slowness + 1) * sizeof(*all));
        if (!all) {
            failed = strait_error_memory(err, NULL);
            break;
        }
        e->slowness = all;
        failed = strait_csv_number(&csv, &all[e->n_slowness++], 0, 1e-6, 1e6, err);
    }
    if (!failed && e->n_slowness == 0)
        failed = strait_csv_fail(&csv, err, "expected a factor a client, found none");
    strait_csv_release(&csv);
    return failed;
}

static int add_edge(struct strait_experiment *e, const struct strait_csv *csv,
                    struct strait_error *err)
{
    double ends[2];
    int(*all)[2] = realloc(e->edges, (e->n_edges + 1) * sizeof(*all));
    if (!all)
        return strait_error_memory(err, NULL);
    e->edges = all;
    for (int k = 0; k < 2; k++)
        if (strait_csv_number(csv, &ends[k], (size_t)k, 0, e->n_ranks - 1, err) != 0)
            return -1;
    const int a = (int)ends[0], b = (int)ends[1];
    if (a == b || a != ends[0] || b != ends[1])
        return strait_csv_fail(csv, err, "expected two different ranks, found %g and %g", ends[0],
                               ends[1]);
    for (size_t i = 0; i < e->n_edges; i++)
        if ((all[i][0] == a && all[i][1] == b) || (all[i][0] == b && all[i][1] == a))
            return strait_csv_fail(csv, err, "expected each pair once, found %d and %d again", a,
                                   b);
    all[e->n_edges][0] = a;
    all[e->n_edges++][1] = b;
    return 0;
}

int strait_edges_read(struct strait_experiment *e, struct strait_object *strategy,
                      struct strait_error *err)
{
    struct strait_csv csv = {0};
    struct strait_error why = {0};
    const char *path;
    char where[STRAIT_JSON_POINTER_MAX * 2];
    bool more;
    if (strait_object_string_or(strategy, &path, "edges", NULL, err) != 0 || !path)
        return err && err->code ? -1 : 0;
    if (strait_csv_open(&csv, path, &why) != 0) {
        strait_csv_release(&csv);
        return strait_error_set(err, why.code,
                                strait_object_where(strategy, "edges", where, sizeof(where)),
                                "%s: %s", path, why.text);
    }
    int failed = strait_csv_header(&csv, "a,b", err);
    while (!failed && !(failed = strait_csv_next(&csv, &more, err)) && more)
        failed = add_edge(e, &csv, err);
    strait_csv_release(&csv);
    return failed;
}

int strait_constants_check(const struct strait_object *constants, struct strait_error *err)
{
    const char *key;
    json_t *value;
    char where[STRAIT_JSON_POINTER_MAX * 2];
    json_object_foreach ((json_t *)constants->json, key, value) {
        if (!strait_param_is_of_machine(key))
            return strait_refuse_name(
                err, STRAIT_ERR_INPUT, strait_object_where(constants, key, where, sizeof(where)),
                "a constant of a machine or a network", key, strait_device_params);
    }
    return 0;
}

/* Keys of "device": {"speed": 2} is twice as fast as the model's table; {"compute": "30 TFLOP/s"}
 * is a rate, for models whose times follow from FLOPs; {"slowness": "file.csv"} makes stragglers;
 * {"inverse": "file.csv"} is the measured inversion time of a K-FAC factor; "link" and "memory" are
 * speeds of data paths; {"add": "200 GB/s", "copy": ..} replace the profile's; {"constants": {..}}
 * set strategy parameters that the strategy itself leaves out; "name" is the machine that they come
 * from (named.h), "profile" what codecs take there that name no profile themselves. */
int strait_device_read(struct strait_experiment *e, struct strait_object *constants,
                       struct strait_object *o, struct strait_error *err)
{
    struct strait_object d;
    double flop_per_s;
    const char *slowness, *inverse, *name;
    char where[STRAIT_JSON_POINTER_MAX * 2];
    if (strait_object_enter(&d, o, "device", true, err) != 0 ||
        strait_object_string_or(&d, &name, "name", NULL, err) != 0 ||
        strait_object_string_or(&d, &e->device_profile, "profile", NULL, err) != 0 ||
        strait_object_quantity_or(&d, &e->add_bytes_per_s, "add", STRAIT_UNIT_SPEED, 1, 1e18, 0,
                                  err) != 0 ||
        strait_object_quantity_or(&d, &e->copy_bytes_per_s, "copy", STRAIT_UNIT_SPEED, 1, 1e18, 0,
                                  err) != 0 ||
        strait_object_enter(constants, &d, "constants", true, err) != 0 ||
        strait_constants_check(constants, err) != 0 ||
        strait_object_string_or(&d, &slowness, "slowness", NULL, err) != 0 ||
        strait_object_string_or(&d, &inverse, "inverse", NULL, err) != 0 ||
        strait_object_number_or(&d, &e->compute_speed, "speed", 1e-6, 1e6, 1, err) != 0 ||
        strait_object_quantity_or(&d, &flop_per_s, "compute", STRAIT_UNIT_COMPUTE, 1, 1e20, 0,
                                  err) != 0 ||
        strait_host_link_read(&e->link, &d, err) != 0 ||
        strait_object_quantity_or(&d, &e->memory_bytes_per_s, "memory", STRAIT_UNIT_SPEED, 1, 1e15,
                                  500e9, err) != 0 ||
        strait_object_close(&d, err) != 0)
        return -1;
    if (slowness &&
        read_slowness(e, slowness, strait_object_where(&d, "slowness", where, sizeof(where)),
                      err) != 0)
        return -1;
    if (inverse &&
        strait_measured_load(&e->inverse_s, inverse, "dim,seconds", 1e6,
                             strait_object_where(&d, "inverse", where, sizeof(where)), err) != 0)
        return -1;
    if (flop_per_s > 0) {
        struct strait_error why = {0};
        if (strait_model_set_device_rate(e->model, flop_per_s, &why) != 0)
            return strait_error_set(err, why.code,
                                    strait_object_where(&d, "compute", where, sizeof(where)), "%s",
                                    why.text);
    }
    return 0;
}
