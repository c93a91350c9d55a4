/* Before an emulation: what it may ask for, what this host must be able to do, and by which
 * links. */
#include "emu/judge/prepare.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "emu/host/dilation.h"
#include "tests/kit/emu_world.h"
#include "tests/kit/links/host_files.h"
#include "tests/kit/suite.h"

static const char no_tun[] = "/nowhere/tun";

/* Refused with this code and text; on loopback nothing is asked of the host. */
static void refused(const struct world *w, enum strait_error_code code, const char *text)
{
    struct strait_error err = {0};
    enum strait_emu_realisation realisation;
    CU_ASSERT_EQUAL(strait_emu_prepare(&realisation, &w->run, no_tun, &err), -1);
    CU_ASSERT_EQUAL(err.code, code);
    CU_ASSERT_STRING_EQUAL(err.where, "emu");
    CU_ASSERT_STRING_EQUAL(err.text, text);
}

static void taken(const struct world *w)
{
    struct strait_error err = {0};
    enum strait_emu_realisation realisation = STRAIT_EMU_KERNEL;
    CU_ASSERT_EQUAL(strait_emu_prepare(&realisation, &w->run, no_tun, &err), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_EQUAL(realisation, STRAIT_EMU_RELAY);
}

static void set_up(struct world *w)
{
    world_init(w, 3, 1e8, 0.01);
    w->run.control = "loopback";
}

static void names(void)
{
    struct world w;
    set_up(&w);
    taken(&w);
    w.run.realisation = w.run.launcher = "auto";
    taken(&w);
    w.run.realisation = "relay";
    w.run.launcher = "root";
    taken(&w);
    w.run.realisation = "kernel";
    w.run.launcher = "userns";
    taken(&w);
    w.run.realisation = "relays";
    refused(&w, STRAIT_ERR_INPUT,
            "expected the realisation relay, kernel or auto, found \"relays\"");
    w.run.realisation = NULL;
    w.run.launcher = "uml";
    refused(&w, STRAIT_ERR_INPUT, "expected the launcher root, userns or auto, found \"uml\"");
    w.run.launcher = NULL;
    w.run.control = "no-ramp";
    refused(&w, STRAIT_ERR_INPUT,
            "expected the control \"unshaped\" or \"loopback\", found \"no-ramp\"");
    world_release(&w);
}

static void figures(void)
{
    struct world w;
    set_up(&w);
    CU_ASSERT_TRUE(strait_emu_is_loopback(&w.run));
    w.run.dilation = 1;
    taken(&w);
    w.run.dilation = 1000;
    w.network->tcp.congestion = STRAIT_RENO;
    refused(&w, STRAIT_ERR_INPUT, /* 10 ms, 2.5 s at most */
            "expected a dilation of at most 250, found 1000: the longest round trip would take "
            "more than 2.5 s");
    w.run.dilation = 250;
    taken(&w);
    w.run.dilation = 0.99;
    refused(&w, STRAIT_ERR_INPUT, "expected a dilation of 1 to 1000, found 0.99");
    w.run.dilation = 1001;
    refused(&w, STRAIT_ERR_INPUT, "expected a dilation of 1 to 1000, found 1001");
    w.run.dilation = 0;
    w.run.n_ranks = 2;
    refused(&w, STRAIT_ERR_INPUT, "expected a network of 2 ranks, found one of 3");
    w.run.n_ranks = 3;
    w.run.network = NULL;
    refused(&w, STRAIT_ERR_INPUT, "expected a network of 3 ranks, found one of 0");
    w.run.network = w.network;
    w.network->in[1].rate_bits_per_s = 0;
    refused(&w, STRAIT_ERR_INPUT,
            "expected rates above 0 and delays of at least 0 at the port of rank 1");
    w.network->in[1].rate_bits_per_s = 1e8;
    w.network->out[2].delay_s = -1e-9;
    refused(&w, STRAIT_ERR_INPUT,
            "expected rates above 0 and delays of at least 0 at the port of rank 2");
    w.network->out[2].delay_s = 0;
    taken(&w);
    w.network->tcp.segment_bytes = 1460;
    refused(&w, STRAIT_ERR_INPUT, "expected TCP segments of 1448 bytes, this kernel's, found 1460");
    w.network->tcp.segment_bytes = 1448;
    w.network->tcp.initial_window_bytes = 1448;
    refused(&w, STRAIT_ERR_INPUT,
            "expected an initial window of 14480 bytes, this kernel's, found 1448");
    w.network->tcp.initial_window_bytes = 14480;
    /* loopback has no links: their rates are as high as they like */
    w.network->out[0].rate_bits_per_s = 41e9;
    taken(&w);
    w.run.control = "unshaped";
    CU_ASSERT_FALSE(strait_emu_is_loopback(&w.run));
    refused(&w, STRAIT_ERR_HOST,
            "expected links of at most 40 Gbps, found 41 Gbps: beyond what it was measured to "
            "carry, use sim");
    w.run.control = NULL;
    CU_ASSERT_FALSE(strait_emu_is_loopback(&w.run));
    world_release(&w);
}

/* --- what this machine has ------------------------------------------------------------------ */

static void asks_for_memory(void *arg)
{
    const double *bytes = arg; /* the last that is given, the first that is not */
    struct world w;
    set_up(&w);
    w.run.real_payload = true;
    w.run.memory_bytes = bytes[0];
    taken(&w);
    w.run.memory_bytes = bytes[1];
    char text[160];
    snprintf(text, sizeof(text),
             "the ranks would hold %.3g GB, this machine has 10.2 GB free and may give %.0f %% of "
             "it",
             bytes[1] / 1e9, bytes[2]);
    refused(&w, STRAIT_ERR_HOST, text);
    w.run.memory_bytes = 0;
    w.run.allocated_bytes = bytes[1]; /* the larger of the two counts */
    refused(&w, STRAIT_ERR_HOST, text);
    w.run.real_payload = false; /* values that nobody holds */
    taken(&w);
    world_release(&w);
}

/* 10,000,000 KiB are free. */
static void memory(void)
{
    static const char meminfo[] = "MemTotal: 20000000 kB\nMemAvailable: 10000000 kB\n";
    static const char uml[] = "vendor_id\t: User Mode Linux\n";
    double here[] = {0.8 * 1024e7 - 1e3, 0.8 * 1024e7 + 1e7, 80},
           there[] = {0.95 * 1024e7 - 1e3, 0.95 * 1024e7 + 1e7, 95};
    const struct host_file files[] = {
        {"/proc/meminfo", meminfo}, {"/proc/cpuinfo", "vendor_id\t: X\n"}, {NULL, NULL}};
    const struct host_file virtual_files[] = {{"/proc/meminfo", meminfo},
                                              {"/proc/cpuinfo", uml},
                                              {"/proc/cmdline", "time-travel=inf-cpu\n"},
                                              {NULL, NULL}};
    if (with_host_files(files, asks_for_memory, here))
        with_host_files(virtual_files, asks_for_memory, there);
}

static void see_hystart(void *arg)
{
    const bool on = *(const bool *)arg;
    struct world w;
    set_up(&w);
    CU_ASSERT_EQUAL(strait_emu_hystart_is_on(), on);
    w.network->tcp.congestion = STRAIT_CUBIC;
    w.run.dilation = 1;
    taken(&w);
    w.run.dilation = 2;
    if (on)
        refused(&w, STRAIT_ERR_INPUT,
                "expected congestion control reno or bbr at dilation 2, found cubic, whose "
                "HyStart is on and not dilated (it is off in guests: --launcher vuml, uml)");
    else
        taken(&w);
    w.network->tcp.congestion = STRAIT_RENO;
    taken(&w);
    w.network->tcp.congestion = STRAIT_CUBIC;
    w.network->tcp.hystart = true;
    refused(&w, STRAIT_ERR_INPUT,
            "expected no HyStart at dilation 2, found \"hystart\" true: its delays are not dilated "
            "(--launcher vuml)");
    w.run.dilation = 1;
    if (on)
        taken(&w);
    else
        refused(&w, STRAIT_ERR_HOST,
                "HyStart is off in this kernel (/sys/module/tcp_cubic/parameters/hystart), "
                "\"hystart\" asks for it: --launcher vuml");
    world_release(&w);
}

static void hystart(void)
{
    static const char path[] = "/sys/module/tcp_cubic/parameters/hystart";
    static const struct {
        const char *text;
        bool on;
    } cases[] = {{"0\n", false}, {"1\n", true}, {"", true}, {"?", true}};
    if (access(path, F_OK) != 0) {
        CU_ASSERT_TRUE(strait_emu_hystart_is_on()); /* the kernel's default */
        strait_test_skip("this kernel says nothing of HyStart");
        return;
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct host_file files[] = {{path, cases[i].text}, {NULL, NULL}};
        bool on = cases[i].on;
        if (!with_host_files(files, see_hystart, &on))
            return;
    }
}

/* In virtual time only a kernel of ours tells what work took. */
static void measures_in_virtual_time(void *arg)
{
    (void)arg;
    struct world w;
    world_init(&w, 3, 1e8, 0.01);
    w.run.measured_cost = true;
    unsetenv("STRAIT_HOST_CPU");
    refused(&w, STRAIT_ERR_HOST,
            "this kernel in virtual time does not tell what work takes: expected one of make "
            "vkernel");
    w.run.control = "loopback";
    taken(&w);
    world_release(&w);
}

static void clocks(void)
{
    const struct host_file files[] = {{"/proc/cpuinfo", "vendor_id\t: User Mode Linux\n"},
                                      {"/proc/cmdline", "time-travel=inf-cpu\n"},
                                      {NULL, NULL}};
    with_host_files(files, measures_in_virtual_time, NULL);
}

/* --- by which links ------------------------------------------------------------------------- */

#define KERNEL_HELPS " (--launcher vuml or uml brings a kernel that has it)"

static void choices(void)
{
    static const struct {
        const char *asked;
        bool tbf, netem, tun, delay, sites; /* what works, and what the network has */
        const char *found;                  /* "kernel", "relay", or an error */
    } cases[] = {
        {NULL, true, true, true, true, false, "kernel"},
        {NULL, true, false, true, true, false, "relay"},
        {NULL, true, false, true, false, false, "relay"}, /* before links that cannot delay */
        {NULL, true, false, false, false, false, "kernel"},
        {"auto", true, true, true, true, true, "relay"}, /* sites */
        {NULL, true, true, false, true, true,
         "no tun device: tun?; the kernel's own links make stars only" KERNEL_HELPS},
        {NULL, true, false, false, true, false, "no tun device: tun?; netem?" KERNEL_HELPS},
        {NULL, false, false, false, true, false, "no tun device: tun?; tbf?" KERNEL_HELPS},
        {NULL, false, false, false, false, false, "no tun device: tun?; tbf?" KERNEL_HELPS},
        {"kernel", true, true, true, true, false, "kernel"},
        {"kernel", true, false, true, false, false, "kernel"},
        {"kernel", true, false, true, true, false, "netem?" KERNEL_HELPS},
        {"kernel", false, false, true, true, false, "tbf?" KERNEL_HELPS},
        {"kernel", true, true, true, true, true,
         "the kernel realisation makes stars only: expected the relay for a network with 1 sites"},
        {"relay", true, true, true, true, false, "relay"},
        {"relay", true, true, false, true, false, "no tun device: tun?" KERNEL_HELPS},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world w;
        struct strait_error err = {0};
        enum strait_emu_realisation out = STRAIT_EMU_RELAY;
        const struct strait_emu_ability can = {.tbf = {cases[i].tbf, "tbf?"},
                                               .netem = {cases[i].netem, "netem?"},
                                               .tun = {cases[i].tun, "tun?"}};
        strait_test_context("case %zu", i);
        world_init(&w, 3, 1e8, cases[i].delay ? 0.01 : 0);
        w.network->n_sites = cases[i].sites;
        w.run.realisation = cases[i].asked;
        const int status = strait_emu_choose_realisation(&out, &w.run, &can, &err);
        CU_ASSERT_EQUAL(err.code, status == 0 ? STRAIT_OK : STRAIT_ERR_HOST);
        CU_ASSERT_STRING_EQUAL(status != 0                ? err.text
                               : out == STRAIT_EMU_KERNEL ? "kernel"
                                                          : "relay",
                               cases[i].found);
        w.network->n_sites = 0;
        world_release(&w);
    }
}

/* Any delay or loss, of any port, is netem's. */
static void what_needs_netem(void)
{
    const struct strait_emu_ability can = {.tbf = {true, ""}, .netem = {false, "netem?"}};
    for (int i = 0; i < 8; i++) {
        struct world w;
        struct strait_error err = {0};
        enum strait_emu_realisation out = STRAIT_EMU_RELAY;
        world_init(&w, 2, 1e8, 0);
        w.run.realisation = "kernel";
        struct strait_link *link = i % 4 < 2 ? &w.network->out[i % 2] : &w.network->in[i % 2];
        *(i < 4 ? &link->delay_s : &link->loss_ratio) = 1e-3;
        CU_ASSERT_EQUAL(strait_emu_choose_realisation(&out, &w.run, &can, &err), -1);
        CU_ASSERT_STRING_EQUAL(err.text, "netem?" KERNEL_HELPS);
        world_release(&w);
    }
}

/* Rates that change and jitter by a table are made by either; the table needs netem. */
static void changing_rates(void)
{
    static const double at_s[] = {0}, bits_per_s[] = {1e8};
    struct strait_emu_ability can = {.tbf = {true, ""}, .netem = {true, ""}, .tun = {true, ""}};
    struct world w;
    struct strait_error err = {0};
    enum strait_emu_realisation out = STRAIT_EMU_RELAY;
    world_init(&w, 2, 1e8, 0);
    w.network->schedules = strait_schedule_new(1, at_s, bits_per_s, INFINITY);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w.network->schedules);
    w.network->out[1].schedule = w.network->in[1].schedule = w.network->schedules;
    CU_ASSERT_EQUAL(strait_emu_choose_realisation(&out, &w.run, &can, &err), 0);
    CU_ASSERT_EQUAL(out, STRAIT_EMU_KERNEL);
    w.run.realisation = "kernel";
    can.netem = (struct strait_emu_answer){false, "netem?"};
    CU_ASSERT_EQUAL(strait_emu_choose_realisation(&out, &w.run, &can, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_jitter_load(&w.network->jitters, "pareto", "x", &err), 0);
    w.network->out[1].jitter = w.network->jitters;
    CU_ASSERT_EQUAL(strait_emu_choose_realisation(&out, &w.run, &can, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "netem?" KERNEL_HELPS);
    world_release(&w);
}

/* The relay loses what the prediction loses, and is chosen where it can be had. */
static void losses(void)
{
    for (int tun = 0; tun < 2; tun++) {
        const struct strait_emu_ability can = {
            .tbf = {true, ""}, .netem = {true, ""}, .tun = {tun, ""}};
        struct world w;
        struct strait_error err = {0};
        enum strait_emu_realisation out = STRAIT_EMU_RELAY;
        world_init(&w, 2, 1e8, 0.01);
        w.network->in[1].loss_ratio = 1e-3;
        CU_ASSERT_EQUAL(strait_emu_choose_realisation(&out, &w.run, &can, &err), 0);
        CU_ASSERT_EQUAL(out, tun ? STRAIT_EMU_RELAY : STRAIT_EMU_KERNEL);
        w.run.realisation = "kernel";
        CU_ASSERT_EQUAL(strait_emu_choose_realisation(&out, &w.run, &can, &err), 0);
        CU_ASSERT_EQUAL(out, STRAIT_EMU_KERNEL);
        world_release(&w);
    }
}

static const struct strait_test tests[] = {
    {"realisations, launchers and controls by name", names},
    {"dilations, ranks, links and TCP at their limits", figures},
    {"of the free memory four fifths are given, in virtual time more", memory},
    {"cubic is dilated only without HyStart", hystart},
    {"in virtual time the kernel must tell what work takes", clocks},
    {"the kernel's links or the relay's, by what works here", choices},
    {"every delay and loss needs netem", what_needs_netem},
    {"losses are the relay's unless asked otherwise", losses},
    {"either makes rates that change, and jitter by a table", changing_rates},
};
STRAIT_SUITE("emu/judge/prepare", tests);
