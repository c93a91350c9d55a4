/* A table as table.c fills it and table_print.c lays it out. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { STRAIT_TABLE_MAX_COLUMNS = 96 };

struct strait_table {
    char *titles[STRAIT_TABLE_MAX_COLUMNS];
    bool numbers[STRAIT_TABLE_MAX_COLUMNS];
    size_t wraps[STRAIT_TABLE_MAX_COLUMNS]; /* width of a line; 0: one line */
    const char *omits[STRAIT_TABLE_MAX_COLUMNS];
    bool spares[STRAIT_TABLE_MAX_COLUMNS]; /* left out where that saves continuing below */
    size_t n_columns;
    size_t n_keys; /* columns that name a row; 0: the first */
    char **cells;  /* row by row */
    size_t n_cells, cap_cells;
    bool *rules; /* by row: a line above */
    size_t cap_rules;
    bool failed;
};

/* False: there is none, or memory ran out. */
static inline bool strait_table_is_ok(const struct strait_table *t)
{
    return t && !t->failed;
}
