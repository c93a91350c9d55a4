/* How a packet run crosses two links
 *
 * A super-packet is a packet run of n TCP segments. Segment j (1..n) has w_j bytes on the wire, all
 * equal but the last; S_j is the sum of the first j. A link that needs c seconds a byte is one
 * number: F, the time at which it is free.
 *
 * Link 1. All segments arrive at t. Service starts at s = max(F1, t), segment j has left at
 *     L_j = s + c1 S_j,    then F1 = L_n.
 * Link 2. Store and forward is by segment: segment j is there at A_j = L_j + d1 and leaves at
 *     M_j = max(M_(j-1), A_j) + c2 w_j,    M_0 = F2.
 * Unrolled, M_n = max(F2 + c2 S_n, max over j of A_j + c2 (S_n - S_(j-1))). The inner term grows
 * from j to j+1 by c1 w_(j+1) - c2 w_j: one sign for all j but the last step, so its maximum is at
 * j = 1, n-1 or n, and
 *     M_n = max(max(F2, A_1) + c2 S_n,  A_(n-1) + c2 (w_(n-1) + w_n),  A_n + c2 w_n),  F2 = M_n.
 * With c1 <= c2 the first term is the largest: the run never waits for its own tail. With c1 > c2
 * the others are, and link 2 idles between the segments; those gaps are available to packet runs of
 * other sources. So link 2 serves packet runs in the order of their last segments, at A_n: by then
 * the gaps are in the past and F2 never includes future idle time. Runs of one source leave exactly
 * as if handled by segment, and in order. Runs of several sources share link 2 whole instead of
 * segment by segment: capacity is exact, and a segment is late by at most one run of each source
 * (0.25 ms of virtual time on its own link, strait_emu_net_packet_run_segments).
 *
 * Between sites a packet run crosses up to five links, each as link 2 above; on the next one it is
 * described by its first segment's arrival and an even spacing up to its last one's.
 *
 * Drop-tail. Segment j finds max(0, F - A_j) / c bytes, F including the accepted segments of its
 * own run, and is dropped when there are some and w_j more would exceed the queue. Lost and
 * dropped segments are cut out, and each run of survivors continues as a packet run of its own. */
#include "relay.h"
#include <arpa/inet.h>
#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "core/random.h"
#include "emu/links/net_plan.h"
#include "emu/links/segment.h"
#include "relay_flows.h"
#include "packet_run.h"

struct link {
    double s_per_byte, delay_s, jitter_s, loss_ratio, queue_bytes; /* real time; 0: absent */
    double free_s;
    double newest_s; /* with jitter: the latest arrival so far, which no later packet may precede */
    const struct strait_jitter *jitter;     /* NULL: uniform */
    const struct strait_schedule *schedule; /* of virtual time; NULL: s_per_byte stays */
    unsigned max_run_segments;
    int id;
    struct strait_emu_link_report count;
};

struct strait_emu_relay {
    int n_nodes;
    bool unshaped, loses, draws; /* draws: has loss or jitter */
    struct strait_emu_flows flows;
    double dilation;
    const _Atomic(int64_t) *start_ns; /* of schedules */
    struct link *links; /* numbered as in a network; out and in of node i: 2 i, 2 i + 1 */
    int n_links;
    const struct strait_network *sites;   /* NULL: a star */
    const struct strait_emu_trunk *trunk; /* NULL: all nodes are here */
    struct strait_heap heap;              /* packets by due time, of equal ones the first pushed */
    int64_t n_pushed;
    struct strait_emu_packet_runs runs;
    uint64_t n_unroutable, n_memory_drops;
};

