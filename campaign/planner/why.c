/* A row explained: its point again, with one thing faster at a time. */
#include "why.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/fields.h"
#include "analysis/row.h"
#include "campaign/worker_pool.h"
#include "core/hash.h"
#include "what_if.h"

/* --- the point of a row ------------------------------------------------------------------- */

/* Is this the row's point, or without its codecs? A row has the hash of what was read, which may
 * say more than the file: how many clients a network lists. A new reference, or NULL. */
static json_t *same_point(const char *file, const json_t *point, const char *wanted,
                          bool without_codec)
{
    char key[STRAIT_KEY_CHARS];
    struct strait_error ignored = {0};
    struct strait_experiment *e = NULL;
    json_t *found = without_codec ? strait_plan_without_codec(point) : json_incref((json_t *)point);
    const bool is_it = found && strait_experiment_read(&e, file, found, &ignored) == 0 &&
                       strait_hash_json(key, e->json) && strcmp(key, wanted) == 0;
    strait_experiment_free(e);
    if (is_it)
        return found;
    json_decref(found);
    return NULL;
}

static json_t *find_in(const json_t *header, const char *wanted, struct strait_error *err)
{
    const json_t *asked = json_object_get(header, "experiment");
    struct strait_sweep *sweep;
    json_t *found = NULL;
    if (strait_sweep_of(&sweep, strait_text_of(asked, "file"), json_object_get(asked, "base"),
                        json_object_get(asked, "vary"), err) != 0)
        return NULL;
    for (int plain = 0; plain < 2; plain++) /* references are not in the sweep */
        for (size_t i = 0; i < sweep->n_points && !found; i++) {
            struct strait_error ignored = {0};
            json_t *point = strait_sweep_point(sweep, i, NULL, &ignored);
            found = point ? same_point(sweep->file, point, wanted, plain) : NULL;
            json_decref(point);
        }
    strait_sweep_free(sweep);
    return found;
}

json_t *strait_why_point(const char **file, const json_t **header, const struct strait_store *store,
                         const json_t *row, struct strait_error *err)
{
    const json_t *records = strait_store_records(store);
    for (size_t i = json_array_size(records); i > 0; i--) {
        const json_t *h = json_array_get(records, i - 1);
        if (strcmp(strait_text_of(h, "record"), "header") != 0)
            continue;
        json_t *found = find_in(h, strait_text_of(row, "point"), err);
        if (found && file)
            *file = strait_text_of(json_object_get(h, "experiment"), "file");
        if (found && header)
            *header = h;
        if (found)
            return found;
    }
    strait_refuse(err, strait_store_path(store),
                  "expected the experiment of the row in a header, found none with its point");
    return NULL;
}

/* --- what would be ------------------------------------------------------------------------ */

struct tries {
    struct strait_plan_setup setup;
    struct strait_sent_sizes *sizes; /* NULL: the row's are the profile's */
    const json_t *resolved;
    double factor, round_s; /* as it is; NAN: not known yet */
    enum strait_faster what[STRAIT_N_FASTER];
    size_t n, n_done;              /* the first of what: NOTHING */
    json_t *rows[STRAIT_N_FASTER]; /* by what */
    json_t *names;
};

static json_t *try_one(size_t i, void *context, struct strait_error *err)
{
    const struct tries *t = context;
    return strait_what_if(&t->setup, t->resolved, t->what[t->n_done + i], t->factor, t->round_s,
                          err);
}

static int take_one(size_t i, const json_t *row, void *context, struct strait_error *err)
{
    struct tries *t = context;
    (void)err;
    t->rows[t->what[t->n_done + i]] = json_incref((json_t *)row);
    return 0;
}

/* The round as it is comes first: what leaves it so needs no interval. */
static int try_all(struct tries *t, int n_jobs, struct strait_error *err)
{
    if (strait_pool_run(1, 1, try_one, take_one, t, "as it is", err) != 0)
        return -1;
    t->n_done = 1;
    t->round_s = strait_row_number(t->rows[STRAIT_FASTER_NOTHING], "round_s");
    return strait_pool_run(t->n - 1, n_jobs, try_one, take_one, t, "what if", err);
}

/* What the file calls clients and sites, which the rows number: "clients 1 to 30 office", "site 2
 * Sydney". An array. */
