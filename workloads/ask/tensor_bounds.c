#include "tensor_bounds.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include "core/json.h"

static const char schema_name[] = "strait-bounds/1";

const char *strait_tensor_name(char name[192], const struct strait_param_row *row)
{
    snprintf(name, 192, "%s.%s", row->layer, row->param);
    return name;
}

static const struct strait_param_row *row_of(const struct strait_model *m, const char *name)
{
    char own[192];
    for (size_t i = 0; i < m->n_rows; i++)
        if (strcmp(strait_tensor_name(own, &m->rows[i]), name) == 0)
            return &m->rows[i];
    return NULL;
}

static int read_tensors(double *bounds, struct strait_object *o, const struct strait_model *m,
                        struct strait_error *err)
{
    struct strait_object tensors;
    const char *name;
    json_t *value;
    char where[STRAIT_JSON_POINTER_MAX * 2];
    if (strait_object_enter(&tensors, o, "tensors", false, err) != 0)
        return -1;
    json_object_foreach ((json_t *)tensors.json, name, value) {
        const struct strait_param_row *row = row_of(m, name);
        strait_object_where(&tensors, name, where, sizeof(where));
        if (!row)
            return strait_refuse(err, where, "expected a tensor of model \"%s\" such as \"%s.%s\"",
                                 m->name, m->rows[0].layer, m->rows[0].param);
        const double bound = json_is_number(value) ? json_number_value(value) : NAN;
        if (!(bound > 0 && isfinite(bound)))
            return strait_refuse(err, where, "expected a bound above 0, as a number");
        bounds[row - m->rows] = bound;
    }
    return 0;
}

static int read_file(double *bounds, enum strait_bound_kind *kind, const char *path,
                     const json_t *json, const struct strait_model *m, struct strait_error *err)
{
    struct strait_object o;
    const char *schema, *name;
    char where[STRAIT_JSON_POINTER_MAX * 2];
    if (strait_object_open(&o, path, "", json, err) != 0 ||
        strait_object_string(&o, &schema, "schema", err) != 0 ||
        strait_object_string(&o, &name, "kind", err) != 0)
        return -1;
    if (strcmp(schema, schema_name) != 0)
        return strait_refuse(err, strait_object_where(&o, "schema", where, sizeof(where)),
                             "expected \"%s\", found \"%s\"", schema_name, schema);
    if (!strait_bound_kind_parse(kind, name) || *kind == STRAIT_BOUND_NONE ||
        *kind == STRAIT_BOUND_RATIO)
        return strait_refuse(err, strait_object_where(&o, "kind", where, sizeof(where)),
                             "expected abs, range, rms or pointwise, found \"%s\"", name);
    strait_object_has(&o, "found");
    return read_tensors(bounds, &o, m, err) != 0 || strait_object_close(&o, err) != 0 ? -1 : 0;
}

int strait_tensor_bounds_load(double **out, enum strait_bound_kind *kind, const char *path,
                              const struct strait_model *m, const char *where,
                              struct strait_error *err)
{
    struct strait_error why = {0};
    double *bounds = malloc((m->n_rows + 1) * sizeof(*bounds));
    json_t *json = bounds ? strait_json_load(path, &why) : NULL;
    for (size_t i = 0; bounds && i < m->n_rows; i++)
        bounds[i] = NAN;
    *out = NULL;
    if (!json) {
        free(bounds);
        return bounds ? strait_error_set(err, why.code, where, "%s: %s", path, why.text)
                      : strait_error_memory(err, where);
    }
    const int failed = read_file(bounds, kind, path, json, m, err);
    json_decref(json);
    if (failed)
        free(bounds);
    else
        *out = bounds;
    return failed;
}

int strait_tensor_bounds_save(const char *path, const double *bounds, enum strait_bound_kind kind,
                              const struct strait_model *m, json_t *record,
                              struct strait_error *err)
{
    char name[192];
    json_t *tensors = json_object();
    for (size_t i = 0; i < m->n_rows; i++)
        if (isfinite(bounds[i]))
            json_object_set_new(tensors, strait_tensor_name(name, &m->rows[i]),
                                json_real(bounds[i]));
    json_t *file = json_pack("{s:s, s:s, s:o, s:O*}", "schema", schema_name, "kind",
                             strait_bound_kind_name(kind), "tensors", tensors, "found", record);
    const int failed = !file || json_dump_file(file, path, JSON_INDENT(1)) != 0;
    json_decref(file);
    return failed ? strait_error_system(err, path, "cannot write") : 0;
}
