/* How much slower than real an emulation runs, from jobs, links and processors. Not in a guest. */
#include "emu/host/dilation.h"

#include <math.h>
#include "tests/kit/emu_world.h"
#include "tests/kit/links/host_files.h"
#include "tests/kit/suite.h"

static bool is_upload(const struct strait_run *run, int src, int dst, int channel)
{
    (void)run;
    return channel == 3 && src > 0 && dst == 0;
}

static struct strait_emu_dilation chosen(const struct world *w, unsigned n_processors)
{
    return strait_emu_dilation_choose(&w->run, n_processors);
}

/* One of the processors is the network's, where there are more than two. */
static void processors(void)
{
    struct world w;
    world_init(&w, 3, 1e6, 0.01);
    CU_ASSERT_EQUAL(chosen(&w, 1).n_compute, 1);
    CU_ASSERT_EQUAL(chosen(&w, 2).n_compute, 1);
    CU_ASSERT_EQUAL(chosen(&w, 3).n_compute, 2);
    CU_ASSERT_EQUAL(chosen(&w, 16).n_compute, 15);
    w.run.one_at_a_time = true;
    CU_ASSERT_EQUAL(chosen(&w, 16).n_compute, 1);
    world_release(&w);
}

/* 0.1 s a gigabit and 0.015 a flow, at most 1.05; where the kernel draws losses 1.2. */
static void cost_of_the_network(void)
{
    struct world w;
    world_init(&w, 3, 1e6, 0.01);
    CU_ASSERT_DOUBLE_EQUAL(chosen(&w, 2).net_cpu_s, 0.1 + 2 * 0.015, 1e-12);
    w.network->tcp.n_connections = 4;
    CU_ASSERT_DOUBLE_EQUAL(chosen(&w, 2).net_cpu_s, 0.1 + 8 * 0.015, 1e-12);
    w.network->in[2].loss_ratio = 0.01;
    w.run.realisation = "relay";
    CU_ASSERT_DOUBLE_EQUAL(chosen(&w, 2).net_cpu_s, 0.1 + 8 * 0.015, 1e-12);
    w.run.realisation = "kernel";
    CU_ASSERT_DOUBLE_EQUAL(chosen(&w, 2).net_cpu_s, 1.2, 1e-12);
    w.network->in[2].loss_ratio = 0;
    CU_ASSERT_DOUBLE_EQUAL(chosen(&w, 2).net_cpu_s, 0.1 + 8 * 0.015, 1e-12);
    w.network->out[0].loss_ratio = 0.01;
    CU_ASSERT_DOUBLE_EQUAL(chosen(&w, 2).net_cpu_s, 1.2, 1e-12);
    world_release(&w);
    world_init(&w, 80, 1e6, 0.01);
    CU_ASSERT_DOUBLE_EQUAL(chosen(&w, 2).net_cpu_s, 1.05, 1e-12);
    world_release(&w);
}

/* No round trip takes more than 2.5 s of real time, and nothing is dilated beyond 64. */
static void most(void)
{
    struct world w;
    world_init(&w, 3, 1e9, 0.3);
    w.run.net_cpu_s_per_gbit = 1e3;
    CU_ASSERT_DOUBLE_EQUAL(strait_emu_dilation_most(&w.run), 2.5 / 0.3, 1e-9);
    CU_ASSERT_EQUAL(chosen(&w, 2).k, 8);
    w.network->in[1].delay_s += 0.2; /* the longest of all pairs counts */
    CU_ASSERT_DOUBLE_EQUAL(strait_emu_dilation_most(&w.run), 5, 1e-9);
    w.network->in[1].delay_s = 9; /* and never below 1 */
    CU_ASSERT_EQUAL(chosen(&w, 2).k, 1);
    world_release(&w);
    world_init(&w, 3, 1e9, 0);
    w.run.net_cpu_s_per_gbit = 1e3;
    CU_ASSERT(isinf(strait_emu_dilation_most(&w.run)));
    CU_ASSERT_EQUAL(chosen(&w, 2).k, 64);
    w.run.dilation = 100; /* who says so gets it */
    CU_ASSERT_EQUAL(chosen(&w, 2).k, 100);
    world_release(&w);
}

/* Jobs fill three quarters of the processors that are theirs: 5 ranks on 3 x 0.75 need 2.22, 3 that
 * measure at once 1.33; one that measures needs none. */
