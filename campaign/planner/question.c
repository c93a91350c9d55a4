/* Plan files. */
#include "question.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/json.h"
#include "core/names.h"
#include "core/shipped.h"
#include "workloads/ask/named.h"
#include "workloads/ask/strategy.h"
#include "trained_accuracy.h"

enum { PATH_CHARS = 4096 };

/* "target": one of three. */
static int read_target(struct strait_plan_question *q, struct strait_object *o,
                       struct strait_error *err)
{
    struct strait_object t;
    const char *money;
    char where[2 * STRAIT_JSON_POINTER_MAX];
    if (strait_object_enter(&t, o, "target", false, err) != 0)
        return -1;
    strait_object_where(o, "target", where, sizeof(where));
    int failed = 0;
    const int n_given = strait_object_has(&t, "round") + strait_object_has(&t, "accuracy") +
                        strait_object_has(&t, "budget");
    if (n_given > 1) {
        failed = strait_refuse(err, where,
                               "expected one of \"round\", \"accuracy\" and \"budget\", found %d",
                               n_given);
    } else if (strait_object_has(&t, "round")) {
        q->target = STRAIT_TARGET_ROUND;
        failed =
            strait_object_quantity(&t, &q->target_value, "round", STRAIT_UNIT_TIME, 1e-9, 1e9, err);
    } else if (strait_object_has(&t, "accuracy")) {
        q->target = STRAIT_TARGET_ACCURACY;
        failed = strait_object_number(&t, &q->target_value, "accuracy", 0, 1, err);
    } else if (strait_object_has(&t, "budget")) {
        q->target = STRAIT_TARGET_BUDGET;
        failed = strait_object_string(&t, &money, "budget", err) != 0 ||
                 strait_money_parse(&q->target_value, q->prices.currency, money, "", where, err);
    } else {
        failed = strait_refuse(
            err, where, "expected one of \"round\", \"accuracy\" and \"budget\", found none");
    }
    if (failed || strait_object_close(&t, err) != 0)
        return -1;
    if (q->target == STRAIT_TARGET_BUDGET && (!q->prices.any || q->n_rounds == 0))
        return strait_refuse(err, where,
                             "expected \"prices\" and \"rounds\" beside a budget, found no %s",
                             q->prices.any ? "rounds" : "prices");
    return 0;
}

/* "prices": an object, or the name of a file. */
static int read_prices(struct strait_plan_question *q, struct strait_object *o,
                       struct strait_error *err)
{
    const json_t *value = strait_object_value(o, "prices");
    const char *path = json_string_value(value);
    if (!path)
        return value ? strait_prices_read(&q->prices, q->file, "/prices", value, err) : 0;
    char shipped[PATH_CHARS];
    json_t *json = strait_json_load(strait_shipped_path(shipped, sizeof(shipped), path), err);
    const int failed = !json || strait_prices_read(&q->prices, path, "", json, err) != 0;
    json_decref(json);
    return failed ? -1 : 0;
}

/* Of a strategy or a codec. */
static const char *name_of(const json_t *named)
{
    const char *name = json_string_value(named);
    return name ? name : json_string_value(json_object_get(named, "name"));
}

/* A name that no candidate can have would leave its accuracy unused without a word. */
static int check_names(struct strait_object *k, const char *strategy, struct strait_error *err)
{
    static const char *const keys[2] = {"codec", "download_codec"};
    char where[2 * STRAIT_JSON_POINTER_MAX];
    const char *names[STRAIT_JSON_MAX_KEYS + 1] = {NULL};
    size_t n;
    const struct strait_strategy *const *all = strait_strategies(&n);
    for (int i = 0; i < 2; i++) {
        const char *name = name_of(strait_object_value(k, keys[i]));
        const struct strait_codec_ops *ops = name ? strait_codec_find(name) : NULL;
        if (ops && strait_codec_unavailable(ops)) /* whose candidates are refused as such */
            continue;
        struct strait_codec_choice choice = {.profile = NULL};
        const int failed = strait_codec_choice_read(&choice, k, keys[i], err);
        strait_codec_choice_release(&choice);
        if (failed)
            return -1;
    }
    if (!strategy || strait_strategy_find(strategy))
        return 0;
    for (size_t i = 0; i < n && i < STRAIT_JSON_MAX_KEYS; i++)
        names[i] = all[i]->name;
    return strait_refuse_name(err, STRAIT_ERR_INPUT,
                              strait_object_where(k, "strategy", where, sizeof(where)),
                              "a strategy (strait list strategies)", strategy, names);
}

