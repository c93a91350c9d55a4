/* Extra columns of some strategies: bytes between host and accelerator, and quality metrics. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include "analysis/table.h"

enum { STRAIT_MAX_QUALITIES = 8 };

struct strait_extras {
    bool link;
    const char *qualities[STRAIT_MAX_QUALITIES]; /* borrowed from the rows */
    size_t n_qualities;
};

/** The extras that any row has. */
struct strait_extras strait_extras_find(const json_t *rows);
void strait_extras_columns(struct strait_table *t, const struct strait_extras *x);
void strait_extras_put(struct strait_table *t, const json_t *row, const struct strait_extras *x);
/** Print what the quality metrics were measured on, each text once. */
void strait_extras_notes(FILE *out, const json_t *rows);
