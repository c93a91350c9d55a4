/* How long simulations packet by packet take. */
#include "packet_estimate.h"

#include "analysis/table.h"

/* Of a segment, with its acknowledgement, and of the two other draws of a long run's interval. */
static const double SEGMENT_S = 3 * 0.4e-6;
static const double LONG_S = 60;

void strait_packet_estimate_say(const struct strait_session *r)
{
    double n_segments = 0;
    char text[STRAIT_NUMBER_CHARS];
    for (size_t i = 0; i < r->n_missing && r->notes; i++)
        n_segments += r->plan.tasks[r->missing[i]].n_segments;
    if (n_segments * SEGMENT_S > LONG_S)
        fprintf(r->notes,
                "packet by packet: %.3g million segments or fewer, up to %s of processor time;\n"
                "--set /network/detail=formula takes losses by a formula, in seconds\n",
                n_segments / 1e6, strait_seconds_text(text, n_segments * SEGMENT_S));
}
