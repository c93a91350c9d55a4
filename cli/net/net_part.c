/* strait net part: the part of a network that one host has, where several share it. Started by
 * strait net run --hosts through a launcher such as ssh; what it is told comes on standard input,
 * whose end ends it. */
#include <math.h>
#include <signal.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "campaign/host_header.h"
#include "core/process.h"
#include "net_command.h"
#include "emu/programs/host_shares.h"
#include "emu/programs/outside.h"
#include "net_replicas.h"

struct part {
    json_t *order;
    struct strait_emu_part part;
    uint32_t addresses[STRAIT_EMU_MAX_HOSTS];
    const char *names[STRAIT_EMU_MAX_HOSTS];
    int *host_of;
    int first, n; /* ranks of this host */
    struct strait_experiment *experiment;
    struct strait_emu_registry place;
    struct strait_emu_program net;
    json_t *state;
    char outside[STRAIT_EMU_PLACE_CHARS];
};

static json_t *error_json(const struct strait_error *err)
{
    return json_pack("{s:{s:i, s:s, s:s}}", "error", "code", (int)err->code, "where", err->where,
                     "text", err->text);
}

/* The next line; NULL: whoever started us has gone. */
static json_t *hear(void)
{
    char *line = NULL;
    size_t cap = 0;
    json_t *json = getline(&line, &cap, stdin) > 0 ? json_loads(line, 0, NULL) : NULL;
    free(line);
    return json;
}

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}

static int integer_of(const json_t *o, const char *key)
{
    return (int)json_integer_value(json_object_get(o, key));
}

/* Which hosts and ranks there are, and how large packets between them may be. */
static int take_order(struct part *p, int *mtu_bytes, struct strait_error *err)
{
    const json_t *hosts = json_object_get(p->order, "hosts"), *host;
    const size_t n_hosts = json_array_size(hosts);
    const char *cwd = text_of(p->order, "cwd");
    size_t h;
    if (n_hosts < 1 || n_hosts > STRAIT_EMU_MAX_HOSTS)
        return strait_error_set(err, STRAIT_ERR_USAGE, "net part", "expected 1 to %d hosts",
                                STRAIT_EMU_MAX_HOSTS);
    if (chdir(cwd) != 0)
        return strait_error_system(err, cwd, "expected the same folders on all hosts");
    p->host_of = calloc((size_t)integer_of(p->order, "n_ranks") + 1, sizeof(*p->host_of));
    if (!p->host_of)
        return strait_error_memory(err, NULL);
    *mtu_bytes = 65535;
    const int here = integer_of(p->order, "here");
    json_array_foreach (hosts, h, host) {
        const int first = integer_of(host, "first"), n = integer_of(host, "n");
        p->names[h] = text_of(host, "name");
        p->addresses[h] = (uint32_t)json_integer_value(json_object_get(host, "address"));
        for (int i = first; i < first + n; i++)
            p->host_of[i] = (int)h;
        if ((int)h == here) {
            p->first = first;
            p->n = n;
            continue;
        }
        const int path_bytes = strait_emu_trunk_path_mtu(p->addresses[h], err);
        if (path_bytes < 0)
            return -1;
        *mtu_bytes = path_bytes < *mtu_bytes ? path_bytes : *mtu_bytes;
    }
    p->part = (struct strait_emu_part){.trunk = {.n_hosts = (int)n_hosts,
                                                 .here = here,
                                                 .addresses = p->addresses,
                                                 .host_of = p->host_of},
                                       .network = text_of(p->order, "name"),
                                       .names = p->names,
                                       .launch = text_of(p->order, "launch"),
                                       .program = text_of(p->order, "program")};
    return 0;
}

/* As strait net run. */
static int bring_up(struct part *p, const json_t *all, struct strait_error *err)
{
    const char *file = text_of(p->order, "file");
    char name[STRAIT_EMU_NAME_CHARS + 8];
    int lock;
    p->part.trunk.mtu_bytes = (uint32_t)integer_of(all, "mtu_bytes");
    p->part.trunk.id = (uint32_t)integer_of(all, "id");
    snprintf(name, sizeof(name), "%.64s.h%d", p->part.network, p->part.trunk.here);
    p->part.outside = p->outside;
    if (strait_experiment_read(&p->experiment, file, json_object_get(p->order, "experiment"),
                               err) != 0 ||
        strait_emu_registry_init(&p->place, name, err) != 0 ||
        strait_emu_outside_open(p->outside, &p->place, err) != 0 ||
        (lock = strait_emu_registry_lock(&p->place, err)) < 0 ||
        strait_emu_program_start(&p->net, &p->place, lock, p->experiment, file, NULL, &p->part,
                                 err) != 0)
        return -1;
    p->state = strait_emu_join_state(&p->place, err);
    return p->state ? 0 : -1;
}

/* The shortest ping that the network's links allow: their delays, and 98 bytes on each. */
static double shortest_s(const struct strait_network *n, int from, int to)
{
    const struct strait_link *links[] = {&n->out[from], &n->in[to], &n->out[to], &n->in[from]};
    double sum_s = strait_path_rtt_s(n, from, to);
    for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++)
        sum_s += 8 * (98 + n->overhead_bytes) / links[i]->rate_bits_per_s;
    return sum_s;
}

