/* A progress line with an estimate on stderr, only where stderr is a terminal. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct strait_progress {
    const char *what;
    size_t n_total, n_done;
    double start_s, last_s;
    bool shown;
};

void strait_progress_init(struct strait_progress *p, const char *what, size_t n_total);
void strait_progress_step(struct strait_progress *p, size_t n_done);
/** Wipe the line. */
void strait_progress_release(struct strait_progress *p);
