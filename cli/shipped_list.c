/* What ships as files, by name or by the path that serves as one. */
#include "shipped_list.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "codecs/profile/profile.h"
#include "core/json.h"
#include "core/shipped.h"

enum { PATH_CHARS = 4096 };

/* Call row for every file of a shipped folder with this ending, in the order of names. named: the
 * bare name is enough, else the path from the root. */
static int each_file(json_t *out, const char *folder, const char *ending, bool named,
                     int (*row)(json_t *out, const char *name, const char *path,
                                struct strait_error *err),
                     struct strait_error *err)
{
    char at[PATH_CHARS];
    const char *where = strait_shipped_path(at, sizeof(at), folder);
    struct dirent **entries;
    const int n = scandir(where, &entries, NULL, alphasort);
    int failed = n < 0 ? strait_error_system(err, where, "cannot read the folder") : 0;
    for (int i = 0; i < n; i++) {
        char path[PATH_CHARS], name[PATH_CHARS];
        const char *file = entries[i]->d_name;
        const size_t len = strlen(file), end = strlen(ending);
        if (!failed && len > end && strcmp(file + len - end, ending) == 0) {
            snprintf(path, sizeof(path), "%s/%s", where, file);
            if (named)
                snprintf(name, sizeof(name), "%.*s", (int)(len - end), file);
            else
                snprintf(name, sizeof(name), "%s/%s", folder, file);
            failed = row(out, name, path, err);
        }
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return failed;
}

/* --- models ------------------------------------------------------------------------------- */

json_t *strait_model_row(const struct strait_model *m, const char *name)
{
    return json_pack("{s:s, s:I, s:f, s:f, s:s, s:s, s:s}", "name", name, "parameters",
                     (json_int_t)m->n_elems, "MB", 4e-6 * (double)m->n_elems, "step_s",
                     strait_model_step_s(m), "device", m->device, "time",
                     strait_timing_name(m->timing), "source", m->timing_source);
}

static int model_row(json_t *out, const char *name, const char *path, struct strait_error *err)
{
    struct strait_model *m;
    if (strait_model_load(&m, path, err) != 0)
        return -1;
    json_array_append_new(out, strait_model_row(m, name));
    strait_model_free(m);
    return 0;
}

int strait_model_rows(json_t *out, struct strait_error *err)
{
    size_t n;
    const char *const *names = strait_model_names(&n);
    for (size_t i = 0; i < n; i++)
        if (model_row(out, names[i], names[i], err) != 0)
            return -1;
    return each_file(out, "experiments/models", ".csv", false, model_row, err);
}

/* --- networks and machines ---------------------------------------------------------------- */

static int title_row(json_t *out, const char *name, const char *path, struct strait_error *err)
{
    json_t *json = strait_json_load(path, err);
    const char *title = json_string_value(json_object_get(json, "title"));
    if (!json)
        return -1;
    json_array_append_new(out, json_pack("{s:s, s:s}", "name", name, "title", title ? title : ""));
    json_decref(json);
    return 0;
}

int strait_engine_rows(json_t *out, struct strait_error *err)
{
    return each_file(out, "experiments/machines", ".json", true, title_row, err);
}

int strait_plan_rows(json_t *out, struct strait_error *err)
{
    return each_file(out, "experiments/plans", ".json", true, title_row, err);
}

/* What an experiment's "network" may say; the reader of experiments is the judge. */
int strait_network_rows(json_t *out, struct strait_error *err)
{
    static const char *const rows[][3] = {
        {"topology", "\"star\"", "every rank has one port, in and out; paths add two ports"},
        {"topology", "\"sites\"",
         "ranks of a site share a port to the core: \"site\", \"between\""},
        {"topology", "\"nodes\"", "accelerators of a node share a network card: \"node\""},
        {"topology", "\"regions\"", "sites by a published \"matrix\": \"aws\", or a path"},
        {"regions", "[{\"name\": \"Ohio\", \"ranks\": 4}]", "and the server's \"region\""},
        {"site, node", "{...}",
         "a port and its number of \"ranks\" or \"accelerators\"; or an array"},
        {"client, server", "{...}", "a port; without a server in the strategy, its port is unused"},
        {".../rate", "\"1 Gbps\"", "of the port, headers included"},
        {".../rate", "[{\"at\": \"9 s\", \"rate\": ...}]", "over time; or a trace of Mahimahi"},
        {".../name, count", "\"dsl\", 40", "so many ports or sites alike"},
        {".../background", "\"200 Mbps\"", "that others take of the rate"},
        {".../background", "{\"flows\": 2, \"way\": \"in\"}", "long TCP flows that compete"},
        {"events", "[{\"at\", \"on\", \"rate\"}]", "links by name get another rate from a time on"},
        {".../rtt", "\"50 ms\"", "there and back over this port; a path adds those of its ends"},
        {".../loss", "\"0.1 %\"", "of segments"},
        {".../jitter", "\"2 ms\"", "of a segment's delay, either way; the order is kept"},
        {".../distribution", "\"pareto\"", "of the jitter: uniform, normal, pareto, paretonormal"},
        {".../queue", "\"256 KB\"", "drop-tail; without it a queue never drops"},
        {"overhead", "\"24 B\"", "of a frame beyond its 1514 bytes: 24 on a wire, 0 as tc counts"},
        {"tcp/congestion", "\"reno\", \"bbr\", \"cubic\"", "as Linux has them; named: by packets"},
        {"detail", "\"auto\", \"flows\", \"packets\"",
         "how simulations move bytes; auto: as needed"},
        {"connections", "4", "TCP connections that carry each message together: parallel streams"},
    };
    if (each_file(out, "experiments/networks", ".json", true, title_row, err) != 0)
        return -1;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        json_array_append_new(out, json_pack("{s:s, s:s, s:s}", "key", rows[i][0], "example",
                                             rows[i][1], "meaning", rows[i][2]));
    return 0;
}

/* --- experiments -------------------------------------------------------------------------- */

static int experiment_row(json_t *out, const char *name, const char *path, struct strait_error *err)
{
    json_t *json = strait_json_load(path, err), *values;
    size_t n_points = 1;
    const char *pointer, *title = json_string_value(json_object_get(json, "title"));
    if (!json)
        return -1;
    json_object_foreach (json_object_get(json, "vary"), pointer, values)
        n_points *= json_array_size(values);
    json_array_append_new(out, json_pack("{s:s, s:I, s:s}", "name", name, "points",
                                         (json_int_t)n_points, "title", title ? title : ""));
    json_decref(json);
    return 0;
}

int strait_experiment_rows(json_t *out, struct strait_error *err)
{
    return each_file(out, "experiments", ".json", true, experiment_row, err);
}

/* --- profiles ----------------------------------------------------------------------------- */

static int profile_row(json_t *out, const char *name, const char *path, struct strait_error *err)
{
    struct strait_profile *p;
    if (strait_profile_load(&p, path, err) != 0)
        return -1;
    json_array_append_new(out, json_pack("{s:s, s:I, s:s, s:s, s:s}", "name", name, "entries",
                                         (json_int_t)p->n_entries, "figures",
                                         p->stated ? "stated" : "measured", "machine", p->machine,
                                         "title", p->title));
    strait_profile_free(p);
    return 0;
}

int strait_profile_rows(json_t *out, struct strait_error *err)
{
    return each_file(out, "codecs/profiles", ".json", true, profile_row, err) != 0 ||
                   each_file(out, "experiments/profiles", ".json", false, profile_row, err) != 0
               ? -1
               : 0;
}