/* What the way between the hosts adds to the shortest of some pings. */
static int ping(const struct part *p, int to, double *more_s, struct strait_error *err)
{
    char out[4096];
    const json_t *rank = json_array_get(json_object_get(p->state, "ranks"), (size_t)to);
    const char *const argv[] = {
        "ping", "-n", "-q", "-c", "5", "-i", "0.1", "-w", "20", text_of(rank, "address"), NULL};
    double min_ms = NAN;
    *out = '\0';
    const int failed = strait_process_run(out, sizeof(out), argv, NULL, 60, err);
    const char *at = strstr(out, "min/avg/max");
    if (failed && err->code == STRAIT_ERR_HOST)
        return -1; /* no ping */
    if (!at || !(at = strstr(at, "= ")) || sscanf(at, "= %lf", &min_ms) != 1) {
        *err = (struct strait_error){.code = STRAIT_OK};
        return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                "no ping comes through to %s: does a firewall stop UDP port %d?",
                                p->names[p->host_of[to]], STRAIT_EMU_VXLAN_PORT);
    }
    *more_s = 1e-3 * min_ms - shortest_s(p->experiment->network, p->first, to);
    return 0;
}

/* Ping the first rank of each other host from our first; we stay in its network namespace. */
static json_t *ping_all(const struct part *p, struct strait_error *err)
{
    struct strait_emu_join visit;
    double worst_s = 0;
    if (strait_emu_join_open(&visit, &p->place, p->first, err) != 0)
        return NULL;
    int failed = setns(visit.net_fd, CLONE_NEWNET) == 0
                     ? 0
                     : strait_error_system(err, NULL, "cannot enter a namespace");
    strait_emu_join_release(&visit);
    for (int i = 0, at = -1; i < p->experiment->n_ranks && !failed; i++) {
        double more_s = 0;
        if (p->host_of[i] == at || p->host_of[i] == p->part.trunk.here)
            continue;
        at = p->host_of[i];
        failed = ping(p, i, &more_s, err);
        worst_s = fmax(worst_s, more_s);
    }
    return failed ? NULL : json_pack("{s:f}", "more_s", worst_s);
}

static int run_copies(struct part *p, struct strait_error *err)
{
    const json_t *words = json_object_get(p->order, "argv");
    const int world_first = integer_of(p->order, "first"), world_n = integer_of(p->order, "n");
    const int from = p->first > world_first ? p->first : world_first;
    const int world_end = world_first + world_n, end = p->first + p->n;
    const int to = end < world_end ? end : world_end;
    const char **argv = calloc(json_array_size(words) + 1, sizeof(*argv));
    if (!argv)
        return strait_error_memory(err, NULL);
    for (size_t i = 0; i < json_array_size(words); i++)
        argv[i] = json_string_value(json_array_get(words, i));
    const struct strait_tensor_copy_plan plan = {
        .place = &p->place,
        .state = p->state,
        .argv = argv,
        .log = json_string_value(json_object_get(p->order, "log")),
        .first = from,
        .n = to > from ? to - from : 0,
        .world_first = world_first,
        .world_n = world_n,
        .leash = STDIN_FILENO,
        .keep_going = json_is_true(json_object_get(p->order, "keep_going"))};
    const int failed = strait_tensor_copy_run(&plan, &p->net, err);
    free(argv);
    return failed;
}

/* The same program everywhere, and what it can do: the first answer. */
static int greet(struct part *p, struct strait_error *err)
{
    char program[STRAIT_KEY_CHARS];
    int mtu_bytes = 0;
    if (!(p->order = hear()))
        return strait_error_set(err, STRAIT_ERR_USAGE, "net part",
                                "expected an order on standard input: strait net run --hosts "
                                "starts this");
    if (take_order(p, &mtu_bytes, err) != 0 || strait_program_hash(program, err) != 0)
        return -1;
    strait_net_say(json_pack("{s:s, s:s, s:i}", "version", STRAIT_VERSION, "program", program,
                             "mtu_bytes", mtu_bytes));
    return 0;
}

/* Answer line by line, until one says to run. */
static int serve(struct part *p, struct strait_error *err)
{
    int failed = greet(p, err);
    while (!failed) {
        json_t *asked = hear();
        const bool go = json_object_get(asked, "go") != NULL;
        json_t *answer = NULL;
        if (!asked)
            return -1; /* nobody is there who could be told why */
        if (json_object_get(asked, "ping"))
            answer = ping_all(p, err);
        else if (!go && bring_up(p, asked, err) == 0)
            answer = json_object();
        json_decref(asked);
        if (go)
            return run_copies(p, err);
        failed = answer ? 0 : -1;
        if (answer)
            strait_net_say(answer);
    }
    return failed;
}

int strait_net_part(int argc, char **argv)
{
    const struct strait_usage usage = {
        "net part", "", "One host's part of a network: strait net run --hosts starts it.",
        NULL,       0,  "Reads its orders from standard input, and ends when that does.\n"};
    struct strait_error err = {0};
    struct part p = {.net = {.leash = -1}};
    const char *none[1];
    int status = strait_net_parse(&usage, argc, argv, none, 0, NULL, &err);
    if (status != 0)
        strait_net_leave(status < 0 ? strait_command_fail(&err) : 0);
    strait_net_hold_signals();
    status = serve(&p, &err);
    if (status != 0 && err.code != STRAIT_OK)
        strait_net_say(error_json(&err));
    strait_emu_program_stop(&p.net);
    if (*p.outside)
        unlink(p.outside);
    json_decref(p.state);
    json_decref(p.order);
    strait_experiment_free(p.experiment);
    free(p.host_of);
    strait_net_leave(status != 0);
}
