#include "kfac_state.h"

void kfac_ask(struct kfac *k, int job)
{
    k->n_asked[k->jobs[job].tell]++;
    strait_post(k->r, KFAC_ASK, 2 * job + k->round % 2);
}

void kfac_no_memory(struct kfac *k)
{
    struct strait_error err = {0};
    strait_error_memory(&err, NULL);
    k->r->backend->ops->fail(k->r, &err);
}