static json_t *names_of(const struct strait_network *n)
{
    json_t *names = json_array();
    const int first = n->has_server ? 1 : 0;
    for (int r = first, end; r < n->n_ranks; r = end) {
        const char *group = n->out[r].group;
        for (end = r + 1; group && end < n->n_ranks && n->out[end].group &&
                          strcmp(n->out[end].group, group) == 0;)
            end++;
        if (group && end - r > 1)
            json_array_append_new(names, json_sprintf("%s %d to %d %s",
                                                      n->has_server ? "clients" : "ranks", r,
                                                      end - 1, group));
        else if (group)
            json_array_append_new(
                names, json_sprintf("%s %d %s", n->has_server ? "client" : "rank", r, group));
    }
    for (int s = 0; s < n->n_sites; s++)
        if (n->site_out[s].group)
            json_array_append_new(names, json_sprintf("site %d %s", s, n->site_out[s].group));
    return names;
}

static int find_tries(struct tries *t, const json_t *row, struct strait_error *err)
{
    struct strait_experiment *e;
    if (strait_experiment_read(&e, t->setup.file, t->resolved, err) != 0)
        return -1;
    const int failed = strait_row_has_sent_sizes(row) &&
                       strait_trial_find_sizes(&t->sizes, e, t->setup.profile, err) != 0;
    t->setup.sizes = t->sizes;
    for (int what = 0; what < STRAIT_N_FASTER; what++)
        if (strait_faster_applies((enum strait_faster)what, e))
            t->what[t->n++] = (enum strait_faster)what;
    t->names = names_of(e->network);
    strait_experiment_free(e);
    return failed ? -1 : 0;
}

/* What of a row is said again. */
static json_t *figures_of(const json_t *row)
{
    static const char *const keys[] = {"round_s", "interval_s",  "critical_path", "utilisation",
                                       "limits",  "uncertainty", "evidence"};
    json_t *out = json_object();
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        json_object_set(out, keys[i], json_object_get(row, keys[i]));
    return out;
}

static int by_gain(const void *a, const void *b)
{
    const double x = strait_row_number(*(json_t *const *)a, "saves_s"),
                 y = strait_row_number(*(json_t *const *)b, "saves_s");
    return (y > x) - (y < x);
}

static json_t *faster_of(const struct tries *t)
{
    const double round_s = strait_row_number(t->rows[STRAIT_FASTER_NOTHING], "round_s");
    json_t *all[STRAIT_N_FASTER] = {NULL}, *out = json_array();
    size_t n = 0;
    for (int what = STRAIT_FASTER_NOTHING + 1; what < STRAIT_N_FASTER; what++) {
        const json_t *row = t->rows[what];
        const enum strait_faster f = (enum strait_faster)what;
        if (row)
            all[n++] =
                json_pack("{s:s, s:s, s:O, s:O?, s:f, s:O}", "what", strait_faster_key(f), "text",
                          strait_faster_text(f), "round_s", json_object_get(row, "round_s"),
                          "interval_s", json_object_get(row, "interval_s"), "saves_s",
                          round_s - strait_row_number(row, "round_s"), "limits",
                          json_object_get(row, "limits"));
    }
    qsort(all, n, sizeof(*all), by_gain);
    for (size_t i = 0; i < n; i++)
        json_array_append_new(out, all[i]);
    return out;
}

json_t *strait_why(const struct strait_plan_setup *setup, const json_t *row, const json_t *resolved,
                   double factor, int n_jobs, struct strait_error *err)
{
    struct tries t = {.setup = *setup, .resolved = resolved, .factor = factor, .round_s = NAN};
    json_t *out = NULL;
    if (find_tries(&t, row, err) == 0 && try_all(&t, n_jobs, err) == 0)
        out = json_pack("{s:s, s:O, s:f, s:o, s:o, s:O}", "record", "why", "row", row, "factor",
                        factor, "predicted", figures_of(t.rows[STRAIT_FASTER_NOTHING]), "faster",
                        faster_of(&t), "names", t.names);
    strait_sent_sizes_free(t.sizes);
    json_decref(t.names);
    for (int what = 0; what < STRAIT_N_FASTER; what++)
        json_decref(t.rows[what]);
    return out;
}
