#include "deadlines.h"

enum { DEFAULT_S = 3600 };
/* Real time beyond a multiple of what is expected, for the whole run and for a time in which
 * nothing moves. Losses are not in what is expected: on links with 1 % rounds took up to 200 times
 * as long, and TCP waits up to two minutes before it tries again. */
static const double SPARE_S = 300, LATE_RATIO = 10, LOSSY_RATIO = 500;
static const double QUIET_S = 60, QUIET_LOSSY_S = 300, QUIET_RATIO = 3;

static double expected_s(const struct strait_emu_deadlines *d)
{
    return d->shared->dilation * d->run->expected_s;
}

void strait_emu_deadlines_begin(struct strait_emu_deadlines *d, const struct strait_run *run,
                                struct strait_emu_shared *shared)
{
    *d = (struct strait_emu_deadlines){
        .run = run, .shared = shared, .start_ns = shared->start_ns, .moved_ns = shared->start_ns};
    for (int i = 0; i < shared->n_streams && !d->lossy; i++)
        d->lossy = strait_path_drops(run->network, shared->streams[i].src, shared->streams[i].dst);
    d->limit_s = run->deadline_s > 0 ? run->deadline_s
                 : run->expected_s > 0
                     ? SPARE_S + (d->lossy ? LOSSY_RATIO : LATE_RATIO) * expected_s(d)
                     : DEFAULT_S;
}

void strait_emu_deadlines_note(struct strait_emu_deadlines *d,
                               const struct strait_emu_relay_report *links, int64_t now_ns)
{
    uint64_t mark = 0;
    for (int i = 0; i < d->shared->n_ranks; i++) {
        struct strait_emu_rank_shared *r = &d->shared->ranks[i];
        mark += atomic_load(&r->state.progress) + atomic_load(&r->state.n_sent) +
                atomic_load(&r->state.n_landed);
    }
    for (int i = 0; links && i < links->n_nodes; i++)
        mark += links->in[i].wire_bytes;
    if (mark != d->mark)
        d->moved_ns = now_ns;
    d->mark = mark;
}

int strait_emu_deadlines_check(const struct strait_emu_deadlines *d, int64_t now_ns,
                               struct strait_error *err)
{
    const double most_s = (d->lossy ? QUIET_LOSSY_S : QUIET_S) + QUIET_RATIO * expected_s(d);
    if (1e-9 * (double)(now_ns - d->start_ns) > d->limit_s)
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                "the run did not end within its deadline of %.3g s", d->limit_s);
    if (d->run->expected_s > 0 && 1e-9 * (double)(now_ns - d->moved_ns) > most_s)
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                "nothing has moved for %.3g s, expected an end after %.3g s",
                                most_s, expected_s(d));
    return 0;
}
