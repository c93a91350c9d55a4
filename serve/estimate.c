#include "estimate.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "analysis/fields.h"
#include "analysis/row.h"
#include "core/io.h"
#include "sim/loss_formula.h"

/* --- one run -------------------------------------------------------------------------------- */

/* A run of the point. Returns: 0, or -1 with *err; free what is in *p and *e in both cases. */
static int simulate(struct strait_trial **p, struct strait_experiment **e, bool *estimates,
                    const struct strait_plan *plan, const json_t *resolved,
                    struct strait_error *err)
{
    struct strait_trial_options options = strait_plan_point_options(&plan->setup, &strait_fluid);
    options.in_process = true;
    if (strait_experiment_read(e, plan->setup.file, resolved, err) != 0)
        return -1;
    if ((*estimates = strait_network_by_packets((*e)->network)))
        strait_network_slow_by_losses((*e)->network);
    return strait_trial_new(p, *e, plan->setup.profile, &options, err) == 0
               ? strait_trial_run(*p, &strait_fluid, err)
               : -1;
}

static json_t *run_once(const struct strait_plan *plan, const struct strait_task_plan *task,
                        const json_t *resolved, struct strait_error *err)
{
    const struct strait_row_context context = {
        .backend = strait_fluid.name, .key = task->key, .labels = task->labels};
    struct strait_experiment *e = NULL;
    struct strait_trial *p = NULL;
    bool packets = false;
    json_t *row = NULL;
    if (simulate(&p, &e, &packets, plan, resolved, err) == 0)
        row = strait_row_new(p, &context, err);
    if (row && packets)
        json_object_set_new(row, "estimate",
                            json_pack("[s]", "losses by formula instead of packet by packet"));
    if (row && task->reference)
        json_object_set_new(row, "reference", json_true());
    strait_trial_free(p);
    strait_experiment_free(e);
    return row;
}

/* --- many messages: from fewer clients ------------------------------------------------------ */

enum { N_COUNTS = 3 };
/* Of the round of HELD clients: what does not follow the form misses by far more. */
#define TOLERANCE 0.03
enum { HELD = 8 }; /* beyond the three counts, as what is asked for is */
static const int counts[N_COUNTS] = {2, 4, 6};

/* a + b (n - 1) / n + c (n - 1) through the three counts. From n = 2, 4, 6, with u = (n - 1) / n =
 * 1/2, 3/4, 5/6 and v = n - 1 = 1, 3, 5: y4 - y2 = b / 4 + 2 c, y6 - y4 = b / 12 + 2 c. Only what
 * grows: a phase that shrinks with the count stays as it was at 6. */
static double at_count(const double y[N_COUNTS], int n)
{
    const double first = y[1] - y[0], second = y[2] - y[1];
    const double c = fmax(0, (3 * second - first) / 4), b = 4 * (first - 2 * c);
    return fmax(0, y[2] + b * ((n - 1.0) / n - 5.0 / 6) + c * (n - 6));
}

static json_t *at_clients(const json_t *resolved, int n)
{
    json_t *fewer = json_copy((json_t *)resolved);
    json_object_set_new(fewer, "clients", json_integer(n));
    return fewer;
}

static json_t *extend(json_t *const rows[N_COUNTS], int n)
{
    json_t *row = json_deep_copy(rows[N_COUNTS - 1]), *path = json_object_get(row, "path_s");
    const char *key;
    json_t *value;
    double y[N_COUNTS], round_s = 0;
    static const char *const of_fewer[] = {"limits", "critical_path", "utilisation", "busy_s",
                                           "bytes",  "rounds_s",      "peak_bytes"};
    json_object_foreach (path, key, value) {
        for (int i = 0; i < N_COUNTS; i++)
            y[i] = strait_row_number(json_object_get(rows[i], "path_s"), key);
        json_real_set(value, at_count(y, n));
        round_s += json_real_value(value);
    }
    const double rounds = strait_row_number(row, "total_s") / strait_row_number(row, "round_s");
    json_object_set_new(row, "round_s", json_real(round_s));
    json_object_set_new(row, "total_s", json_real(rounds * round_s));
    json_object_set_new(row, "clients", json_integer(n));
    json_object_set_new(row, "ranks", json_integer(n));
    for (size_t i = 0; i < sizeof(of_fewer) / sizeof(*of_fewer); i++)
        json_object_del(row, of_fewer[i]);
    if (!json_object_get(row, "estimate"))
        json_object_set_new(row, "estimate", json_array());
    json_array_append_new(json_object_get(row, "estimate"),
                          json_string("extended from runs of 2, 4 and 6 clients"));
    return row;
}

