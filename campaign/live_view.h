/* The live view of an emulated run, on stderr: redrawn in place on a terminal, else one line a
 * refresh. */
#pragma once
#include "analysis/flows.h"
#include "workloads/rank/backend.h"

struct strait_live_view { /* zeroed, except for the first three */
    bool screen;          /* stderr is a terminal */
    const char *what;     /* "emulating" */
    size_t i_task, n_tasks;
    struct strait_live_link *before; /* the previous reading of the links */
    double before_s;
    struct strait_flow_row *rows;
    size_t n_rows, n_lines; /* of these, and on the screen */
};

/** Rows for links that fit on a terminal beside headings and totals. */
size_t strait_live_most_rows(int terminal_fd);
/** Callback for run->watch; run->watcher is a strait_live_view, run->context a strait_trial. */
void strait_live_watch(const struct strait_run *run, const struct strait_live *live);
