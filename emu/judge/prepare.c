/* Compare what the run asks for with what the host offers. */
#include "prepare.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/clock.h"
#include "core/host.h"
#include "emu/host/dilation.h"
#include "emu/links/userns.h"
#include "emu/process/shared.h"

/* Whatever this kernel lacks or this user may not do. */
#define OTHER_KERNEL " (--launcher vuml or uml brings a kernel that has it)"
enum { SEGMENT_BYTES = 1448, WINDOW_SEGMENTS = 10 }; /* of this kernel: MTU 1500, RFC 6928 */
/* Of free memory; more in a guest in virtual time, which runs nothing else. */
static const double MEMORY_SHARE = 0.8, VIRTUAL_MEMORY_SHARE = 0.95;
/* Dilation makes any rate feasible, but a path's delay must stay above the relay's lateness. */
static const double MAX_LINK_BITS_PER_S = 40e9;

bool strait_emu_is_loopback(const struct strait_run *run)
{
    return run->control && strcmp(run->control, "loopback") == 0;
}

static const char hystart_path[] = "/sys/module/tcp_cubic/parameters/hystart";

bool strait_emu_hystart_is_on(void)
{
    int on = 1;
    FILE *f = fopen(hystart_path, "r");
    if (!f)
        return true; /* the kernel's default */
    if (fscanf(f, "%d", &on) != 1)
        on = 1;
    fclose(f);
    return on != 0;
}

int strait_emu_ask_hystart(const struct strait_tcp *tcp, double k, struct strait_error *err)
{
    if (!tcp->hystart || (k <= 1 && strait_emu_hystart_is_on()))
        return 0;
    if (k > 1)
        return strait_refuse(err, "emu",
                             "expected no HyStart at dilation %g, found \"hystart\" true: its "
                             "delays are not dilated (--launcher vuml)",
                             k);
    FILE *f = strait_emu_in_virtual_time() ? fopen(hystart_path, "w") : NULL;
    const bool written = f && fputs("1\n", f) >= 0;
    if (f && fclose(f) == 0 && written && strait_emu_hystart_is_on())
        return 0;
    return strait_error_set(err, STRAIT_ERR_HOST, "emu",
                            "HyStart is off in this kernel (%s), \"hystart\" asks for it: "
                            "--launcher vuml",
                            hystart_path);
}

static int check_tcp(const struct strait_run *run, double k, struct strait_error *err)
{
    const struct strait_tcp *tcp = &run->network->tcp;
    if (strait_emu_ask_hystart(tcp, k, err) != 0)
        return -1;
    if (tcp->congestion == STRAIT_CUBIC && k > 1 && strait_emu_hystart_is_on())
        return strait_refuse(
            err, "emu",
            "expected congestion control reno or bbr at dilation %g, found cubic, whose HyStart is "
            "on and not dilated (it is off in guests: --launcher vuml, uml)",
            k);
    if (tcp->segment_bytes != SEGMENT_BYTES)
        return strait_refuse(err, "emu",
                             "expected TCP segments of %d bytes, this kernel's, found %g",
                             SEGMENT_BYTES, tcp->segment_bytes);
    if (tcp->initial_window_bytes != SEGMENT_BYTES * WINDOW_SEGMENTS)
        return strait_refuse(err, "emu",
                             "expected an initial window of %d bytes, this kernel's, found %g",
                             SEGMENT_BYTES * WINDOW_SEGMENTS, tcp->initial_window_bytes);
    const double max_k = strait_emu_dilation_most(run);
    if (k > max_k)
        return strait_refuse(err, "emu",
                             "expected a dilation of at most %g, found %g: the longest round trip "
                             "would take more than %g s",
                             max_k, k, STRAIT_EMU_MAX_REAL_RTT_S);
    return 0;
}

static bool is_auto(const char *name)
{
    return !name || strcmp(name, "auto") == 0;
}

