/* Reader of the accuracy-per-round table. */
#include "curves.h"
#include <assert.h>
#include <float.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "traces/models/csv.h"
#include "traces/models/model.h"

static const char header[] = "run,clients,seed,target,codec,par,ef,round,train_loss,test_loss,"
                             "test_acc,bits_per_elem,rel_l2_err,local_s";
enum column {
    RUN,
    CLIENTS,
    SEED,
    TARGET,
    CODEC,
    PAR,
    EF,
    ROUND,
    TRAIN_LOSS,
    TEST_LOSS,
    TEST_ACC,
    BITS,
    ERR_L2,
    LOCAL_S
};

static int read_settings(const struct strait_csv *csv, struct strait_curve *c,
                         struct strait_error *err)
{
    size_t clients, seed, ef;
    if (strait_csv_text(csv, c->run, sizeof c->run, RUN, err) != 0 ||
        strait_csv_integer(csv, &clients, CLIENTS, 1000000, err) != 0 ||
        strait_csv_integer(csv, &seed, SEED, UINT_MAX, err) != 0 ||
        strait_csv_text(csv, c->target, sizeof c->target, TARGET, err) != 0 ||
        strait_csv_text(csv, c->codec, sizeof c->codec, CODEC, err) != 0 ||
        strait_csv_number(csv, &c->par, PAR, 0, 1e9, err) != 0 ||
        strait_csv_integer(csv, &ef, EF, 1, err) != 0)
        return -1;
    if (clients == 0)
        return strait_csv_fail(csv, err, "expected at least 1 in column clients, found 0");
    if (strcmp(c->target, "update") != 0 && strcmp(c->target, "param") != 0 &&
        strcmp(c->target, "grad") != 0)
        return strait_csv_fail(
            csv, err, "expected update, param or grad in column target, found \"%s\"", c->target);
    for (char *at = c->codec; (at = strchr(at, ';'));) /* fields have no commas */
        *at = ',';
    c->clients = (unsigned)clients;
    c->seed = (unsigned)seed;
    c->error_feedback = ef == 1;
    return 0;
}

static int read_round(const struct strait_csv *csv, struct strait_curve_round *r,
                      struct strait_error *err)
{
    size_t round;
    if (strait_csv_integer(csv, &round, ROUND, 1000000, err) != 0 ||
        strait_csv_number(csv, &r->train_loss, TRAIN_LOSS, -DBL_MAX, DBL_MAX, err) != 0 ||
        strait_csv_number(csv, &r->test_loss, TEST_LOSS, -DBL_MAX, DBL_MAX, err) != 0 ||
        strait_csv_number(csv, &r->test_acc_ratio, TEST_ACC, 0, 1, err) != 0 ||
        strait_csv_number(csv, &r->bits_per_elem, BITS, 0, 64, err) != 0 ||
        strait_csv_number(csv, &r->rel_l2_err, ERR_L2, 0, DBL_MAX, err) != 0 ||
        strait_csv_number(csv, &r->local_s, LOCAL_S, 0, 1e9, err) != 0)
        return -1;
    r->round = (unsigned)round;
    return 0;
}

static bool same_settings(const struct strait_curve *c, unsigned clients, unsigned seed,
                          const char *target, const char *codec, double par, bool ef)
{
    return c->clients == clients && c->seed == seed && c->par == par && c->error_feedback == ef &&
           strcmp(c->target, target) == 0 && strcmp(c->codec, codec) == 0;
}

/* The curve of this row: the last one, or a new one that must not repeat an earlier one. */
static struct strait_curve *curve_of_row(struct strait_curves *c, const struct strait_csv *csv,
                                         const struct strait_curve *row, struct strait_error *err)
{
    struct strait_curve *last = c->n_curves ? &c->curves[c->n_curves - 1] : NULL;
    if (last && strcmp(last->run, row->run) == 0) {
        if (same_settings(last, row->clients, row->seed, row->target, row->codec, row->par,
                          row->error_feedback))
            return last;
        strait_csv_fail(csv, err, "expected the same settings in every row of run \"%s\"",
                        row->run);
        return NULL;
    }
    for (size_t i = 0; i < c->n_curves; i++)
        if (strcmp(c->curves[i].run, row->run) == 0 ||
            same_settings(&c->curves[i], row->clients, row->seed, row->target, row->codec, row->par,
                          row->error_feedback)) {
            strait_csv_fail(csv, err, "expected the rows of run \"%s\" one after another, once",
                            c->curves[i].run);
            return NULL;
        }
    struct strait_curve *more = realloc(c->curves, (c->n_curves + 1) * sizeof *more);
    if (!more) {
        strait_error_memory(err, csv->path);
        return NULL;
    }
    c->curves = more;
    c->curves[c->n_curves] = *row;
    return &c->curves[c->n_curves++];
}