/* {"codec": ..., "accuracy": 0.88, "source": "..."}, its codec written out. Rounds are those to the
 * target, which the accuracy has to reach. */
static int read_stated(const struct strait_plan_question *q, struct strait_object *k, json_t *entry,
                       struct strait_error *err)
{
    const char *source, *strategy, *const file = q->file;
    double accuracy;
    long rounds;
    char where[2 * STRAIT_JSON_POINTER_MAX];
    if (strait_object_number(k, &accuracy, "accuracy", 0, 1, err) != 0 ||
        strait_object_integer_or(k, &rounds, "rounds", 1, 1000000000, 0, err) != 0 ||
        strait_object_string_or(k, &strategy, "strategy", NULL, err) != 0 ||
        strait_object_string(k, &source, "source", err) != 0)
        return -1;
    if (q->target == STRAIT_TARGET_ACCURACY && rounds > 0 && accuracy < q->target_value)
        return strait_refuse(err, strait_object_where(k, "rounds", where, sizeof(where)),
                             "expected no rounds to accuracy %g of a codec that ends at %g",
                             q->target_value, accuracy);
    json_t *name = json_incref(json_object_get(entry, "strategy"));
    const int failed = strait_named_expand(entry, file, err); /* "sz:range=1e-3" */
    if (name)
        json_object_set_new(entry, "strategy", name);
    if (failed)
        return -1;
    strait_codec_same_resolve(entry);
    if (!strait_object_value(k, "codec"))
        return strait_refuse(err, strait_object_where(k, "codec", where, sizeof(where)),
                             "expected a codec, found nothing");
    return check_names(k, strategy, err) != 0 ? -1 : strait_object_close(k, err);
}

/* {"results": "results/fashion"}: an entry of each row that trained. */
static int read_trained(const struct strait_plan_question *q, json_t *all, struct strait_object *k,
                        struct strait_error *err)
{
    const char *folder;
    char where[2 * STRAIT_JSON_POINTER_MAX];
    return strait_object_string(k, &folder, "results", err) != 0 || strait_object_close(k, err) != 0
               ? -1
               : strait_trained_accuracy_add(
                     all, folder, q->target == STRAIT_TARGET_ACCURACY ? q->target_value : NAN,
                     strait_object_where(k, "results", where, sizeof(where)), err);
}

/* Two statements of one codec, of which one would be left unread. */
static int check_once(const struct strait_plan_question *q, const json_t *stated,
                      struct strait_error *err)
{
    static const char *const keys[] = {"codec", "download_codec", "strategy"};
    char pointer[STRAIT_JSON_POINTER_MAX];
    for (size_t i = 0; i < json_array_size(stated); i++)
        for (size_t k = 0; k < i; k++) {
            bool same = true;
            for (size_t n = 0; n < sizeof(keys) / sizeof(*keys); n++) {
                json_t *a = json_object_get(json_array_get(stated, i), keys[n]),
                       *b = json_object_get(json_array_get(stated, k), keys[n]);
                same = same && (a == b || json_equal(a, b));
            }
            snprintf(pointer, sizeof(pointer), "/accuracy/%zu", i);
            if (same)
                return strait_refuse_at(err, q->file, pointer,
                                        "expected each codec once, found that of /accuracy/%zu", k);
        }
    return 0;
}

/* "accuracy": what is known beside what was recorded. What is stated comes before what was trained,
 * whose entries take the place of the folder's name. */
static int read_known(struct strait_plan_question *q, struct strait_object *o,
                      struct strait_error *err)
{
    char pointer[STRAIT_JSON_POINTER_MAX], where[2 * STRAIT_JSON_POINTER_MAX];
    const json_t *given = strait_object_value(o, "accuracy");
    size_t i;
    json_t *entry, *stated = json_array(), *trained = json_array();
    int failed = 0;
    if (given && !json_is_array(given))
        failed = strait_refuse_value(
            err, strait_object_where(o, "accuracy", where, sizeof(where)),
            "an array of {\"codec\", \"accuracy\", \"source\"} and {\"results\"}", given);
    json_array_foreach ((json_t *)given, i, entry) {
        struct strait_object k;
        snprintf(pointer, sizeof(pointer), "/accuracy/%zu", i);
        if (failed || strait_object_open(&k, q->file, pointer, entry, err) != 0)
            failed = -1;
        else if (strait_object_has(&k, "results"))
            failed = read_trained(q, trained, &k, err);
        else
            failed = read_stated(q, &k, entry, err) != 0 || json_array_append(stated, entry) != 0;
    }
    if (!failed)
        failed = check_once(q, stated, err);
    json_array_extend(stated, trained);
    json_decref(trained);
    q->known = stated;
    return failed ? -1 : 0;
}