/* Whether the network needs netem. */
static bool needs_netem(const struct strait_network *n)
{
    for (int i = 0; i < n->n_ranks; i++)
        if (n->out[i].delay_s + n->in[i].delay_s + n->out[i].loss_ratio + n->in[i].loss_ratio > 0 ||
            n->out[i].jitter || n->in[i].jitter)
            return true;
    return false;
}

int strait_emu_choose_realisation(enum strait_emu_realisation *out, const struct strait_run *run,
                                  const struct strait_emu_ability *can, struct strait_error *err)
{
    const struct strait_emu_answer *kernel =
        can->tbf.yes && needs_netem(run->network) ? &can->netem : &can->tbf;
    const bool sites = run->network->n_sites > 0; /* only the relay has their links */
    /* The relay loses the same packets as the prediction, netem others. */
    const bool relays = sites || (can->tun.yes && strait_network_loses(run->network));
    if (is_auto(run->realisation)) {
        if (can->netem.yes && !relays)
            *out = STRAIT_EMU_KERNEL;
        else if (can->tun.yes)
            *out = STRAIT_EMU_RELAY;
        else if (kernel->yes && !sites)
            *out = STRAIT_EMU_KERNEL;
        else
            return strait_error_set(
                err, STRAIT_ERR_HOST, "emu", "no tun device: %s; %s" OTHER_KERNEL, can->tun.reason,
                sites ? "the kernel's own links make stars only" : kernel->reason);
        return 0;
    }
    *out = strcmp(run->realisation, "kernel") == 0 ? STRAIT_EMU_KERNEL : STRAIT_EMU_RELAY;
    if (*out == STRAIT_EMU_KERNEL && sites)
        return strait_error_set(err, STRAIT_ERR_HOST, "emu",
                                "the kernel realisation makes stars only: expected the relay "
                                "for a network with %d sites",
                                run->network->n_sites);
    if (*out == STRAIT_EMU_KERNEL && !kernel->yes)
        return strait_error_set(err, STRAIT_ERR_HOST, "emu", "%s" OTHER_KERNEL, kernel->reason);
    if (*out == STRAIT_EMU_RELAY && !can->tun.yes)
        return strait_error_set(err, STRAIT_ERR_HOST, "emu", "no tun device: %s" OTHER_KERNEL,
                                can->tun.reason);
    return 0;
}

/* What this host can do, tried once where it can do something: it takes some 40 ms, and a sweep
 * asks at each point. */
static int ability_of(struct strait_emu_ability *out, const char *tun_path,
                      struct strait_error *err)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static struct strait_emu_ability found;
    static char path[256];
    const char *this = tun_path ? tun_path : "";
    pthread_mutex_lock(&mutex);
    bool known = found.ping.yes && strcmp(path, this) == 0;
    if (known)
        *out = found;
    pthread_mutex_unlock(&mutex);
    if (known)
        return 0;
    if (strait_emu_net_probe(out, tun_path, err) != 0)
        return -1;
    pthread_mutex_lock(&mutex);
    found = *out;
    known = (size_t)snprintf(path, sizeof(path), "%s", this) < sizeof(path);
    found.ping.yes &= known;
    pthread_mutex_unlock(&mutex);
    return 0;
}

