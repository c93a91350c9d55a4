/* bench_simulation STRAIT [large]: what simulations cost, in one run beside what they can be held
 * against: bare SimGrid (one actor a rank that sends, receives and sleeps, on the same platform
 * file), and a loop that does for a star what must be done. Processor time of whole processes, so
 * that other work on the machine counts little. docs/benchmark.md holds its output. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/heap.h"
#include "core/random.h"
#include "sim/platform.h"
#include "sim/simgrid_library.h"
#include "workloads/ask/experiment.h"

enum { TEXT_CHARS = 1024 };

struct cost {
    double cpu_s, mb;
};

static void need(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "bench_simulation: %s\n", what);
        exit(EXIT_FAILURE);
    }
}

/* Of fn in a process of its own. */
static struct cost cost_of(void (*fn)(const void *), const void *arg)
{
    struct rusage used;
    int status;
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        fn(arg);
        _exit(EXIT_SUCCESS);
    }
    need(pid > 0 && wait4(pid, &status, 0, &used) == pid && status == 0, "a process failed");
    return (struct cost){(double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec +
                             1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec),
                         1e-3 * (double)used.ru_maxrss};
}

static void print(const char *work, const char *how, struct cost c, double n_messages,
                  const struct cost *beside)
{
    printf("| %s | %s | %.3f | ", work, how, c.cpu_s);
    n_messages > 0 ? printf("%.2f", 1e6 * c.cpu_s / n_messages) : printf("-");
    printf(" | %.0f | ", c.mb);
    beside ? printf("%.2f |\n", c.cpu_s / beside->cpu_s) : printf("- |\n");
}

/* --- strait ----------------------------------------------------------------------------------- */

static void run_command(const void *args)
{
    char *const *argv = (char *const *)(uintptr_t)args;
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
        _exit(EXIT_FAILURE);
    execv(argv[0], argv);
    _exit(EXIT_FAILURE);
}

static struct cost command(const char *strait, const char *const more[])
{
    const char *argv[16] = {strait};
    for (int i = 0; more[i]; i++)
        argv[i + 1] = more[i];
    return cost_of(run_command, argv);
}

static struct cost run(const char *strait, const char *folder, const char *text, const char *on)
{
    char file[TEXT_CHARS], out[TEXT_CHARS];
    snprintf(file, sizeof(file), "%s/bench.json", folder);
    snprintf(out, sizeof(out), "%s/out", folder);
    FILE *f = fopen(file, "we");
    need(f && fputs(text, f) >= 0 && fclose(f) == 0, "an experiment cannot be written");
    return command(strait,
                   (const char *const[]){"run", file, "--on", on, "--fresh", "--every-round",
                                         "--no-break-even", "--out", out, NULL});
}

/* --- bare SimGrid ----------------------------------------------------------------------------- */

struct bare {
    struct strait_simgrid sg;
    const struct strait_network *network;
    xbt_main_func_t rank; /* of each actor, which is given where this lies and its rank */
    long n_bytes;         /* of a message */
    int n_rounds;         /* of a star */
    double work_s;        /* a median client's, of a round */
};

static struct bare *bare_of(int argc, char **argv, int *me)
{
    struct bare *bare = NULL;
    need(argc == 2 && sscanf(argv[0], "%p", (void **)&bare) == 1 && sscanf(argv[1], "%d", me) == 1,
         "an actor was given no address");
    return bare;
}

static sg_mailbox_t mailbox_of(const struct bare *bare, const char *kind, int i)
{
    char name[32];
    snprintf(name, sizeof(name), "%s%d", kind, i);
    return bare->sg.sg_mailbox_by_name(name);
}

/* 2 (n - 1) steps. */
static void ring_rank(int argc, char **argv)
{
    int me;
    struct bare *bare = bare_of(argc, argv, &me);
    const struct strait_simgrid *sg = &bare->sg;
    const int n = bare->network->n_ranks;
    sg_mailbox_t from = mailbox_of(bare, "", me), to = mailbox_of(bare, "", (me + 1) % n);
    for (int step = 0; step < 2 * (n - 1); step++) { /* parts differ by an element */
        const long n_bytes = bare->n_bytes + 4 * ((me + step) % 2);
        sg_comm_t sending = sg->sg_mailbox_put_async(to, bare, n_bytes);
        sg->sg_mailbox_get(from);
        sg->sg_comm_wait(sending);
        sg->sg_actor_sleep_until(sg->simgrid_get_clock() + 1e-4);
    }
}

