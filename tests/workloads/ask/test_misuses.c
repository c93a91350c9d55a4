/* What the reader of experiments makes of wrong and odd values: tests/golden/misuses.txt, one line
 * a case, `make golden-runs` adds to it. Each value of the points of tests/golden/rows and of
 * some that ship is replaced, left out and given a neighbour that nobody knows. Of what is accepted
 * one sum of the figures that were read is kept. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "workloads/ask/experiment.h"
#include "tests/kit/data.h"
#include "tests/kit/failing/misused.h"
#include "tests/kit/suite.h"

struct walk {
    json_t *seen;  /* {case: true} */
    json_t *point; /* what is changed, one value at a time */
    FILE *out;
    struct strait_error said;
};

/* Sums of figures, each times its place; logarithms, so that a large one hides no small one. */
static void add(double *sum, double *place, double v)
{
    *sum += ++*place * (isfinite(v) ? copysign(log1p(fabs(1e3 * v)), v) : 7);
}

static double figures_of(const struct strait_experiment *e)
{
    double sum = 0, place = 0;
    const struct strait_network *n = e->network;
    for (size_t i = 0; i < e->strategy->n_params; i++)
        add(&sum, &place, e->params[i]);
    for (int i = 0; i < strait_network_n_links(n); i++) {
        const struct strait_link *l = strait_network_link(n, i);
        const double figures[] = {l->rate_bits_per_s * 1e-6,
                                  l->delay_s,
                                  l->loss_ratio,
                                  l->jitter_s,
                                  l->queue_bytes,
                                  l->background_bits_per_s * 1e-6,
                                  l->n_flows,
                                  strait_link_bits_per_s(l, 0.2) * 1e-6,
                                  strait_link_least_bits_per_s(l) * 1e-6};
        for (size_t k = 0; k < sizeof(figures) / sizeof(*figures); k++)
            add(&sum, &place, figures[k]);
    }
    const double others[] = {n->overhead_bytes,
                             n->tcp.congestion,
                             n->tcp.initial_window_bytes,
                             n->tcp.window_bytes,
                             n->tcp.rto_min_s,
                             n->tcp.slow_start_after_idle,
                             n->tcp.n_connections,
                             n->detail,
                             strait_network_by_packets(n),
                             e->n_clients,
                             e->n_ranks,
                             (double)e->seed,
                             e->n_seeds,
                             e->compute_speed,
                             e->add_bytes_per_s,
                             e->copy_bytes_per_s,
                             e->memory_bytes_per_s,
                             (double)e->n_slowness,
                             e->up.spec.bound.value,
                             e->up.spec.bound.kind,
                             e->down.spec.bound.value,
                             e->down.spec.bound.kind,
                             e->trains,
                             e->has_until};
    for (size_t k = 0; k < sizeof(others) / sizeof(*others); k++)
        add(&sum, &place, others[k]);
    if (e->model)
        add(&sum, &place, (double)e->model->n_elems);
    return sum;
}

/* Paths of this tree are left out: <tree> */
static void put(FILE *out, const char *text)
{
    const char *tree = DATA("");
    const size_t n = strlen(tree);
    for (const char *c = text; *c; c++)
        if (n > 1 && strncmp(c, tree, n) == 0) {
            fputs("<tree>", out);
            c += n - 1;
        } else {
            fputc(*c, out);
        }
}

/* Reads the point as it now is. place: of the changed value, with its name; what: stands there. */
static const char *try(void *context, const char *place, const char *what)
{
    struct walk *w = context;
    char name[MISUSED_MAX_PLACE + 64];
    struct strait_sweep *s = NULL;
    struct strait_error err = {0};
    snprintf(name, sizeof(name), "%s %s", place, what);
    if (json_object_get(w->seen, name))
        return NULL;
    json_object_set_new(w->seen, name, json_true());
    strait_test_context("%s", name);
    struct strait_experiment *e = NULL;
    json_t *point = NULL;
    if (strait_sweep_of(&s, "x", w->point, NULL, &err) == 0)
        point = strait_sweep_point(s, 0, NULL, &err);
    if (point && strait_experiment_read(&e, "x", point, &err) == 0) {
        CU_ASSERT_EQUAL(err.code, STRAIT_OK);
        fprintf(w->out, "%s\t%.12g\n", name, figures_of(e));
    } else {
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        fprintf(w->out, "%s\t", name);
        put(w->out, err.where);
        fputs(": ", w->out);
        put(w->out, err.text);
        fputc('\n', w->out);
    }
    strait_experiment_free(e);
    json_decref(point);
    strait_sweep_free(s);
    w->said = err;
    return err.code == STRAIT_OK ? NULL : w->said.text;
}