static void jobs(void)
{
    struct world w;
    world_init(&w, 5, 1e3, 0.01);
    CU_ASSERT_EQUAL(chosen(&w, 4).k_cpu, 1);
    w.run.measured_cost = true;
    CU_ASSERT_DOUBLE_EQUAL(chosen(&w, 4).k_cpu, 5 / 2.25, 1e-12);
    CU_ASSERT_EQUAL(chosen(&w, 4).k, 3);
    w.run.n_measuring = 3;
    CU_ASSERT_DOUBLE_EQUAL(chosen(&w, 4).k_cpu, 3 / 2.25, 1e-12);
    CU_ASSERT_EQUAL(chosen(&w, 4).k, 2);
    w.run.n_measuring = 1;
    CU_ASSERT_EQUAL(chosen(&w, 4).k_cpu, 1);
    world_release(&w);
}

/* 5 ranks that begin, 0.5 ms each, on 2 processors, none later than 5 ms: 0.25. At 4 processors
 * the network of 8 Mbps at 2 s a gigabit takes 0.016 s of 2: less. */
static void beginnings(void)
{
    struct world w;
    world_init(&w, 5, 1e6, 0.01);
    CU_ASSERT_DOUBLE_EQUAL(chosen(&w, 2).k_net, 0.25, 1e-12);
    w.run.net_cpu_s_per_gbit = 2;
    CU_ASSERT_DOUBLE_EQUAL(chosen(&w, 4).k_net, 0.125, 1e-12);
    CU_ASSERT(chosen(&w, 4).net_cpu_measured && !isnan(chosen(&w, 4).net_cpu_s));
    world_release(&w);
}

/* Three uploads into one port of 1 Gbps: the narrower end of each, and the port together. What has
 * no limit ends at 40 Gbps. */
static void active_links(void)
{
    struct world w;
    world_init(&w, 4, 1e9, 0.01);
    w.run.uses_stream = is_upload;
    CU_ASSERT_EQUAL(strait_emu_active_bits_per_s(&w.run), 1e9);
    for (int i = 1; i < 4; i++)
        w.network->out[i].rate_bits_per_s = 2e8;
    CU_ASSERT_EQUAL(strait_emu_active_bits_per_s(&w.run), 6e8);
    w.network->out[1].rate_bits_per_s = 7e8;
    CU_ASSERT_EQUAL(strait_emu_active_bits_per_s(&w.run), 1e9);
    w.network->in[0].rate_bits_per_s = INFINITY;
    CU_ASSERT_EQUAL(strait_emu_active_bits_per_s(&w.run), 11e8);
    w.network->out[1].rate_bits_per_s = INFINITY;
    CU_ASSERT_EQUAL(strait_emu_active_bits_per_s(&w.run), 40e9);
    world_release(&w);
}

/* By what /proc says. */
struct kernel {
    bool in_uml, in_virtual_time, in_qemu;
    const char *name; /* of the place where networks are registered */
};

static void see_kernel(void *arg)
{
    const struct kernel *expected = arg;
    CU_ASSERT_EQUAL(strait_emu_in_uml(), expected->in_uml);
    CU_ASSERT_EQUAL(strait_emu_in_virtual_time(), expected->in_virtual_time);
    CU_ASSERT_EQUAL(strait_emu_in_qemu(), expected->in_qemu);
    /* time that is virtual, or counts instructions, stands still where nobody works */
    CU_ASSERT_EQUAL(strait_emu_has_beat(), !expected->in_virtual_time && !expected->in_qemu);
    CU_ASSERT_STRING_EQUAL(strait_emu_registry_name(), expected->name);
}

static void kernels(void)
{
    static const struct {
        const char *cpuinfo, *cmdline;
        struct kernel expected;
    } cases[] = {
        {"processor\t: 0\nvendor_id\t: User Mode Linux\nmodel name\t: UML\n",
         "mem=64M time-travel=inf-cpu quiet\n",
         {true, true, false, "vuml"}},
        {"vendor_id\t: User Mode Linux\n", "mem=64M quiet\n", {true, false, false, "uml"}},
        {"vendor_id\t: GenuineIntel\n", "time-travel=inf-cpu\n", {.name = "root"}},
        {"vendor_id\t: GenuineIntel\nmodel name\t: User Mode Linux\n", "quiet\n", {.name = "root"}},
        {"vendor_id\t: GenuineIntel\n", "quiet STRAIT_GUEST=qemu\n", {false, false, true, "qemu"}},
        {"", "", {.name = "root"}}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct host_file files[] = {
            {"/proc/cpuinfo", cases[i].cpuinfo}, {"/proc/cmdline", cases[i].cmdline}, {NULL, NULL}};
        struct kernel expected = cases[i].expected;
        strait_test_context("case %zu", i);
        if (!with_host_files(files, see_kernel, &expected))
            return;
    }
}

/* --- in guests -------------------------------------------------------------------------------- */

