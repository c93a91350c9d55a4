#include "software.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/units.h"

static bool says(const struct strait_experiment *e, const char *of, const char *inside,
                 const char *name)
{
    const json_t *at = json_object_get(e->json, of);
    return json_object_get(inside ? json_object_get(at, inside) : at, name) != NULL;
}

/* Whether it is this model's, on this device. */
static bool is_own(const struct strait_experiment *e, const json_t *from)
{
    const char *model = json_string_value(json_object_get(from, "model")),
               *on = json_string_value(json_object_get(from, "device")),
               *device =
                   json_string_value(json_object_get(json_object_get(e->json, "device"), "name"));
    return model && strncmp(e->model->name, model, strlen(model)) == 0 && on && device &&
           strcmp(device, on) == 0;
}

/* NULL: the strategy has no such parameter. */
static const struct strait_param *find_param(const struct strait_experiment *e, const char *name)
{
    for (unsigned i = 0; i < e->strategy->n_params; i++)
        if (strcmp(e->strategy->params[i].name, name) == 0)
            return &e->strategy->params[i];
    return NULL;
}

/* What is chosen by a name is read in the library's code, not estimated. */
static bool is_choice(const struct strait_experiment *e, const char *name)
{
    const struct strait_param *p = find_param(e, name);
    return p && p->kind == STRAIT_PARAM_CHOICE;
}

double strait_software_error(const struct strait_experiment *e, const char *constant,
                             const json_t *used)
{
    const struct strait_param *p = find_param(e, constant);
    const char *elsewhere = json_string_value(json_object_get(used, "elsewhere"));
    const char *said = elsewhere && !json_is_true(json_object_get(used, "own"))
                           ? elsewhere
                           : json_string_value(json_object_get(used, "error"));
    char figure[32], *end;
    double value;
    if (!p || !said || strcspn(said, ":,") >= sizeof(figure))
        return NAN;
    snprintf(figure, sizeof(figure), "%.*s", (int)strcspn(said, ":,"), said);
    if (p->kind == STRAIT_PARAM_TIME || p->kind == STRAIT_PARAM_SPEED)
        return strait_quantity_parse(
                   &value, p->kind == STRAIT_PARAM_TIME ? STRAIT_UNIT_TIME : STRAIT_UNIT_SPEED,
                   figure, "error", NULL) == 0
                   ? value
                   : NAN;
    value = strtod(figure, &end);
    return end != figure && *end == '\0' ? value : NAN;
}

json_t *strait_software_used(const struct strait_experiment *e)
{
    json_t *used = json_object(), *from;
    const char *name;
    json_object_foreach ((json_t *)e->estimated, name, from) {
        if (!strait_experiment_has_param(e, name) || !(strait_experiment_param(e, name) > 0) ||
            is_choice(e, name) || says(e, "strategy", NULL, name) ||
            says(e, "network", "constants", name))
            continue;
        json_t *of = json_deep_copy(from);
        json_object_set_new(of, "value", json_real(strait_experiment_param(e, name)));
        json_object_set_new(of, "own", json_boolean(is_own(e, from)));
        json_object_set_new(used, name, of);
    }
    return used;
}

json_t *strait_software_free(const char *constant)
{
    size_t n;
    const struct strait_strategy *const *all = strait_strategies(&n);
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < all[i]->n_params; k++) {
            const struct strait_param *p = &all[i]->params[k];
            if (strcmp(p->name, constant) != 0)
                continue;
            return p->kind == STRAIT_PARAM_TIME    ? json_string("0 s")
                   : p->kind == STRAIT_PARAM_SPEED ? json_string("1000000 GB/s")
                                                   : json_integer(0);
        }
    return json_integer(0);
}
