#include "named.h"

#include "core/json.h"
#include "core/names.h"
#include "core/shipped.h"
#include "codec_choice.h"
#include "regions.h"
#include "strategy.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

json_t *strait_named_load(struct strait_object *o, char path[4096], const char *kind,
                          const char *name, const char *file, const char *key,
                          struct strait_error *err)
{
    char found[4096], schema[64], where[512];
    const char *given;
    struct strait_error why = {0};
    char expected[64], relative[64], folder[3500];
    snprintf(where, sizeof(where), "%s#/%s", file, key);
    snprintf(relative, sizeof(relative),
             strcmp(kind, "software") == 0 ? "traces/%s" : "experiments/%ss", kind);
    strait_share_path(folder, sizeof(folder), relative);
    snprintf(expected, sizeof(expected), "a %s that ships or a path", kind);
    if (strpbrk(name, "/."))
        snprintf(path, 4096, "%s", strait_shipped_path(found, sizeof(found), name));
    else
        snprintf(path, 4096, "%s/%.500s.json", folder, name);
    if (!strpbrk(name, "/.") && access(path, F_OK) != 0) {
        strait_refuse_file_name(err, STRAIT_ERR_INPUT, where, expected, name, folder);
        return NULL;
    }
    json_t *json = strait_json_load(path, &why);
    if (!json && strcmp(why.where, path) != 0) /* a mistake in the file, with its line */
        strait_error_set(err, why.code, why.where, "%s", why.text);
    if (!json)
        strait_error_set(err, why.code, where, "expected %s, found \"%s\": %s", expected, name,
                         why.text);
    if (!json)
        return NULL;
    snprintf(schema, sizeof(schema), "strait-%s/1", kind);
    if (strait_object_open(o, path, "", json, err) != 0 ||
        strait_object_string(o, &given, "schema", err) != 0 ||
        strait_object_string(o, &given, "title", err) != 0) {
        json_decref(json);
        return NULL;
    }
    if (strcmp(json_string_value(json_object_get(json, "schema")), schema) != 0) {
        strait_refuse(err, path, "expected schema \"%s\", found \"%s\"", schema,
                      json_string_value(json_object_get(json, "schema")));
        json_decref(json);
        return NULL;
    }
    return json;
}

static const char *const of_machine[] = {"add", "copy", "link", "memory", "inverse", NULL},
                         *const of_network[] = {NULL}; /* ports share one source */

/* Check that every constant and every number of a machine has a source, and every source a
 * number. */
static int check_sources(const char *path, const json_t *of, const char *const *plain,
                         const json_t *sources, struct strait_error *err)
{
    const json_t *constants = json_object_get(of, "constants");
    const char *key;
    json_t *value;
    size_t n = json_object_size(constants);
    const char *missing = NULL;
    json_object_foreach ((json_t *)constants, key, value)
        if (!json_object_get(sources, key))
            missing = key;
    for (; *plain; plain++) {
        n += json_object_get(of, *plain) != NULL;
        if (json_object_get(of, *plain) && !json_object_get(sources, *plain))
            missing = *plain;
    }
    json_object_foreach ((json_t *)sources, key, value)
        if (!json_is_string(value) && !json_is_string(json_object_get(value, "source")))
            missing = key;
    if (missing || json_object_size(sources) != n)
        return strait_refuse(
            err, path, "expected in \"sources\" a text for each constant and no other, found %s%s",
            missing ? "none for " : "more", missing ? missing : "");
    return 0;
}

