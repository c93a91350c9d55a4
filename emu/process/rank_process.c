#include "rank_process.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "emu/host/dilation.h"
#include "emu/host/rights.h"
#include "emu/host/syscalls.h"
#include "run_delay.h"

/* PARK_S: a cut-off lane finishes its current operation within this time. */
enum { PARK_S = 20, CONNECT_S = 120 };
/* Virtual time between two beats of a rank: what stops it for twice as long is noticed. */
static const double BEAT_S = 0.005;

static uint32_t loopback_address(int rank)
{
    (void)rank;
    return htonl(INADDR_LOOPBACK);
}

/* The supervisor's next message; 0: it is gone, and this rank is not needed any more. */
static char hear(struct strait_emu_rank *rank)
{
    char word;
    if (TEMP_FAILURE_RETRY(recv(rank->plan.control, &word, 1, 0)) != 1)
        _exit(EXIT_FAILURE);
    return word;
}

static void say(struct strait_emu_rank *rank, enum strait_emu_word word)
{
    const char c = (char)word;
    while (send(rank->plan.control, &c, 1, MSG_NOSIGNAL) < 0)
        if (errno != EINTR)
            _exit(EXIT_FAILURE);
}

static void expect(struct strait_emu_rank *rank, enum strait_emu_word word)
{
    if (hear(rank) != (char)word)
        _exit(EXIT_FAILURE);
}

/* A broken connection usually means that its other end was ended, which the supervisor reports
 * better: leave it the time. */
static void transport_failed(void *of, const struct strait_error *err)
{
    struct strait_emu_rank *rank = of;
    sleep(2);
    strait_proc_rank_fail(&rank->base, err);
}

void strait_emu_rank_arrived(void *of, struct strait_message *message, int channel, int64_t mono_ns)
{
    struct strait_emu_rank *rank = of;
    struct strait_proc_rank *base = &rank->base;
    struct strait_emu_rank_shared *mine = rank->mine;
    const struct strait_network *net = base->run->network;
    message->arrived_s = strait_proc_clock_virtual_s(&base->clock, mono_ns);
    const int src = message->src, me = base->me;
    const double took_s = message->arrived_s - message->posted_s;
    const double min_s =
        (double)message->packet->payload_bytes / strait_path_goodput_bytes_per_s(net, src, me) +
        strait_path_delay_s(net, src, me) - strait_path_jitter_s(net, src, me);
    pthread_mutex_lock(&base->lock);
    /* tolerance of 2 % and half a real millisecond: for the clock, and for headers that a
     * super-packet saves */
    if (took_s < 0.98 * min_s - 0.0005 / base->clock.dilation - rank->plan.shared->credit_s) {
        mine->n_too_fast++;
        mine->too_fast_took_s = took_s;
        mine->too_fast_least_s = min_s;
        mine->too_fast_bytes = message->packet->payload_bytes;
    }
    strait_proc_rank_put(base, message, channel);
    atomic_fetch_add(&base->state->n_landed, 1);
    pthread_mutex_unlock(&base->lock);
}

static void acknowledged(void *of, void *ticket, int64_t mono_ns)
{
    strait_proc_rank_acknowledged(of, ticket, mono_ns);
}

static int post(struct strait_proc_rank *base, int dst, int channel, int tag,
                struct strait_packet *packet, double posted_s, int64_t posted_ns, void *ticket,
                struct strait_error *err)
{
    struct strait_emu_rank *rank = (struct strait_emu_rank *)base;
    return strait_emu_transport_post(rank->transport, dst, channel, tag, packet, posted_s,
                                     posted_ns, ticket, err);
}

static void failed(struct strait_proc_rank *base) __attribute__((noreturn));
static void failed(struct strait_proc_rank *base)
{
    (void)base; /* the supervisor reads its state */
    _exit(EXIT_FAILURE);
}

