#include "backends.h"
#include <string.h>

static const struct strait_backend *const backends[] = {&strait_sim, &strait_fluid, &strait_emu,
                                                        &strait_mpi};

const struct strait_backend *const *strait_backends(size_t *n)
{
    *n = sizeof(backends) / sizeof(*backends) - 1; /* mpi stands last */
    return backends;
}

const struct strait_backend *strait_backend_find(const char *name)
{
    for (size_t i = 0; i < sizeof(backends) / sizeof(*backends); i++)
        if (strcmp(backends[i]->name, name) == 0)
            return backends[i];
    return NULL;
}
