/* bench_layers NAME TRAINING TABLE ITERS: times of every layer of a task that trains, forward and
 * backward, for the settings "training" of an experiment given as text: a layer table
 * (docs/layer-table.md) and its table of iterations. Times are processor time of one thread, so
 * that other work on the machine does not count. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/clock.h"
#include "core/heap.h"
#include "learn/learn_network.h"
#include "tests/kit/task.h"

enum { WARM = 3, ITERS = 60, MAX_LAYERS = 256 };

struct times {
    int64_t last_ns;
    size_t n_layers;
    double layer_us[MAX_LAYERS][2][ITERS]; /* forward, backward */
    double ready_us[MAX_LAYERS][ITERS];
    double total_us[2][ITERS], step_us[ITERS];
    int iter; /* below 0: warming up */
};

static void lap(void *context, size_t layer, bool back)
{
    struct times *t = context;
    const int64_t now_ns = strait_cpu_thread_ns();
    const double us = (double)(now_ns - t->last_ns) * 1e-3;
    t->last_ns = now_ns;
    if (t->iter < 0)
        return;
    t->total_us[back][t->iter] += us;
    if (layer < t->n_layers)
        t->layer_us[layer][back][t->iter] += us;
}

/* Images may pass one after another, so that all gradients are complete at the end: a batch that
 * passes layer after layer has each when the layers behind it are done. Work of no layer is shared
 * out over them all. */
static void find_ready(struct times *t, int iter)
{
    double of_layers = 0, sum = 0;
    for (size_t i = 0; i < t->n_layers; i++)
        of_layers += t->layer_us[i][1][iter];
    for (size_t i = t->n_layers; i-- > 0;) {
        sum += t->layer_us[i][1][iter];
        t->ready_us[i][iter] = sum * t->total_us[1][iter] / of_layers;
    }
}

/* Of a task that counts no laps (quadratic) a third stands under forward, the rest under backward,
 * shared out by elements. */
static void share_out(struct times *t, const struct strait_learn *l, double us)
{
    size_t n;
    const struct strait_learn_param *p = strait_learn_params(l, &n);
    for (size_t i = 0; i < n; i++) {
        const double of_layer = us * (double)p[i].n_elems / (double)l->n_elems;
        t->layer_us[p[i].layer_index][0][t->iter] += of_layer / 3;
        t->layer_us[p[i].layer_index][1][t->iter] += of_layer * 2 / 3;
    }
    t->total_us[0][t->iter] = us / 3;
    t->total_us[1][t->iter] = us * 2 / 3;
}

/* The quantile of a copy; of 60 values, the mean of the 30th and 31st, or the 54th. */
static double quantile(const double *x, int percent)
{
    double sorted[ITERS];
    memcpy(sorted, x, sizeof(sorted));
    strait_sort(sorted, ITERS);
    if (percent == 50)
        return (sorted[ITERS / 2 - 1] + sorted[ITERS / 2]) / 2;
    return sorted[ITERS * percent / 100 - 1];
}

static void processor(char *name, size_t cap)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    snprintf(name, cap, "unknown processor");
    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':')) {
            snprintf(name, cap, "%.*s", (int)strcspn(strchr(line, ':') + 2, "\n"),
                     strchr(line, ':') + 2);
            break;
        }
    if (f)
        fclose(f);
}

static void write_table(FILE *f, const char *name, const char *training,
                        const struct strait_learn *l, struct times *t, const char *iters)
{
    size_t n;
    char cpu[128];
    const struct strait_learn_param *p = strait_learn_params(l, &n);
    processor(cpu, sizeof(cpu));
    fprintf(f,
            "# name: %s\n# source: the task %s of strait itself (learn/), \"training\": %s\n"
            "# timing: strait's own trainer, medians of %d iterations, processor time of one "
            "thread (make learn-tables)\n"
            "# batch: %d\n# device: cpu, one core of %s\n# iters: %s\n",
            name, l->training.task, training, ITERS, l->training.batch, cpu,
            strrchr(iters, '/') ? strrchr(iters, '/') + 1 : iters);
    fprintf(f, "fwd_index,layer,param,type,shape,bytes,fwd_us_p50,fwd_us_p90,bwd_us_p50,bwd_us_p90,"
               "ready_us_p50,ready_us_p90,ready_order\n");
    for (size_t i = 0; i < n; i++) {
        const size_t k = p[i].layer_index;
        fprintf(f, "%zu,%s,%s,%s,", i, p[i].layer, p[i].param, p[i].type);
        for (unsigned d = 0; d < p[i].n_dims; d++)
            fprintf(f, "%s%zu", d > 0 ? "x" : "", p[i].shape[d]);
        fprintf(f, ",%zu,%.1f,%.1f,%.1f,%.1f,%.1f,%.1f,%zu\n", p[i].n_elems * sizeof(float),
                quantile(t->layer_us[k][0], 50), quantile(t->layer_us[k][0], 90),
                quantile(t->layer_us[k][1], 50), quantile(t->layer_us[k][1], 90),
                quantile(t->ready_us[k], 50), quantile(t->ready_us[k], 90), n - 1 - i);
    }
}

static void write_iters(FILE *f, const struct times *t)
{
    fprintf(f, "iter,fwd_us,bwd_us,opt_us\n");
    for (int i = 0; i < ITERS; i++)
        fprintf(f, "%d,%.1f,%.1f,%.1f\n", i, t->total_us[0][i], t->total_us[1][i], t->step_us[i]);
}

static void measure(struct times *t, struct strait_learner *x, struct strait_optimiser *o)
{
    const struct learn_laps laps = {lap, t};
    const size_t n = strait_learn_n_elems(x->learn);
    float *w = malloc(n * sizeof(*w)), *g = malloc(n * sizeof(*g));
    if (!w || !g)
        abort();
    x->laps = &laps;
    strait_learn_init(x->learn, w);
    for (int i = 0; i < WARM + ITERS; i++) {
        t->iter = i - WARM;
        const int64_t start_ns = t->last_ns = strait_cpu_thread_ns();
        strait_learner_gradient(x, w, (uint64_t)i, g);
        t->last_ns = strait_cpu_thread_ns();
        if (t->iter >= 0 && !(t->total_us[0][t->iter] > 0))
            share_out(t, x->learn, (double)(t->last_ns - start_ns) * 1e-3);
        strait_optimiser_begin(o);
        strait_optimiser_step(o, w, g, 0, n);
        if (t->iter < 0)
            continue;
        t->step_us[t->iter] = (double)(strait_cpu_thread_ns() - t->last_ns) * 1e-3;
        find_ready(t, t->iter);
    }
    x->laps = NULL;
    free(w);
    free(g);
}

int main(int argc, char **argv)
{
    static struct times times;
    struct task t;
    if (argc != 5) {
        fprintf(stderr, "bench_layers NAME TRAINING TABLE ITERS\n");
        return 2;
    }
    const int failed = task_open(&t, argv[2]);
    if (failed)
        return failed;
    times.n_layers = t.learn->n_layers;
    if (times.n_layers > MAX_LAYERS)
        return 2;
    measure(&times, t.learner, t.optimiser);
    FILE *table = fopen(argv[3], "w"), *iters = fopen(argv[4], "w");
    if (!table || !iters) {
        perror(argv[3]);
        return 1;
    }
    write_table(table, argv[1], argv[2], t.learn, &times, argv[4]);
    write_iters(iters, &times);
    const bool bad = fclose(table) != 0 || fclose(iters) != 0;
    task_close(&t);
    return bad;
}
