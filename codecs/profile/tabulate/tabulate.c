/* Prints the tables of profile_table.h: tabulate FILE.json... >tables.c */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "codecs/profile/profile.h"
#include "codecs/profile/profile_table.h"

/* A string of C, in pieces, since the compiler reads no line of 180 KB well. */
static void put_text(FILE *out, const char *text)
{
    enum { PIECE = 96 };
    fputs("\"", out);
    for (size_t i = 0; text[i]; i++) {
        if (i > 0 && i % PIECE == 0)
            fputs("\"\n    \"", out);
        const unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\' || c < ' ' || c > '~')
            fprintf(out, "\\%03o", c);
        else
            putc(c, out);
    }
    fputs("\"", out);
}

/* Hexadecimal digits: the very number. */
static void put_quantiles(const struct strait_quantiles *q)
{
    printf(", {%a, %a, %a}", q->p10, q->p50, q->p90);
}

static void put_entry(const struct strait_profile_entry *e)
{
    const char *const names[] = {e->codec, e->kind, e->model, e->settings};
    fputs("    {", stdout);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        put_text(stdout, names[i]);
        fputs(", ", stdout);
    }
    printf("{%d, %a},\n     %a, %a, %a, %a, %a", (int)e->bound.kind, e->bound.value, e->ratio,
           e->encode_bytes_per_s, e->decode_bytes_per_s, e->encode_fixed_s, e->decode_fixed_s);
    put_quantiles(&e->ratios);
    put_quantiles(&e->encode);
    put_quantiles(&e->decode);
    fputs("},\n", stdout);
}

static void put_entries(int i, const struct strait_profile *p)
{
    printf("static const struct strait_profile_entry entries_%d[] = {\n", i);
    for (size_t k = 0; k < p->n_entries; k++)
        put_entry(&p->entries[k]);
    fputs("    {{0}}};\n", stdout); /* no array is empty */
}

/* Print what a profile's line of the tables names, and the line itself into `lines`. Returns 0, or
 * -1 when the profile cannot be read: programs then say why. */
static int put_profile(FILE *lines, int i, const char *path)
{
    struct strait_profile *p = NULL;
    uint64_t sum = 0, len_bytes = 0;
    char hash[STRAIT_KEY_CHARS], *made = NULL;
    int failed = -1;
    if (strait_profile_load(&p, path, NULL) == 0 && strait_profile_hash(hash, p) &&
        strait_profile_text(&made, p) && strait_checksum_file(&sum, &len_bytes, path)) {
        const char *const words[] = {p->title, p->machine, p->date, p->version, p->source};
        put_entries(i, p);
        printf("static const char text_%d[] =\n    ", i);
        put_text(stdout, made);
        puts(";");
        fprintf(lines, "    {0x%016" PRIx64 ", %" PRIu64 ", {", sum, len_bytes);
        for (size_t k = 0; k < sizeof(words) / sizeof(*words); k++) {
            put_text(lines, words[k]);
            fputs(", ", lines);
        }
        fprintf(lines, "%d, %a, %a,\n     (struct strait_profile_entry *)entries_%d, %zu}, ",
                p->stated, p->add_bytes_per_s, p->copy_bytes_per_s, i, p->n_entries);
        fprintf(lines, "\"%s\", text_%d},\n", hash, i);
        failed = 0;
    }
    free(made);
    strait_profile_free(p);
    return failed;
}

int main(int argc, char **argv)
{
    char *all = NULL;
    size_t len_bytes = 0;
    FILE *lines = open_memstream(&all, &len_bytes);
    if (!lines)
        return 1;
    puts("/* Written by make. */\n#include \"codecs/profile/profile_table.h\"\n");
    for (int i = 1; i < argc; i++)
        if (put_profile(lines, i, argv[i]) != 0)
            fprintf(stderr, "tabulate: %s is left out\n", argv[i]);
    if (fclose(lines) != 0)
        return 1;
    printf("const struct strait_profile_table strait_profile_tables[] = {\n%s    {0}};\n", all);
    free(all);
    return fflush(stdout) != 0;
}
