#include "dilation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "emu/guest/qemu.h"

/* CPU seconds for one gigabit through relay and two TCP stacks, fitted to runs of 1 to 64 flows:
 * with more flows the super-packets are shorter. */
static const double NET_CPU_ONE_S = 0.10, NET_CPU_EACH_S = 0.015, NET_CPU_MAX_S = 1.05;
/* The same in User-Mode Linux, where every timer and every process switch costs host time, and
 * trains get shorter as k grows: 12 to 15 s with 16 flows at k of 20 to 64. Uploads are correct
 * from k = 20 on, with 1 and 4 flows from 1 and 2 on. The relay needs more: with one flow it is
 * late at k of 2 to 4 and in time at 16, with 4 at 8 and at 24, with 16 at 29 and at 50, the
 * largest k that the round trip allows (strait_emu_dilation_most). */
static const double UML_EACH_S = 0.9, UML_MAX_S = 22, UML_MIN_K = 6, UML_RELAY_EACH_S = 8;
/* Processor time to begin a message: all ranks may begin at once, and none may be more than LATE_S
 * times k late (validity.c). 64 were 5 to 16 ms late on two processors at k = 1; in User-Mode
 * Linux, on one, 16 were 23 ms late, and with real payload each takes 7 ms, since the host takes
 * that processor away for 20 ms now and then. */
static const double BEGIN_S = 0.0005, UML_BEGIN_S = 0.0014, UML_PAYLOAD_BEGIN_S = 0.007;
static const double LATE_S = 0.005;
/* The same in QEMU's guest, where it counts instructions and is reproducible, from uploads of 4 to
 * 24 MB over the kernel's links: 0.26, 0.35, 0.59 and 2.2 with 1, 4, 16 and 64 flows. */
static const double QEMU_ONE_S = 0.25, QEMU_EACH_S = 0.03, QEMU_MAX_S = 2.2;
/* Every segment separately, as loss drawn by the kernel requires. */
static const double NET_CPU_LOSS_S = 1.2;
/* The rate assumed for an unlimited link. */
static const double MAX_BITS_PER_S = 40e9;
/* Share of all processors for the network, and of the spare ones for jobs. */
static const double NET_SHARE = 0.5, COMPUTE_SHARE = 0.75;
static const double MAX_K = 64;

bool strait_emu_in_uml(void)
{
    char line[128];
    bool found = false;
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && !found && fgets(line, sizeof(line), f))
        found = strncmp(line, "vendor_id", 9) == 0 && strstr(line, "User Mode Linux") != NULL;
    if (f)
        fclose(f);
    return found;
}

static bool kernel_was_told(const char *words)
{
    char line[8192] = "";
    FILE *f = fopen("/proc/cmdline", "re");
    const bool found = f && fgets(line, sizeof(line), f) && strstr(line, words) != NULL;
    if (f)
        fclose(f);
    return found;
}

bool strait_emu_in_virtual_time(void)
{
    return strait_emu_in_uml() && kernel_was_told("time-travel=inf-cpu");
}

bool strait_emu_in_qemu(void)
{
    return kernel_was_told(STRAIT_EMU_QEMU_MARK);
}

bool strait_emu_has_beat(void)
{
    return !strait_emu_in_virtual_time() && !strait_emu_in_qemu();
}

const char *strait_emu_registry_name(void)
{
    return strait_emu_in_virtual_time() ? "vuml"
           : strait_emu_in_uml()        ? "uml"
           : strait_emu_in_qemu()       ? "qemu"
                                        : "root";
}

static bool talks(const struct strait_run *run, int src, int dst)
{
    if (src == dst)
        return false;
    if (!run->uses_stream)
        return true;
    for (int c = 0; c < STRAIT_MAX_CHANNELS; c++)
        if (run->uses_stream(run, src, dst, c))
            return true;
    return false;
}