/* To all clients, and from each as it comes: a flow starts once it is asked for. At the end each
 * gets what came of it. */
static void star_server(const struct bare *bare)
{
    const struct strait_simgrid *sg = &bare->sg;
    const int n = bare->network->n_ranks;
    sg_comm_t *up = calloc((size_t)n, sizeof(*up)), *down = calloc((size_t)n, sizeof(*down));
    void **messages = calloc((size_t)n, sizeof(*messages));
    need(up && down && messages, "memory ran out");
    for (int round = 0; round <= bare->n_rounds; round++) {
        for (int i = 1; i < n; i++) {
            if (round < bare->n_rounds)
                up[i] = sg->sg_mailbox_get_async(mailbox_of(bare, "up", i), &messages[i]);
            down[i] = sg->sg_mailbox_put_async(mailbox_of(bare, "down", i), up, bare->n_bytes);
        }
        for (int i = 1; i < n; i++) {
            sg->sg_comm_wait(down[i]);
            if (round < bare->n_rounds)
                sg->sg_comm_wait(up[i]);
        }
    }
    free(up);
    free(down);
    free(messages);
}

/* Lognormal, as strait draws a client's slowness, once for all rounds. */
static double work_of(const struct bare *bare, int client)
{
    const double a = strait_random_unit(1, "work", (uint64_t)client, 0),
                 b = strait_random_unit(1, "work", (uint64_t)client, 1);
    return bare->work_s * exp(0.5 * sqrt(-2 * log1p(-a)) * cos(2 * acos(-1) * b));
}

static void star_rank(int argc, char **argv)
{
    int me;
    struct bare *bare = bare_of(argc, argv, &me);
    const struct strait_simgrid *sg = &bare->sg;
    if (me == 0) {
        star_server(bare);
        return;
    }
    for (int round = 0; round < bare->n_rounds; round++) {
        sg->sg_mailbox_get(mailbox_of(bare, "down", me));
        sg->sg_actor_sleep_until(sg->simgrid_get_clock() + work_of(bare, me));
        sg->sg_comm_wait(sg->sg_mailbox_put_async(mailbox_of(bare, "up", me), bare, bare->n_bytes));
    }
    sg->sg_mailbox_get(mailbox_of(bare, "down", me));
}

static void run_bare(const void *arg)
{
    struct bare bare = *(const struct bare *)arg;
    char program[] = "bench", quiet[] = "--log=root.thresh:critical", address[32], text[32];
    char *argv[] = {program, quiet, NULL};
    int n_args = 2;
    struct strait_error err = {0};
    /* here, since a program pays for what it loads: some 0.03 s */
    need(strait_simgrid_load(&bare.sg, &err) == 0, err.text);
    const int fd = strait_platform_write(bare.network, &err);
    need(fd >= 0, err.text);
    bare.sg.simgrid_init(&n_args, argv);
    bare.sg.sg_cfg_set_string("network/model", "CM02");
    bare.sg.sg_cfg_set_double("network/TCP-gamma", 0);
    bare.sg.sg_cfg_set_boolean("network/crosstraffic", "no");
    bare.sg.sg_cfg_set_int("contexts/stack-size", 64);
    snprintf(text, sizeof(text), "/proc/self/fd/%d", fd);
    bare.sg.simgrid_load_platform(text);
    snprintf(address, sizeof(address), "%p", (void *)&bare);
    for (int i = 0; i < bare.network->n_ranks; i++) {
        const char *const args[] = {address, text};
        snprintf(text, sizeof(text), "h%d", i);
        sg_actor_t actor = bare.sg.sg_actor_init("", bare.sg.sg_host_by_name(text));
        snprintf(text, sizeof(text), "%d", i);
        bare.sg.sg_actor_start_(actor, bare.rank, 2, args);
    }
    bare.sg.simgrid_run();
}

