#include "experiment_request.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "core/io.h"
#include "core/json.h"
#include "core/names.h"

/* Names of files are for who sits at the command line. "25 GB/s" is none, and models that ship with
 * an experiment are named by their path. */
static bool is_path(const char *text)
{
    static const char shipped[] = "experiments/models/";
    static const char *const per[] = {"/s", "/h", "/GB"};
    const size_t digits = strspn(text, "0123456789.eE+-");
    const char *slash = strchr(text, '/');
    bool is_quantity = false;
    for (size_t i = 0; i < sizeof(per) / sizeof(*per) && digits > 0 && text[digits] == ' '; i++)
        is_quantity |= slash && strcmp(slash, per[i]) == 0;
    if (is_quantity)
        return false;
    if (strncmp(text, shipped, sizeof(shipped) - 1) == 0)
        return strchr(text + sizeof(shipped) - 1, '/') || strstr(text, "..");
    return slash || strstr(text, ".json") || strstr(text, ".csv") || strcmp(text, "..") == 0;
}

int strait_asked_refuse_paths(const json_t *at, const char *pointer, struct strait_error *err)
{
    char deeper[STRAIT_JSON_POINTER_MAX + 12];
    const char *key;
    json_t *value;
    size_t i;
    if (json_is_string(at) && is_path(json_string_value(at)))
        return strait_refuse(err, pointer, "expected a name that ships, found the path \"%.200s\"",
                             json_string_value(at));
    if (strlen(pointer) > STRAIT_JSON_POINTER_MAX - 80)
        return strait_refuse(err, "experiment", "expected less nesting");
    json_object_foreach ((json_t *)at, key, value) {
        snprintf(deeper, sizeof(deeper), "%s/%.64s", pointer, key);
        if (strcmp(key, "title") != 0 && strcmp(key, "schema") != 0 &&
            strait_asked_refuse_paths(value, deeper, err) != 0)
            return -1;
    }
    json_array_foreach ((json_t *)at, i, value) {
        snprintf(deeper, sizeof(deeper), "%s/%zu", pointer, i);
        if (strait_asked_refuse_paths(value, deeper, err) != 0)
            return -1;
    }
    return 0;
}

int strait_asked_file(struct strait_asked_table *t, const char *name, const char *text,
                      struct strait_error *err)
{
    t->fd = memfd_create(name, MFD_CLOEXEC);
    if (t->fd < 0 || !strait_io_write(t->fd, text, strlen(text), 0))
        return strait_error_system(err, name, "cannot keep the text");
    snprintf(t->path, sizeof(t->path), "/proc/self/fd/%d", t->fd);
    return 0;
}

void strait_asked_name(struct strait_error *err, const struct strait_asked_table *t,
                       const char *name)
{
    char rest[sizeof(err->where)];
    const size_t n = strlen(t->path);
    if (!err || n == 0 || strncmp(err->where, t->path, n) != 0)
        return;
    snprintf(rest, sizeof(rest), "%s", err->where + n);
    err->where[0] = '\0';
    strait_text_add(err->where, sizeof(err->where), "%s%s", name, rest);
}

/* A table of the body, whose path is put in place of the experiment's own. */
static int put_table(struct strait_asked_table *t, json_t *object, const char *key,
                     const char *text, struct strait_error *err)
{
    if (strait_asked_file(t, key, text, err) != 0)
        return -1;
    json_object_set_new(object, key, json_string(t->path));
    return 0;
}

/* {"slowness": [1, 1, 4]}: as the file that "device" may name. */
static int put_slowness(struct strait_asked_table *t, json_t *experiment, const json_t *factors,
                        struct strait_error *err)
{
    char text[16 * STRAIT_ASKED_MAX_FACTORS] = "slowness\n";
    json_t *device = json_object_get(experiment, "device"), *factor;
    size_t i;
    if (!json_is_array(factors) || json_array_size(factors) > STRAIT_ASKED_MAX_FACTORS)
        return strait_refuse(err, "body#/slowness", "expected an array of at most %d factors",
                             STRAIT_ASKED_MAX_FACTORS);
    json_array_foreach (factors, i, factor)
        strait_text_add(text, sizeof(text), "%.6g\n", json_number_value(factor));
    if (!json_is_object(device))
        json_object_set_new(experiment, "device", device = json_object());
    return put_table(t, device, "slowness", text, err);
}

