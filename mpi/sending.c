/* A message, an acknowledgement or a note on its way, part by part. */
#include "link_parts.h"

#include <stdlib.h>

struct strait_mpi_request *strait_mpi_parts_push(struct parts *p)
{
    return p->n < STRAIT_MPI_N_PARTS ? &p->requests[(p->first + p->n++) % STRAIT_MPI_N_PARTS]
                                     : NULL;
}

int strait_mpi_parts_test(struct strait_mpi_link *l, struct parts *p)
{
    while (p->n > 0) {
        const int done = l->world->calls->test(l->world->mpi, &p->requests[p->first]);
        if (done != 1)
            return done;
        p->first = (p->first + 1) % STRAIT_MPI_N_PARTS;
        p->n--;
    }
    return 1;
}

struct sending *strait_mpi_sending_new(struct strait_error *err)
{
    struct sending *s = calloc(1, sizeof(*s));
    if (!s)
        strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for a message");
    return s;
}

int strait_mpi_sending_letter(struct strait_mpi_link *l, struct sending *s, const void *data,
                              size_t n_bytes, int dst, int tag, struct strait_error *err)
{
    return l->world->calls->isend(l->world->mpi, strait_mpi_parts_push(&s->parts),
                                  STRAIT_MPI_LETTERS, data, n_bytes, dst, tag) == 0
               ? 0
               : strait_mpi_broken(err);
}

void strait_mpi_sending_activate(struct strait_mpi_link *l, struct sending *s)
{
    s->next = l->active;
    l->active = s;
}