static struct strait_experiment *read_experiment(const char *text)
{
    struct strait_experiment *e = NULL;
    struct strait_error err = {0};
    json_t *json = json_loads(text, 0, NULL);
    need(json && strait_experiment_read(&e, "bench", json, &err) == 0, err.text);
    json_decref(json);
    return e;
}

static void bench_ring(const char *strait, const char *folder, int n)
{
    char text[TEXT_CHARS], work[64];
    snprintf(text, sizeof(text),
             "{\"schema\": \"strait-experiment/1\", \"model\": \"resnet50\", \"clients\": %d,"
             " \"strategy\": {\"name\": \"bsp\", \"rounds\": 1},"
             " \"network\": {\"client\": {\"rate\": \"1 Gbps\", \"rtt\": \"1 ms\"}}}",
             n);
    struct strait_experiment *e = read_experiment(text);
    const struct bare ring = {.network = e->network,
                              .rank = ring_rank,
                              .n_bytes = (long)(4 * e->model->n_elems / (size_t)n)};
    const double n_messages = 2.0 * n * (n - 1);
    snprintf(work, sizeof(work), "ring of %d", n);
    const struct cost bare = cost_of(run_bare, &ring);
    print(work, "bare SimGrid", bare, n_messages, NULL);
    print(work, "sim", run(strait, folder, text, "sim"), n_messages, &bare);
    print(work, "fluid", run(strait, folder, text, "fluid"), n_messages, &bare);
    strait_experiment_free(e);
}

/* --- a star, by the loop that must be --------------------------------------------------------- */

struct star {
    int n, n_rounds;
    double bytes, port_bytes_per_s, server_bytes_per_s;
};

/* When all of n equal flows that start at these times, ascending, have ended: processor sharing of
 * the server's port, at most a client's port each. Equal flows end in the order of their starts. */
static double last_end_s(const struct star *s, const double *start_s)
{
    double now_s = start_s[0], served_bytes = 0, *end_bytes = calloc((size_t)s->n, sizeof(double));
    need(end_bytes != NULL, "memory ran out");
    for (int begun = 0, ended = 0; ended < s->n;) {
        const double rate = fmin(s->port_bytes_per_s, s->server_bytes_per_s / (begun - ended));
        const double end_s =
            ended < begun ? now_s + (end_bytes[ended] - served_bytes) / rate : INFINITY;
        const double next_s = begun < s->n ? fmin(end_s, start_s[begun]) : end_s;
        served_bytes += ended < begun ? rate * (next_s - now_s) : 0;
        now_s = next_s;
        if (begun < s->n && start_s[begun] <= end_s)
            end_bytes[begun++] = served_bytes + s->bytes;
        else
            ended++;
    }
    free(end_bytes);
    return now_s;
}

static void naive_star(const void *arg)
{
    const struct star *s = arg;
    double *start_s = calloc((size_t)s->n, sizeof(*start_s)), now_s = 0;
    need(start_s != NULL, "memory ran out");
    for (uint64_t round = 0; round < (uint64_t)s->n_rounds; round++) {
        const double down_s = s->bytes / fmin(s->port_bytes_per_s, s->server_bytes_per_s / s->n);
        for (int i = 0; i < s->n; i++)
            start_s[i] = now_s + down_s + strait_random_unit(1, "work", (uint64_t)i, round);
        strait_sort(start_s, (size_t)s->n);
        now_s = last_end_s(s, start_s);
    }
    free(start_s);
}

static void star_text(char text[TEXT_CHARS], int n, int n_rounds)
{
    snprintf(text, TEXT_CHARS,
             "{\"schema\": \"strait-experiment/1\", \"model\": \"cnn\", \"clients\": %d,"
             " \"strategy\": {\"name\": \"fedavg\", \"rounds\": %d, \"local_steps\": 1,"
             " \"straggler_spread\": 0.5}, \"network\": {\"client\": {\"rate\": \"100 Mbps\","
             " \"rtt\": \"20 ms\"}, \"server\": {\"rate\": \"10 Gbps\"}}}",
             n, n_rounds);
}

