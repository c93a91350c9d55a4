/* gnuplot: scripts and their running. */
#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "analysis/label.h"
#include "core/process.h"
#include "plot_script.h"

static const double DEADLINE_S = 60, PIXELS_AN_INCH = 96; /* CSS's reference pixel */
static const char *const both_ends[] = {"png", "svg"};

/* At most two lines of each, the smaller the longer they are. */
static void put_titles(FILE *out, const char *title, const char *subtitle)
{
    const bool is_long = strait_plot_n_lines(title, 130) > 1;
    fputs("set label 1 ", out);
    strait_plot_put_text(out, title, strait_plot_balanced(title, is_long ? 160 : 130));
    fprintf(out, " at screen 0.5,%s center font ',%d'\n", *subtitle ? "0.98" : "0.965",
            is_long ? 12 : 18);
    if (!*subtitle)
        return;
    fputs("set label 2 ", out);
    strait_plot_put_text(out, subtitle, 170);
    fputs(" at screen 0.5,0.943 center font ',12'\n", out);
}

/* The first lines, with the names of the pictures. */
static int open_script(struct strait_plot_script *s, const char *path, struct strait_error *err)
{
    *s = (struct strait_plot_script){.ends = both_ends, .n_ends = 2};
    s->out = open_memstream(&s->text, &s->len_bytes);
    if (!s->out)
        return strait_error_system(err, "plot", "cannot begin a script");
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    fprintf(s->out,
            "# gnuplot %s.gp draws %s.png; gnuplot -e svg=1 %s.gp draws %s.svg\n"
            "if (!exists('svg')) svg = 0\n"
            "if (!exists('base')) base = ",
            base, base, base, base);
    strait_plot_put_text(s->out, base, 0);
    return 0;
}

int strait_plot_script_begin(struct strait_plot_script *s, const char *path, const char *title,
                             const char *subtitle, struct strait_error *err)
{
    if (open_script(s, path, err) != 0)
        return -1;
    fputs("\nif (svg) set terminal svg size 1600,1000 font 'DejaVu Sans,17' background '#ffffff' "
          "noenhanced; set output base.'.svg'\n"
          "if (!svg) set terminal pngcairo size 1600,1000 font 'DejaVu Sans,13' noenhanced; "
          "set output base.'.png'\n"
          "set multiplot\n",
          s->out);
    put_titles(s->out, title, subtitle);
    return 0;
}

/* Terminals count pixels of 96 to an inch, and so does cairo with the letters of a PDF, whose page
 * it measures in points of 72. */
int strait_plot_script_open(struct strait_plot_script *s, const char *path,
                            const struct strait_plot_page *page, struct strait_error *err)
{
    if (open_script(s, path, err) != 0)
        return -1;
    const double scale = page->png_dpi / PIXELS_AN_INCH;
    fprintf(
        s->out,
        "\nif (!exists('pdf')) pdf = 0 # gnuplot -e pdf=1 draws a PDF\n"
        "if (svg) set terminal svg size %.0f,%.0f font 'DejaVu Sans,%.4g' background '#ffffff' "
        "linewidth %.4g noenhanced; set output base.'.svg'\n"
        "if (pdf) set terminal pdfcairo size %.4gin,%.4gin font 'DejaVu Sans,%.4g' fontscale 0.75 "
        "linewidth %.4g pointscale 0.9 noenhanced; set output base.'.pdf'\n"
        "if (!svg && !pdf) set terminal pngcairo size %.0f,%.0f font 'DejaVu Sans,%.4g' "
        "fontscale %.4g linewidth %.4g pointscale %.4g noenhanced; set output base.'.png'\n"
        "set multiplot\n",
        page->width_in * PIXELS_AN_INCH, page->height_in * PIXELS_AN_INCH,
        page->font_pt * PIXELS_AN_INCH / 72, page->stroke, page->width_in, page->height_in,
        page->font_pt, page->stroke, page->width_in * page->png_dpi,
        page->height_in * page->png_dpi, page->font_pt, scale, scale * page->stroke, scale);
    return 0;
}

void strait_plot_script_titled(struct strait_plot_script *s)
{
    fputs("unset label 1\nunset label 2\n", s->out);
}

static int write_script(const char *file, const struct strait_plot_script *s,
                        struct strait_error *err)
{
    FILE *out = fopen(file, "we");
    if (!out)
        return strait_error_path(err, file, "cannot write");
    const bool written = fwrite(s->text, 1, s->len_bytes, out) == s->len_bytes;
    if (fclose(out) == 0 && written)
        return 0;
    strait_error_path(err, file, "cannot write");
    unlink(file); /* half a script is none */
    return -1;
}

/* Whether a picture is there up to its end: gnuplot does not notice a full disk. */
static bool is_whole(const char *file, const char *format)
{
    /* the last chunk of a PNG: no data, its name, its checksum (RFC 2083, 4.1.4) */
    static const char png_end[] = "IEND\xae\x42\x60\x82", svg_end[] = "</svg>", pdf_end[] = "%%EOF";
    char tail[64] = "";
    const char *end = strcmp(format, "svg") == 0   ? svg_end
                      : strcmp(format, "pdf") == 0 ? pdf_end
                                                   : png_end;
    const size_t n_end = strlen(end);
    FILE *f = fopen(file, "re");
    size_t n = 0;
    if (f && fseek(f, -(long)sizeof(tail), SEEK_END) == 0)
        n = fread(tail, 1, sizeof(tail), f);
    if (f)
        fclose(f);
    return memmem(tail, n, end, n_end) != NULL;
}

