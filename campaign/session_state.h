/* A run under way: the command's options, and what is known so far. */
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
    const char *sizes;                  /* "sent" or "profile"; NULL: sent with --on both */
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
    char *profile_text;            /* owned, of the header; NULL: the profile has it ready */
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
