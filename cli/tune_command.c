/* strait tune: Bayesian optimisation of one parameter of a strategy. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/table.h"
#include "campaign/backends.h"
#include "core/names.h"
#include "core/progress.h"
#include "workloads/train/plans/bayes.h"
#include "cli/kit/command.h"
#include "cli/kit/options.h"
#include "campaign/plan.h"
#include "cli/show/show.h"

enum { TEXT_CHARS = 64 };
static const double XI = 0.1; /* as DeAR's tuner, in deviations of the times seen */

struct tune {
    const char *param, *range, *on, *profile_name;
    long n_trials;
    bool json, log_scale;
    struct strait_texts settings;

    struct strait_sweep *sweep; /* of one point */
    struct strait_profile *profile;
    struct strait_plan_setup setup;
    const struct strait_param *tuned;
    double lo, hi;         /* of --range, in base units */
    double own, own_s;     /* the file's value and its time */
    struct strait_bayes b; /* x: base units, or their logarithm */
};

/* --- values ------------------------------------------------------------------------------- */

static int fail(struct strait_error *err, const char *expected, const char *found)
{
    return strait_error_set(err, STRAIT_ERR_USAGE, "tune", "expected %s, found \"%s\"", expected,
                            found);
}

/* The unit of the parameter; false: it is a plain number. */
static bool unit_of(enum strait_unit *unit, const struct strait_param *p)
{
    *unit = p->kind == STRAIT_PARAM_BYTES   ? STRAIT_UNIT_BYTES
            : p->kind == STRAIT_PARAM_TIME  ? STRAIT_UNIT_TIME
            : p->kind == STRAIT_PARAM_SPEED ? STRAIT_UNIT_SPEED
                                            : STRAIT_UNIT_PERCENT;
    return p->kind == STRAIT_PARAM_BYTES || p->kind == STRAIT_PARAM_TIME ||
           p->kind == STRAIT_PARAM_SPEED || p->kind == STRAIT_PARAM_PERCENT;
}

/* As an experiment has it, to the last digit where that matters. */
static void value_text(char text[TEXT_CHARS], const struct strait_param *p, double value)
{
    switch (p->kind) {
    case STRAIT_PARAM_BYTES:
        snprintf(text, TEXT_CHARS, "%.0f B", value);
        return;
    case STRAIT_PARAM_TIME:
        snprintf(text, TEXT_CHARS, "%.9g s", value);
        return;
    case STRAIT_PARAM_SPEED:
        snprintf(text, TEXT_CHARS, "%.9g B/s", value);
        return;
    case STRAIT_PARAM_PERCENT:
        snprintf(text, TEXT_CHARS, "%.9g %%", 100 * value);
        return;
    case STRAIT_PARAM_INTEGER:
        snprintf(text, TEXT_CHARS, "%.0f", value);
        return;
    default:
        snprintf(text, TEXT_CHARS, "%.9g", value);
    }
}

static double whole(const struct strait_param *p, double value)
{
    return p->kind == STRAIT_PARAM_BYTES || p->kind == STRAIT_PARAM_INTEGER ? round(value) : value;
}

static int read_end(double *value, const struct tune *t, const char *text, struct strait_error *err)
{
    enum strait_unit unit;
    char *end;
    if (unit_of(&unit, t->tuned)) {
        struct strait_error why = {0};
        if (strait_quantity_parse(value, unit, text, NULL, &why) == 0)
            return 0;
        return strait_error_set(err, STRAIT_ERR_USAGE, "tune", "%s", why.text);
    }
    *value = strtod(text, &end);
    return *text && !*end && isfinite(*value) ? 0
                                              : fail(err, "a number at each end of --range", text);
}