static struct link link_of(const struct strait_link *from, size_t id,
                           const struct strait_emu_net_plan *plan)
{
    const double k = strait_emu_net_plan_dilation(plan);
    return (struct link){
        .s_per_byte = 8 * k / from->rate_bits_per_s,
        .delay_s = k * from->delay_s,
        .jitter_s = k * from->jitter_s,
        .loss_ratio = from->loss_ratio,
        .queue_bytes = isinf(from->queue_bytes) ? 0 : from->queue_bytes,
        .free_s = -INFINITY,
        .newest_s = -INFINITY,
        .max_run_segments = strait_emu_net_packet_run_segments(strait_link_least_bits_per_s(from),
                                                               plan->overhead_bytes),
        .jitter = from->jitter,
        .schedule = from->schedule,
        .id = (int)id,
    };
}

struct strait_emu_relay *strait_emu_relay_new(const struct strait_emu_net_plan *plan,
                                              struct strait_error *err)
{
    const size_t n = (size_t)plan->n_nodes;
    struct strait_emu_relay *relay = calloc(1, sizeof(*relay));
    const size_t n_links = plan->sites ? (size_t)strait_network_n_links(plan->sites) : 2 * n;
    struct link *links = calloc(n_links, sizeof(*links));
    if (!relay || !links) {
        free(relay);
        free(links);
        strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "no memory for a relay of %zu nodes", n);
        return NULL;
    }
    *relay = (struct strait_emu_relay){
        .n_nodes = plan->n_nodes,
        .unshaped = plan->unshaped,
        .runs = {.frame_bytes = STRAIT_EMU_ETHERNET_BYTES + plan->overhead_bytes},
        .flows = {.seed = plan->seed},
        .dilation = strait_emu_net_plan_dilation(plan),
        .start_ns = plan->start_ns,
        .links = links,
        .n_links = (int)n_links,
        .sites = plan->sites,
        .trunk = plan->trunk,
    };
    for (size_t i = 0; i < n; i++) {
        links[2 * i] = link_of(&plan->out[i], 2 * i, plan);
        links[2 * i + 1] = link_of(&plan->in[i], 2 * i + 1, plan);
    }
    for (size_t i = 2 * n; i < n_links; i++) /* a pair without a link uses none on its path */
        if (plan->between[i - 2 * n].rate_bits_per_s > 0)
            links[i] = link_of(&plan->between[i - 2 * n], i, plan);
    for (size_t i = 0; i < n_links; i++) {
        relay->loses |= links[i].loss_ratio > 0;
        relay->draws |= links[i].loss_ratio > 0 || links[i].jitter_s > 0;
    }
    return relay;
}

static struct strait_emu_packet_run *of_node(struct strait_heap_node *node)
{
    return (struct strait_emu_packet_run *)((char *)node -
                                            offsetof(struct strait_emu_packet_run, due));
}

void strait_emu_relay_free(struct strait_emu_relay *relay)
{
    if (!relay)
        return;
    for (struct strait_heap_node *node; (node = strait_heap_first(&relay->heap));) {
        strait_heap_remove(&relay->heap, node);
        free(of_node(node));
    }
    strait_emu_packet_runs_release(&relay->runs);
    strait_emu_flows_release(&relay->flows);
    strait_heap_release(&relay->heap);
    free(relay->links);
    free(relay);
}

static struct strait_emu_packet_run *counted(struct strait_emu_relay *relay,
                                             struct strait_emu_packet_run *p)
{
    relay->n_memory_drops += !p;
    return p;
}

static void schedule(struct strait_emu_relay *relay, struct strait_emu_packet_run *p, double at_s)
{
    p->due = (struct strait_heap_node){.key = at_s, .tie = relay->n_pushed++};
    if (strait_heap_push(&relay->heap, &p->due) != 0) {
        relay->n_memory_drops++;
        strait_emu_packet_run_drop(&relay->runs, p);
    }
}

/* When a segment that leaves the link at left_s arrives, with delay and jitter. */
static double arrival_s(const struct link *link, const struct strait_emu_packet_run *p,
                        double left_s)
{
    if (link->jitter_s == 0)
        return left_s + link->delay_s;
    const double unit = strait_packet_draw(p->key, "jitter", link->id, p->number);
    const double delay_s = link->delay_s + strait_jitter_at(link->jitter, unit) * link->jitter_s;
    const double at_s = left_s + fmax(delay_s, 0);
    return fmax(at_s, link->newest_s);
}