void strait_emu_rank_init(struct strait_emu_rank *rank, const struct strait_emu_rank_plan *plan)
{
    rank->plan = *plan;
    rank->mine = &plan->shared->ranks[plan->me];
    rank->base = (struct strait_proc_rank){.run = plan->run,
                                           .backend = plan->backend,
                                           .me = plan->me,
                                           .state = &rank->mine->state,
                                           .post = post,
                                           .failed = failed};
}

static int open_transport(struct strait_emu_rank *rank, struct strait_error *err)
{
    const struct strait_emu_rank_plan *plan = &rank->plan;
    const struct strait_emu_transport_plan t = {
        .shared = plan->shared,
        .me = plan->me,
        .address = plan->net ? strait_emu_net_address : loopback_address,
        .congestion = plan->run->network->tcp.congestion,
        .window_bytes = plan->run->network->tcp.window_bytes,
        .n_connections = strait_tcp_n_connections(&plan->run->network->tcp),
        .network = plan->run->network,
        .real_payload = plan->run->real_payload,
        .virtual_time = strait_emu_in_virtual_time(),
        .beat_ns = strait_emu_has_beat() ? (int64_t)(1e9 * BEAT_S * plan->shared->dilation) : 0,
        .events = {rank, strait_emu_rank_arrived, acknowledged, transport_failed}};
    if (plan->net && strait_emu_net_enter(plan->net, plan->me, err) != 0)
        return -1;
    if (strait_emu_transport_new(&rank->transport, &t, err) != 0)
        return -1;
    say(rank, STRAIT_EMU_LISTENING);
    expect(rank, STRAIT_EMU_CONNECT);
    return strait_emu_transport_connect(
        rank->transport, strait_proc_mono_ns() + (int64_t)CONNECT_S * 1000000000, err);
}

static int prepare(struct strait_emu_rank *rank, struct strait_error *err)
{
    if (strait_proc_rank_init(&rank->base, &rank->plan.shared->compute, err) != 0)
        return -1;
    if (open_transport(rank, err) != 0)
        return -1;
    /* From here on it reads what others send and runs codecs: it needs to be prompt, no more. */
    return strait_emu_rights_drop(STRAIT_EMU_KEEP_NICE, true, err) != 0
               ? -1
               : strait_emu_syscalls_refuse(err);
}

/* Of all threads. */
static double process_cpu_s(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

static int begin(struct strait_emu_rank *rank, struct strait_error *err)
{
    struct strait_emu_shared *shared = rank->plan.shared;
    rank->cpu_before_s = process_cpu_s();
    rank->delay_before_s = strait_emu_run_delay_s("/proc/self/task");
    rank->base.clock = (struct strait_proc_clock){shared->start_ns, shared->dilation};
    rank->begun_late_s = fmax(0, 1e-9 * (double)(strait_proc_mono_ns() - shared->start_ns));
    if (strait_emu_transport_start(rank->transport, err) != 0)
        return -1;
    return strait_proc_rank_begin(&rank->base, err);
}

/* Wait until all lanes have ended, or are parked because the supervisor says stop. */
static int wait_for_lanes(struct strait_emu_rank *rank, struct strait_error *err)
{
    int64_t give_up_ns = 0;
    while (strait_proc_rank_n_moving(&rank->base) > 0) {
        struct pollfd p[2] = {{.fd = rank->base.news, .events = POLLIN},
                              {.fd = rank->plan.control, .events = POLLIN}};
        if (poll(p, 2, give_up_ns ? 100 : -1) < 0 && errno != EINTR)
            return strait_error_system(err, "poll", "failed");
        uint64_t count;
        if ((p[0].revents & POLLIN) && read(rank->base.news, &count, sizeof(count)) < 0)
            return strait_error_system(err, "eventfd", "cannot be read");
        if (p[1].revents) {
            expect(rank, STRAIT_EMU_STOP);
            give_up_ns = strait_proc_mono_ns() + (int64_t)PARK_S * 1000000000;
            strait_proc_rank_stop(&rank->base);
        }
        if (give_up_ns && strait_proc_mono_ns() > give_up_ns)
            return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                    "rank %d does not stop although the run has ended",
                                    rank->plan.me);
    }
    return 0;
}

