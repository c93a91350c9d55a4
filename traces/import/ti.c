/* Time-independent traces of SMPI: lines "rank action amounts", in one file or in one a rank. They
 * are read twice: the first time for the highest rank alone. */
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ti.h"

enum { MAX_FILES = STRAIT_PROGRAM_MAX_RANKS };

static bool sniff(const char *head, size_t n)
{
    char word[32];
    int rank, used = 0;
    (void)n;
    if (sscanf(head, " %d %31s%n", &rank, word, &used) == 2 && rank >= 0)
        return strcmp(word, "init") == 0 || strcmp(word, "compute") == 0 ||
               strcmp(word, "send") == 0 || strcmp(word, "recv") == 0 ||
               strcmp(word, "irecv") == 0 || strcmp(word, "bcast") == 0;
    const size_t len = strcspn(head, "\r\n"); /* a list of files, one a rank */
    return len < 4096 && memchr(head, '\0', len) == NULL && strpbrk(head, "{}<>") == NULL &&
           ((len > 4 && strncmp(head + len - 4, ".txt", 4) == 0) ||
            (len > 3 && strncmp(head + len - 3, ".ti", 3) == 0));
}

/* --- lines and files ---------------------------------------------------------------------- */

static int read_line(struct strait_ti *r, char *text, struct strait_error *err)
{
    struct strait_ti_line l = {.rest = text};
    int64_t rank;
    const char *first = strait_source_word(&l.rest);
    if (!first || first[0] == '#')
        return 0;
    l.action = strait_source_word(&l.rest);
    if (!strait_source_integer(&rank, first, NULL, 0, STRAIT_PROGRAM_MAX_RANKS - 1) || !l.action)
        return strait_source_fail_line(
            r->s, err, "expected a rank from 0 to %d and an action, found \"%.40s\"",
            STRAIT_PROGRAM_MAX_RANKS - 1, first);
    r->highest = rank > r->highest ? (int)rank : r->highest;
    if (r->n_ranks == 0)
        return 0;
    l.rank = (int)rank;
    if (strcmp(l.action, "reducescatter") != 0)
        while (l.n_words < STRAIT_TI_WORDS && (l.words[l.n_words] = strait_source_word(&l.rest)))
            l.n_words++;
    r->ranks[l.rank].has_begun = true;
    return strait_ti_action(r, &l, err);
}

static int read_lines(struct strait_ti *r, struct strait_error *err)
{
    char *line;
    int more;
    while ((more = strait_source_line(r->s, &line, err)) > 0)
        if (read_line(r, line, err) != 0)
            return -1;
    return more;
}

static int read_again(struct strait_ti *r, const char *path, struct strait_error *err)
{
    struct strait_source again, *first = r->s;
    r->s = &again;
    const int status =
        strait_source_open(&again, path, err) != 0 || read_lines(r, err) != 0 ? -1 : 0;
    strait_source_release(&again);
    r->s = first;
    return status;
}

/* A list of files, one a rank, each relative to the list or to where we are. */
struct list {
    char **paths;
    int n;
};

static int add_path(struct list *list, const char *of, const char *name, struct strait_error *err)
{
    char path[4096], folder[4096];
    snprintf(folder, sizeof(folder), "%s", of);
    snprintf(path, sizeof(path), "%s", name);
    FILE *there = fopen(path, "re");
    if (!there && name[0] != '/' &&
        snprintf(path, sizeof(path), "%s/%s", dirname(folder), name) >= (int)sizeof(path))
        return strait_refuse(err, of, "expected shorter paths");
    if (there)
        fclose(there);
    if (list->n >= MAX_FILES)
        return strait_refuse(err, of, "expected at most %d files, found more", MAX_FILES);
    char **more = realloc(list->paths, ((size_t)list->n + 1) * sizeof(*more));
    if (!more)
        return strait_error_memory(err, of);
    list->paths = more;
    list->paths[list->n] = strdup(path);
    return list->paths[list->n++] ? 0 : strait_error_memory(err, of);
}

/* "12 compute 5": a line's rank, which alone the first pass asks for, where an action follows it. */
static bool is_ranked(struct strait_ti *r, const char *line)
{
    int rank = 0;
    const char *c = line;
    for (; *c >= '0' && *c <= '9' && rank < STRAIT_PROGRAM_MAX_RANKS; c++)
        rank = 10 * rank + (*c - '0');
    if (c == line || *c != ' ' || c[1] <= ' ' || rank >= STRAIT_PROGRAM_MAX_RANKS)
        return false;
    r->highest = rank > r->highest ? rank : r->highest;
    return true;
}