/* Virtual time of the run; before its begin, below 0. */
static double run_s(const struct strait_emu_relay *relay, double real_s)
{
    const int64_t start_ns = relay->start_ns ? atomic_load(relay->start_ns) : 0;
    return start_ns > 0 ? (real_s - 1e-9 * (double)start_ns) / relay->dilation : -1;
}

/* When a link that is free from start_s on has sent so many bytes. */
static double sent_s(const struct strait_emu_relay *relay, const struct link *link, double start_s,
                     double bytes)
{
    if (!link->schedule)
        return start_s + link->s_per_byte * bytes;
    const double from_s = run_s(relay, start_s);
    return start_s +
           relay->dilation * (strait_schedule_end_s(link->schedule, from_s, 8 * bytes) - from_s);
}

/* Bytes waiting or being sent when something arrives at at_s. */
static double backlog_bytes(const struct strait_emu_relay *relay, const struct link *link,
                            double free_s, double at_s)
{
    if (link->schedule && free_s > at_s)
        return strait_schedule_bits(link->schedule, run_s(relay, at_s),
                                    run_s(relay, at_s) + (free_s - at_s) / relay->dilation) /
               8;
    return link->s_per_byte > 0 && free_s > at_s ? (free_s - at_s) / link->s_per_byte : 0;
}

static void note_peak(struct link *link, double bytes)
{
    if (bytes > (double)link->count.queue_peak_bytes)
        link->count.queue_peak_bytes = (uint64_t)llround(bytes);
}

/* All segments of p were accepted: they use link's time and continue. */
static void carry(struct strait_emu_relay *relay, struct link *link,
                  struct strait_emu_packet_run *p)
{
    const unsigned n = p->shape.n_segments;
    const double all_bytes = strait_emu_packet_run_wire_bytes(&relay->runs, p, 0, n);
    const double start_s = fmax(link->free_s, p->first_s);
    const double first_left_s =
        sent_s(relay, link, start_s, strait_emu_packet_run_wire_bytes(&relay->runs, p, 0, 1));
    double left_s = sent_s(relay, link, start_s, all_bytes);
    for (unsigned last = 1; last <= 2 && last <= n; last++)
        left_s = fmax(left_s,
                      sent_s(relay, link, strait_emu_packet_run_there_s(&relay->runs, p, n - last),
                             strait_emu_packet_run_wire_bytes(&relay->runs, p, n - last, last)));
    link->free_s = left_s;
    /* The backlog changes linearly from the first segment to the last. */
    note_peak(link, backlog_bytes(relay, link, first_left_s, p->first_s));
    note_peak(link, backlog_bytes(relay, link, left_s,
                                  strait_emu_packet_run_there_s(&relay->runs, p, n - 1)));
    link->count.n_packets++;
    link->count.n_segments += n;
    link->count.wire_bytes += (uint64_t)llround(all_bytes);
    if (p->hop + 1 == p->n_hops) {
        link->newest_s = arrival_s(link, p, left_s);
    } else { /* on link 1 all segments came at once and leave back to back: the spacing is c */
        p->s_per_byte = n > 1 && (p->hop > 0 || link->schedule)
                            ? (left_s - first_left_s) /
                                  strait_emu_packet_run_wire_bytes(&relay->runs, p, 1, n - 1)
                            : link->s_per_byte;
        p->first_s = arrival_s(link, p, first_left_s);
        link->newest_s = strait_emu_packet_run_there_s(&relay->runs, p, n - 1);
    }
    p->hop++;
    schedule(relay, p, link->newest_s);
}

/* Before time 0 of a run nothing is lost: a prediction begins with connections that are set up, and
 * a greeting that was lost would leave a window of half the size. */
