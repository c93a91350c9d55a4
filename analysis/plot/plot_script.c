/* gnuplot: scripts and their running. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/process.h"
#include "plot_script.h"

static const double DEADLINE_S = 60;

int strait_plot_script_begin(struct strait_plot_script *s, const char *path, const char *title,
                             struct strait_error *err)
{
    char quoted[STRAIT_PLOT_QUOTED_CHARS], base[STRAIT_PLOT_QUOTED_CHARS];
    *s = (struct strait_plot_script){0};
    s->out = open_memstream(&s->text, &s->len_bytes);
    if (!s->out)
        return strait_error_system(err, "plot", "cannot begin a script");
    const char *slash = strrchr(path, '/');
    strait_plot_quote(base, slash ? slash + 1 : path);
    fprintf(s->out,
            "# gnuplot %s.gp draws %s.png; gnuplot -e svg=1 %s.gp draws %s.svg\n"
            "if (!exists('svg')) svg = 0\n"
            "if (!exists('base')) base = '%s'\n"
            "if (svg) set terminal svg size 1600,1000 font 'DejaVu Sans,17' background '#ffffff' "
            "noenhanced; set output base.'.svg'\n"
            "if (!svg) set terminal pngcairo size 1600,1000 font 'DejaVu Sans,13' noenhanced; "
            "set output base.'.png'\n"
            "set multiplot\n"
            "set label 1 '%s' at screen 0.5,0.965 center font ',18'\n",
            base, base, base, base, base, strait_plot_quote(quoted, title));
    return 0;
}

static int write_script(const char *file, const struct strait_plot_script *s,
                        struct strait_error *err)
{
    FILE *out = fopen(file, "we");
    if (!out)
        return strait_error_system(err, file, "cannot write");
    const bool written = fwrite(s->text, 1, s->len_bytes, out) == s->len_bytes;
    if (fclose(out) != 0 || !written)
        return strait_error_system(err, file, "cannot write");
    return 0;
}

int strait_plot_script_run(struct strait_plot_script *s, const char *path, struct strait_error *err)
{
    char file[4096], base[4096 + 16];
    int status = -1;
    fputs("unset multiplot\nset output\n", s->out);
    const bool whole = !ferror(s->out);
    if (fclose(s->out) != 0 || !whole) {
        strait_error_set(err, STRAIT_ERR_NOMEM, "plot", "memory ran out");
        goto out;
    }
    snprintf(file, sizeof(file), "%s.gp", path);
    char quoted[STRAIT_PLOT_QUOTED_CHARS];
    snprintf(base, sizeof(base), "base='%s'", strait_plot_quote(quoted, path));
    if (write_script(file, s, err) != 0)
        goto out;
    static const char *const picture[] = {"svg=0", "svg=1"};
    for (int i = 0; i < 2; i++) {
        const char *const argv[] = {"gnuplot", "-e", base, "-e", picture[i], file, NULL};
        char said[1024];
        const int code = strait_process_run(said, sizeof(said), argv, NULL, DEADLINE_S, err);
        if (code != 0)
            goto out;
    }
    status = 0;
out:
    free(s->text);
    *s = (struct strait_plot_script){0};
    return status;
}

const char *strait_plot_quote(char buf[STRAIT_PLOT_QUOTED_CHARS], const char *text)
{
    size_t n = 0;
    for (; *text && n + 3 < STRAIT_PLOT_QUOTED_CHARS; text++) {
        if (*text == '\'')
            buf[n++] = '\'';
        buf[n++] = (unsigned char)*text < ' ' ? ' ' : *text;
    }
    buf[n] = '\0';
    return buf;
}

void strait_plot_arrange(struct strait_plot_layout *l, int n)
{
    l->n_columns = n <= 1 ? 1 : n <= 4 ? 2 : n <= 9 ? 3 : n <= 16 ? 4 : 5;
    l->n_rows = (n + l->n_columns - 1) / l->n_columns;
}

void strait_plot_place(FILE *out, const struct strait_plot_layout *l, int i)
{
    const int column = i % l->n_columns, row = i / l->n_columns;
    const double width = (l->right - l->left - l->gap_x * (l->n_columns - 1)) / l->n_columns;
    const double height = (l->top - l->bottom - l->gap_y * (l->n_rows - 1)) / l->n_rows;
    const double x = l->left + column * (width + l->gap_x);
    const double y = l->top - height - row * (height + l->gap_y);
    fprintf(out, "set lmargin at screen %.4f\nset rmargin at screen %.4f\n", x, x + width);
    fprintf(out, "set bmargin at screen %.4f\nset tmargin at screen %.4f\n", y, y + height);
}

const char *strait_plot_color(size_t i)
{
    static const char *const colors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                         "#e69f00", "#56b4e9", "#7f6000"};
    return colors[i % (sizeof(colors) / sizeof(*colors))];
}
