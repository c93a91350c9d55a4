/* Whole rows of many small points: all strategies with settings that are not the defaults, odd
 * networks, codecs, live training. tests/golden/rows/NAME.json is an experiment, NAME.BACKEND its
 * rows, one a line, of each field one sum: its numbers times their places, plus a sum of its texts.
 * `make golden-runs` adds those of new points at the end, with CHANGED=1 it writes all anew. What a
 * field is worth is held by closed forms elsewhere; here, that none changes unseen. */
#pragma once
#include <stdbool.h>
#include <stdio.h>

/* A file of golden lines, one a row. */
struct golden {
    FILE *f;
    char *line;
    size_t cap, n;
    bool writes, all_anew, live;
};

/** Open the lines of NAME.BACKEND. */
void golden_open(struct golden *g, const char *name, const char *backend);
/** Hold the next rows, one JSON text a line, against them, or write them. */
void golden_rows(struct golden *g, char *rows);
void golden_close(struct golden *g);
/** All of that for the rows of an experiment. */
void golden_rows_of(const char *name, const char *backend);