/* "1 MB..256 MB", within what the strategy takes. */
static int read_range(struct tune *t, struct strait_error *err)
{
    const char *dots = strstr(t->range, "..");
    char low[TEXT_CHARS], least[TEXT_CHARS], most[TEXT_CHARS];
    if (!dots || dots - t->range >= TEXT_CHARS)
        return fail(err, "two values with \"..\" between them after --range", t->range);
    snprintf(low, sizeof(low), "%.*s", (int)(dots - t->range), t->range);
    for (size_t n = strlen(low); n > 0 && low[n - 1] == ' ';)
        low[--n] = '\0';
    const char *high = dots + 2 + strspn(dots + 2, " ");
    if (read_end(&t->lo, t, low, err) != 0 || read_end(&t->hi, t, high, err) != 0)
        return -1;
    t->lo = whole(t->tuned, t->lo);
    t->hi = whole(t->tuned, t->hi);
    if (!(t->lo < t->hi))
        return fail(err, "the smaller value first after --range", t->range);
    value_text(least, t->tuned, t->tuned->min);
    value_text(most, t->tuned, t->tuned->max);
    if (t->lo < t->tuned->min || t->hi > t->tuned->max)
        return strait_error_set(err, STRAIT_ERR_USAGE, "tune",
                                "expected a range within %s..%s, which is what %s takes, found "
                                "\"%s\"",
                                least, most, t->param, t->range);
    if (t->log_scale && !(t->lo > 0))
        return fail(err, "values above 0 with --log", t->range);
    return 0;
}

/* --- the experiment ----------------------------------------------------------------------- */

/* "/strategy/bucket" of this strategy, which must be something that can be turned. */
static int find_param(struct tune *t, const struct strait_experiment *e, struct strait_error *err)
{
    static const char folder[] = "/strategy/";
    const struct strait_strategy *s = e->strategy;
    char all[512] = "";
    for (unsigned i = 0; i < s->n_params; i++) {
        const struct strait_param *p = &s->params[i];
        if (p->kind == STRAIT_PARAM_CHOICE || p->kind == STRAIT_PARAM_CORES ||
            strcmp(p->name, "rounds") == 0)
            continue;
        strait_text_add(all, sizeof(all), "%s%s%s", *all ? ", " : "", folder, p->name);
        if (strncmp(t->param, folder, sizeof(folder) - 1) == 0 &&
            strcmp(t->param + sizeof(folder) - 1, p->name) == 0)
            t->tuned = p;
    }
    if (t->tuned) {
        t->own = strait_experiment_param(e, t->tuned->name);
        return 0;
    }
    return *all ? strait_error_set(err, STRAIT_ERR_USAGE, "tune",
                                   "expected a parameter of \"%s\" after --param (%s), found "
                                   "\"%s\"",
                                   s->name, all, t->param)
                : strait_error_set(err, STRAIT_ERR_USAGE, "tune",
                                   "expected a strategy with a parameter to tune, found \"%s\"",
                                   s->name);
}

static int load(struct tune *t, const char *file, struct strait_error *err)
{
    struct strait_experiment *e = NULL;
    if (strait_sweep_load(&t->sweep, file, t->settings.items, t->settings.n, err) != 0)
        return -1;
    if (t->sweep->n_points != 1)
        return strait_error_set(err, STRAIT_ERR_USAGE, "tune",
                                "expected an experiment of one point, found %zu: choose with --set "
                                "%s=VALUE",
                                t->sweep->n_points, t->sweep->axes[0].pointer);
    json_t *point = strait_sweep_point(t->sweep, 0, NULL, err);
    int status = point ? strait_experiment_read(&e, t->sweep->file, point, err) : -1;
    if (status == 0)
        status = find_param(t, e, err) != 0 || read_range(t, err) != 0 ||
                         strait_profile_load(
                             &t->profile, t->profile_name ? t->profile_name : "default", err) != 0
                     ? -1
                     : 0;
    strait_experiment_free(e);
    json_decref(point);
    t->setup.file = t->sweep->file;
    t->setup.profile = t->profile;
    if (status == 0)
        status = strait_plan_setup_hashes(&t->setup, err);
    t->b = (struct strait_bayes){
        .lo = t->log_scale ? log(t->lo) : t->lo, .hi = t->log_scale ? log(t->hi) : t->hi, .xi = XI};
    return status;
}

/* Mean round time with this value. */
static int try_value(double *round_s, const struct tune *t, double value, struct strait_error *err)
{
    enum strait_unit unit;
    char text[TEXT_CHARS];
    json_t *point = strait_sweep_point(t->sweep, 0, NULL, err);
    if (!point)
        return -1;
    value_text(text, t->tuned, value);
    json_object_set_new(json_object_get(point, "strategy"), t->tuned->name,
                        unit_of(&unit, t->tuned)                 ? json_string(text)
                        : t->tuned->kind == STRAIT_PARAM_INTEGER ? json_integer((json_int_t)value)
                                                                 : json_real(value));
    const int status =
        strait_plan_round_s(round_s, &t->setup, point, strait_backend_find(t->on), false, err);
    json_decref(point);
    return status;
}

