#include "codec_slowdown.h"

#include <stdio.h>

/* Caches and neighbours on a core lengthen even processor time. */
static const double MAX_RATIO = 1.05;

static double coding_s(const struct strait_log *logs, int n_ranks)
{
    double sum_s = 0;
    for (int i = 0; i < n_ranks; i++)
        sum_s += logs[i].total_s[STRAIT_SPAN_ENCODE] + logs[i].total_s[STRAIT_SPAN_DECODE];
    return sum_s;
}

bool strait_codec_slowdown_text(char *text, size_t cap, const struct strait_log *charged,
                                const struct strait_log *calibrated, int n_ranks)
{
    const double here_s = coding_s(charged, n_ranks), then_s = coding_s(calibrated, n_ranks);
    if (!(then_s > 0) || here_s <= MAX_RATIO * then_s)
        return false;
    snprintf(text, cap,
             "codecs took %.4g s of processor time in all, %.4g s by the calibration of this "
             "machine: %.1f %% more, at most %.0f %% expected",
             here_s, then_s, 100 * (here_s / then_s - 1), 100 * (MAX_RATIO - 1));
    return true;
}
