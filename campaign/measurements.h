/* Measurements of anybody, from a CSV file, beside predictions of the same settings. */
#pragma once
#include <jansson.h>
#include "codecs/profile/profile.h"
#include "core/names.h"

struct strait_measured_plan {
    const char *csv, *experiment;
    struct strait_texts settings; /* of all lines; a line's own come after them */
    const struct strait_profile *profile;
    int n_jobs;
};

/** Each line of the CSV: its columns are JSON Pointers, of the experiment's settings or of what a
 *  row holds (/round_s, /wait_s, /path_s/KIND, /busy_s/client/KIND, /busy_s/server/KIND; seconds a
 *  round). An empty cell: as the experiment says, or not measured.
 *  Out:     predicted, measured  arrays of rows for strait_compare, with what was measured alone;
 *           new references
 *  Returns: 0, or -1 with *err INPUT, "file.csv:3: expected ..." */
int strait_measured(json_t **predicted, json_t **measured, const struct strait_measured_plan *plan,
                    struct strait_error *err);
