/* The table of tasks. */
#include <string.h>
#include "learn_network.h"

static const struct strait_learn_network *const networks[] = {
    &strait_quadratic,      &strait_fashion_mlp,      &strait_fashion_cnn,
    &strait_fashion_resnet, &strait_char_transformer,
};
enum { N_NETWORKS = sizeof(networks) / sizeof(*networks) };

const struct strait_learn_task_info *strait_learn_task(size_t i)
{
    return i < N_NETWORKS ? &networks[i]->info : NULL;
}

const struct strait_learn_network *strait_learn_network_find(const char *name)
{
    for (size_t i = 0; i < N_NETWORKS; i++)
        if (strcmp(networks[i]->info.name, name) == 0)
            return networks[i];
    return NULL;
}
