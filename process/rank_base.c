#include "rank_base.h"

#include <unistd.h>

void strait_proc_rank_fail(struct strait_proc_rank *rank, const struct strait_error *err)
{
    struct strait_proc_state *state = rank->state;
    int none = 0;
    if (atomic_compare_exchange_strong(&state->has_error, &none, 1)) {
        state->error = *err;
        atomic_store(&state->has_error, 2);
    } else {
        for (int i = 0; i < 1000 && atomic_load(&state->has_error) < 2; i++)
            usleep(1000); /* another thread of this rank is reporting its own */
    }
    rank->failed(rank);
}
