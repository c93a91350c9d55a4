#include "rig.h"

#include <stdlib.h>
#include <string.h>

static void need(const void *p)
{
    if (!p)
        abort(); /* a test without memory proves nothing */
}

struct strait_tcp strait_rig_tcp(void)
{
    return (struct strait_tcp){.congestion = STRAIT_RENO,
                               .segment_bytes = 1448,
                               .initial_window_bytes = 14480,
                               .window_bytes = 32e6,
                               .rto_min_s = 0.2,
                               .slow_start_after_idle = true};
}

struct strait_link strait_rig_link(double rate_bits_per_s, double delay_s)
{
    return (struct strait_link){
        .rate_bits_per_s = rate_bits_per_s, .delay_s = delay_s, .queue_bytes = INFINITY};
}

static unsigned n_slots(const struct strait_run *run, int rank, enum strait_resource resource)
{
    (void)rank;
    return ((const struct strait_rig *)run->context)->n_slots[resource];
}

void strait_rig_init(struct strait_rig *rig, int n_ranks, struct strait_link link,
                     void (*rank_main)(struct strait_rank *))
{
    memset(rig, 0, sizeof(*rig));
    rig->network = strait_network_star(n_ranks, link, link, link, link, 0, strait_rig_tcp());
    need(rig->network);
    if (strait_facts_init(&rig->facts, NULL) != 0)
        need(NULL);
    for (int i = 0; i < STRAIT_N_RESOURCES; i++)
        rig->n_slots[i] = 1;
    rig->run = (struct strait_run){.n_ranks = n_ranks,
                                   .network = rig->network,
                                   .n_slots = n_slots,
                                   .rank_main = rank_main,
                                   .context = rig,
                                   .logs = calloc((size_t)n_ranks, sizeof(struct strait_log)),
                                   .facts = &rig->facts};
    need(rig->run.logs);
}

static void release_logs(struct strait_rig *rig)
{
    for (int i = 0; i < rig->run.n_ranks; i++)
        strait_log_release(&rig->run.logs[i]);
}

void strait_rig_run(struct strait_rig *rig, const struct strait_backend *backend)
{
    release_logs(rig);
    memset(&rig->err, 0, sizeof(rig->err));
    rig->rc = backend->run(&rig->run, &rig->err);
}

void strait_rig_release(struct strait_rig *rig)
{
    release_logs(rig);
    free(rig->run.logs);
    strait_facts_release(&rig->facts);
    strait_network_free(rig->network);
}

void strait_note(struct strait_rank *r, int key, double value)
{
    strait_log_add(&r->run->logs[r->me], &(struct strait_span){.queued_s = value,
                                                               .start_s = value,
                                                               .end_s = value,
                                                               .rank = r->me,
                                                               .peer = -1,
                                                               .tag = key,
                                                               .kind = STRAIT_SPAN_WAIT});
}

double strait_noted(const struct strait_rig *rig, int rank, int key, int nth)
{
    const struct strait_log *log = &rig->run.logs[rank];
    for (size_t i = 0; i < log->n_spans; i++)
        if (strait_spans_at(&log->spans, i).tag == key && nth-- == 0)
            return strait_spans_at(&log->spans, i).start_s;
    return NAN;
}

int strait_n_noted(const struct strait_rig *rig, int rank, int key)
{
    int n = 0;
    while (!isnan(strait_noted(rig, rank, key, n)))
        n++;
    return n;
}

struct strait_packet *strait_rig_packet(size_t payload_bytes)
{
    struct strait_packet *p = strait_packet_new(0);
    need(p);
    p->payload_bytes = p->raw_bytes = payload_bytes;
    return p;
}

void strait_rig_send(struct strait_rank *r, int dst, int channel, int tag, size_t payload_bytes)
{
    r->backend->ops->send(r, dst, channel, tag, strait_rig_packet(payload_bytes), false);
}

struct strait_message strait_rig_recv(struct strait_rank *r, int src, int channel)
{
    struct strait_message m = {0};
    r->backend->ops->recv(r, &m, src, channel, INFINITY);
    strait_packet_drop(m.packet);
    m.packet = NULL;
    return m;
}

void strait_rig_work(struct strait_rank *r, enum strait_resource resource, double cost_s)
{
    const struct strait_job job = {.resource = resource, .cost_s = cost_s};
    r->backend->ops->wait(r, r->backend->ops->start(r, &job), NULL);
}

void strait_rig_sleep_until(struct strait_rank *r, double time_s)
{
    const double now_s = r->backend->ops->now_s(r);
    if (time_s > now_s)
        strait_rig_work(r, STRAIT_TIMER, time_s - now_s);
}