static void see_virtual_time(void *arg)
{
    struct world w;
    (void)arg;
    world_init(&w, 3, 1e9, 10);
    w.run.measured_cost = true;
    struct strait_emu_dilation d = chosen(&w, 8);
    CU_ASSERT(d.k == 1 && d.k_cpu == 1 && d.k_net == 1 && d.n_compute == 7);
    w.run.dilation = 0.5;
    CU_ASSERT_EQUAL(chosen(&w, 8).k, 0.5); /* who says so gets it */
    CU_ASSERT_EQUAL(chosen(&w, 8).k_net, 1);
    world_release(&w);
}

/* 0.9 s a flow and gigabit, at most 22; of the relay 8. Ranks begin within 1.4 ms of a processor,
 * with real payload 7, when jobs make it at least 6. */
static void see_uml(void *arg)
{
    struct world w;
    (void)arg;
    world_init(&w, 3, 1e6, 0.01);
    CU_ASSERT_DOUBLE_EQUAL(chosen(&w, 2).net_cpu_s, 1.8, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(chosen(&w, 2).k_net, 0.0014 * 3 / (2 * 0.005), 1e-12);
    w.run.realisation = "relay";
    CU_ASSERT_DOUBLE_EQUAL(chosen(&w, 2).net_cpu_s, 16, 1e-12);
    w.run.realisation = "kernel";
    CU_ASSERT_DOUBLE_EQUAL(chosen(&w, 2).net_cpu_s, 1.8, 1e-12);
    w.network->in[1].loss_ratio = 0.1;
    CU_ASSERT_DOUBLE_EQUAL(chosen(&w, 2).net_cpu_s, 1.8, 1e-12);
    CU_ASSERT_EQUAL(chosen(&w, 2).k_cpu, 1);
    w.run.measured_cost = true;
    CU_ASSERT_EQUAL(chosen(&w, 2).k_cpu, 6);
    CU_ASSERT_DOUBLE_EQUAL(chosen(&w, 2).k_net, 0.007 * 3 / (2 * 0.005), 1e-12);
    world_release(&w);
    world_init(&w, 26, 1e6, 0.01); /* 25 flows: 22.5 */
    CU_ASSERT_DOUBLE_EQUAL(chosen(&w, 2).net_cpu_s, 22, 1e-12);
    world_release(&w);
}

static void see_qemu(void *arg)
{
    struct world w;
    (void)arg;
    world_init(&w, 3, 1e6, 0.01);
    CU_ASSERT_DOUBLE_EQUAL(chosen(&w, 2).net_cpu_s, 0.25 + 0.03, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(chosen(&w, 2).k_net, 0.0005 * 3 / (2 * 0.005), 1e-12);
    w.network->in[1].loss_ratio = 0.1;
    CU_ASSERT_DOUBLE_EQUAL(chosen(&w, 2).net_cpu_s, 0.28, 1e-12);
    w.run.realisation = "kernel";
    CU_ASSERT_DOUBLE_EQUAL(chosen(&w, 2).net_cpu_s, 2.2, 1e-12);
    w.run.measured_cost = true;
    CU_ASSERT_DOUBLE_EQUAL(chosen(&w, 2).k_cpu, 4, 1e-12); /* three jobs on 0.75 of one */
    world_release(&w);
    world_init(&w, 79, 1e6, 0.01); /* 78 flows: 2.56 */
    CU_ASSERT_DOUBLE_EQUAL(chosen(&w, 2).net_cpu_s, 2.2, 1e-12);
    world_release(&w);
}

static void guests(void)
{
    static const char uml[] = "vendor_id\t: User Mode Linux\n", intel[] = "vendor_id\t: Intel\n";
    static const struct {
        const char *cpuinfo, *cmdline;
        void (*see)(void *);
    } cases[] = {{uml, "time-travel=inf-cpu\n", see_virtual_time},
                 {uml, "quiet\n", see_uml},
                 {intel, "STRAIT_GUEST=qemu\n", see_qemu}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct host_file files[] = {
            {"/proc/cpuinfo", cases[i].cpuinfo}, {"/proc/cmdline", cases[i].cmdline}, {NULL, NULL}};
        strait_test_context("case %zu", i);
        if (!with_host_files(files, cases[i].see, NULL))
            return;
    }
}

static const struct strait_test tests[] = {
    {"a guest is known by its processor, its time by its kernel's words", kernels},
    {"one of more than two processors is the network's", processors},
    {"what a gigabit costs grows with the flows, up to an end", cost_of_the_network},
    {"no round trip gets too long, and no run", most},
    {"jobs leave a quarter of their processors idle", jobs},
    {"ranks that begin at once are in time", beginnings},
    {"guests have their own costs, and virtual time none", guests},
    {"links that share a port are active as far as it goes", active_links},
};
STRAIT_SUITE("emu/host/dilation", tests);
