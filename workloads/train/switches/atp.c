/* ATP (Lao et al., NSDI 2021): switches that add, as a service to several jobs. Each job has
 * workers and a parameter server; workers stand in racks, each behind a switch with slots that all
 * jobs share. A piece of a job's gradient takes the slot that its number says, if nobody else has
 * it:
 *
 *     worker --piece--> its rack's switch: slot free or ours: add; another's: pass on to the server
 *     switch --sum of its rack--> the switch of the server's rack: adds the racks, else passes on
 *            --sum of all, or what was passed by--> server: adds what has not been added
 *     server --result--> its switch --> switches, which free their slots --> workers
 *
 * So nobody waits for a slot. A slot may wait for a worker whose piece has passed it by: a worker
 * that has no result within `timeout` sends its piece again, which frees the slot, and both go to
 * the server. The original adds integers of 32 bits; here numbers of as many bytes, in the order in
 * which they arrive. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "workloads/ask/experiment.h"
#include "workloads/rank/rank.h"

enum { TO_SWITCH, TO_SERVER, TO_WORKER }; /* channels; a tag is a piece, counted over all rounds */
enum { JOB, BITS, HOW };                  /* words: of which workers it is the sum */
enum { FRESH, PASSED_BY, AGAIN, RESULT }; /* how */
enum { MAX_WORKERS = 50 };                /* of a job: bits of a word */

struct atp {
    int n_jobs, n_workers, n_racks, n_slots, n_pieces; /* workers of a job; pieces of a round */
    size_t slot_elems, n_elems;
};

static struct atp atp_of(const struct strait_experiment *e)
{
    const double slot_bytes = strait_experiment_param(e, "slot");
    struct atp a = {.n_jobs = (int)strait_experiment_param(e, "jobs"),
                    .n_racks = (int)strait_experiment_param(e, "racks"),
                    .n_slots = (int)fmax(1, floor(strait_experiment_param(e, "pool") / slot_bytes)),
                    .slot_elems = (size_t)(slot_bytes / 4),
                    .n_elems = e->model->n_elems};
    a.n_workers = (e->n_ranks - a.n_racks) / a.n_jobs - 1;
    a.n_pieces = (int)((a.n_elems + a.slot_elems - 1) / a.slot_elems);
    return a;
}

/* Ranks: the workers of all jobs, their servers, the switches. */
static int worker_rank(const struct atp *a, int job, int worker)
{
    return job * a->n_workers + worker;
}

static int server_rank(const struct atp *a, int job)
{
    return a->n_jobs * a->n_workers + job;
}

static int switch_rank(const struct atp *a, int rack)
{
    return a->n_jobs * (a->n_workers + 1) + rack;
}

static int rack_of_worker(const struct atp *a, int worker)
{
    return worker * a->n_racks / a->n_workers;
}

static int rack_of_server(const struct atp *a, int job)
{
    return job % a->n_racks;
}

/* Bits of the job's workers in a rack; -1: of all. */
static double bits_of(const struct atp *a, int rack)
{
    double bits = 0;
    for (int i = 0; i < a->n_workers; i++)
        bits += rack < 0 || rack_of_worker(a, i) == rack ? ldexp(1, i) : 0;
    return bits;
}

static bool share_a_bit(double x, double y)
{
    return ((unsigned long long)x & (unsigned long long)y) != 0;
}

/* Whether results of a job pass this rack's switch. */
static bool serves(const struct atp *a, int rack, int job)
{
    return rack_of_server(a, job) == rack || bits_of(a, rack) > 0;
}

static struct strait_tensor *piece(struct strait_rank *r, struct strait_tensor *x,
                                   const struct atp *a, int number)
{
    const size_t lo = (size_t)(number % a->n_pieces) * a->slot_elems, hi = lo + a->slot_elems;
    return strait_range(r, x, lo, hi < a->n_elems ? hi : a->n_elems);
}

static void send(struct strait_rank *r, int dst, int channel, int number,
                 struct strait_packet *taken, int job, double bits, int how)
{
    taken->words[JOB] = job;
    taken->words[BITS] = bits;
    taken->words[HOW] = how;
    strait_send(r, dst, channel, number, taken);
}

/* y becomes, or has added, what a packet holds. */
static void put(struct strait_rank *r, struct strait_tensor *y, struct strait_packet *taken,
                bool adds)
{
    struct strait_tensor *x = adds ? strait_spare(r, y) : y;
    strait_decode(r, x, taken);
    if (adds)
        strait_add(r, y, x, 1);
}

