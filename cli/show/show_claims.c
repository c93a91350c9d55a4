/* The table of claims with both their halves. */
#include <math.h>
#include <string.h>
#include "analysis/fields.h"
#include "analysis/table.h"
#include "campaign/published/claims.h"

/* "1.89 [1.72, 2.05]" */
static void put_ours(struct strait_table *t, double ours, const json_t *interval)
{
    char text[STRAIT_NUMBER_CHARS], least[STRAIT_NUMBER_CHARS], most[STRAIT_NUMBER_CHARS];
    if (!isfinite(ours))
        strait_table_cell(t, "-");
    else if (!json_is_array(interval))
        strait_table_cell(t, strait_format_number(text, ours, 4));
    else
        strait_table_cellf(
            t, "%s [%s, %s]", strait_format_number(text, ours, 4),
            strait_format_number(least, json_number_value(json_array_get(interval, 0)), 4),
            strait_format_number(most, json_number_value(json_array_get(interval, 1)), 4));
}

static void put_first(struct strait_table *t, const json_t *claim)
{
    char text[STRAIT_NUMBER_CHARS];
    const char *kind = strait_text_of(claim, "kind"), *first = strait_text_of(claim, "first");
    const double ours = strait_row_number(claim, "ours");
    strait_table_cellf(t, "%s%s %s", strcmp(kind, "figure") == 0 ? "" : kind,
                       strcmp(kind, "figure") == 0 ? "" : " ",
                       strait_format_number(text, strait_row_number(claim, "published"), 4));
    strait_table_cell(t, strait_text_of(claim, "unit"));
    put_ours(t, ours, json_object_get(claim, "interval"));
    strait_table_cell(t, first);
}

/* "kept: -0.1 [-0.9, 0.7] points, 5 seeds" */
static void put_accuracy(struct strait_table *t, const json_t *claim)
{
    const json_t *accuracy = json_object_get(claim, "accuracy"),
                 *interval = json_object_get(accuracy, "interval");
    const char *state = strait_text_of(accuracy, "state");
    if (!json_is_array(interval)) {
        strait_table_cell(t, state);
        return;
    }
    strait_table_cellf(t, "%s: %+.2f [%+.2f, %+.2f] points, %d seeds, %s, %s", state,
                       100 * strait_row_number(accuracy, "difference"),
                       100 * json_number_value(json_array_get(interval, 0)),
                       100 * json_number_value(json_array_get(interval, 1)),
                       (int)json_integer_value(json_object_get(accuracy, "seeds")),
                       strait_text_of(accuracy, "task"), strait_text_of(accuracy, "codec"));
}

/* Why not, where nothing was measured: that alone would tell nothing. */
static void put_verdict(struct strait_table *t, const json_t *claim)
{
    const char *verdict = strait_text_of(claim, "verdict"),
               *reason = strait_text_of(claim, "reason");
    if (strcmp(verdict, "not measured here") == 0 && *reason)
        strait_table_cellf(t, "%s: %s", verdict, reason);
    else
        strait_table_cell(t, verdict);
}

static void put_sources(FILE *out, const json_t *claims)
{
    size_t i, k;
    json_t *claim, *command;
    json_array_foreach (claims, i, claim) {
        const char *setting = strait_text_of(claim, "setting"),
                   *reason = strait_text_of(claim, "reason");
        strait_prose(out, "%2zu  %s: %s", i + 1, strait_text_of(claim, "claim"),
                     strait_text_of(claim, "source"));
        if (*setting) /* commands stay whole, to be copied */
            fprintf(out, "    strait run %s --on fluid\n", setting);
        const char *ran = strait_text_of(json_object_get(claim, "accuracy"), "command");
        if (*ran)
            fprintf(out, "    %s\n", ran);
        else
            json_array_foreach (json_object_get(claim, "commands"), k, command)
                fprintf(out, "    %s\n", json_string_value(command));
        if (*reason)
            strait_prose(out, "    %s", reason);
    }
}

int strait_show_claims(FILE *out, const json_t *claims, struct strait_error *err)
{
    static const char *const titles[] = {"system", "claim",     "published", "unit",
                                         "ours",   "this half", "accuracy",  "both"};
    struct strait_table *t = strait_table_new();
    size_t i;
    json_t *claim;
    strait_table_column(t, "", true);
    for (size_t k = 0; k < sizeof(titles) / sizeof(titles[0]); k++)
        strait_table_column(t, titles[k], k == 2 || k == 4);
    strait_table_rule(t);
    json_array_foreach (claims, i, claim) {
        strait_table_cellf(t, "%zu", i + 1);
        strait_table_cell(t, strait_text_of(claim, "case"));
        strait_table_cell(t, strait_text_of(claim, "claim"));
        put_first(t, claim);
        put_accuracy(t, claim);
        put_verdict(t, claim);
    }
    if (strait_table_finish(t, out, err) != 0)
        return -1;
    strait_prose(out,
                 "\nAccuracy: ours minus the same without compression, with the 95 %% interval "
                 "over the seeds. Kept: not below by more than the deviation of its seeds; "
                 "lost: the interval lies below 0; unclear: too few seeds.");
    fputs("\n", out);
    put_sources(out, claims);
    return 0;
}
