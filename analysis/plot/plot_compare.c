/* Predicted against measured: bars of each phase for few pairs, points around the diagonal for
 * many. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/compare.h"
#include "analysis/fields.h"
#include "analysis/row_names.h"
#include "plot.h"
#include "plot_script.h"
#include "analysis/table.h"

enum { MAX_BAR_PANELS = 12 };

/* "8 clients, sz 1e-3, rtt 50 ms" */
static char *pair_name(const struct strait_names *names, const json_t *pair)
{
    const long long n = json_integer_value(json_object_get(pair, "clients"));
    const char *setting = strait_names_setting(names, pair);
    const char *control = json_string_value(json_object_get(pair, "control"));
    char *name = NULL;
    return asprintf(&name, "%lld client%s, %s%s%s%s%s", n, n == 1 ? "" : "s",
                    strait_names_codec(names, pair), *setting ? ", " : "", setting,
                    control ? ", control " : "", control ? control : "") < 0
               ? NULL
               : name;
}

static const json_t *phase_of(const json_t *pair, size_t i)
{
    size_t n;
    return json_object_get(json_object_get(pair, "phases"), strait_compared_phases(&n)[i].name);
}

static bool is_part(const char *phase)
{
    return strcmp(phase, "round") != 0 && strcmp(phase, "compute") != 0 &&
           strcmp(phase, "other") != 0;
}

/* What was compared. The round itself would dwarf its parts; "round minus compute" is judged, so it
 * stays. Where nothing but rounds was measured they are what is drawn. */
static bool is_shown(const json_t *pairs, const struct strait_compared *p)
{
    bool has = false, has_parts = false, has_rounds = false;
    const char *name;
    json_t *pair, *phase;
    size_t i;
    json_array_foreach (pairs, i, pair)
        json_object_foreach (json_object_get(pair, "phases"), name, phase) {
            has |= strcmp(name, p->name) == 0;
            has_parts |= is_part(name);
            has_rounds |= strcmp(name, "round") == 0;
        }
    return has && (has_parts ? is_part(p->name) : !has_rounds || strcmp(p->name, "round") == 0);
}

static const char *short_name(const struct strait_compared *p)
{
    return strcmp(p->name, "round minus compute") == 0 ? "round \u2212\\ncompute" : p->name;
}

/* 1000 where everything is shorter than a second: milliseconds read better. */
static double scale_of(const json_t *pairs)
{
    size_t n, i;
    const struct strait_compared *phases = strait_compared_phases(&n);
    json_t *pair;
    json_array_foreach (pairs, i, pair)
        for (size_t k = 0; k < n; k++)
            if (is_shown(pairs, &phases[k]) &&
                (strait_row_number(phase_of(pair, k), "predicted_s") >= 1 ||
                 strait_row_number(phase_of(pair, k), "measured_s") >= 1))
                return 1;
    return 1000;
}

static void write_bars(FILE *out, const json_t *pairs, size_t i, double scale)
{
    const json_t *pair = json_array_get(pairs, i);
    size_t n;
    const struct strait_compared *phases = strait_compared_phases(&n);
    int x = 0;
    fprintf(out, "$bars_%zu << EOD\n", i);
    for (size_t k = 0; k < n; k++) {
        const json_t *phase = phase_of(pair, k);
        if (is_shown(pairs, &phases[k]))
            fprintf(out, "%d %.9g %.9g %.9g %.9g\n", x++,
                    scale * strait_row_number(phase, "predicted_s"),
                    scale * strait_row_number(phase, "measured_s"),
                    scale * strait_row_number(phase, "measured_min_s"),
                    scale * strait_row_number(phase, "measured_max_s"));
    }
    fputs("EOD\nset xtics (", out);
    x = 0;
    for (size_t k = 0; k < n; k++)
        if (is_shown(pairs, &phases[k])) {
            fprintf(out, "%s\"%s\" %d", x > 0 ? ", " : "", short_name(&phases[k]), x);
            x++;
        }
    fprintf(out, ") font ',10'\nset xrange [-0.6:%.1f]\n", x - 0.4);
}