/* --- A worker. */

struct window {
    int first, n_sent, n_done, most; /* pieces of this round */
    double *sent_s;                  /* of each piece; INFINITY: done */
};

static void send_piece(struct strait_rank *r, const struct atp *a, struct window *w,
                       struct strait_tensor *x, int i, int how)
{
    const int me = strait_me(r), worker = me % a->n_workers;
    w->sent_s[i] = strait_now_s(r);
    send(r, switch_rank(a, rack_of_worker(a, worker)), TO_SWITCH, w->first + i,
         strait_encode(r, strait_codec(r, "none"), NAN, piece(r, x, a, i)), me / a->n_workers,
         ldexp(1, worker), how);
}

static void sum_up(struct strait_rank *r, const struct atp *a, struct window *w,
                   struct strait_tensor *x, struct strait_tensor *sum)
{
    const double timeout_s = strait_param(r, "timeout");
    struct strait_message m;
    w->n_sent = w->n_done = 0;
    while (w->n_done < a->n_pieces) {
        double oldest_s = INFINITY;
        for (; w->n_sent < a->n_pieces && w->n_sent - w->n_done < w->most; w->n_sent++)
            send_piece(r, a, w, x, w->n_sent, FRESH);
        for (int i = 0; i < w->n_sent; i++)
            oldest_s = fmin(oldest_s, w->sent_s[i]);
        if (strait_recv_by(r, &m, STRAIT_ANY, TO_WORKER, oldest_s + timeout_s)) {
            strait_decode(r, piece(r, sum, a, m.tag), m.packet);
            w->sent_s[m.tag - w->first] = INFINITY;
            w->n_done++;
            continue;
        }
        for (int i = 0; i < w->n_sent; i++)
            if (w->sent_s[i] + timeout_s <= strait_now_s(r))
                send_piece(r, a, w, x, i, AGAIN);
    }
    w->first += a->n_pieces;
}

static void be_worker(struct strait_rank *r, const struct atp *a)
{
    struct window w = {.most =
                           (int)fmax(1, floor(strait_param(r, "window") / strait_param(r, "slot"))),
                       .sent_s = strait_alloc(r, (size_t)a->n_pieces, sizeof(double))};
    struct strait_tensor *x[2], *sum = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    for (int i = 0; i < 2; i++) /* alternating: pieces of the other may still be read */
        x[i] = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS);
    for (int round = 0; strait_round(r); round++) {
        strait_forward(r, STRAIT_ALL_LAYERS);
        strait_backward_into(r, STRAIT_ALL_LAYERS, x[round % 2]);
        sum_up(r, a, &w, x[round % 2], sum);
        strait_step(r, sum, 1.0 / a->n_workers);
    }
}

/* --- A switch. */

struct slot {
    bool taken;
    int job, number;
    double bits; /* 0: its sum has gone on; it is freed by the result */
};

struct rack {
    const struct atp *a;
    int rack;
    struct slot *slots;
    struct strait_tensor *sums; /* of all slots */
};

static struct strait_tensor *sum_of(struct strait_rank *r, const struct rack *k, int slot,
                                    int number)
{
    const size_t lo = (size_t)slot * k->a->slot_elems,
                 at = (size_t)(number % k->a->n_pieces) * k->a->slot_elems,
                 left = k->a->n_elems - at;
    return strait_range(r, k->sums, lo, lo + (left < k->a->slot_elems ? left : k->a->slot_elems));
}

/* To the server, or the switch of its rack. */
static void pass_on(struct strait_rank *r, const struct rack *k, int number,
                    struct strait_packet *taken, int job, double bits, int how)
{
    const int theirs = rack_of_server(k->a, job);
    const bool here = theirs == k->rack;
    send(r, here ? server_rank(k->a, job) : switch_rank(k->a, theirs), here ? TO_SERVER : TO_SWITCH,
         number, taken, job, bits, how);
}

static void flush(struct strait_rank *r, struct rack *k, int slot, int how)
{
    struct slot *s = &k->slots[slot];
    pass_on(r, k, s->number,
            strait_snapshot(r, strait_codec(r, "none"), NAN, sum_of(r, k, slot, s->number)), s->job,
            s->bits, how);
    s->bits = 0;
    s->taken = how == FRESH;
}