/* The experiment without its own "vary": an object, a name or a path. A new reference. */
static json_t *base_of(struct strait_plan_question *q, struct strait_object *o,
                       struct strait_error *err)
{
    const json_t *value = strait_object_value(o, "experiment");
    char where[2 * STRAIT_JSON_POINTER_MAX];
    struct strait_sweep *sweep;
    if (json_is_object(value)) {
        json_t *base = json_deep_copy(value);
        json_object_del(base, "vary");
        if (!json_object_get(base, "schema")) /* the plan's own says enough */
            json_object_set_new(base, "schema", json_string("strait-experiment/1"));
        return base;
    }
    if (!json_is_string(value)) {
        strait_refuse_value(err, strait_object_where(o, "experiment", where, sizeof(where)),
                            "an experiment: an object, a name or a path", value);
        return NULL;
    }
    if (strait_sweep_load(&sweep, json_string_value(value), NULL, 0, err) != 0)
        return NULL;
    json_t *base = json_incref(sweep->base);
    q->base_file = strdup(sweep->file);
    strait_sweep_free(sweep);
    return base;
}

/* Both have pointers as keys, and none is in both. */
static int check_axes(const struct strait_plan_question *q, const json_t *set, const json_t *vary,
                      struct strait_error *err)
{
    const json_t *const both[] = {set, vary};
    static const char *const at[] = {"/set", "/vary"};
    const char *pointer;
    json_t *value;
    char where[2 * STRAIT_JSON_POINTER_MAX];
    const bool no_vary = !json_is_object(vary);
    snprintf(where, sizeof(where), "%s#%s", q->file, at[no_vary]);
    if (no_vary)
        return strait_refuse_value(
            err, where, "an object of JSON Pointers and arrays, as \"vary\" of an experiment",
            vary);
    if (set && !json_is_object(set))
        return strait_refuse_value(err, where, "an object of JSON Pointers with one value each",
                                   set);
    for (int i = 0; i < 2; i++)
        json_object_foreach ((json_t *)both[i], pointer, value) {
            if (*pointer != '/')
                return strait_refuse_at(
                    err, q->file, at[i],
                    "expected a JSON Pointer such as /clients, found \"%s\"%s%s%s", pointer,
                    ", did you mean \"/", pointer, "\"?");
            if (i == 0 && json_object_get(vary, pointer))
                return strait_refuse_at(err, q->file, at[i],
                                        "expected what does not vary, found \"%s\", which "
                                        "\"vary\" has too",
                                        pointer);
        }
    return 0;
}

/* One sweep of what is set (an axis of one value each) and what may vary. */
static int make_sweep(struct strait_plan_question *q, struct strait_object *o,
                      struct strait_error *err)
{
    const json_t *set = strait_object_value(o, "set"), *vary = strait_object_value(o, "vary");
    const char *pointer;
    json_t *value, *all = json_object(), *base = base_of(q, o, err);
    int failed = base ? check_axes(q, set, vary, err) : -1;
    if (!failed)
        json_object_foreach ((json_t *)set, pointer, value)
            json_object_set_new(all, pointer, json_pack("[O]", value));
    q->set = json_deep_copy(set);
    q->vary = json_deep_copy(vary);
    if (!failed && (json_object_update(all, q->vary) != 0))
        failed = strait_error_memory(err, NULL);
    if (!failed)
        failed = strait_sweep_of(&q->sweep, q->file, base, all, err);
    if (!failed && q->sweep->n_points > STRAIT_PLAN_MAX_CANDIDATES)
        failed = strait_refuse_at(err, q->file, "/vary",
                                  "expected at most %d candidates, found %zu: vary less",
                                  STRAIT_PLAN_MAX_CANDIDATES, q->sweep->n_points);
    if (!failed) {
        const char *name = name_of(json_object_get(q->set, "/strategy"));
        name = name ? name : json_string_value(json_object_get(q->set, "/strategy/name"));
        name = name ? name : name_of(json_object_get(q->sweep->base, "strategy"));
        q->strategy = name ? name : "";
    }
    json_decref(all);
    json_decref(base);
    return failed;
}

