#include "live_view.h"
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "analysis/table.h"
#include "emu/programs/program_network.h"
#include "workloads/rank/trial.h"

/* Lines other than the links': heading, titles, rules, total, blanks. */
enum { OTHER_LINES = 8, MIN_LINKS = 3 };

/* --- what the links do -------------------------------------------------------------------- */

static size_t n_rows_of(const struct strait_network *n)
{
    size_t n_rows = (size_t)n->n_ranks + (size_t)n->n_sites;
    for (int i = 0; n->between && i < n->n_sites * n->n_sites; i++)
        n_rows += n->between[i].rate_bits_per_s > 0;
    return n_rows;
}

static struct strait_flow flow(const struct strait_live_view *v, const struct strait_run *run,
                               const struct strait_live *live, int link)
{
    return strait_flow_of(&live->links[link], &v->before[link], live->read_at_s - v->before_s,
                          strait_network_link(run->network, link)->rate_bits_per_s);
}

/* One row a rank, then one a site, then one a pair of sites that has a link of its own. */
static void fill_rows(struct strait_live_view *v, const struct strait_run *run,
                      const struct strait_live *live)
{
    const struct strait_network *n = run->network;
    const struct strait_trial *p = run->context;
    struct strait_flow_row *row = v->rows;
    char host[32];
    for (int i = 0; i < n->n_ranks + n->n_sites; i++, row++) {
        *row = (struct strait_flow_row){.out = flow(v, run, live, 2 * i),
                                        .in = flow(v, run, live, 2 * i + 1),
                                        .inner = i >= n->n_ranks};
        if (row->inner)
            snprintf(row->name, sizeof(row->name), "site %d", i - n->n_ranks + 1);
        else
            snprintf(row->name, sizeof(row->name), "%s",
                     i < p->experiment->n_ranks ? strait_emu_program_host(host, p->experiment, i)
                                                : "others");
    }
    const int pairs = 2 * (n->n_ranks + n->n_sites);
    for (int i = 0; n->between && i < n->n_sites * n->n_sites; i++) {
        if (!(n->between[i].rate_bits_per_s > 0))
            continue;
        *row = (struct strait_flow_row){
            .out = flow(v, run, live, pairs + i), .in = {NAN, NAN, NAN, NAN}, .inner = true};
        snprintf(row->name, sizeof(row->name), "site %d to %d", i / n->n_sites + 1,
                 i % n->n_sites + 1);
        row++;
    }
    v->n_rows = (size_t)(row - v->rows);
}

/* Rates between this reading and the last one, or time 0. */
static void take_reading(struct strait_live_view *v, const struct strait_run *run,
                         const struct strait_live *live)
{
    if (!(live->read_at_s > v->before_s))
        return;
    if (!v->rows)
        v->rows = calloc(n_rows_of(run->network), sizeof(*v->rows));
    if (!v->before)
        v->before = calloc(live->n_links, sizeof(*v->before));
    if (!v->rows || !v->before)
        return;
    fill_rows(v, run, live);
    memcpy(v->before, live->links, live->n_links * sizeof(*v->before));
    v->before_s = live->read_at_s;
}

/* --- what is shown ------------------------------------------------------------------------ */

/* Estimated real seconds left, from the rounds so far, before the first from the prediction; NAN:
 * unknown. */
static double left_s(const struct strait_trial *p, const struct strait_live *live)
{
    if (live->real_s > 0) /* a simulation: by its real time so far */
        return live->n_rounds > 0 ? live->real_s * (p->n_rounds - live->n_rounds) / live->n_rounds
                                  : NAN;
    const double all_s = live->n_rounds > 0  ? live->rounds_s * p->n_rounds / live->n_rounds
                         : p->expected_s > 0 ? p->expected_s
                                             : NAN;
    return fmax(all_s - live->now_s, 0) * (isnan(all_s) ? NAN : live->dilation);
}