static bool lost(const struct strait_emu_relay *relay, const struct link *link,
                 const struct strait_emu_packet_run *p)
{
    return link->loss_ratio > 0 && (!relay->start_ns || run_s(relay, p->first_s) >= 0) &&
           strait_packet_draw(p->key, "loss", link->id, p->number) < link->loss_ratio;
}

/* Offer the segments of p one by one, and carry each run that the link accepts. */
static void cross_by_segment(struct strait_emu_relay *relay, struct link *link,
                             struct strait_emu_packet_run *p)
{
    const unsigned n = p->shape.n_segments;
    unsigned run = 0; /* segments [j - run, j) are accepted and not yet carried */
    double free_s = link->free_s;
    for (unsigned j = 0; j <= n; j++) {
        if (j < n) {
            const double at_s = strait_emu_packet_run_there_s(&relay->runs, p, j),
                         bytes = strait_emu_packet_run_wire_bytes(&relay->runs, p, j, 1);
            const double before_bytes = backlog_bytes(relay, link, free_s, at_s);
            const bool full = link->queue_bytes > 0 && before_bytes > 0 &&
                              before_bytes + bytes > link->queue_bytes;
            if (lost(relay, link, p)) {
                link->count.n_loss_drops++;
            } else if (full) {
                link->count.n_queue_drops++;
            } else {
                free_s = sent_s(relay, link, fmax(free_s, at_s), bytes);
                run++;
                continue;
            }
        }
        if (run > 0 && run < n) {
            struct strait_emu_packet_run *q =
                counted(relay, strait_emu_packet_run_cut(&relay->runs, p, j - run, run));
            if (q)
                carry(relay, link, q);
        } else if (run == n) {
            carry(relay, link, p);
            return;
        }
        run = 0;
    }
    strait_emu_packet_run_drop(&relay->runs, p);
}

static void cross(struct strait_emu_relay *relay, struct link *link,
                  struct strait_emu_packet_run *p)
{
    const double before_bytes = backlog_bytes(relay, link, link->free_s, p->first_s);
    const double with_bytes =
        before_bytes + strait_emu_packet_run_wire_bytes(&relay->runs, p, 0, p->shape.n_segments);
    const bool fits = link->queue_bytes == 0 || with_bytes <= link->queue_bytes;
    if (fits && link->loss_ratio == 0)
        carry(relay, link, p);
    else
        cross_by_segment(relay, link, p);
}

/* A node may write to itself through its port, like any other. */
static void path_of(struct strait_emu_packet_run *p, const struct strait_emu_relay *relay, int src)
{
    if (relay->sites) {
        p->n_hops = strait_network_path(relay->sites, src, p->dst, p->links);
        return;
    }
    p->n_hops = 0;
    if (src != STRAIT_EMU_ELSEWHERE)
        p->links[p->n_hops++] = 2 * src;
    if (strait_emu_trunk_has(relay->trunk, p->dst))
        p->links[p->n_hops++] = 2 * p->dst + 1;
}

/* A run that comes from its sender. */
static void enter(struct strait_emu_relay *relay, struct strait_emu_packet_run *p, int src)
{
    if (relay->draws && !strait_emu_flows_packet(&p->key, &p->number, &relay->flows, src, p->dst,
                                                 p->bytes, p->len_bytes)) {
        relay->n_memory_drops++;
        strait_emu_packet_run_drop(&relay->runs, p);
        return;
    }
    cross(relay, &relay->links[p->links[0]], p);
}

