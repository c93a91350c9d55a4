/* Libraries whose collectives a strategy takes instead of our own. */
#include <stdio.h>

#include "open_mpi.h"
#include "workloads/ask/experiment.h"

/* Gloo's channels: data, words, and lanes' own (gloo_ring.h). */
enum { GLOO = 3 };

const char *const strait_libraries[] = {"none", "open_mpi", "nccl", "gloo", NULL};
const char *const strait_scatter_libraries[] = {"none", "open_mpi", "nccl", NULL};

struct strait_group strait_world_by_library(struct strait_rank *r, int channel)
{
    const enum strait_library library = (enum strait_library)(int)strait_param(r, "library");
    struct strait_group world = strait_world(r, library == STRAIT_GLOO ? GLOO : channel);
    world.library = library;
    if (library == STRAIT_GLOO) {
        world.gloo = strait_alloc(r, 1, sizeof(*world.gloo));
        *world.gloo = strait_gloo_room_of(r);
    }
    world.skew_s = strait_param(r, "skew");
    return world;
}

void strait_be_late(struct strait_rank *r, double most_s, unsigned step)
{
    char purpose[32];
    if (!(most_s > 0))
        return;
    snprintf(purpose, sizeof(purpose), "late %u", step);
    strait_work(r, STRAIT_SPAN_WAIT, STRAIT_TIMER, most_s * strait_draw(r, purpose), NULL, NULL);
}

bool strait_has_library(const struct strait_experiment *e)
{
    return (int)strait_experiment_param(e, "library") != STRAIT_TEXTBOOK;
}

bool strait_library_needs_packets(const struct strait_experiment *e)
{
    return strait_has_library(e) && !strait_experiment_chooses(e, "library", "nccl");
}

enum strait_all_reduce strait_library_sum(enum strait_library library)
{
    return library == STRAIT_GLOO   ? STRAIT_AR_GLOO
           : library == STRAIT_NCCL ? STRAIT_AR_NCCL
                                    : STRAIT_AR_OPEN_MPI;
}

int strait_library_carrier(const struct strait_experiment *e, int channel)
{
    if (channel == GLOO + 1 && strait_experiment_chooses(e, "library", "gloo"))
        return GLOO;
    return channel == STRAIT_ANSWERING ? 0 : channel;
}

bool strait_library_uses(const struct strait_experiment *e, int channel, int data, int src, int dst)
{
    if (!strait_has_library(e) || src == dst)
        return false;
    if (strait_experiment_chooses(e, "library", "nccl"))
        return strait_nccl_may_use(e->n_ranks, channel - data, src, dst);
    return strait_experiment_chooses(e, "library", "gloo")
               ? channel == GLOO || channel == GLOO + 1
               : channel == data || channel == STRAIT_ANSWERING;
}