static void take_piece(struct strait_rank *r, struct rack *k, struct strait_message m)
{
    const int job = (int)m.packet->words[JOB], how = (int)m.packet->words[HOW],
              slot = (m.tag + job * k->a->n_slots / k->a->n_jobs) % k->a->n_slots;
    const double bits = m.packet->words[BITS],
                 all = bits_of(k->a, rack_of_server(k->a, job) == k->rack ? -1 : k->rack);
    struct slot *s = &k->slots[slot];
    const bool ours = s->taken && s->job == job && s->number == m.tag;
    if (how == AGAIN && ours && s->bits > 0)
        flush(r, k, slot, AGAIN);
    if (how != FRESH || (s->taken && !ours) || (ours && !(s->bits > 0))) {
        pass_on(r, k, m.tag, strait_keep(m.packet), job, bits, how == AGAIN ? AGAIN : PASSED_BY);
        strait_drop(r, m.packet);
        return;
    }
    put(r, sum_of(r, k, slot, m.tag), m.packet, ours);
    *s = (struct slot){true, job, m.tag, bits + (ours ? s->bits : 0)};
    if (s->bits == all)
        flush(r, k, slot, FRESH);
}

/* To this rack's workers, and from the server's rack to the other switches. */
static void pass_result(struct strait_rank *r, struct rack *k, struct strait_message m)
{
    const struct atp *a = k->a;
    const int job = (int)m.packet->words[JOB],
              slot = (m.tag + job * a->n_slots / a->n_jobs) % a->n_slots;
    struct slot *s = &k->slots[slot];
    if (s->taken && s->job == job && s->number == m.tag)
        s->taken = false;
    for (int i = 0; i < a->n_racks && rack_of_server(a, job) == k->rack; i++)
        if (i != k->rack && serves(a, i, job))
            strait_send(r, switch_rank(a, i), TO_SWITCH, m.tag, strait_keep(m.packet));
    for (int i = 0; i < a->n_workers; i++)
        if (rack_of_worker(a, i) == k->rack)
            strait_send(r, worker_rank(a, job, i), TO_WORKER, m.tag, strait_keep(m.packet));
    strait_drop(r, m.packet);
}

static void be_switch(struct strait_rank *r, const struct atp *a)
{
    struct rack k = {.a = a,
                     .rack = strait_me(r) - switch_rank(a, 0),
                     .slots = strait_alloc(r, (size_t)a->n_slots, sizeof(struct slot)),
                     .sums = strait_scratch(r, (size_t)a->n_slots * a->slot_elems)};
    long n_left = 0;
    strait_use_memory(r, INFINITY);
    for (int job = 0; job < a->n_jobs; job++)
        n_left += serves(a, k.rack, job) * (long)strait_param(r, "rounds") * a->n_pieces;
    while (n_left > 0) {
        struct strait_message m = strait_recv(r, STRAIT_ANY, TO_SWITCH);
        const bool is_result = (int)m.packet->words[HOW] == RESULT;
        n_left -= is_result;
        (is_result ? pass_result : take_piece)(r, &k, m);
    }
}

/* --- A server. */

static void be_server(struct strait_rank *r, const struct atp *a)
{
    const int job = strait_me(r) - server_rank(a, 0);
    const double all = bits_of(a, -1);
    struct strait_tensor *x = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    double *bits = strait_alloc(r, (size_t)a->n_pieces, sizeof(*bits));
    int *round = strait_alloc(r, (size_t)a->n_pieces, sizeof(*round));
    for (long n_left = (long)strait_param(r, "rounds") * a->n_pieces; n_left > 0;) {
        struct strait_message m = strait_recv(r, STRAIT_ANY, TO_SERVER);
        const int i = m.tag % a->n_pieces;
        const double theirs = m.packet->words[BITS];
        if (m.tag / a->n_pieces != round[i] || share_a_bit(bits[i], theirs)) { /* sent again */
            strait_drop(r, m.packet);
            continue;
        }
        put(r, piece(r, x, a, i), m.packet, bits[i] > 0);
        bits[i] += theirs;
        if (bits[i] != all)
            continue;
        send(r, switch_rank(a, rack_of_server(a, job)), TO_SWITCH, m.tag,
             strait_snapshot(r, strait_codec(r, "none"), NAN, piece(r, x, a, i)), job, 0, RESULT);
        bits[i] = 0;
        round[i]++;
        n_left--;
    }
}

static void atp(struct strait_rank *r)
{
    const struct atp a = atp_of(strait_experiment(r));
    if (strait_me(r) < server_rank(&a, 0))
        be_worker(r, &a);
    else if (strait_me(r) < switch_rank(&a, 0))
        be_server(r, &a);
    else
        be_switch(r, &a);
}