/* Give the pictures their names, or remove them. */
static int put_pictures(const struct strait_plot_script *s, const char *path, const char *part,
                        struct strait_error *err)
{
    char from[4096 + 16], to[4096 + 16];
    bool whole = true;
    int status = 0;
    for (size_t i = 0; i < s->n_ends; i++) {
        snprintf(from, sizeof(from), "%s.%s", part, s->ends[i]);
        whole = whole && is_whole(from, s->ends[i]);
    }
    for (size_t i = 0; i < s->n_ends; i++) {
        snprintf(from, sizeof(from), "%s.%s", part, s->ends[i]);
        snprintf(to, sizeof(to), "%s.%s", path, s->ends[i]);
        if (!whole)
            unlink(from);
        else if (rename(from, to) != 0)
            status = strait_error_path(err, to, "cannot write");
    }
    if (!whole)
        return strait_error_set(err, STRAIT_ERR_SYSTEM, path,
                                "cannot write the pictures: they are not whole, is the disk full?");
    return status;
}

int strait_plot_script_run(struct strait_plot_script *s, const char *path, struct strait_error *err)
{
    char file[4096], part[4096], *base = NULL;
    size_t base_bytes;
    int status = -1;
    bool drawn = false;
    snprintf(part, sizeof(part), "%.4000s.part", path);
    fputs("unset multiplot\nset output\n", s->out);
    const bool whole = !ferror(s->out);
    if (fclose(s->out) != 0 || !whole) {
        strait_error_memory(err, "plot");
        goto out;
    }
    snprintf(file, sizeof(file), "%s.gp", path);
    FILE *text = open_memstream(&base, &base_bytes);
    if (text) {
        fputs("base=", text);
        strait_plot_put_text(text, part, 0);
    }
    if (!text || fclose(text) != 0) {
        strait_error_memory(err, "plot");
        goto out;
    }
    if (write_script(file, s, err) != 0)
        goto out;
    for (size_t i = 0; i < s->n_ends; i++) {
        char picture[16], said[1024];
        snprintf(picture, sizeof(picture), "%.8s=1", s->ends[i]);
        const char *const argv[] = {"gnuplot", "-e", base, "-e", picture, file, NULL};
        const int code = strait_process_run(said, sizeof(said), argv, NULL, DEADLINE_S, err);
        drawn = code == 0;
        if (code != 0)
            break;
    }
    status = put_pictures(s, path, part, drawn ? err : NULL);
    if (status != 0 && drawn)
        unlink(file);
    if (!drawn) /* the script is there for another gnuplot */
        status = -1;
out:
    free(base);
    free(s->text);
    *s = (struct strait_plot_script){0};
    return status;
}

char *strait_plot_set(const json_t *set)
{
    char *list = strait_label_set(set), *text = NULL;
    if (list && asprintf(&text, "%s%s", *list ? "set: " : "", list) < 0)
        text = NULL;
    free(list);
    return text;
}

/* Bytes of text's first line: to a blank or behind a comma within `wrap` letters, or as many
 * letters of a longer word. */
static size_t line_bytes(const char *text, size_t wrap)
{
    size_t n_letters = 0, end = 0;
    for (size_t i = 0; text[i]; i++) {
        if (((unsigned char)text[i] & 0xc0) == 0x80)
            continue; /* inside a letter of several bytes */
        if (text[i] == ' ')
            end = i;
        if (wrap > 0 && n_letters++ == wrap)
            return end > 0 ? end : i;
        if (text[i] == ',')
            end = i + 1;
    }
    return strlen(text);
}

static const char *next_line(const char *text, size_t wrap)
{
    text += line_bytes(text, wrap);
    return text + (*text == ' ');
}

/* Letters of `doubled` are written twice. */
static void put_text(FILE *out, const char *text, size_t wrap, const char *doubled)
{
    const char *between = "";
    do {
        const char *end = text + line_bytes(text, wrap), *next = next_line(text, wrap);
        fprintf(out, "%s'", between);
        for (; text < end; text++) {
            if (strchr(doubled, *text))
                fputc(*text, out);
            fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
        }
        fputs("'", out);
        between = ".\"\\n\".";
        text = next;
    } while (*text);
}

void strait_plot_put_text(FILE *out, const char *text, size_t wrap)
{
    put_text(out, text, wrap, "'");
}

void strait_plot_put_tic(FILE *out, const char *text, size_t wrap)
{
    put_text(out, text, wrap, "'%");
}

void strait_plot_put_codec(FILE *out, const char *label)
{
    strait_plot_put_text(out, strcmp(label, "none") == 0 ? "no compression" : label, 0);
}

void strait_plot_legend(FILE *out, double height, size_t n_columns)
{
    fprintf(out,
            "set lmargin at screen 0.03\nset rmargin at screen 0.97\n"
            "set bmargin at screen 0.005\nset tmargin at screen %.3f\n"
            "unset border\nunset tics\nunset xlabel\nunset ylabel\nunset title\nunset logscale\n"
            "unset grid\nset xrange [0:1]\nset yrange [0:1]\n"
            "set key center center horizontal maxcols %zu Left reverse",
            height, n_columns);
}

size_t strait_plot_n_lines(const char *text, size_t wrap)
{
    size_t n = 1;
    while (*(text = next_line(text, wrap)))
        n++;
    return n;
}

size_t strait_plot_balanced(const char *text, size_t wrap)
{
    const size_t n = strait_plot_n_lines(text, wrap);
    size_t longest = 1, word = 0;
    for (const char *c = text; *c; c++) {
        word = *c == ' ' ? 0 : word + 1;
        longest = word > longest ? word : longest;
    }
    while (n > 1 && wrap > longest && strait_plot_n_lines(text, wrap - 1) == n)
        wrap--;
    return wrap;
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
