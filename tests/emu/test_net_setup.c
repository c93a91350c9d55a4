/* What an emulated network is built with. */
#include <math.h>
#include "emu/links/qdisc.h"
#include "emu/net_setup.h"
#include "tests/kit/emu_world.h"
#include "tests/kit/suite.h"

static bool from_the_last(const struct strait_run *run, int src, int dst, int channel)
{
    return src == run->n_ranks - 1 && dst == 0 && channel == 0;
}

static double window_of(struct world *w)
{
    struct strait_error err = {0};
    struct strait_emu_shared *s = strait_emu_shared_new(&w->run, 1, 1, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    const double bytes = strait_emu_net_setup_window_bytes(w->network, s);
    strait_emu_shared_free(s);
    return bytes;
}

/* 1 Gbps and 200 ms are 25 MB, of which a window holds two and a half times as much; of a short
 * path it holds 4 MiB. The experiment's own is taken as it is, and paths that no stream takes do
 * not count. */
static void windows(void)
{
    struct world w;
    world_init(&w, 3, 1e9, 0.2);
    w.run.uses_stream = from_the_last;
    CU_ASSERT_DOUBLE_EQUAL(window_of(&w), 62.5e6, 1);
    w.network->tcp.window_bytes = 90e3;
    CU_ASSERT_EQUAL(window_of(&w), 90e3);
    world_release(&w);

    world_init(&w, 3, 1e9, 0.2);
    w.run.uses_stream = from_the_last;
    w.network->out[0].rate_bits_per_s = 1e6; /* of rank 0, out: nothing goes there */
    CU_ASSERT_DOUBLE_EQUAL(window_of(&w), 62.5e6, 1);
    world_release(&w);

    world_init(&w, 2, 1e8, 0.01);
    w.run.uses_stream = from_the_last;
    CU_ASSERT_EQUAL(window_of(&w), 4194304);
    for (int i = 0; i < 2; i++) /* no limit at all */
        w.network->out[i].rate_bits_per_s = w.network->in[i].rate_bits_per_s = INFINITY;
    CU_ASSERT_EQUAL(window_of(&w), 4194304);
    world_release(&w);
}

/* Only the kernel's buckets lend: the most of all links, of each at its least rate, in virtual
 * time. */
static void credits(void)
{
    for (int way = 0; way < 2; way++)
        for (int k = 0; k < 2; k++) {
            struct world w;
            struct strait_emu_qdisc q;
            const double dilation = k == 0 ? 1 : 4;
            world_init(&w, 3, 1e9, 0.02);
            struct strait_link *slow = way == 0 ? &w.network->out[0] : &w.network->in[2];
            slow->rate_bits_per_s = 5e6;
            strait_emu_qdisc_of_step(&q, slow, 5e6, w.network->overhead_bytes, dilation,
                                     strait_emu_qdisc_late_s());
            const double wanted_s = strait_emu_qdisc_credit_s(&q) / dilation;
            CU_ASSERT(wanted_s > 0);
            CU_ASSERT_EQUAL(strait_emu_net_setup_credit_s(&w.run, dilation, STRAIT_EMU_KERNEL),
                            wanted_s);
            CU_ASSERT_EQUAL(strait_emu_net_setup_credit_s(&w.run, dilation, STRAIT_EMU_RELAY), 0);
            world_release(&w);
        }
}

/* A probe that is off is tried three times, of ten pings of 84 bytes; the first of two equal ranks
 * stands for both. */
static void probes(void)
{
    struct world w;
    struct strait_error err = {0};
    struct strait_emu_net *net = NULL;
    struct strait_emu_counters c[3] = {{0}};
    struct strait_emu_probe found[STRAIT_EMU_MAX_PROBES];
    int n = 0;
    world_init(&w, 3, 1e9, 0.004);
    struct strait_emu_shared *s = strait_emu_shared_new(&w.run, 1, 1, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    if (strait_emu_net_setup_build(&net, &w.run, s, 1, NULL, STRAIT_EMU_RELAY, NULL, &err) != 0) {
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_HOST);
        strait_test_skip(err.text);
    } else {
        for (int i = 0; i < 3; i++) /* said to be far more than was built */
            w.network->out[i].delay_s = w.network->in[i].delay_s = 5;
        CU_ASSERT_EQUAL(strait_emu_net_setup_probe(found, &n, net, &w.run, 1, &err), 0);
        CU_ASSERT_EQUAL(n, 1);
        CU_ASSERT_EQUAL(found[0].from, 0);
        CU_ASSERT_EQUAL(found[0].to, 1);
        CU_ASSERT_DOUBLE_EQUAL(found[0].expected_s, 20, 0.001);
        CU_ASSERT_AT_LEAST(found[0].rtt_s, 0.0039); /* ping prints tenths of a millisecond */
        CU_ASSERT_AT_MOST(found[0].rtt_s, 5);
        for (int i = 0; i < 3; i++)
            CU_ASSERT_EQUAL(strait_emu_net_counters(&c[i], net, i, &err), 0);
        CU_ASSERT_EQUAL(c[0].tx_bytes, 3 * 10 * 84);
        CU_ASSERT_EQUAL(c[1].tx_bytes, 3 * 10 * 84);
        CU_ASSERT_EQUAL(c[2].tx_bytes, 0);
        w.network->in[2].delay_s = 4; /* now each for itself; and what loses is not probed */
        w.network->out[1].loss_ratio = 0.1;
        CU_ASSERT_EQUAL(strait_emu_net_setup_probe(found, &n, net, &w.run, 1, &err), 0);
        CU_ASSERT_EQUAL(n, 1);
        CU_ASSERT_EQUAL(found[0].to, 2);
        strait_emu_net_free(net);
    }
    strait_emu_shared_free(s);
    world_release(&w);
}

static const struct strait_test tests[] = {
    {"a stream's window holds its path, as far as streams go", windows},
    {"a delay that is off is probed three times, of each kind of rank", probes},
    {"the slowest link's bucket lends most", credits},
};
STRAIT_SUITE("emu/net_setup", tests);