static int read_all(struct strait_plan_question *q, struct strait_object *o,
                    struct strait_error *err)
{
    const char *schema;
    char where[2 * STRAIT_JSON_POINTER_MAX];
    if (strait_object_string(o, &schema, "schema", err) != 0)
        return -1;
    if (strcmp(schema, "strait-plan/1") != 0)
        return strait_refuse(err, strait_object_where(o, "schema", where, sizeof(where)),
                             "expected \"strait-plan/1\", found \"%.60s\"%s", schema,
                             strcmp(schema, "strait-experiment/1") == 0 ? " (strait run reads it)"
                                                                        : "");
    return strait_object_string_or(o, &q->title, "title", "", err) != 0 ||
                   strait_object_integer_or(o, &q->n_rounds, "rounds", 1, 1000000000, 0, err) !=
                       0 ||
                   strait_object_number_or(o, &q->least_accuracy, "least_accuracy", 0, 1, NAN,
                                           err) != 0 ||
                   read_prices(q, o, err) != 0 || read_target(q, o, err) != 0 ||
                   read_known(q, o, err) != 0 || make_sweep(q, o, err) != 0
               ? -1
               : strait_object_close(o, err);
}

int strait_plan_question_load(struct strait_plan_question *q, const char *path,
                              struct strait_error *err)
{
    char shipped[PATH_CHARS], folder[3500];
    struct strait_object o;
    *q = (struct strait_plan_question){.title = "", .strategy = ""};
    if (!strchr(path, '/') && !strchr(path, '.')) {
        strait_share_path(folder, sizeof(folder), "experiments/plans");
        snprintf(shipped, sizeof(shipped), "%s/%.500s.json", folder, path);
        if (access(shipped, F_OK) != 0)
            return strait_refuse_file_name(err, STRAIT_ERR_INPUT, NULL,
                                           "a plan that ships (strait list plans) or a "
                                           "path",
                                           path, folder);
        q->json = strait_json_load(shipped, err);
        q->file = strdup(strrchr(shipped, '/') + 1);
    } else {
        q->json = strait_json_load(path, err);
        q->file = strdup(path);
    }
    if (!q->json)
        return -1;
    if (!q->file)
        return strait_error_memory(err, NULL);
    return strait_object_open(&o, q->file, "", q->json, err) != 0 ? -1 : read_all(q, &o, err);
}

void strait_plan_question_release(struct strait_plan_question *q)
{
    strait_sweep_free(q->sweep);
    strait_prices_release(&q->prices);
    json_decref(q->set);
    json_decref(q->vary);
    json_decref(q->known);
    json_decref(q->json);
    free(q->file);
    free(q->base_file);
    memset(q, 0, sizeof(*q));
}

/* About two seconds of processor time a simulation, of which a plan makes hundreds. */
#define MAX_SEGMENTS 5e6

/* Losses by formula where `auto` would take so many packets. */
static void take_formula(json_t *point, const char *file)
{
    struct strait_experiment *e = NULL;
    struct strait_error ignored = {0}; /* the simulation says it */
    if (strait_experiment_read(&e, file, point, &ignored) == 0 &&
        e->network->detail == STRAIT_DETAIL_CHOSEN && strait_network_by_packets(e->network) &&
        strait_experiment_n_segments(e) > MAX_SEGMENTS &&
        json_is_object(json_object_get(point, "network")))
        json_object_set_new(json_object_get(point, "network"), "detail", json_string("formula"));
    strait_experiment_free(e);
}

json_t *strait_plan_question_point(const struct strait_plan_question *q, size_t i, json_t **labels,
                                   struct strait_error *err)
{
    json_t *all = NULL, *point = strait_sweep_point(q->sweep, i, &all, err);
    const char *pointer;
    json_t *values;
    if (!point)
        return NULL;
    if (labels) {
        *labels = json_object();
        json_object_foreach (q->vary, pointer, values)
            json_object_set(*labels, pointer, json_object_get(all, pointer));
    }
    json_decref(all);
    take_formula(point, q->file);
    return point;
}
