/* The live view of an emulated run, on stderr: redrawn in place where that is a terminal, else a
 * line a refresh. */
#pragma once
#include "analysis/flows.h"
#include "workloads/rank/backend.h"

struct strait_live_view { /* begins zeroed, but for the first three */
    bool screen;          /* stderr is a terminal */
    const char *what;     /* "emulating" */
    size_t i_task, n_tasks;
    struct strait_live_link *before; /* the links as they were last read */
    double before_s;
    struct strait_flow_row *rows;
    size_t n_rows, n_lines; /* of these, and what is on the screen */
};

/** Rows of links that a terminal has room for, beside heads and totals. */
size_t strait_live_most_rows(int terminal_fd);
/** A run's watch, its watcher a struct strait_live_view, its context a point. */
void strait_live_watch(const struct strait_run *run, const struct strait_live *live);