/* --- trials ------------------------------------------------------------------------------- */

static double value_at(const struct tune *t, double x)
{
    return fmin(fmax(whole(t->tuned, t->log_scale ? exp(x) : x), t->lo), t->hi);
}

static bool was_tried(const struct tune *t, double value)
{
    for (size_t i = 0; i < t->b.n; i++)
        if (value_at(t, t->b.x[i]) == value)
            return true;
    return false;
}

static int search(struct tune *t, struct strait_error *err)
{
    struct strait_progress progress;
    int status = try_value(&t->own_s, t, t->own, err);
    strait_progress_init(&progress, "tuning", (size_t)t->n_trials);
    if (status == 0 && t->own >= t->lo && t->own <= t->hi) /* where the search begins */
        strait_bayes_observe(&t->b, t->log_scale ? log(t->own) : t->own, t->own_s);
    while (status == 0 && t->b.n < (size_t)t->n_trials) {
        double x, round_s;
        strait_progress_step(&progress, t->b.n);
        status = strait_bayes_suggest(&x, &t->b, err);
        if (status != 0 || was_tried(t, value_at(t, x))) /* no other place promises more */
            break;
        status = try_value(&round_s, t, value_at(t, x), err);
        if (status == 0)
            strait_bayes_observe(&t->b, x, round_s);
    }
    strait_progress_release(&progress);
    return status;
}

static void print_json(const struct tune *t)
{
    for (size_t i = 0; i < t->b.n; i++) {
        json_t *trial = json_pack("{s:s, s:i, s:f, s:f}", "record", "trial", "trial", (int)i + 1,
                                  "value", value_at(t, t->b.x[i]), "round_s", t->b.y[i]);
        strait_command_print_json(trial);
        json_decref(trial);
    }
    const size_t best = strait_bayes_best(&t->b);
    char text[TEXT_CHARS];
    value_text(text, t->tuned, value_at(t, t->b.x[best]));
    json_t *record = json_pack(
        "{s:s, s:s, s:s, s:f, s:s, s:f, s:f, s:f, s:f}", "record", "best", "param", t->param,
        "backend", t->on, "value", value_at(t, t->b.x[best]), "text", text, "round_s", t->b.y[best],
        "own_value", t->own, "own_round_s", t->own_s, "speed_up", t->own_s / t->b.y[best]);
    if (json_object_size(t->sweep->set) > 0)
        json_object_set(record, "set", t->sweep->set);
    strait_command_print_json(record);
    json_decref(record);
}

/* For people: "25 MB", with four digits. */
static const char *short_text(char text[TEXT_CHARS], const struct tune *t, double value)
{
    enum strait_unit unit;
    if (unit_of(&unit, t->tuned))
        return strait_quantity_format(text, TEXT_CHARS, unit, value);
    value_text(text, t->tuned, value);
    return text;
}

static int print_table(const struct tune *t, struct strait_error *err)
{
    char text[TEXT_CHARS], seconds[STRAIT_NUMBER_CHARS];
    const size_t best = strait_bayes_best(&t->b);
    const char *title = json_string_value(json_object_get(t->sweep->base, "title"));
    if (title && *title)
        printf("%s\n", title);
    strait_show_set(stdout, "set", t->sweep->set);
    if ((title && *title) || json_object_size(t->sweep->set) > 0)
        printf("\n");
    struct strait_table *table = strait_table_new();
    strait_table_column(table, "trial", true);
    strait_table_column(table, t->tuned->name, true);
    strait_table_column(table, "round", true);
    strait_table_column(table, "", false);
    for (size_t i = 0; i < t->b.n; i++) {
        const double value = value_at(t, t->b.x[i]);
        strait_table_cellf(table, "%zu", i + 1);
        strait_table_cell(table, short_text(text, t, value));
        strait_table_cell(table, strait_seconds_text(seconds, t->b.y[i]));
        strait_table_cell(table, i == best ? "best" : value == t->own ? "the file's own" : "");
    }
    if (strait_table_finish(table, stdout, err) != 0)
        return -1;
    printf("\nThe file's own %s: %s a round", short_text(text, t, t->own),
           strait_seconds_text(seconds, t->own_s));
    printf("; the best: %s, %.3f times as fast\n", strait_seconds_text(seconds, t->b.y[best]),
           t->own_s / t->b.y[best]);
    value_text(text, t->tuned, value_at(t, t->b.x[best]));
    printf("  --set '%s=%s'\n", t->param, text);
    return 0;
}

