/* The backend `emu` owes what every backend owes. Times are lower bounds; make judged holds them to
 * what a kernel's TCP and this machine's threads allow, at a dilation that makes room for other
 * programs, and repeats a run that itself says that the machine disturbed it. */
#include "tests/kit/conformance/conformance.h"

enum { MAX_TRIES = 4 };

static int check(const struct strait_run *run, struct strait_error *err)
{
    return strait_emu.check(run, err);
}

static int run_until_valid(struct strait_run *run, struct strait_error *err)
{
    int rc = -1;
    const int n_tries = conform_is_timed() ? MAX_TRIES : 1;
    for (int i = 0; i < n_tries; i++) {
        json_array_clear(run->facts->invalid);
        for (int r = 0; r < run->n_ranks; r++)
            strait_log_release(&run->logs[r]);
        rc = strait_emu.run(run, err);
        if (rc != 0 || json_array_size(run->facts->invalid) == 0)
            break;
        printf("    again: %s\n", json_string_value(json_array_get(run->facts->invalid, 0)));
    }
    return rc;
}

/* The ranks themselves see strait_emu, whose operations these are. */
static const struct strait_backend patient_emu = {
    .name = "emu", .check = check, .run = run_until_valid};

static const struct strait_conformance conformance = {
    .backend = &patient_emu, .tolerance_ratio = 0.02, .tolerance_s = 5e-3, .dilation = 4};

STRAIT_SUITE_WITH("emu/conformance_emu", strait_conformance_tests, .slow_s = 16,
                  .data = &conformance, .release = true);