static void walk_copy(struct walk *w, const json_t *point)
{
    w->point = json_deep_copy(point);
    misused_walk(w->point, try, w);
    json_decref(w->point);
}

/* The first `most` points with all names looked up, and the whole as it is written. */
static void walk_file(struct walk *w, const char *path, size_t most)
{
    struct strait_error err = {0};
    struct strait_sweep *s = NULL;
    strait_test_context("%s", path);
    CU_ASSERT_EQUAL_FATAL(strait_sweep_load(&s, DATA(path), NULL, 0, &err), 0);
    for (size_t i = 0; i < s->n_points && i < most; i++) {
        json_t *point = strait_sweep_point(s, i, NULL, &err);
        walk_copy(w, point);
        json_decref(point);
    }
    walk_copy(w, s->base);
    strait_sweep_free(s);
}

static void walk_all(FILE *out)
{
    static const char *const files[] = {"tests/golden/rows/strategies",
                                        "tests/golden/rows/noisy",
                                        "tests/golden/rows/networks",
                                        "tests/golden/rows/codecs",
                                        "tests/golden/rows/live",
                                        "tests/golden/rows/scored",
                                        "experiments/adaptive-live",
                                        "experiments/adaptive-policies",
                                        "experiments/ddl-benchmarks",
                                        "experiments/dgc-training",
                                        "experiments/fashion",
                                        "experiments/fedsz",
                                        "experiments/gtopk",
                                        "experiments/hybrid",
                                        "experiments/in-network",
                                        "experiments/kfac-convergence",
                                        "experiments/object-store",
                                        "experiments/replay",
                                        "experiments/spd-kfac"};
    struct walk w = {.seen = json_object(), .out = out};
    char path[100];
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        snprintf(path, sizeof(path), "%s.json", files[i]);
        walk_file(&w, path, files[i][0] == 'e' ? 1 : SIZE_MAX);
    }
    json_decref(w.seen);
}

/* {case: what is said}, of lines with a tab between. */
static json_t *cases_of(FILE *f)
{
    json_t *all = json_object();
    char *line = NULL;
    size_t cap = 0;
    while (getline(&line, &cap, f) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *what = strstr(line, "\t");
        CU_ASSERT_PTR_NOT_NULL_FATAL(what);
        *what = '\0';
        json_object_set_new(all, line, json_string(what + 1));
    }
    free(line);
    CU_ASSERT_EQUAL(fclose(f), 0);
    return all;
}

static json_t *table_of(const char *path)
{
    FILE *f = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    return cases_of(f);
}

/* Puts all cases, or those that the table lacks, into it. */
static void write_cases(const char *path, const json_t *found, bool all)
{
    const char *name;
    json_t *wanted = all ? json_object() : table_of(path), *what;
    FILE *f = fopen(path, all ? "w" : "a");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    json_object_foreach ((json_t *)found, name, what)
        if (!json_object_get(wanted, name))
            fprintf(f, "%s\t%s\n", name, json_string_value(what));
    CU_ASSERT_EQUAL(fclose(f), 0);
    json_decref(wanted);
}

/* Cases that the table lacks come with new settings: `make golden-runs` adds them. */
static void misuses(void)
{
    const char *const kept = DATA("tests/golden/misuses.txt"),
                      *name, *const write = getenv("STRAIT_WRITE_GOLDEN");
    char *text = NULL;
    size_t len = 0, n_others = 0;
    FILE *out = open_memstream(&text, &len);
    walk_all(out);
    fclose(out);
    json_t *found = cases_of(fmemopen(text, len, "r")), *what;
    if (write)
        write_cases(kept, found, strcmp(write, "all") == 0);
    json_t *wanted = table_of(kept);
    json_object_foreach (wanted, name, what) {
        const char *now = json_string_value(json_object_get(found, name));
        if ((!now || strcmp(now, json_string_value(what)) != 0) && n_others++ < 10)
            fprintf(stderr, "%s:\nexpected %s\nfound    %s\n", name, json_string_value(what),
                    now ? now : "no such case");
    }
    CU_ASSERT_EQUAL(n_others, 0);
    CU_ASSERT(json_object_size(wanted) > 1000);
    json_decref(wanted);
    json_decref(found);
    free(text);
}

static const struct strait_test tests[] = {
    {"what the reader says of wrong values is what it was", misuses},
};
STRAIT_SUITE_WITH("workloads/ask/misuses", tests, .release = true);
