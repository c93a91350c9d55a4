/* A message, an acknowledgement or a note on its way, part by part. */
#include "link_parts.h"

#include <stdlib.h>

struct sending *strait_mpi_sending_new(struct strait_error *err)
{
    struct sending *s = calloc(1, sizeof(*s));
    if (!s)
        strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for a message");
    return s;
}

int strait_mpi_sending_part(struct strait_mpi_link *l, struct sending *s, enum strait_mpi_way way,
                            const void *data, size_t n_bytes, int dst, int tag,
                            struct strait_error *err)
{
    const struct strait_mpi_calls *calls = l->world->calls;
    if (calls->isend(l->world->mpi, &s->requests[s->n_requests], way, data, n_bytes, dst, tag) != 0)
        return strait_mpi_broken(err);
    s->n_requests++;
    return 0;
}

void strait_mpi_sending_activate(struct strait_mpi_link *l, struct sending *s)
{
    s->next = l->active;
    l->active = s;
}

int strait_mpi_test_all(struct strait_mpi_link *l, struct strait_mpi_request *requests, unsigned *n)
{
    while (*n > 0) {
        const int done = l->world->calls->test(l->world->mpi, &requests[*n - 1]);
        if (done != 1)
            return done;
        (*n)--;
    }
    return 1;
}