void strait_emu_relay_offer(struct strait_emu_relay *relay, double now_s, int src,
                            const unsigned char *bytes, size_t len_bytes)
{
    struct strait_emu_shape shape;
    if (!strait_emu_shape_read(&shape, bytes, len_bytes)) {
        relay->n_unroutable++;
        return;
    }
    const uint32_t dst = ntohl(shape.dst) - ntohl(strait_emu_net_address(0));
    if (dst >= (uint32_t)relay->n_nodes ||
        (src == STRAIT_EMU_ELSEWHERE && !strait_emu_trunk_has(relay->trunk, (int)dst))) {
        relay->n_unroutable++;
        return;
    }
    struct strait_emu_packet_run *p =
        counted(relay, strait_emu_packet_run_new(&relay->runs, len_bytes));
    if (!p)
        return;
    memcpy(p->bytes, bytes, len_bytes);
    p->dst = (int)dst;
    p->shape = shape;
    p->first_s = now_s;
    p->s_per_byte = 0;
    p->hop = 0;
    path_of(p, relay, src);
    if (relay->unshaped) {
        p->hop = p->n_hops;
        schedule(relay, p, now_s);
        return;
    }
    /* The sender's device already limits packet runs for its own link; a slower one may follow. */
    const unsigned n = shape.n_segments;
    unsigned max = relay->loses ? 1 : n; /* loss hits single segments */
    for (int i = 0; i < p->n_hops; i++)
        if (relay->links[p->links[i]].max_run_segments < max)
            max = relay->links[p->links[i]].max_run_segments;
    if (n <= max) {
        enter(relay, p, src);
        return;
    }
    for (unsigned first = 0; first < n; first += max) {
        struct strait_emu_packet_run *q =
            counted(relay, strait_emu_packet_run_cut(&relay->runs, p, first,
                                                     n - first < max ? n - first : max));
        if (q)
            enter(relay, q, src);
    }
    strait_emu_packet_run_drop(&relay->runs, p);
}

double strait_emu_relay_next_s(const struct strait_emu_relay *relay)
{
    const struct strait_heap_node *first = strait_heap_first(&relay->heap);
    return first ? first->key : INFINITY;
}

bool strait_emu_relay_take(struct strait_emu_relay *relay, double now_s,
                           struct strait_emu_delivery *out)
{
    for (struct strait_heap_node *first;
         (first = strait_heap_first(&relay->heap)) && first->key <= now_s;) {
        struct strait_emu_packet_run *p = of_node(first);
        strait_heap_remove(&relay->heap, first);
        if (p->hop == p->n_hops) {
            *out = (struct strait_emu_delivery){p->dst, p->due.key, p->bytes, p->len_bytes, p};
            return true;
        }
        cross(relay, &relay->links[p->links[p->hop]], p);
    }
    return false;
}

void strait_emu_relay_done(struct strait_emu_relay *relay, const struct strait_emu_delivery *d)
{
    strait_emu_packet_run_drop(&relay->runs, d->packet);
}

int strait_emu_relay_n_links(const struct strait_emu_relay *relay)
{
    return relay->n_links;
}

struct strait_emu_link_report strait_emu_relay_link(const struct strait_emu_relay *relay, int link,
                                                    double now_s)
{
    const struct link *l = &relay->links[link];
    struct strait_emu_link_report report = l->count;
    report.backlog_bytes = (uint64_t)llround(backlog_bytes(relay, l, l->free_s, now_s));
    report.carried_bytes = report.wire_bytes > report.backlog_bytes
                               ? report.wire_bytes - report.backlog_bytes
                               : 0; /* bytes under way when the counters were reset */
    if (relay->unshaped)
        report.carried_bytes = STRAIT_EMU_UNKNOWN;
    return report;
}

void strait_emu_relay_totals(struct strait_emu_relay_report *out,
                             const struct strait_emu_relay *relay)
{
    out->n_unroutable = relay->n_unroutable;
    out->n_memory_drops = relay->n_memory_drops;
}

void strait_emu_relay_restart_counters(struct strait_emu_relay *relay)
{
    for (int i = 0; i < relay->n_links; i++)
        relay->links[i].count = (struct strait_emu_link_report){0};
    relay->n_unroutable = relay->n_memory_drops = 0;
}