/* --- the command -------------------------------------------------------------------------- */

static int check_options(const struct tune *t, struct strait_error *err)
{
    if (!t->param)
        return strait_error_set(err, STRAIT_ERR_USAGE, "tune",
                                "expected --param /strategy/NAME, found nothing");
    if (!t->range)
        return strait_error_set(err, STRAIT_ERR_USAGE, "tune",
                                "expected --range \"MIN..MAX\", found nothing");
    if (strcmp(t->on, "sim") != 0 && strcmp(t->on, "fluid") != 0)
        return fail(err, "sim or fluid after --on", t->on);
    if (t->n_trials > STRAIT_BAYES_MAX_POINTS) {
        char found[TEXT_CHARS];
        snprintf(found, sizeof(found), "%ld", t->n_trials);
        return fail(err, "at most 256 trials", found);
    }
    return 0;
}

static const char notes[] =
    "Each trial simulates the experiment, which must have one point, with another\n"
    "value; the next value is where a Gaussian process over the trials expects the\n"
    "largest improvement. --set replaces an axis of the file.\n"
    "\n"
    "  strait tune dear-tuned --set '/strategy={\"name\":\"dear\"}' \\\n"
    "    --param /strategy/fusion --range '50 KB..2 MB'\n"
    "  strait tune wan-scaling --set /clients=8 --set /codec=none \\\n"
    "    --set /strategy/decode_cores=1 --set '/network/server/rate=1 Gbps' \\\n"
    "    --param /strategy/pieces --range 1..64 --log\n";

int strait_command_tune(int argc, char **argv)
{
    struct tune *t = calloc(1, sizeof(*t));
    struct strait_error err = {0};
    const char *experiment = NULL;
    int status;
    if (!t) {
        strait_error_memory(&err, "tune");
        return strait_command_fail(&err);
    }
    t->on = "fluid";
    t->n_trials = 10;
    const struct strait_option options[] = {
        {"param", 0, STRAIT_OPTION_TEXT, &t->param, "/strategy/NAME",
         "a size, time, share or number of the strategy"},
        {"range", 0, STRAIT_OPTION_TEXT, &t->range, "MIN..MAX", "range to search, with units"},
        {"trials", 0, STRAIT_OPTION_COUNT, &t->n_trials, "N",
         "values to try, including the file's own (10)"},
        {"log", 0, STRAIT_OPTION_FLAG, &t->log_scale, NULL,
         "search the logarithm, for ranges over decades"},
        {"on", 0, STRAIT_OPTION_TEXT, &t->on, "BACKEND", "fluid (default) or sim"},
        {"set", 0, STRAIT_OPTION_TEXTS, &t->settings, "/POINTER=VALUE",
         "set a value of the experiment"},
        {"profile", 0, STRAIT_OPTION_TEXT, &t->profile_name, "FILE",
         "codec costs: a name or file (the shipped one)"},
        {"json", 0, STRAIT_OPTION_FLAG, &t->json, NULL, "trials and the best as JSON Lines"},
        STRAIT_WIDE_OPTION};
    const struct strait_usage usage = {"tune", "EXPERIMENT",
                                       "Find the best value of one parameter of a strategy.",
                                       STRAIT_OPTIONS(options), notes};
    strait_command_begins_again();
    if (!strait_command_begin(&status, &usage, argc, argv, &experiment, 1, NULL)) {
        goto out;
    } else if (check_options(t, &err) != 0 || load(t, experiment, &err) != 0 ||
               search(t, &err) != 0) {
        status = -1;
    } else if (t->json) {
        print_json(t);
    } else {
        status = print_table(t, &err);
    }
    status = status == 0 ? 0 : strait_command_fail(&err);
out:
    strait_profile_free(t->profile);
    strait_sweep_free(t->sweep);
    free(t->settings.items);
    free(t);
    return status;
}
