/* The progress line: rewritten in place at most ten times a second, cut to the terminal's width. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "progress.h"
#include "clock.h"
#include "host.h"

enum { LINE_CHARS = 256 };

static void format_left(char *buf, size_t cap, double left_s)
{
    if (left_s < 100)
        snprintf(buf, cap, "%.0f s left", left_s);
    else if (left_s < 100 * 60)
        snprintf(buf, cap, "%.0f min left", left_s / 60);
    else
        snprintf(buf, cap, "%.0f h left", left_s / 3600);
}

static void show(const struct strait_progress *p, double now_s)
{
    char line[LINE_CHARS], left[32] = "";
    const double done = (double)p->n_done, total = (double)p->n_total;
    if (p->n_done > 0)
        format_left(left, sizeof(left), (now_s - p->start_s) / done * (total - done));
    snprintf(line, sizeof(line), "%s %zu/%zu %.0f %% %s", p->what, p->n_done, p->n_total,
             100 * done / total, left);
    const size_t columns = strait_terminal_columns(STDERR_FILENO);
    if (columns > 0 && strlen(line) >= columns) /* a wrapped line could not be wiped */
        line[columns - 1] = '\0';
    fprintf(stderr, "\r\033[K%s", line);
    fflush(stderr);
}

void strait_progress_init(struct strait_progress *p, const char *what, size_t n_total)
{
    *p = (struct strait_progress){.what = what, .n_total = n_total};
    p->shown = n_total > 0 && isatty(STDERR_FILENO);
    p->start_s = p->last_s = strait_clock_s();
}

void strait_progress_step(struct strait_progress *p, size_t n_done)
{
    p->n_done = n_done < p->n_total ? n_done : p->n_total;
    if (!p->shown)
        return;
    const double now_s = strait_clock_s();
    if (now_s - p->last_s < 0.1)
        return;
    p->last_s = now_s;
    show(p, now_s);
}

void strait_progress_release(struct strait_progress *p)
{
    if (p->shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    p->shown = false;
}
