#include "claims.h"

#include <string.h>
#include "analysis/fields.h"
#include "analysis/row.h"
#include "core/shipped.h"
#include "claims_search.h"
#include "published.h"

/* --- a claim ------------------------------------------------------------------------------ */

static void judge(json_t *claim, const json_t *rows)
{
    const json_t *halves = json_object_get(claim, "halves");
    const char *first = "not measured here", *verdict = "not measured here";
    if (json_object_get(halves, "rows"))
        published_search(claim, halves, rows);
    else
        json_object_set_new(
            claim, "accuracy",
            json_pack("{s:s}", "state",
                      *strait_text_of(halves, "accuracy") ? "not measured here" : "none claimed"));
    const json_t *ours = json_object_get(claim, "ours"),
                 *accuracy = json_object_get(claim, "accuracy");
    if (json_is_number(ours) && strcmp(strait_text_of(claim, "kind"), "from") == 0)
        first = json_is_true(json_object_get(claim, "reached")) ? "holds" : "fails";
    else if (json_is_number(ours))
        first = published_is_as_claimed(halves, json_number_value(ours),
                                        strait_row_number(claim, "published"))
                    ? "holds"
                    : "fails";
    if (strcmp(first, "fails") == 0 || published_is_state(accuracy, "lost"))
        verdict = "not reached";
    else if (published_is_state(accuracy, "unclear"))
        verdict = "unclear";
    else if (strcmp(first, "holds") == 0 && !published_is_state(accuracy, "not measured here"))
        verdict = "reached";
    json_object_set_new(claim, "first", json_string(first));
    json_object_set_new(claim, "verdict", json_string(verdict));
    json_object_set(claim, "commands", json_object_get(halves, "commands"));
    json_object_del(claim, "halves");
    json_object_del(claim, "reached"); /* it is of the first half alone */
}

json_t *strait_claims(const char *path, const json_t *rows, const struct strait_profile *profile,
                      int n_workers, struct strait_error *err)
{
    char shipped[4096];
    if (!path)
        path = strait_share_path(shipped, sizeof(shipped), "traces/claims.json");
    json_t *published = strait_published(path, NULL, 0, false, profile, n_workers, err);
    json_t *claims = published ? json_deep_copy(json_object_get(published, "rows")) : NULL, *claim;
    size_t i;
    json_decref(published);
    json_array_foreach (claims, i, claim)
        judge(claim, rows);
    return claims;
}
