#include "show_training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fields.h"
#include "analysis/row_names.h"
#include "analysis/table.h"
#include "analysis/training/target.h"

bool strait_show_any_training(const json_t *rows)
{
    size_t i;
    json_t *row;
    json_array_foreach (rows, i, row)
        if (json_is_object(json_object_get(row, "training")))
            return true;
    return false;
}

/* What the table has columns for. */
struct shown {
    bool target, accuracy, seeds, live;
};

static struct shown what(const struct strait_grid *g)
{
    struct shown s = {0};
    for (size_t i = 0; i < g->n_settings * g->n_codecs * g->n_counts; i++) {
        const json_t *row = g->cells[i].row;
        s.target |= row && strait_target_of(row).asked;
        s.accuracy |= row && isfinite(strait_spread_of(row, "accuracy").mean);
        s.seeds |= row && strait_target_of(row).n_seeds > 1;
        s.live |=
            row && strcmp(strait_text_of(json_object_get(row, "training"), "payload"), "live") == 0;
    }
    return s;
}

/* A deviation by less than this is what sums of equal numbers leave. */
static const double NO_SPREAD_RATIO = 1e-12;

/* "76.1 +- 0.4"; "-" where there is none. */
static void spread_cell(struct strait_table *t, struct strait_spread s, double scale, int digits)
{
    char mean[STRAIT_NUMBER_CHARS], sd[STRAIT_NUMBER_CHARS];
    const double spread = s.sd > NO_SPREAD_RATIO * fabs(s.mean) ? s.sd : 0;
    strait_format_number(mean, scale * s.mean, digits);
    if (isfinite(s.mean) && isfinite(s.sd))
        strait_table_cellf(t, "%s +- %s", mean, strait_format_number(sd, scale * spread, 2));
    else
        strait_table_cell(t, isfinite(s.mean) ? mean : "-");
}

static void put_target(struct strait_table *t, const json_t *row)
{
    const struct strait_target target = strait_target_of(row);
    if (target.n_reached == target.n_seeds && target.asked) {
        spread_cell(t, target.round, 1, 3);
        spread_cell(t, target.time_s, 1, 4);
        spread_cell(t, target.bytes, 1e-6, 4);
        return;
    }
    if (!target.asked)
        strait_table_cell(t, "-");
    else if (target.n_reached == 0)
        strait_table_cell(t, "not reached");
    else
        strait_table_cellf(t, "not reached by %zu of %zu seeds", target.n_seeds - target.n_reached,
                           target.n_seeds);
    strait_table_cell(t, "-");
    strait_table_cell(t, "-");
}

static void put_line(struct strait_table *t, const struct strait_grid *g, size_t s, size_t c,
                     size_t n, struct shown shown)
{
    const json_t *row = strait_grid_cell(g, s, c, n)->row;
    for (size_t i = 0; i < strait_names_n_axes(g->names); i++) {
        char *value = strait_names_value(g->names, i, row);
        strait_table_cell(t, value);
        free(value);
    }
    strait_table_cellf(t, "%ld", g->counts[n]);
    strait_table_cell(t, g->codecs[c].label);
    spread_cell(t, strait_spread_of(row, "bytes"), 1e-6, 4);
    spread_cell(t, strait_spread_of(row, "time_s"), 1, 4);
    spread_cell(t, strait_spread_of(row, "loss"), 1, 4);
    if (shown.accuracy)
        spread_cell(t, strait_spread_of(row, "accuracy"), 100, 4);
    if (shown.target)
        put_target(t, row);
}

static void put_columns(struct strait_table *t, const struct strait_grid *g, struct shown shown)
{
    for (size_t i = 0; i < strait_names_n_axes(g->names); i++)
        strait_table_column(t, strait_names_axis(g->names, i), false);
    strait_table_column(t, "clients", true);
    strait_table_column(t, "codec", false);
    strait_table_key(t);
    strait_table_column(t, "MB sent", true);
    strait_table_column(t, "run s", true);
    strait_table_column(t, "loss", true);
    if (shown.accuracy)
        strait_table_column(t, "accuracy %", true);
    if (!shown.target)
        return;
    strait_table_column(t, "target round", true);
    strait_table_column(t, "target s", true);
    strait_table_column(t, "target MB", true);
}

/* A codec beside no compression, at each number of clients. */
static json_t *speedups_of(const struct strait_grid *g, size_t s, size_t codec)
{
    json_t *out = json_array();
    for (size_t n = 0; n < g->n_counts && !g->codecs[codec].is_plain; n++) {
        const json_t *plain = NULL;
        for (size_t c = 0; c < g->n_codecs && !plain; c++)
            plain = g->codecs[c].is_plain ? strait_grid_cell(g, s, c, n)->row : NULL;
        json_t *speedup = strait_target_speedup(strait_grid_cell(g, s, codec, n)->row, plain);
        if (speedup)
            json_array_append_new(out, speedup);
    }
    return out;
}

static void put_pays(FILE *out, const struct strait_grid *g)
{
    for (size_t s = 0; s < g->n_settings; s++)
        for (size_t c = 0; c < g->n_codecs; c++) {
            char text[512];
            json_t *speedups = speedups_of(g, s, c);
            if (json_array_size(speedups) > 0)
                strait_prose(out, "By time to the target: %s%s%s: %s", g->settings[s].label,
                             *g->settings[s].label ? ", " : "", g->codecs[c].label,
                             strait_target_pays_text(text, sizeof(text), speedups));
            json_decref(speedups);
        }
}

int strait_show_training(FILE *out, const struct strait_grid *g, struct strait_error *err)
{
    const struct shown shown = what(g);
    struct strait_table *t = strait_table_new();
    put_columns(t, g, shown);
    for (size_t s = 0; s < g->n_settings; s++) {
        strait_table_rule(t);
        for (size_t n = 0; n < g->n_counts; n++)
            for (size_t c = 0; c < g->n_codecs; c++)
                if (json_is_object(json_object_get(strait_grid_cell(g, s, c, n)->row, "training")))
                    put_line(t, g, s, c, n, shown);
    }
    strait_prose(out,
                 "%s: the scores are those of the last model on held-out data, "
                 "bytes those of all ranks%s.",
                 shown.live ? "Trained for real" : "From recorded curves",
                 shown.seeds ? "; means over the seeds, +- the deviation of a run" : "");
    fputs("\n", out);
    if (strait_table_finish(t, out, err) != 0)
        return -1;
    if (shown.target) {
        fputs("\n", out);
        put_pays(out, g);
    }
    return 0;
}