static bool uses_stream(const struct strait_experiment *e, int src, int dst, int channel)
{
    const struct atp a = atp_of(e);
    const int servers = server_rank(&a, 0), switches = switch_rank(&a, 0);
    const int from = src < switches ? -1 : src - switches,
              to = dst < switches ? -1 : dst - switches;
    if (channel == TO_WORKER)
        return from >= 0 && dst < servers && rack_of_worker(&a, dst % a.n_workers) == from;
    if (channel == TO_SERVER)
        return from >= 0 && dst >= servers && dst < switches &&
               rack_of_server(&a, dst - servers) == from;
    if (channel != TO_SWITCH || to < 0)
        return false;
    if (src < servers)
        return rack_of_worker(&a, src % a.n_workers) == to;
    if (src < switches)
        return rack_of_server(&a, src - servers) == to;
    for (int job = 0; job < a.n_jobs; job++) /* sums to the server's rack, results from there */
        if ((rack_of_server(&a, job) == to && bits_of(&a, from) > 0) ||
            (rack_of_server(&a, job) == from && bits_of(&a, to) > 0))
            return true;
    return false;
}

static int n_training(const struct strait_experiment *e)
{
    const struct atp a = atp_of(e);
    return server_rank(&a, 0);
}

static int check(const struct strait_experiment *e, struct strait_error *err)
{
    const struct atp a = atp_of(e);
    if ((a.n_workers + 1) * a.n_jobs + a.n_racks != e->n_ranks || a.n_workers < 1 ||
        a.n_workers > MAX_WORKERS)
        return strait_refuse_at(err, e->file, "/clients",
                                "expected %d jobs of 1 to %d workers and a server each, and %d "
                                "switches, found %d ranks",
                                a.n_jobs, MAX_WORKERS, a.n_racks, e->n_ranks);
    if (a.n_racks > a.n_workers)
        return strait_refuse_at(err, e->file, "/strategy/racks",
                                "expected at most the %d workers of a job, found %d", a.n_workers,
                                a.n_racks);
    if (strait_experiment_param(e, "pool") < strait_experiment_param(e, "slot"))
        return strait_refuse_at(
            err, e->file, "/strategy/pool", "expected at least a slot of %.0f B, found %.0f B",
            strait_experiment_param(e, "slot"), strait_experiment_param(e, "pool"));
    if (strcmp(e->up.spec.ops->name, "none") != 0)
        return strait_refuse_at(err, e->file, "/codec",
                                "expected none, since switches add numbers, found \"%s\"",
                                e->up.spec.ops->name);
    return 0;
}

/* With one job, and a pool as large as its window, all goes by the slots. */
static int period(const struct strait_experiment *e)
{
    return (int)strait_experiment_param(e, "jobs") == 1 &&
           strait_experiment_param(e, "pool") >= strait_experiment_param(e, "window");
}

static const struct strait_param params[] = {
    STRAIT_ROUNDS_PARAM,
    {"jobs", "jobs of as many workers each, and a server", STRAIT_PARAM_INTEGER, .min = 1,
     .max = 1e3, .fallback = 1},
    {"racks", "switches, before which a job's workers stand in equal parts", STRAIT_PARAM_INTEGER,
     .min = 1, .max = 1e3, .fallback = 1},
    {"pool", "bytes of each switch's slots", STRAIT_PARAM_BYTES, .min = 4, .max = 1e12,
     .fallback = 1 << 20},
    {"slot", "bytes of a slot, one piece of the gradient", STRAIT_PARAM_BYTES, .min = 4,
     .max = 1e12, .fallback = 1 << 16},
    {"window", "bytes that a worker may have under way", STRAIT_PARAM_BYTES, .min = 4, .max = 1e12,
     .fallback = 1 << 20},
    {"timeout", "after which a worker sends a piece again", STRAIT_PARAM_TIME, .min = 1e-6,
     .max = 1e6, .fallback = 1},
};
const struct strait_strategy strait_strategy_atp = {
    .name = "atp",
    .summary = "in-network aggregation for several jobs: what finds no slot goes to a server",
    .source = "Lao et al., ATP, NSDI 2021",
    .approximates = "the switches add numbers as they are, of as many bytes as their integers",
    .uplink_kind = "grad",
    STRAIT_PARAMS(params),
    .check = check,
    .uses_stream = uses_stream,
    .needs_packets = strait_strategy_fills_both_ways,
    .n_workers = n_training,
    .period = period,
    .has_one_lane = true,
    .rank_main = atp,
};