static int check_host(enum strait_emu_realisation *realisation, const struct strait_run *run,
                      const char *tun_path, struct strait_error *err)
{
    *realisation = STRAIT_EMU_RELAY;
    const double free_bytes = strait_host_memory_bytes("MemAvailable");
    const double share = strait_emu_in_virtual_time() ? VIRTUAL_MEMORY_SHARE : MEMORY_SHARE;
    const double needed_bytes = fmax(run->allocated_bytes, run->memory_bytes);
    if (run->real_payload && needed_bytes > share * free_bytes)
        return strait_error_set(err, STRAIT_ERR_HOST, "emu",
                                "the ranks would hold %.3g GB, this machine has %.3g GB free "
                                "and may give %.0f %% of it",
                                needed_bytes / 1e9, free_bytes / 1e9, 100 * share);
    if (strait_emu_is_loopback(run))
        return 0;
    if (strait_emu_in_virtual_time() && run->measured_cost && !getenv(STRAIT_HOST_CPU))
        return strait_error_set(err, STRAIT_ERR_HOST, "emu",
                                "this kernel in virtual time does not tell what work takes: "
                                "expected one of make vkernel");
    struct strait_emu_ability can;
    if (ability_of(&can, tun_path, err) != 0)
        return -1;
    if (!can.in_place.yes && !can.userns.yes)
        return strait_error_set(err, STRAIT_ERR_HOST, "emu", "no namespaces: %s; %s",
                                can.in_place.reason, can.userns.reason);
    if (strait_emu_choose_realisation(realisation, run, &can, err) != 0)
        return -1;
    if (!can.ping.yes)
        return strait_error_set(err, STRAIT_ERR_HOST, "emu", "no probe of the delay: %s",
                                can.ping.reason);
    const char *name = strait_congestion_name(run->network->tcp.congestion);
    if (!strstr(can.congestion, name))
        return strait_error_set(err, STRAIT_ERR_HOST, "emu",
                                "this kernel lets no socket use %s, only %s", name, can.congestion);
    return 0;
}

static int check_names(const struct strait_run *run, struct strait_error *err)
{
    if (!is_auto(run->realisation) && strcmp(run->realisation, "relay") != 0 &&
        strcmp(run->realisation, "kernel") != 0)
        return strait_refuse(err, "emu",
                             "expected the realisation relay, kernel or auto, found \"%s\"",
                             run->realisation);
    if (!is_auto(run->launcher) && strcmp(run->launcher, "root") != 0 &&
        strcmp(run->launcher, "userns") != 0)
        return strait_refuse(err, "emu", "expected the launcher root, userns or auto, found \"%s\"",
                             run->launcher);
    return 0;
}

int strait_emu_prepare(enum strait_emu_realisation *realisation, const struct strait_run *run,
                       const char *tun_path, struct strait_error *err)
{
    const struct strait_network *n = run->network;
    if (check_names(run, err) != 0)
        return -1;
    if (run->n_ranks < 1 || !n || n->n_ranks != run->n_ranks)
        return strait_refuse(err, "emu", "expected a network of %d ranks, found one of %d",
                             run->n_ranks, n ? n->n_ranks : 0);
    if (run->control && strcmp(run->control, "unshaped") != 0 && !strait_emu_is_loopback(run))
        return strait_refuse(err, "emu",
                             "expected the control \"unshaped\" or \"loopback\", found \"%s\"",
                             run->control);
    if (run->dilation != 0 && !(run->dilation >= 1 && run->dilation <= 1000))
        return strait_refuse(err, "emu", "expected a dilation of 1 to 1000, found %g",
                             run->dilation);
    if (strait_emu_shared_check(run, err) != 0)
        return -1;
    for (int i = 0; i < 2 * (run->n_ranks + n->n_sites); i++) {
        const struct strait_link *l = strait_network_link(n, i);
        if (!(l->rate_bits_per_s > 0 && l->delay_s >= 0))
            return strait_refuse(
                err, "emu", "expected rates above 0 and delays of at least 0 at the port of %s %d",
                i / 2 < run->n_ranks ? "rank" : "site",
                i / 2 < run->n_ranks ? i / 2 : i / 2 - run->n_ranks);
    }
    for (int i = 0; i < strait_network_n_links(n) && !strait_emu_is_loopback(run); i++) {
        const double rate = strait_network_link(n, i)->rate_bits_per_s;
        if (rate > MAX_LINK_BITS_PER_S)
            return strait_error_set(err, STRAIT_ERR_HOST, "emu",
                                    "expected links of at most %g Gbps, found %g Gbps: beyond "
                                    "what it was measured to carry, use sim",
                                    MAX_LINK_BITS_PER_S / 1e9, rate / 1e9);
    }
    const double k = strait_emu_dilation_choose(run, (unsigned)strait_host_processors()).k;
    return check_tcp(run, k, err) != 0 ? -1 : check_host(realisation, run, tun_path, err);
}
