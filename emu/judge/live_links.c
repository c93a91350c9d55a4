#include "live_links.h"
#include <math.h>
#include "process/dilated_clock.h"
#include "emu/host/dilation.h"

enum { TRIES = 100 };

void strait_emu_live_put(struct strait_emu_shared *s, const struct strait_emu_relay_report *r)
{
    atomic_fetch_add(&s->n_readings, 1);
    s->read_at_s = r->at_s;
    for (int i = 0; i < r->n_nodes; i++) {
        s->links[2 * i] = r->out[i];
        s->links[2 * i + 1] = r->in[i];
    }
    for (int i = 0; i < r->n_between; i++)
        s->links[2 * r->n_nodes + i] = r->between[i];
    atomic_fetch_add(&s->n_readings, 1);
}

static struct strait_live_link link_of(const struct strait_emu_link_report *r)
{
    const bool counted = r->carried_bytes != STRAIT_EMU_UNKNOWN;
    return (struct strait_live_link){.carried_bytes = counted ? (double)r->carried_bytes : NAN,
                                     .queue_bytes = counted ? (double)r->backlog_bytes : NAN,
                                     .n_drops = (double)(r->n_queue_drops + r->n_loss_drops)};
}

/* Returns when they were read; 0: not yet, or the reading changed while copying. */
static double copy_links(struct strait_live_link *links, struct strait_emu_shared *s)
{
    for (int i = 0; i < TRIES; i++) {
        const unsigned before = atomic_load(&s->n_readings);
        const double at_s = s->read_at_s;
        for (int j = 0; j < s->n_links; j++)
            links[j] = link_of(&s->links[j]);
        atomic_thread_fence(memory_order_acquire);
        if (before % 2 == 0 && atomic_load(&s->n_readings) == before)
            return at_s;
    }
    return 0;
}

void strait_emu_live_show(const struct strait_run *run, struct strait_emu_shared *s,
                          struct strait_live_link *links)
{
    const struct strait_proc_clock clock = {atomic_load(&s->start_ns), s->dilation};
    const int64_t at_ns = llround(1e9 * copy_links(links, s));
    const struct strait_live live = {
        .now_s =
            clock.start_ns ? strait_proc_clock_virtual_s(&clock, strait_proc_mono_ns()) : -INFINITY,
        .dilation = strait_emu_in_virtual_time() ? NAN : s->dilation,
        .n_rounds = atomic_load(&s->ranks[0].state.n_rounds),
        .rounds_s = atomic_load(&s->ranks[0].state.rounds_s),
        .read_at_s = at_ns && clock.start_ns ? strait_proc_clock_virtual_s(&clock, at_ns) : NAN,
        .links = links,
        .n_links = (size_t)s->n_links,
        .has_score = run->score && !isnan(atomic_load(&run->score->loss)),
        .loss = run->score ? atomic_load(&run->score->loss) : NAN,
        .accuracy = run->score ? atomic_load(&run->score->accuracy) : NAN};
    run->watch(run, &live);
}
