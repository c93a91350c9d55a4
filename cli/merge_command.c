/* strait merge: the results of shards as those of one run. */
#include <stdio.h>
#include <stdlib.h>
#include "analysis/merge/merge.h"
#include "cli/kit/command.h"
#include "cli/kit/options.h"
#include "cli/kit/results.h"

enum { MAX_FOLDERS = 1024 };

static const char notes[] =
    "Shards are runs of one experiment that share its points, on any machines:\n"
    "\n"
    "  strait run my.json --shard 1/3 --out part1        (2/3, 3/3: elsewhere)\n"
    "  parallel strait run my.json --shard {}/8 --out part{} ::: $(seq 8)\n"
    "  sbatch --array=1-8 --wrap 'strait run my.json \\\n"
    "      --shard $SLURM_ARRAY_TASK_ID/8 --out part$SLURM_ARRAY_TASK_ID'\n"
    "  strait merge part* --out all && strait run my.json --out all\n"
    "\n"
    "The last command shows all rows, and computes those that are missing. Folders of\n"
    "other experiments, programs or profiles are refused.\n";

static void say(const struct strait_merged *merged, const char *path, size_t n)
{
    fprintf(stderr, "%s: %zu row%s of %zu folder%s", path, merged->n_rows,
            merged->n_rows == 1 ? "" : "s", n, n == 1 ? "" : "s");
    if (merged->n_missing > 0)
        fprintf(stderr, "; %zu point%s in none of them", merged->n_missing,
                merged->n_missing == 1 ? " is" : "s are");
    fputs("\n", stderr);
}

static void put_json(const struct strait_merged *merged, const char *path, size_t n)
{
    json_t *line =
        json_pack("{s:s, s:I, s:I, s:I}", "results", path, "folders", (json_int_t)n, "rows",
                  (json_int_t)merged->n_rows, "missing", (json_int_t)merged->n_missing);
    strait_command_print_json(line);
    json_decref(line);
}

static int merge(const char *const *folders, size_t n, const char *out, bool json,
                 struct strait_error *err)
{
    struct strait_store **inputs = calloc(n, sizeof(struct strait_store *)), *to = NULL;
    struct strait_merged merged;
    int failed = inputs ? 0 : strait_error_memory(err, "merge");
    for (size_t i = 0; i < n && !failed; i++)
        failed = strait_results_open(&inputs[i], folders[i], err);
    if (!failed)
        failed = strait_store_open(&to, out, true, err) != 0 ||
                 strait_merge(&merged, to, inputs, n, err) != 0;
    if (!failed)
        (json ? put_json : say)(&merged, strait_store_path(to), n);
    strait_store_free(to);
    for (size_t i = 0; inputs && i < n; i++)
        strait_store_free(inputs[i]);
    free(inputs);
    return failed ? -1 : 0;
}

int strait_command_merge(int argc, char **argv)
{
    const char *out = NULL, *folders[MAX_FOLDERS];
    size_t n = 0;
    bool json = false;
    const struct strait_option options[] = {
        {"out", 'o', STRAIT_OPTION_TEXT, &out, "DIR", "new folder for all rows"},
        {"json", 0, STRAIT_OPTION_FLAG, &json, NULL, "how many rows, and points without one"}};
    const struct strait_usage usage = {
        "merge", "DIR...", "Join the results of runs that shared an experiment's points.",
        STRAIT_OPTIONS(options), notes};
    struct strait_error err = {0};
    int status;
    if (!strait_command_begin(&status, &usage, argc, argv, folders, MAX_FOLDERS, &n))
        return status;
    if (!out)
        strait_error_set(&err, STRAIT_ERR_USAGE, "merge",
                         "expected --out with the folder for all rows, found none");
    else if (merge(folders, n, out, json, &err) == 0)
        return 0;
    return strait_command_fail(&err);
}
