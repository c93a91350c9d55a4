/* What tasks use to declare their parameters. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "learn_network.h"

bool strait_learn_add(struct strait_learn *l, const char *layer, const char *param,
                      const char *type, const size_t *shape, unsigned n_dims)
{
    assert(n_dims > 0 && n_dims <= sizeof(l->params->shape) / sizeof(*shape));
    assert(l->n_params < STRAIT_LEARN_MAX_PARAMS && strlen(layer) < STRAIT_LEARN_NAME_CHARS);
    const bool is_new = !l->params || strcmp(l->params[l->n_params - 1].layer, layer) != 0;
    if (!l->params) {
        l->params = calloc(STRAIT_LEARN_MAX_PARAMS, sizeof(*l->params));
        l->names = calloc(STRAIT_LEARN_MAX_PARAMS, sizeof(*l->names));
        if (!l->params || !l->names)
            return false;
    }
    struct strait_learn_param *p = &l->params[l->n_params];
    snprintf(l->names[l->n_params], STRAIT_LEARN_NAME_CHARS, "%s", layer);
    *p = (struct strait_learn_param){.layer = l->names[l->n_params],
                                     .param = param,
                                     .type = type,
                                     .n_dims = n_dims,
                                     .n_elems = 1,
                                     .first = l->n_elems};
    l->n_layers += is_new;
    p->layer_index = l->n_layers - 1;
    for (unsigned i = 0; i < n_dims; i++) {
        p->shape[i] = shape[i];
        p->n_elems *= shape[i];
    }
    l->n_elems += p->n_elems;
    l->n_params++;
    return true;
}