/* All clients alike, no server, no sites: what runs of fewer clients tell of. */
static bool may_extend(const struct strait_experiment *e)
{
    bool same = !e->strategy->has_server && !e->graph && !e->trains && e->n_slowness == 0 &&
                e->network->n_sites == 0 && e->n_clients > HELD &&
                strait_network_n_scheduled(e->network) == 0 && !e->network->drag;
    for (int r = 1; r < e->n_ranks && same; r++)
        same = e->network->out[r].rate_bits_per_s == e->network->out[0].rate_bits_per_s &&
               e->network->in[r].rate_bits_per_s == e->network->in[0].rate_bits_per_s &&
               e->network->out[r].delay_s == e->network->out[0].delay_s;
    return same;
}

/* Of the count of clients, or 0: run it whole. */
static int extended_count(const struct strait_plan *plan, const json_t *resolved)
{
    struct strait_experiment *e = NULL;
    struct strait_error ignored = {0};
    const int n =
        strait_experiment_read(&e, plan->setup.file, resolved, &ignored) == 0 && may_extend(e)
            ? e->n_clients
            : 0;
    strait_experiment_free(e);
    return n;
}

/* Runs of fewer clients, each NULL where the strategy does not stand that many. */
static json_t *run_fewer(const struct strait_plan *plan, const struct strait_task_plan *task, int n)
{
    struct strait_error ignored = {0};
    json_t *fewer = at_clients(task->resolved, n);
    json_t *row = run_once(plan, task, fewer, &ignored);
    json_decref(fewer);
    return row;
}

static double messages_of(const json_t *row)
{
    return strait_row_number(json_object_get(row, "bytes"), "messages");
}

/* Would n clients send too many messages? They grow as from counts[last - 1] to counts[last]: by a
 * power of the count. */
static bool is_long(json_t *const rows[N_COUNTS], int last, int n)
{
    const double fewer = messages_of(rows[last - 1]), more = messages_of(rows[last]),
                 power = log(more / fewer) / log((double)counts[last] / counts[last - 1]);
    return fewer > 0 && more * pow((double)n / counts[last], power) > STRAIT_ESTIMATE_MESSAGES;
}

/* The run that the form is held against, in a process of its own beside that of counts[2]. */
struct held {
    pid_t pid; /* 0: none */
    int fd;
};

static bool write_held(int fd, const struct strait_plan *plan, const json_t *resolved)
{
    struct strait_error ignored = {0};
    struct strait_experiment *e = NULL;
    struct strait_trial *p = NULL;
    bool packets;
    if (simulate(&p, &e, &packets, plan, at_clients(resolved, HELD), &ignored) != 0)
        return false;
    const double round_s = strait_plan_mean_round_s(p);
    return strait_io_write(fd, &round_s, sizeof(round_s), STRAIT_IO_HERE);
}

static void start_held(struct held *h, const struct strait_plan *plan,
                       const struct strait_task_plan *task)
{
    int fds[2];
    if (pipe(fds) != 0)
        return;
    if ((h->pid = fork()) == 0)
        _exit(write_held(fds[1], plan, task->resolved) ? 0 : 1);
    close(fds[1]);
    h->fd = fds[0];
    if (h->pid < 0) {
        h->pid = 0;
        close(h->fd);
    }
}

/* Does the form hold? It is held against a run that it has not seen. */
static bool is_of_this_form(const struct held *h, json_t *const rows[N_COUNTS])
{
    double expected_s = 0;
    if (h->pid == 0 || read(h->fd, &expected_s, sizeof(expected_s)) != sizeof(expected_s))
        return false;
    json_t *extended = extend(rows, HELD);
    const double found_s = strait_row_number(extended, "round_s");
    json_decref(extended);
    return fabs(found_s - expected_s) <= TOLERANCE * expected_s;
}

static void end_held(struct held *h)
{
    if (h->pid == 0)
        return;
    kill(h->pid, SIGKILL);
    TEMP_FAILURE_RETRY(waitpid(h->pid, NULL, 0));
    close(h->fd);
}

json_t *strait_estimate_row(const struct strait_plan *plan, const struct strait_task_plan *task,
                            struct strait_error *err)
{
    const int n = extended_count(plan, task->resolved);
    json_t *rows[N_COUNTS] = {NULL};
    struct held held = {0};
    bool extends = n > 0;
    for (int i = 0; i < N_COUNTS && extends; i++) {
        if (i == N_COUNTS - 1 && is_long(rows, i - 1, n))
            start_held(&held, plan, task);
        rows[i] = run_fewer(plan, task, counts[i]);
        extends = rows[i] != NULL;
    }
    extends = extends && is_long(rows, N_COUNTS - 1, n);
    if (extends && held.pid == 0)
        start_held(&held, plan, task);
    extends = extends && is_of_this_form(&held, rows);
    end_held(&held);
    json_t *row = extends ? extend(rows, n) : run_once(plan, task, task->resolved, err);
    for (int i = 0; i < N_COUNTS; i++)
        json_decref(rows[i]);
    return row;
}
