/* Spans from a file, or from a simulation. */
#include "row_spans.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/columns/columns.h"
#include "analysis/fields.h"
#include "analysis/row.h"
#include "analysis/timeline/spans_file.h"
#include "campaign/backends.h"
#include "campaign/plan.h"
#include "stored_profile.h"

enum { PATH_CHARS = 4096 };

/* The point again, in simulated time: the row itself has no spans. */
static int simulate(struct strait_log **logs, int *n_ranks, const json_t *header, const json_t *row,
                    const struct strait_experiment *e, struct strait_error *err)
{
    const struct strait_backend *backend = strait_backend_find(strait_text_of(row, "backend"));
    const char *control = strait_text_of(row, "control");
    struct strait_plan_setup setup = {.control = *control ? control : NULL, .every_round = true};
    struct strait_trial_options options = strait_plan_trial_options(&setup, backend, e);
    struct strait_profile *profile = NULL;
    struct strait_sent_sizes *sizes = NULL;
    struct strait_trial *p = NULL;
    int status = -1;
    const bool ready =
        strait_header_profile(&profile, header, err) == 0 &&
        (!strait_row_has_sent_sizes(row) || strait_trial_find_sizes(&sizes, e, profile, err) == 0);
    options.sizes = sizes;
    if (ready && strait_trial_new(&p, e, profile, &options, err) == 0 &&
        strait_trial_run(p, backend, err) == 0) {
        *logs = p->logs;
        *n_ranks = e->n_ranks;
        p->logs = calloc((size_t)p->run.n_ranks, sizeof(*p->logs)); /* the trial frees its own */
        status = p->logs ? 0 : strait_error_memory(err, "timeline");
    }
    strait_trial_free(p);
    strait_sent_sizes_free(sizes);
    strait_profile_free(profile);
    return status;
}

int strait_row_spans(struct strait_log **logs, int *n_ranks, bool *has_server, const char *folder,
                     const struct strait_store *store, const json_t *row, struct strait_error *err)
{
    char path[PATH_CHARS];
    struct strait_experiment *e = NULL;
    json_t *point = strait_columns_point(store, row, err);
    int status = point ? strait_experiment_read(&e, folder, point, err) : -1;
    *logs = NULL;
    snprintf(path, sizeof(path), "%.3900s/spans/%.40s.jsonl", folder, strait_text_of(row, "key"));
    if (status == 0) {
        *has_server = e->strategy->has_server;
        if (access(path, F_OK) == 0)
            status = strait_spans_read(logs, n_ranks, path, err);
        else if (strcmp(strait_text_of(row, "backend"), "emu") == 0)
            status = strait_refuse(err, path,
                                   "expected the spans of an emulated row, found none: strait run "
                                   "--on emu --spans keeps them");
        else
            status = simulate(logs, n_ranks, strait_columns_header(store, row), row, e, err);
    }
    strait_experiment_free(e);
    json_decref(point);
    return status;
}