static void print_head(FILE *to, const struct strait_live_view *v, const struct strait_run *run,
                       const struct strait_live *live)
{
    const struct strait_trial *p = run->context;
    char text[STRAIT_NUMBER_CHARS];
    fprintf(to, "%s %zu/%zu: ", v->what, v->i_task, v->n_tasks);
    if (!(live->now_s >= 0)) {
        fputs("setting up", to);
        return;
    }
    const int now = live->n_rounds < p->n_rounds ? live->n_rounds + 1 : p->n_rounds;
    fprintf(to, "%.2f s of virtual time", live->now_s);
    if (live->dilation != 1 && !isnan(live->dilation))
        fprintf(to, " at dilation %g", live->dilation);
    fprintf(to, ", round %d of %d", now, p->n_rounds);
    if (live->has_score)
        fprintf(to, ", loss %.4g", live->loss);
    if (live->has_score && !isnan(live->accuracy))
        fprintf(to, ", accuracy %.1f %%", 100 * live->accuracy);
    const double real_s = left_s(p, live);
    if (real_s < 100)
        fprintf(to, ", about %.0f s left", real_s);
    else if (!isnan(real_s))
        fprintf(to, ", about %s left", strait_seconds_text(text, real_s));
}

static void wipe(FILE *to, struct strait_live_view *v)
{
    if (v->n_lines > 0)
        fprintf(to, "\033[%zuA\r\033[J", v->n_lines);
    v->n_lines = 0;
}

size_t strait_live_most_rows(int terminal_fd)
{
    struct winsize window;
    const int n_lines =
        ioctl(terminal_fd, TIOCGWINSZ, &window) == 0 && window.ws_row > 0 ? window.ws_row : 24;
    const int most = n_lines - OTHER_LINES;
    return most < MIN_LINKS ? MIN_LINKS : (size_t)most;
}

/* Cut lines at the right edge: a wrapped line could not be erased. */
static void draw(FILE *to, struct strait_live_view *v, const struct strait_run *run,
                 const struct strait_live *live)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *lines = open_memstream(&text, &n_bytes);
    if (!lines)
        return;
    print_head(lines, v, run, live);
    fputs("\n", lines);
    if (v->n_rows > 0) {
        fputs("\n", lines);
        strait_flows_print(lines, v->rows, v->n_rows, strait_live_most_rows(STDERR_FILENO));
    }
    if (fclose(lines) == 0) {
        wipe(to, v);
        fprintf(to, "\033[?7l%s\033[?7h", text);
        for (const char *c = text; *c; c++)
            v->n_lines += *c == '\n';
    }
    free(text);
}

/* In one write, since a run may be ended at any moment. */
static void show(struct strait_live_view *v, const struct strait_run *run,
                 const struct strait_live *live)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *all = open_memstream(&text, &n_bytes);
    if (!all)
        return;
    if (!live) {
        wipe(all, v);
    } else if (v->screen) {
        draw(all, v, run, live);
    } else if (live->now_s >= 0) {
        print_head(all, v, run, live);
        if (v->n_rows > 0)
            fputs("; ", all);
        if (v->n_rows > 0)
            strait_flows_print_line(all, v->rows, v->n_rows);
        fputs("\n", all);
    }
    if (fclose(all) == 0 && n_bytes > 0) {
        fflush(stderr);
        fwrite(text, 1, n_bytes, stderr);
        fflush(stderr);
    }
    free(text);
}

void strait_live_watch(const struct strait_run *run, const struct strait_live *live)
{
    struct strait_live_view *v = run->watcher;
    if (v->screen) /* a background process must not be stopped for writing */
        signal(SIGTTOU, SIG_IGN);
    if (live)
        take_reading(v, run, live);
    show(v, run, live);
    if (live)
        return;
    free(v->before);
    free(v->rows);
    v->before = NULL;
    v->rows = NULL;
    v->n_rows = 0;
    v->before_s = 0;
}