/* strait_sweep_new reads every point, with its whole network: the number of points is looked at
 * before, and each value of /clients. */
static int check_axes(const json_t *experiment, struct strait_error *err)
{
    const json_t *vary = json_object_get(experiment, "vary");
    size_t n_points = 1, i;
    const char *pointer;
    json_t *values, *value;
    const json_t *clients = json_object_get(experiment, "clients");
    if (json_integer_value(clients) > STRAIT_ASKED_MAX_CLIENTS)
        return strait_refuse(err, "experiment#/clients",
                             "expected at most %d on this page, found %lld",
                             STRAIT_ASKED_MAX_CLIENTS, (long long)json_integer_value(clients));
    json_object_foreach ((json_t *)vary, pointer, values) {
        if (json_array_size(values) > STRAIT_ASKED_MAX_POINTS)
            n_points = STRAIT_ASKED_MAX_POINTS + 1;
        else if (json_array_size(values) > 0 && n_points <= STRAIT_ASKED_MAX_POINTS)
            n_points *= json_array_size(values);
        json_array_foreach (values, i, value)
            if (json_integer_value(value) > STRAIT_ASKED_MAX_CLIENTS &&
                strcmp(pointer, "/clients") == 0)
                return strait_refuse(err, "experiment#/vary/~1clients",
                                     "expected at most %d on this page, found %lld",
                                     STRAIT_ASKED_MAX_CLIENTS,
                                     (long long)json_integer_value(value));
    }
    return n_points <= STRAIT_ASKED_MAX_POINTS
               ? 0
               : strait_refuse(err, "experiment#/vary", "expected at most %d points",
                               STRAIT_ASKED_MAX_POINTS);
}

static int read_all(struct strait_asked *q, const json_t *json, struct strait_error *err)
{
    struct strait_object o;
    if (strait_object_open(&o, "body", "", json, err) != 0)
        return -1;
    const json_t *given = strait_object_value(&o, "experiment"),
                 *slowness = strait_object_value(&o, "slowness");
    const char *table = NULL;
    if (strait_object_string_or(&o, &table, "table", NULL, err) != 0 ||
        strait_object_bool_or(&o, &q->wants_round, "round", false, err) != 0 ||
        strait_object_bool_or(&o, &q->wants_why, "why", false, err) != 0 ||
        strait_object_bool_or(&o, &q->wants_estimate, "estimate", false, err) != 0 ||
        strait_object_close(&o, err) != 0)
        return -1;
    if (!json_is_object(given))
        return strait_refuse_value(err, "body#/experiment", "an object", given);
    if (strait_asked_refuse_paths(given, "experiment#", err) != 0 || check_axes(given, err) != 0)
        return -1;
    json_t *experiment = json_deep_copy(given);
    const int failed = (table && put_table(&q->tables[0], experiment, "model", table, err) != 0) ||
                       (slowness && put_slowness(&q->tables[1], experiment, slowness, err) != 0) ||
                       strait_sweep_new(&q->sweep, "experiment", experiment, err) != 0;
    json_decref(experiment);
    return failed ? -1 : 0;
}

json_t *strait_asked_json(const char *body, size_t len_bytes, struct strait_error *err)
{
    json_error_t why;
    json_t *json = json_loadb(body, len_bytes, JSON_REJECT_DUPLICATES, &why);
    if (!json) {
        char where[64], text[sizeof(err->text)];
        snprintf(where, sizeof(where), "body:%d:%d", why.line, why.column);
        strait_refuse(err, where, "%s", strait_json_syntax(text, sizeof(text), &why));
    }
    return json;
}

static const struct strait_asked empty = {.tables = {{.fd = -1}, {.fd = -1}}};

int strait_asked_read(struct strait_asked *q, const char *body, size_t len_bytes,
                      struct strait_error *err)
{
    *q = empty;
    json_t *json = strait_asked_json(body, len_bytes, err);
    if (!json)
        return -1;
    const int failed = read_all(q, json, err);
    json_decref(json);
    if (failed) {
        strait_asked_name(err, &q->tables[0], "table");
        strait_asked_name(err, &q->tables[1], "slowness");
    }
    return failed;
}

void strait_asked_release(struct strait_asked *q)
{
    strait_sweep_free(q->sweep);
    for (int i = 0; i < 2; i++)
        if (q->tables[i].fd >= 0)
            close(q->tables[i].fd);
    *q = empty;
}