static int expand_network(json_t *experiment, const char *file, struct strait_error *err)
{
    char path[4096];
    const char *name = json_string_value(json_object_get(experiment, "network")), *source;
    struct strait_object o;
    if (!name)
        return 0;
    json_t *json = strait_named_load(&o, path, "network", name, file, "network", err);
    if (!json)
        return -1;
    int failed = strait_object_string(&o, &source, "source", err);
    const json_t *network = strait_object_value(&o, "network"),
                 *sources = strait_object_value(&o, "sources"),
                 *measured = strait_object_value(&o, "measured"); /* with standard errors */
    if (!failed && measured && !json_is_object(measured))
        failed = strait_refuse_value(err, path, "an object as \"measured\"", measured);
    if (!failed && !json_is_object(network))
        failed = strait_refuse(err, path, "expected a \"network\"");
    if (!failed && !(failed = strait_object_close(&o, err)) &&
        !(failed = check_sources(path, network, of_network, sources, err)))
        json_object_set_new(experiment, "network", json_deep_copy(network));
    json_decref(json);
    return failed;
}

/* The "matrix" of a network of "topology": "regions" is one of experiments/regions (aws) or a path;
 * other topologies are left alone. */
static int expand_regions(json_t *experiment, const char *file, struct strait_error *err)
{
    json_t *network = json_object_get(experiment, "network");
    const json_t *matrix = json_object_get(network, "matrix");
    const char *source, *topology = json_string_value(json_object_get(network, "topology"));
    char path[4096], where[512];
    struct strait_object o;
    if (!topology || strcmp(topology, "regions") != 0)
        return 0;
    snprintf(where, sizeof(where), "%s#/network/matrix", file);
    if (matrix && !json_is_string(matrix))
        return strait_refuse_value(err, where, "the name of a matrix, a string", matrix);
    json_t *json = strait_named_load(&o, path, "region", matrix ? json_string_value(matrix) : "aws",
                                     file, "network/matrix", err);
    if (!json)
        return -1;
    int failed = strait_object_string(&o, &source, "source", err);
    const json_t *pairs = strait_object_value(&o, "pairs");
    if (!failed && !json_is_array(pairs))
        failed = strait_refuse(err, path, "expected an array of \"pairs\"");
    failed = failed || strait_object_close(&o, err) != 0 ||
             strait_regions_expand(network, pairs, file, err) != 0;
    json_decref(json);
    return failed ? -1 : 0;
}

static int expand_device(json_t *experiment, const char *file, struct strait_error *err)
{
    char path[4096];
    json_t *device = json_object_get(experiment, "device");
    const char *name = json_string_value(device);
    struct strait_object o;
    if (!name)
        name = json_string_value(json_object_get(device, "name"));
    if (!name)
        return 0;
    json_t *json = strait_named_load(&o, path, "machine", name, file, "device", err);
    if (!json)
        return -1;
    const json_t *machine = strait_object_value(&o, "machine"),
                 *sources = strait_object_value(&o, "sources");
    int failed = strait_object_close(&o, err);
    if (!failed && !json_is_object(machine))
        failed = strait_refuse(err, path, "expected a \"machine\"");
    if (!failed && !(failed = check_sources(path, machine, of_machine, sources, err))) {
        json_t *all = json_is_object(device) ? json_deep_copy(device)
                                             : json_pack("{s:s}", "name", name),
               *shipped = json_deep_copy(machine), *own = json_object_get(all, "constants");
        /* what codecs take there is read where it is needed, from this file */
        if (json_object_get(shipped, "profile"))
            json_object_set_new(shipped, "profile", json_string(path));
        if (own)
            json_object_update_missing(own, json_object_get(shipped, "constants"));
        json_object_update_missing(all, shipped);
        json_object_set_new(experiment, "device", all);
        json_decref(shipped);
    }
    json_decref(json);
    return failed;
}

