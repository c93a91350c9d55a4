#include "uploads.h"

#include <math.h>
#include <stdlib.h>
#include "core/clock.h"

double upload_goodput(double overhead_bytes)
{
    return 1e9 / 8 * 1448 / (1514 + overhead_bytes);
}

static bool is_star(const struct strait_run *run, int src, int dst, int channel)
{
    (void)run;
    return src > 0 && dst == 0 && channel == 0;
}

/* All others send to rank 0 and wait for the acknowledgement, one frame back: numbers[rank][0]. */
static void upload(struct strait_rank *r)
{
    struct strait_times times;
    if (r->me > 0) {
        struct strait_packet *p = strait_packet_new(0);
        if (!p)
            abort(); /* a test without memory proves nothing */
        p->payload_bytes = UPLOAD_BYTES;
        r->backend->ops->wait(r, r->backend->ops->send(r, 0, 0, 0, p, true), &times);
        board_of(r)->numbers[r->me][0] = times.ended_s;
        return;
    }
    for (int i = 1; i < r->run->n_ranks; i++) {
        struct strait_message m;
        r->backend->ops->recv(r, &m, STRAIT_ANY, 0, INFINITY);
        strait_packet_drop(m.packet);
        board_of(r)->numbers[0][0] = m.arrived_s;
    }
}

static void burn(void *arg)
{
    const int64_t until_ns = strait_cpu_thread_ns() + BURN_MS * INT64_C(1000000);
    do
        for (volatile unsigned n = 0; n < 100000; n++)
            ;
    while (strait_cpu_thread_ns() < until_ns);
    (void)arg;
}

static void burn_and_upload(struct strait_rank *r)
{
    struct strait_times times;
    const struct strait_job job = {.resource = STRAIT_CPU, .n_slots = 1, .cost_s = NAN, .fn = burn};
    if (r->me > 0)
        r->backend->ops->wait(r, r->backend->ops->start(r, &job), &times);
    upload(r);
}

void upload_world(struct world *w, int n_clients, double rtt_s, bool burns)
{
    world_init(w, n_clients + 1, 1e9, rtt_s);
    w->run.rank_main = burns ? burn_and_upload : upload;
    w->run.uses_stream = is_star;
    w->run.measured_cost = burns;
}

double upload_run_s(struct world *w, struct strait_error *err)
{
    double last_s = w->board->numbers[0][0] = 0;
    if (strait_emu.run(&w->run, err) != 0)
        return NAN;
    for (int i = 1; i < w->run.n_ranks; i++)
        last_s = fmax(last_s, w->board->numbers[i][0]);
    return w->run.measured_cost ? w->board->numbers[0][0] : last_s;
}
