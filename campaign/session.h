/* Plans, computes and stores a run: from the command's options to rows in the results folder. */
#pragma once
#include <stdio.h>
#include "analysis/compare.h"
#include "analysis/store.h"
#include "core/names.h"
#include "live_view.h"
#include "plan.h"
#include "resume_part.h"
#include "shard.h"

struct strait_session {
    /* --- options */
    const char *timing; /* NULL: live */
    const char *on, *out, *profile_name, *control;
    const char *realisation, *launcher; /* NULL: chosen */
    const char *save_state;             /* folder; NULL: none */
    const char *commit;                 /* that the program was built from; NULL: unknown */
    FILE *notes;                        /* what is done goes there; NULL: nowhere */
    struct strait_texts settings;
    long n_jobs, n_repeats, n_tries;
    double dilation;
    struct strait_compare_options within; /* for --on both */
    struct strait_shard shard;            /* of points */
    bool json, fresh, no_breakeven, check, every_round, live;
    bool spans; /* are kept in the folder */
    /* --- state */
    struct strait_mpi_world *world; /* of --on mpi */
    const struct strait_afar *afar; /* emulates elsewhere; NULL: here */
    struct strait_crew *crew;       /* which computes the points; NULL: workers of this process */
    struct strait_sweep *sweep;
    struct strait_profile *profile;
    struct strait_learned learned; /* for intervals */
    bool calibrated, calibrated_now;
    json_t *measured; /* new records of network costs */
    struct strait_plan plan;
    struct strait_store *store;
    char *folder;        /* owned: r->out points here */
    char *spans_folder;  /* owned; NULL: spans are not kept */
    json_t *rows_by_key; /* all rows of this run, stored or new */
    size_t *missing, n_missing;
    struct strait_resume step; /* of a run in parts */
    double start_s;
    struct strait_live_view view;
    bool failed;      /* a row is INVALID or outside tolerance, or a point failed */
    json_t *failures; /* points without a row, whose others went on: [{labels, where, text}] */
};

/** Load the experiment and choose the results folder; the first part of prepare. 0, or -1 with
 *  *err. */
int strait_session_load(struct strait_session *r, const char *experiment, struct strait_error *err);
/** Load the experiment, choose or measure the profile, plan every task and check the host; writes
 *  nothing. 0, or -1 with *err. */
int strait_session_prepare(struct strait_session *r, const char *experiment,
                           struct strait_error *err);
/** Compute one task of the plan, in a process of its own; context: the session, prepared.
 *  Returns: the answer of strait_pool_make_answer */
char *strait_session_answer(size_t i_task, void *context);
/** Open the folder and compute the missing rows. 0, or -1 with *err. */
int strait_session_compute(struct strait_session *r, struct strait_error *err);
/** Write the end record if anything is new. 0, or -1 with *err. */
int strait_session_finish(struct strait_session *r, struct strait_error *err);
void strait_session_release(struct strait_session *r);
/** The rows of one backend (NULL: all), in the order of the plan: a new array. */
json_t *strait_session_rows(const struct strait_session *r, const struct strait_backend *backend);
bool strait_session_is_both(const struct strait_session *r);
