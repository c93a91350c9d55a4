/* What an emulated run tells while it goes on: readings of its links, in virtual units. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/kit/emu_world.h"
#include "tests/kit/suite.h"

enum { N_LINKS = 6, OUT_1 = 2, IN_0 = 1, OUT_2 = 4, IN_2 = 5, SENT_BYTES = 1200000, N_LOGGED = 7 };
static const double LOGGED_S = 2.5, RATE_BITS_PER_S = 20e6, DILATION = 2;

struct seen {
    int n_calls, n_ends, n_readings, n_rounds;
    double now_s, read_at_s, rounds_s;
    struct strait_live_link last[N_LINKS];
    double credit_bytes; /* by which a link may be ahead of its rate: 0 for the relay, whose links
                            are read at one moment */
};

/* A link never carries more than its rate until now. Between two readings it may: a relay that was
 * late passes on what was due, at once. */
static void check_links(struct seen *s, const struct strait_live *live)
{
    for (int i = 0; i < N_LINKS; i++) {
        const double carried_bytes = live->links[i].carried_bytes - s->last[i].carried_bytes;
        CU_ASSERT(carried_bytes >= 0);
        /* the relay rounds its counters and its queue to a byte each */
        CU_ASSERT_AT_MOST(live->links[i].carried_bytes,
                          RATE_BITS_PER_S / 8 * live->now_s + s->credit_bytes + 2);
        CU_ASSERT(live->links[i].queue_bytes >= 0 && live->links[i].queue_bytes < 2 * SENT_BYTES);
        CU_ASSERT_EQUAL(live->links[i].n_drops, 0);
    }
    memcpy(s->last, live->links, sizeof(s->last));
    s->read_at_s = live->read_at_s;
    s->n_readings++;
}

static void look(const struct strait_run *run, const struct strait_live *live)
{
    struct seen *s = run->watcher;
    s->n_calls++;
    CU_ASSERT_EQUAL(s->n_ends, 0);
    if (!live) {
        s->n_ends++;
        return;
    }
    CU_ASSERT_EQUAL(live->dilation, DILATION);
    CU_ASSERT_EQUAL_FATAL(live->n_links, N_LINKS);
    CU_ASSERT(live->now_s >= s->now_s || live->now_s < 0);
    s->now_s = fmax(s->now_s, live->now_s);
    CU_ASSERT(live->n_rounds == 0 || live->n_rounds == N_LOGGED);
    CU_ASSERT(live->rounds_s <= 0 || live->rounds_s >= LOGGED_S); /* a moment later */
    s->n_rounds = live->n_rounds;
    s->rounds_s = live->rounds_s;
    if (live->read_at_s > s->read_at_s)
        check_links(s, live);
}

static bool is_used(const struct strait_run *run, int src, int dst, int channel)
{
    (void)run;
    return src == 1 && dst == 0 && channel == 0;
}

static void upload(struct strait_rank *r)
{
    struct strait_message m;
    if (r->me == 0) { /* seven rounds of 2.5 s together, as its log says */
        r->run->logs[0].n_of_kind[STRAIT_SPAN_ROUND] = N_LOGGED;
        r->run->logs[0].total_s[STRAIT_SPAN_ROUND] = LOGGED_S;
        r->backend->ops->now_s(r);
    }
    if (r->me == 1) {
        struct strait_packet *p = strait_packet_new(0);
        if (!p)
            abort();
        p->payload_bytes = SENT_BYTES;
        r->backend->ops->send(r, 0, 0, 0, p, false);
    } else if (r->me == 0 && r->backend->ops->recv(r, &m, 1, 0, INFINITY)) {
        strait_packet_drop(m.packet);
    }
}

/* 1.2 MB at 20 Mbps and dilation 2 take a second: one reading or two on the way. */
static void one_upload(const char *realisation, double rtt_s, double credit_bytes)
{
    struct world w;
    struct strait_error err = {0};
    struct seen s = {.credit_bytes = credit_bytes};
    world_init(&w, 3, RATE_BITS_PER_S, rtt_s);
    w.run.rank_main = upload;
    w.run.uses_stream = is_used;
    w.run.realisation = realisation;
    w.run.dilation = DILATION;
    w.run.watch = look;
    w.run.watcher = &s;
    if (strait_emu.check(&w.run, &err) != 0) {
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_HOST);
        strait_test_skip(err.text);
        world_release(&w);
        return;
    }
    CU_ASSERT_EQUAL(strait_emu.run(&w.run, &err), 0);
    CU_ASSERT_EQUAL(s.n_ends, 1);
    CU_ASSERT(s.n_calls > 1 && s.n_readings > 0);
    CU_ASSERT_EQUAL(s.n_rounds, N_LOGGED);
    CU_ASSERT_EQUAL(s.rounds_s, LOGGED_S);
    /* what the last reading saw of a message that has the links alone, on either of its two */
    CU_ASSERT(s.last[OUT_1].carried_bytes > 1448 && s.last[IN_0].carried_bytes > 1448);
    CU_ASSERT(credit_bytes > 0 || s.last[IN_0].carried_bytes <= s.last[OUT_1].carried_bytes + 2);
    CU_ASSERT_EQUAL(s.last[OUT_2].carried_bytes + s.last[IN_2].carried_bytes, 0);
    world_release(&w);
}

static void by_the_relay(void)
{
    one_upload("relay", 0.02, 0);
}

/* tbf lets a burst pass: two frames, or 1.5 ms of real time at 10 Mbps. */
static void by_the_kernel(void)
{
    one_upload("kernel", 0, 2 * 1514);
}

static const struct strait_test tests[] = {
    {"who looks on sees what the relay's links carry, and never more than they can", by_the_relay},
    {"who looks on sees what the kernel's links carry, and never more than they can",
     by_the_kernel},
};
STRAIT_SUITE("emu/judge/live", tests);