static void write_figures(struct strait_emu_rank *rank)
{
    struct strait_emu_rank_shared *mine = rank->mine;
    const struct strait_emu_transport_figures f = strait_emu_transport_figures(rank->transport);
    pthread_mutex_lock(&rank->base.lock);
    mine->bytes_sent = f.bytes_sent;
    mine->sent_checksum = f.sent_checksum;
    mine->bytes_received = f.bytes_received;
    mine->n_retransmits = f.n_retransmits;
    mine->write_late_max_s = f.write_late_max_s;
    mine->read_late_max_s = f.read_late_max_s;
    mine->stall_max_s = fmax(f.stall_max_s, rank->begun_late_s);
    mine->slip_sum_s = rank->base.slots.slip_sum_s;
    mine->slip_max_s = rank->base.slots.slip_max_s;
    mine->cpu_s = process_cpu_s() - rank->cpu_before_s;
    mine->run_delay_s = fmax(0, strait_emu_run_delay_s("/proc/self/task") - rank->delay_before_s);
    mine->job_cpu_s = rank->base.slots.cpu_s;
    mine->n_measured = rank->base.slots.n_measured;
    mine->n_slow = rank->base.slots.n_slow;
    pthread_mutex_unlock(&rank->base.lock);
}

/* The program has ended: drop what arrives from now on, wait until everything sent is carried, then
 * write the log. */
static int end(struct strait_emu_rank *rank, struct strait_error *err)
{
    const bool cut_off = rank->base.stopping; /* by this thread */
    rank->mine->returned_s = strait_proc_clock_virtual_s(&rank->base.clock, strait_proc_mono_ns());
    strait_proc_rank_close(&rank->base);
    if (!cut_off)
        strait_emu_transport_drain(rank->transport);
    say(rank, STRAIT_EMU_DONE);
    while (hear(rank) != STRAIT_EMU_END) /* a stop may cross our own end */
        ;
    strait_emu_transport_stop(rank->transport);
    strait_proc_slots_halt(&rank->base.slots);
    strait_proc_rank_end(&rank->base); /* nobody holds anything that it sent any more */
    if (rank->plan.run->logs[rank->plan.me].no_memory)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for spans");
    if (strait_log_write(rank->plan.log, &rank->plan.run->logs[rank->plan.me], err) != 0)
        return -1;
    write_figures(rank);
    say(rank, STRAIT_EMU_BYE);
    char nothing; /* connections stay open until the supervisor has heard all ranks */
    TEMP_FAILURE_RETRY(recv(rank->plan.control, &nothing, 1, 0));
    return 0;
}

void strait_emu_rank_main(const struct strait_emu_rank_plan *plan)
{
    struct strait_emu_rank *rank = calloc(1, sizeof(*rank));
    struct strait_error err = {.code = STRAIT_OK};
    if (!rank)
        _exit(EXIT_FAILURE);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_TIMERSLACK, 1UL);
    char name[16]; /* the kernel keeps 15 characters */
    snprintf(name, sizeof(name), "strait-rank-%d", plan->me);
    prctl(PR_SET_NAME, name);
    strait_emu_rank_init(rank, plan);
    if (prepare(rank, &err) != 0)
        strait_proc_rank_fail(&rank->base, &err);
    say(rank, STRAIT_EMU_READY);
    expect(rank, STRAIT_EMU_GO);
    if (begin(rank, &err) != 0 || wait_for_lanes(rank, &err) != 0 || end(rank, &err) != 0)
        strait_proc_rank_fail(&rank->base, &err);
    _exit(EXIT_SUCCESS);
}