static void write_bar_panels(struct strait_plot_script *script, const json_t *pairs,
                             const struct strait_names *names)
{
    struct strait_plot_layout l = {
        .left = 0.055, .right = 0.985, .bottom = 0.12, .top = 0.9, .gap_x = 0.045, .gap_y = 0.13};
    FILE *out = script->out;
    const double scale = scale_of(pairs);
    const char *unit = scale > 1 ? "milliseconds" : "seconds";
    size_t i;
    json_t *pair;
    strait_plot_arrange(&l, (int)json_array_size(pairs));
    const size_t wrap = (size_t)(190 / l.n_columns);
    fputs("set style fill solid 1 border lc rgb '#ffffff'\nset boxwidth 0.38\nunset key\n"
          "set grid y lc rgb '#e4e4e4' lt 1 lw 1\nset border 3 lc rgb '#606060'\n"
          "set tics nomirror out\nset yrange [0:*]\n",
          out);
    json_array_foreach (pairs, i, pair) {
        write_bars(out, pairs, i, scale);
        strait_plot_place(out, &l, (int)i);
        const bool within = json_is_true(json_object_get(pair, "within"));
        char *name = pair_name(names, pair);
        fputs("set title ", out);
        strait_plot_put_text(out, name ? name : "", wrap);
        fprintf(out, ".'%s' font ',%d' offset 0,-0.4\nset ylabel '%s' offset 0.6,0\n",
                within ? "" : " (outside tolerance)",
                strait_plot_n_lines(name ? name : "", wrap) > 2 ? 9 : 12,
                i % (size_t)l.n_columns == 0 ? unit : "");
        free(name);
        fprintf(out,
                "plot $bars_%zu using ($1-0.2):2 with boxes lc rgb '%s' notitle, \\\n"
                "  '' using ($1+0.2):3 with boxes lc rgb '%s' notitle, \\\n"
                "  '' using ($1+0.2):4:(0):($5-$4) with vectors nohead lw 2.5 lc rgb '#000000' "
                "notitle\n",
                i, strait_plot_color(5), strait_plot_color(1));
        strait_plot_script_titled(script);
    }
    const json_t *first = json_array_get(pairs, 0);
    fprintf(out,
            "set lmargin at screen 0.1\nset rmargin at screen 0.9\nset bmargin at screen 0.005\n"
            "set tmargin at screen 0.05\nunset border\nunset tics\nunset ylabel\nunset title\n"
            "unset grid\nset xrange [0:1]\nset yrange [0:1]\n"
            "set key center center horizontal Left reverse samplen 2\n"
            "plot NaN with boxes lc rgb '%s' title 'predicted (%s)', \\\n"
            "  NaN with boxes lc rgb '%s' title 'measured (%s)'\n",
            strait_plot_color(5), strait_text_of(first, "predicted"), strait_plot_color(1),
            strait_text_of(first, "measured"));
}

static void write_scatter(FILE *out, const json_t *pairs, double tolerance_ratio)
{
    size_t n, i;
    const struct strait_compared *phases = strait_compared_phases(&n);
    json_t *pair;
    double lo = INFINITY, hi = 0;
    for (size_t k = 0; k < n; k++) {
        fprintf(out, "$points_%zu << EOD\nNaN NaN\n", k);
        json_array_foreach (pairs, i, pair) {
            const double x = strait_row_number(phase_of(pair, k), "measured_s"),
                         y = strait_row_number(phase_of(pair, k), "predicted_s");
            if (!(x > 1e-6 && y > 1e-6) || !is_shown(pairs, &phases[k]))
                continue;
            fprintf(out, "%.9g %.9g\n", x, y);
            lo = fmin(lo, fmin(x, y));
            hi = fmax(hi, fmax(x, y));
        }
        fputs("EOD\n", out);
    }
    lo = isfinite(lo) ? lo / 1.5 : 1e-3;
    hi = hi > 0 ? hi * 1.5 : 1;
    fprintf(out,
            "set lmargin at screen 0.1\nset rmargin at screen 0.76\nset bmargin at screen 0.1\n"
            "set tmargin at screen 0.9\nset logscale xy\nset xrange [%.6g:%.6g]\n"
            "set yrange [%.6g:%.6g]\nset format xy '%%g'\nset xlabel 'measured (s)'\n"
            "set ylabel 'predicted (s)'\nset grid lc rgb '#e4e4e4' lt 1 lw 1\n"
            "set border lc rgb '#606060'\nset key at screen 0.985,0.88 right top spacing 1.3\n"
            "plot x lc rgb '#000000' lw 1.5 title 'equal', \\\n"
            "  x*%.6g lc rgb '#909090' dt '-' title '%g %% tolerance', \\\n"
            "  x*%.6g lc rgb '#909090' dt '-' notitle",
            lo, hi, lo, hi, 1 + tolerance_ratio, 100 * tolerance_ratio, 1 - tolerance_ratio);
    size_t shown = 0;
    for (size_t k = 0; k < n; k++)
        if (is_shown(pairs, &phases[k])) {
            fprintf(out, ", \\\n  $points_%zu with points pt 7 ps 1.3 lc rgb '%s' title '%s'", k,
                    strait_plot_color(shown), phases[k].name);
            shown++;
        }
    fputs("\n", out);
}

int strait_plot_comparison(const char *path, const json_t *comparison, double tolerance_ratio,
                           const char *title, struct strait_error *err)
{
    const json_t *pairs = json_object_get(comparison, "pairs");
    struct strait_plot_script script;
    if (json_array_size(pairs) == 0)
        return strait_refuse(err, "plot", "expected a predicted and a measured row, found none");
    struct strait_names *names;
    char *set = strait_plot_set(json_object_get(comparison, "set"));
    if (strait_names_new(&names, pairs, err) != 0 ||
        strait_plot_script_begin(&script, path, title, set ? set : "", err) != 0) {
        strait_names_free(names);
        free(set);
        return -1;
    }
    free(set);
    if (json_array_size(pairs) <= MAX_BAR_PANELS)
        write_bar_panels(&script, pairs, names);
    else
        write_scatter(script.out, pairs, tolerance_ratio);
    strait_names_free(names);
    return strait_plot_script_run(&script, path, err);
}