static void bench_star(const char *strait, const char *folder, int n, int n_rounds)
{
    const struct star star = {n, n_rounds, 1.7e6, 12.5e6, 1.25e9};
    char text[TEXT_CHARS], work[64];
    star_text(text, n, n_rounds);
    const double n_messages = 2.0 * n * n_rounds;
    snprintf(work, sizeof(work), "star of %d, %d rounds, stragglers", n, n_rounds);
    const struct cost naive = cost_of(naive_star, &star);
    print(work, "naive loop", naive, n_messages, NULL);
    print(work, "fluid", run(strait, folder, text, "fluid"), n_messages, &naive);
}

/* Bare SimGrid without slow start: a flow a message, where `sim` has one for each part that a
 * window lets out. */
static void bench_bare_star(const char *strait, const char *folder, int n, int n_rounds)
{
    char text[TEXT_CHARS], work[64];
    star_text(text, n, n_rounds);
    struct strait_experiment *e = read_experiment(text);
    const struct bare star = {.network = e->network,
                              .rank = star_rank,
                              .n_bytes = (long)(4 * e->model->n_elems),
                              .n_rounds = n_rounds,
                              .work_s = strait_model_step_s(e->model)};
    const double n_messages = (2.0 * n_rounds + 1) * n;
    snprintf(work, sizeof(work), "star of %d, %d rounds, stragglers, slow start", n, n_rounds);
    const struct cost bare = cost_of(run_bare, &star);
    print(work, "bare SimGrid", bare, n_messages, NULL);
    print(work, "sim", run(strait, folder, text, "sim"), n_messages, &bare);
    strait_experiment_free(e);
}

static void bench_sites(const char *strait, const char *folder, int n, int n_sites)
{
    enum { ROUNDS = 3 };
    char text[TEXT_CHARS], work[64];
    snprintf(text, sizeof(text),
             "{\"schema\": \"strait-experiment/1\", \"model\": \"cnn\", \"clients\": %d,"
             " \"strategy\": {\"name\": \"fedavg\", \"rounds\": %d, \"local_steps\": 1,"
             " \"straggler_spread\": 0.5}, \"network\": {\"topology\": \"sites\","
             " \"client\": {\"rate\": \"1 Gbps\", \"rtt\": \"1 ms\"}, \"server\":"
             " {\"rate\": \"10 Gbps\"}, \"site\": {\"ranks\": %d, \"rate\": \"2 Gbps\","
             " \"rtt\": \"30 ms\"}}}",
             n, ROUNDS, n / n_sites);
    snprintf(work, sizeof(work), "%d clients in %d sites, %d rounds", n, n_sites, ROUNDS);
    print(work, "fluid", run(strait, folder, text, "fluid"), 2.0 * n * ROUNDS, NULL);
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/strait-bench-XXXXXX", text[TEXT_CHARS];
    need(argc >= 2, "expected the path of strait");
    need(mkdtemp(folder) != NULL, "a folder cannot be made");
    const bool large = argc > 2;
    printf("| work | by | CPU s | us a message | MB | of what it is beside |\n"
           "|---|---|---|---|---|---|\n");
    print("start", "`--version`", command(argv[1], (const char *const[]){"--version", NULL}), 0,
          NULL);
    print("start", "`codec list`", command(argv[1], (const char *const[]){"codec", "list", NULL}),
          0, NULL);
    bench_ring(argv[1], folder, large ? 1024 : 256);
    bench_bare_star(argv[1], folder, 400, 10);
    bench_star(argv[1], folder, large ? 10000 : 2000, 10);
    bench_star(argv[1], folder, large ? 1000000 : 20000, 1);
    for (int n = 100; n <= 800; n *= 2)
        bench_sites(argv[1], folder, n, 4);
    bench_sites(argv[1], folder, 10000, 20);
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof(text), "%s/%s", folder, i == 0 ? "bench.json" : "out/results.jsonl");
        unlink(text);
    }
    snprintf(text, sizeof(text), "%s/out", folder);
    rmdir(text);
    return rmdir(folder) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
