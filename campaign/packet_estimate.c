/* How long simulations packet by packet take. */
#include "packet_estimate.h"

#include "analysis/table.h"

/* Of a segment, with its acknowledgement, and of the two other draws of a long run's interval. */
static const double SEGMENT_S = 3 * 0.4e-6;
static const double LONG_S = 60;
/* Of a sweep so many points are looked at, evenly. */
enum { LOOKED_AT = 200 };

static double segments_of(const struct strait_task_plan *task, const char *file)
{
    struct strait_experiment *e = NULL;
    struct strait_error ignored = {0}; /* the simulation says it */
    const double n = !task->backend->is_measured &&
                             strait_experiment_read(&e, file, task->resolved, &ignored) == 0 &&
                             strait_network_by_packets(e->network)
                         ? strait_experiment_n_segments(e)
                         : 0;
    strait_experiment_free(e);
    return n;
}

void strait_packet_estimate_say(const struct strait_session *r)
{
    const size_t step = 1 + r->n_missing / LOOKED_AT;
    double n_segments = 0;
    char text[STRAIT_NUMBER_CHARS];
    for (size_t i = 0; i < r->n_missing && r->notes; i += step)
        n_segments += (double)step * segments_of(&r->plan.tasks[r->missing[i]], r->plan.setup.file);
    if (n_segments * SEGMENT_S > LONG_S)
        fprintf(r->notes,
                "packet by packet: %.3g million segments or fewer, up to %s of processor time;\n"
                "--set /network/detail=formula takes losses by a formula, in seconds\n",
                n_segments / 1e6, strait_seconds_text(text, n_segments * SEGMENT_S));
}