/* Lines that do not begin with a rank are files. */
static int read_list(struct strait_ti *r, struct list *list, struct strait_error *err)
{
    char *line;
    int more;
    while ((more = strait_source_line(r->s, &line, err)) > 0) {
        if (list->n == 0 && is_ranked(r, line))
            continue;
        char *rest = line, *word = strait_source_word(&rest);
        const bool is_path =
            word && r->highest < 0 && (word[0] < '0' || word[0] > '9' || strchr(word, '.'));
        if (is_path ? add_path(list, r->in->path, word, err) != 0 : list->n > 0 && word)
            return is_path ? -1
                           : strait_source_fail_line(r->s, err,
                                                     "expected the name of a file, found "
                                                     "\"%.40s\"",
                                                     word);
        if (word && !is_path) {
            word[strlen(word)] = *rest ? ' ' : '\0'; /* as it was */
            if (read_line(r, line, err) != 0)
                return -1;
        }
    }
    return more;
}

static int read_files(struct strait_ti *r, const struct list *list, struct strait_error *err)
{
    if (list->n == 0)
        return read_again(r, r->in->path, err);
    for (int i = 0; i < list->n; i++)
        if (read_again(r, list->paths[i], err) != 0)
            return -1;
    return 0;
}

static int begin_graph(struct strait_ti *r, struct strait_error *err)
{
    r->n_ranks = r->highest + 1;
    if (r->n_ranks <= 0)
        return strait_refuse(err, r->in->path,
                             "expected lines of a rank and an action, found none");
    if (strait_import_graph_begin(r->in, r->n_ranks, err) != 0)
        return -1;
    if (!(r->ranks = calloc((size_t)r->n_ranks, sizeof(*r->ranks))))
        return strait_error_memory(err, r->in->path);
    for (int i = 0; i < r->n_ranks; i++)
        r->ranks[i] =
            (struct strait_ti_rank){.last = -1, .test = -1, .default_type = STRAIT_TI_BYTE};
    return 0;
}

static void say(struct strait_ti *r)
{
    if (r->in->graph->counts.flop > 0)
        strait_import_missing(r->in, "how fast ranks compute: \"speed\" of the strategy says it "
                                     "(operations a second)");
    strait_import_inferred(r->in, "a send ends when it is posted, whatever its size");
    strait_import_inferred(r->in, "elements without a data type are %s",
                           r->has_doubles ? "doubles, since init has an argument" : "bytes");
    if (r->has_tests)
        strait_import_inferred(r->in,
                               "the last test of a request that nothing waits for saw its end");
}

static int read_all(struct strait_import *in, struct strait_source *s, struct strait_error *err)
{
    struct strait_ti r = {.in = in, .s = s, .highest = -1};
    struct list list = {0};
    int status = read_list(&r, &list, err);
    for (int i = 0; i < list.n && status == 0; i++)
        status = read_again(&r, list.paths[i], err);
    if (status == 0)
        status = begin_graph(&r, err) != 0 || read_files(&r, &list, err) != 0 ||
                         strait_ti_finish(&r, err) != 0
                     ? -1
                     : 0;
    for (int i = 0; i < r.n_ranks && status == 0; i++)
        if (!r.ranks[i].has_begun)
            status = strait_refuse(err, in->path,
                                   "expected all ranks from 0 to %d, found nothing of rank %d",
                                   r.highest, i);
    if (status == 0)
        say(&r);
    for (int i = 0; r.ranks && i < r.n_ranks; i++)
        for (int kind = 0; kind < 2; kind++)
            free(r.ranks[i].open[kind].items);
    for (int i = 0; i < list.n; i++)
        free(list.paths[i]);
    free(list.paths);
    free(r.ranks);
    return status;
}

const struct strait_import_format strait_import_ti = {
    .name = "ti",
    .summary = "time-independent traces of SimGrid's SMPI, one file or a list of them",
    .source = "SimGrid, src/smpi/internals/smpi_replay.cpp",
    .sniff = sniff,
    .read = read_all,
};