/* One software file: its constants, and where each was estimated. */
static int add_software(json_t *constants, json_t *from, const char *name, const char *file,
                        struct strait_error *err)
{
    static const char *const keys[] = {"source", "model", "device", "error", "reach"};
    char path[4096];
    struct strait_object o, of;
    json_t *json = strait_named_load(&o, path, "software", name, file, "software", err);
    if (!json)
        return -1;
    const json_t *software = strait_object_value(&o, "software"),
                 *sources = strait_object_value(&o, "sources");
    const char *key, *text;
    json_t *source;
    long n_figures;
    int failed = strait_object_close(&o, err);
    if (!failed && !json_is_object(software))
        failed = strait_refuse(err, path, "expected a \"software\"");
    if (!failed)
        failed = check_sources(path, software, of_network, sources, err);
    json_object_foreach ((json_t *)sources, key, source) {
        char pointer[256];
        snprintf(pointer, sizeof(pointer), "/sources/%s", key);
        failed = failed || strait_object_open(&of, path, pointer, source, err) != 0 ||
                 strait_object_integer(&of, &n_figures, "figures", 0, 1000, err) != 0;
        for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
            failed = failed || strait_object_string(&of, &text, keys[i], err) != 0;
        failed = failed || strait_object_string_or(&of, &text, "elsewhere", NULL, err) != 0 ||
                 strait_object_close(&of, err) != 0;
    }
    if (!failed) {
        json_object_update_missing(constants, json_object_get(software, "constants"));
        json_object_foreach ((json_t *)sources, key, source)
            if (!json_object_get(from, key))
                json_object_set_new(from, key,
                                    json_pack("{s:O, s:O, s:O, s:O, s:O*}", "model",
                                              json_object_get(source, "model"), "device",
                                              json_object_get(source, "device"), "figures",
                                              json_object_get(source, "figures"), "error",
                                              json_object_get(source, "error"), "elsewhere",
                                              json_object_get(source, "elsewhere")));
    }
    json_decref(json);
    return failed ? -1 : 0;
}

/* "horovod+adamw": the constants of both files, the first file's where both have one. */
static int expand_software(json_t *experiment, const char *file, struct strait_error *err)
{
    json_t *software = json_object_get(experiment, "software");
    const char *name = json_string_value(software);
    if (!name)
        name = json_string_value(json_object_get(software, "name"));
    if (!name)
        return 0;
    json_t *constants = json_deep_copy(json_object_get(software, "constants")),
           *from = json_deep_copy(json_object_get(software, "from"));
    char names[1024], *rest = names;
    int failed = 0;
    constants = constants ? constants : json_object();
    from = from ? from : json_object();
    snprintf(names, sizeof(names), "%s", name);
    for (const char *one; !failed && (one = strsep(&rest, "+"));)
        failed = add_software(constants, from, one, file, err);
    if (failed) {
        json_decref(constants);
        json_decref(from);
        return -1;
    }
    json_object_set_new(
        experiment, "software",
        json_pack("{s:s, s:o, s:o}", "name", name, "constants", constants, "from", from));
    return 0;
}

/* "bsp" is {"name": "bsp"}. */
static void expand_strategy(json_t *experiment)
{
    json_t *strategy = json_object_get(experiment, "strategy");
    if (json_is_string(strategy))
        json_object_set_new(experiment, "strategy", json_pack("{s:O}", "name", strategy));
}

int strait_named_expand(json_t *experiment, const char *file, struct strait_error *err)
{
    expand_strategy(experiment);
    return strait_codec_short_expand(experiment, "codec", file, err) != 0 ||
                   strait_codec_short_expand(experiment, "download_codec", file, err) != 0 ||
                   expand_network(experiment, file, err) != 0 ||
                   expand_regions(experiment, file, err) != 0 ||
                   expand_device(experiment, file, err) != 0 ||
                   expand_software(experiment, file, err) != 0
               ? -1
               : 0;
}

const struct strait_strategy *const *strait_strategies(size_t *n)
{
    for (*n = 0; strait_strategy_table[*n];)
        ++*n;
    return strait_strategy_table;
}

const struct strait_strategy *strait_strategy_find(const char *name)
{
    for (size_t i = 0; strait_strategy_table[i]; i++)
        if (strcmp(strait_strategy_table[i]->name, name) == 0)
            return strait_strategy_table[i];
    return NULL;
}
