/* The numbers of the scaling curve, before anything is drawn. */
#include "scaling.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_BANDS = 6 };

/* The break-even record of a curve, or NULL. */
static const json_t *record_of(const struct strait_scaling *p, size_t s, size_t c)
{
    return strait_grid_breakeven(p->grid, s, c, p->breakevens);
}

double strait_scaling_y(const struct strait_scaling *p, const struct strait_cell *cell)
{
    if (!cell->row)
        return NAN;
    return p->y == STRAIT_PLOT_SPEEDUP ? cell->speedup : cell->round_s;
}

bool strait_scaling_band(double ends[2], const struct strait_scaling *p, size_t s, size_t c,
                         size_t n)
{
    const struct strait_cell *cell = strait_grid_cell(p->grid, s, c, n);
    const json_t *interval = json_object_get(cell->row, "interval_s");
    if (!cell->row || p->y != STRAIT_PLOT_TIME || p->grid->n_codecs > MAX_BANDS)
        return false;
    ends[0] = p->repeats ? cell->round_min_s : json_number_value(json_array_get(interval, 0));
    ends[1] = p->repeats ? cell->round_max_s : json_number_value(json_array_get(interval, 1));
    return ends[0] > 0 && ends[1] > ends[0];
}

bool strait_scaling_has_curve(const struct strait_scaling *p, size_t s, size_t c)
{
    if (p->y == STRAIT_PLOT_SPEEDUP && p->grid->codecs[c].is_plain)
        return false; /* it is the line at 1 */
    for (size_t n = 0; n < p->grid->n_counts; n++)
        if (isfinite(strait_scaling_y(p, strait_grid_cell(p->grid, s, c, n))))
            return true;
    return false;
}

static double time_of(const json_t *record, const char *key, size_t i)
{
    const json_t *value = json_array_get(json_object_get(record, key), i);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static double curve_y(const struct strait_scaling *p, const json_t *record, size_t i)
{
    const double with_s = time_of(record, "with_s", i);
    return p->y == STRAIT_PLOT_SPEEDUP ? time_of(record, "without_s", i) / with_s : with_s;
}

static int by_count(const void *a, const void *b)
{
    const struct strait_scaling_dot *x = a, *y = b;
    return (x->count > y->count) - (x->count < y->count);
}

/* No compression at every count that was looked at for any codec of the setting: else it would be
 * drawn straight between swept counts, across curves that it does not meet. */
static size_t baseline(struct strait_scaling_dot **dots, const struct strait_scaling *p, size_t s)
{
    size_t n = 0, cap = 0;
    *dots = NULL;
    for (size_t c = 0; c < p->grid->n_codecs; c++) {
        const json_t *record = record_of(p, s, c);
        const json_t *counts = json_object_get(record, "counts");
        const size_t more = json_array_size(counts);
        struct strait_scaling_dot *room = realloc(*dots, (cap + more + 1) * sizeof(*room));
        if (!room)
            break;
        *dots = room;
        cap += more;
        for (size_t i = 0; i < more; i++)
            room[n++] =
                (struct strait_scaling_dot){(long)json_integer_value(json_array_get(counts, i)),
                                            time_of(record, "without_s", i)};
    }
    if (n > 0)
        qsort(*dots, n, sizeof(**dots), by_count);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || (*dots)[kept - 1].count != (*dots)[i].count)
            (*dots)[kept++] = (*dots)[i];
    return kept;
}

size_t strait_scaling_curve(struct strait_scaling_dot **dots, const struct strait_scaling *p,
                            size_t s, size_t c)
{
    const struct strait_grid *g = p->grid;
    const json_t *record = record_of(p, s, c);
    const json_t *counts = json_object_get(record, "counts");
    size_t n = json_array_size(counts);
    if (g->codecs[c].is_plain && p->y == STRAIT_PLOT_TIME && (n = baseline(dots, p, s)) > 0)
        return n;
    if (g->codecs[c].is_plain && p->y == STRAIT_PLOT_TIME)
        free(*dots);
    *dots = calloc((n > 0 ? n : g->n_counts) + 1, sizeof(**dots));
    for (size_t i = 0; *dots && i < n; i++)
        (*dots)[i] = (struct strait_scaling_dot){
            (long)json_integer_value(json_array_get(counts, i)), curve_y(p, record, i)};
    for (size_t i = 0; *dots && n == 0 && i < g->n_counts; i++)
        (*dots)[i] = (struct strait_scaling_dot){g->counts[i],
                                                 strait_scaling_y(p, strait_grid_cell(g, s, c, i))};
    return !*dots ? 0 : n > 0 ? n : g->n_counts;
}

size_t strait_scaling_crossings(long *at, size_t cap, const struct strait_scaling *p, size_t s,
                                size_t c, bool rising)
{
    const json_t *record = record_of(p, s, c);
    const json_t *counts = json_object_get(record, "counts");
    size_t n = 0;
    for (size_t i = 1; i < json_array_size(counts) && n < cap; i++) {
        const bool before = curve_y(p, record, i - 1) > 1, here = curve_y(p, record, i) > 1;
        if (before != here && here == rising)
            at[n++] = (long)json_integer_value(json_array_get(counts, i));
    }
    return n;
}

void strait_scaling_find_range(struct strait_scaling *p)
{
    p->lo = INFINITY;
    p->hi = -INFINITY;
    for (size_t s = 0; s < p->n_panels; s++)
        for (size_t c = 0; c < p->grid->n_codecs; c++) {
            struct strait_scaling_dot *dots = NULL;
            const size_t n =
                strait_scaling_has_curve(p, s, c) ? strait_scaling_curve(&dots, p, s, c) : 0;
            for (size_t i = 0; i < n + p->grid->n_counts; i++) {
                const double y =
                    i < n ? dots[i].y : strait_scaling_y(p, strait_grid_cell(p->grid, s, c, i - n));
                if (isfinite(y) && y > 0) {
                    p->lo = fmin(p->lo, y);
                    p->hi = fmax(p->hi, y);
                }
            }
            free(dots);
            for (size_t n_count = 0; n_count < p->grid->n_counts; n_count++) {
                double ends[2];
                if (!strait_scaling_band(ends, p, s, c, n_count))
                    continue;
                p->lo = fmin(p->lo, ends[0]);
                p->hi = fmax(p->hi, ends[1]);
                p->bands = true;
            }
        }
    if (p->y == STRAIT_PLOT_SPEEDUP) {
        p->lo = fmin(p->lo, 1);
        p->hi = fmax(p->hi, 1);
    }
}