static int add_row(struct strait_curves *c, const struct strait_csv *csv, struct strait_error *err)
{
    struct strait_curve row = {.rounds = NULL};
    struct strait_curve_round round;
    if (read_settings(csv, &row, err) != 0 || read_round(csv, &round, err) != 0)
        return -1;
    struct strait_curve *curve = curve_of_row(c, csv, &row, err);
    if (!curve)
        return -1;
    if (round.round != curve->n_rounds + 1)
        return strait_csv_fail(csv, err, "expected round %zu of run \"%s\", found %u",
                               curve->n_rounds + 1, curve->run, round.round);
    struct strait_curve_round *more = realloc(curve->rounds, (curve->n_rounds + 1) * sizeof *more);
    if (!more)
        return strait_error_memory(err, csv->path);
    curve->rounds = more;
    curve->rounds[curve->n_rounds++] = round;
    return 0;
}

static int read_size(size_t *out, const struct strait_csv *csv, const char *key, const char *value,
                     struct strait_error *err)
{
    char *end;
    const unsigned long long n = strtoull(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || n == 0 || n > SIZE_MAX)
        return strait_csv_fail(
            csv, err, "expected a whole number above 0 after \"%s\", found \"%s\"", key, value);
    *out = (size_t)n;
    return 0;
}

/* What the lines before the header say; those with other keys are for people. */
static int read_about(struct strait_curves *c, struct strait_csv *csv, struct strait_error *err)
{
    char *key, *value;
    while (strait_csv_comment(csv, &key, &value)) {
        const bool parameters = strcmp(key, "parameters") == 0;
        if (strcmp(key, "model") == 0)
            snprintf(c->model, sizeof(c->model), "%s", value);
        else if (strcmp(key, "strategy") == 0)
            snprintf(c->strategy, sizeof(c->strategy), "%s", value);
        else if ((parameters || strcmp(key, "local_steps") == 0) &&
                 read_size(parameters ? &c->n_elems : &c->local_steps, csv, key, value, err) != 0)
            return -1;
    }
    return 0;
}

int strait_curves_load(struct strait_curves **out, const char *path, struct strait_error *err)
{
    char shipped[1024];
    if (!path)
        path = strait_traces_path(shipped, sizeof shipped, "curves/fedavg_fmnist_cnn.csv");
    struct strait_csv csv = {.path = path};
    struct strait_curves *c = calloc(1, sizeof *c);
    bool more;
    int status = -1;
    if (!c) {
        strait_error_memory(err, path);
        goto out;
    }
    if (strait_csv_open(&csv, path, err) != 0)
        goto out;
    strait_hash_bytes(c->hash, csv.text, strlen(csv.text));
    if (read_about(c, &csv, err) != 0 || strait_csv_header(&csv, header, err) != 0)
        goto out;
    for (;;) {
        if (strait_csv_next(&csv, &more, err) != 0)
            goto out;
        if (!more)
            break;
        if (add_row(c, &csv, err) != 0)
            goto out;
    }
    if (c->n_curves == 0) {
        csv.line++;
        strait_csv_fail(&csv, err, "expected at least one row, found the end of the file");
        goto out;
    }
    *out = c;
    c = NULL;
    status = 0;
out:
    strait_curves_free(c);
    strait_csv_release(&csv);
    return status;
}

void strait_curves_free(struct strait_curves *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n_curves; i++)
        free(c->curves[i].rounds);
    free(c->curves);
    free(c);
}

const struct strait_curve *strait_curves_find(const struct strait_curves *c, unsigned clients,
                                              unsigned seed, const char *target, const char *codec,
                                              double par, bool error_feedback)
{
    for (size_t i = 0; i < c->n_curves; i++)
        if (same_settings(&c->curves[i], clients, seed, target, codec, par, error_feedback))
            return &c->curves[i];
    return NULL;
}

/* Mean accuracy of rounds first..first+n-1, the first round being 0. */
static double mean_acc(const struct strait_curve *c, size_t first, size_t n)
{
    double sum = 0;
    for (size_t i = first; i < first + n; i++)
        sum += c->rounds[i].test_acc_ratio;
    return sum / (double)n;
}

double strait_curve_final_acc(const struct strait_curve *c, size_t n)
{
    assert(n > 0);
    if (n > c->n_rounds)
        n = c->n_rounds;
    return mean_acc(c, c->n_rounds - n, n);
}

unsigned strait_curve_rounds_to(const struct strait_curve *c, double acc_ratio)
{
    for (size_t i = 0; i < c->n_rounds; i++) {
        const size_t first = i > 0 ? i - 1 : 0, end = i + 2 < c->n_rounds ? i + 2 : c->n_rounds;
        if (mean_acc(c, first, end - first) >= acc_ratio)
            return c->rounds[i].round;
    }
    return 0;
}