double strait_emu_active_bits_per_s(const struct strait_run *run)
{
    double *left = calloc((size_t)run->n_ranks, sizeof(*left)), sum = 0;
    if (!left)
        return MAX_BITS_PER_S;
    for (int i = 0; i < run->n_ranks; i++)
        left[i] = fmin(run->network->in[i].rate_bits_per_s, MAX_BITS_PER_S);
    for (int src = 0; src < run->n_ranks; src++) {
        double out = fmin(run->network->out[src].rate_bits_per_s, MAX_BITS_PER_S);
        for (int dst = 0; dst < run->n_ranks && out > 0; dst++) {
            const double flow = talks(run, src, dst) ? fmin(out, left[dst]) : 0;
            out -= flow;
            left[dst] -= flow;
            sum += flow;
        }
    }
    free(left);
    return sum;
}

static bool is_lossy(const struct strait_network *n)
{
    for (int i = 0; i < n->n_ranks; i++)
        if (n->out[i].loss_ratio > 0 || n->in[i].loss_ratio > 0)
            return true;
    return false;
}

/* If nothing was measured. */
static double built_in_net_cpu_s(const struct strait_run *run)
{
    const bool kernel = run->realisation && strcmp(run->realisation, "kernel") == 0,
               relay = run->realisation && strcmp(run->realisation, "relay") == 0;
    const double n_flows = (run->n_ranks - 1.0) * strait_tcp_n_connections(&run->network->tcp);
    const bool qemu = strait_emu_in_qemu();
    if (strait_emu_in_uml())
        return relay ? UML_RELAY_EACH_S * n_flows : fmin(UML_EACH_S * n_flows, UML_MAX_S);
    double net_cpu_s = qemu ? fmin(QEMU_ONE_S + QEMU_EACH_S * (n_flows - 1), QEMU_MAX_S)
                            : fmin(NET_CPU_ONE_S + NET_CPU_EACH_S * n_flows, NET_CPU_MAX_S);
    if (kernel && is_lossy(run->network))
        net_cpu_s = fmax(net_cpu_s, qemu ? QEMU_MAX_S : NET_CPU_LOSS_S);
    return net_cpu_s;
}

static double begin_s(const struct strait_run *run)
{
    return !strait_emu_in_uml() ? BEGIN_S : run->measured_cost ? UML_PAYLOAD_BEGIN_S : UML_BEGIN_S;
}

double strait_emu_dilation_most(const struct strait_run *run)
{
    double rtt_s = 0;
    for (int i = 0; i < run->n_ranks; i++)
        for (int j = 0; j < i; j++)
            rtt_s = fmax(rtt_s, strait_path_rtt_s(run->network, i, j));
    return rtt_s > 0 ? STRAIT_EMU_MAX_REAL_RTT_S / rtt_s : INFINITY;
}

struct strait_emu_dilation strait_emu_dilation_choose(const struct strait_run *run,
                                                      unsigned n_processors)
{
    struct strait_emu_dilation d = {.k = 1, .k_cpu = 1};
    d.n_compute = n_processors > 2 && !run->one_at_a_time ? n_processors - 1 : 1;
    if (strait_emu_in_virtual_time()) { /* everything is in time, however long it takes */
        d.k = run->dilation > 0 ? run->dilation : 1;
        d.k_net = 1;
        return d;
    }
    const int n_measuring = run->n_measuring > 0 ? run->n_measuring : run->n_ranks;
    if (run->measured_cost)
        d.k_cpu = fmax(1, n_measuring / (COMPUTE_SHARE * d.n_compute));
    if (run->training_load > 0)
        d.k_cpu = fmax(d.k_cpu, run->training_load / (COMPUTE_SHARE * d.n_compute));
    d.net_cpu_measured = run->net_cpu_s_per_gbit > 0;
    d.net_cpu_s = d.net_cpu_measured ? run->net_cpu_s_per_gbit : built_in_net_cpu_s(run);
    d.k_net = d.net_cpu_s * strait_emu_active_bits_per_s(run) / 1e9 / (NET_SHARE * n_processors);
    if (strait_emu_in_uml() && run->measured_cost)
        d.k_cpu = fmax(d.k_cpu, UML_MIN_K);
    d.k_net = fmax(d.k_net, begin_s(run) * run->n_ranks / (n_processors * LATE_S));
    d.k = fmin(ceil(fmax(d.k_cpu, d.k_net)), MAX_K); /* wall time is proportional to k */
    d.k = fmax(fmin(d.k, floor(strait_emu_dilation_most(run))), 1);
    if (run->dilation > 0)
        d.k = run->dilation;
    return d;
}
