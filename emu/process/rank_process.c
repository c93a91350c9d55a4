#include "rank_process.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "emu/host/dilation.h"
#include "emu/host/rights.h"
#include "lane.h"

/* PARK_S: a cut-off lane finishes its current operation within this time. */
enum { PARK_S = 20, CONNECT_S = 120 };
/* Virtual time that a lane may be late and still compensate. Jobs that cannot, and late messages,
 * are counted where they happen; the limit is for a lane that spins until time passes. */
static const double MAX_LAG_S = 0.1;
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
    strait_emu_lane_fail(rank, err);
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
        .events = {rank, strait_emu_lane_arrived, strait_emu_lane_acknowledged, transport_failed}};
    if (plan->net && strait_emu_net_enter(plan->net, plan->me, err) != 0)
        return -1;
    if (strait_emu_transport_new(&rank->transport, &t, err) != 0)
        return -1;
    say(rank, STRAIT_EMU_LISTENING);
    expect(rank, STRAIT_EMU_CONNECT);
    return strait_emu_transport_connect(
        rank->transport, strait_emu_mono_ns() + (int64_t)CONNECT_S * 1000000000, err);
}

static int prepare(struct strait_emu_rank *rank, struct strait_error *err)
{
    struct strait_run *run = rank->plan.run;
    unsigned n_slots[STRAIT_N_RESOURCES];
    for (int i = 0; i < STRAIT_N_RESOURCES; i++)
        n_slots[i] = run->n_slots(run, rank->plan.me, (enum strait_resource)i);
    pthread_mutex_init(&rank->lock, NULL);
    strait_emu_inbox_init(&rank->inbox);
    rank->news = eventfd(0, EFD_CLOEXEC);
    if (rank->news < 0)
        return strait_error_system(err, "eventfd", "cannot be made");
    if (strait_emu_slots_init(&rank->slots, &rank->lock, &rank->plan.shared->compute, n_slots,
                              err) != 0)
        return -1;
    rank->first = strait_emu_lane_new(rank);
    if (!rank->first)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for a lane");
    if (run->rank_begin)
        run->rank_begin(&rank->first->base);
    if (open_transport(rank, err) != 0)
        return -1;
    /* From here on it reads what others send and runs codecs: it needs to be prompt, no more. */
    return strait_emu_rights_drop(STRAIT_EMU_KEEP_NICE, true, err);
}

static void program(struct strait_rank *r, void *arg)
{
    const struct strait_emu_clock *clock = arg;
    strait_emu_sleep_until_ns(clock->start_ns);
    r->run->rank_main(r);
}

/* Of all threads. */
static double process_cpu_s(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

/* Of all existing threads: second field of their schedstat. */
static double run_delay_s(void)
{
    double sum_s = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *e; tasks && (e = readdir(tasks));) {
        char path[320];
        unsigned long long delay_ns;
        snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", e->d_name);
        FILE *f = *e->d_name == '.' ? NULL : fopen(path, "re");
        if (f && fscanf(f, "%*u %llu", &delay_ns) == 1)
            sum_s += 1e-9 * (double)delay_ns;
        if (f)
            fclose(f);
    }
    if (tasks)
        closedir(tasks);
    return sum_s;
}

static int begin(struct strait_emu_rank *rank, struct strait_error *err)
{
    struct strait_emu_shared *shared = rank->plan.shared;
    rank->cpu_before_s = process_cpu_s();
    rank->delay_before_s = run_delay_s();
    rank->clock = (struct strait_emu_clock){shared->start_ns, shared->dilation};
    rank->max_lag_ns = strait_emu_clock_real_ns(&rank->clock, MAX_LAG_S);
    rank->begun_late_s = fmax(0, 1e-9 * (double)(strait_emu_mono_ns() - rank->clock.start_ns));
    strait_emu_slots_begin(&rank->slots, &rank->clock);
    if (strait_emu_transport_start(rank->transport, err) != 0)
        return -1;
    struct strait_emu_lane *lane = rank->first;
    lane->fn = program;
    lane->now_ns = rank->clock.start_ns;
    lane->arg = &rank->clock;
    pthread_mutex_lock(&rank->lock);
    const int failed = strait_emu_lane_begin(lane, err);
    pthread_mutex_unlock(&rank->lock);
    return failed;
}

/* Lanes that could still change the rank's log. */
static int n_moving(struct strait_emu_rank *rank)
{
    pthread_mutex_lock(&rank->lock);
    int n = -rank->n_parked;
    for (const struct strait_emu_lane *l = rank->lanes; l; l = l->next)
        n += !l->ended;
    pthread_mutex_unlock(&rank->lock);
    return n;
}

static void stop_lanes(struct strait_emu_rank *rank)
{
    pthread_mutex_lock(&rank->lock);
    rank->stopping = true;
    for (struct strait_emu_lane *l = rank->lanes; l; l = l->next)
        pthread_cond_signal(&l->moved);
    pthread_mutex_unlock(&rank->lock);
}

/* Wait until all lanes have ended, or are parked because the supervisor says stop. */
static int wait_for_lanes(struct strait_emu_rank *rank, struct strait_error *err)
{
    int64_t give_up_ns = 0;
    while (n_moving(rank) > 0) {
        struct pollfd p[2] = {{.fd = rank->news, .events = POLLIN},
                              {.fd = rank->plan.control, .events = POLLIN}};
        if (poll(p, 2, give_up_ns ? 100 : -1) < 0 && errno != EINTR)
            return strait_error_system(err, "poll", "failed");
        uint64_t count;
        if ((p[0].revents & POLLIN) && read(rank->news, &count, sizeof(count)) < 0)
            return strait_error_system(err, "eventfd", "cannot be read");
        if (p[1].revents) {
            expect(rank, STRAIT_EMU_STOP);
            give_up_ns = strait_emu_mono_ns() + (int64_t)PARK_S * 1000000000;
            stop_lanes(rank);
        }
        if (give_up_ns && strait_emu_mono_ns() > give_up_ns)
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
    pthread_mutex_lock(&rank->lock);
    mine->bytes_sent = f.bytes_sent;
    mine->sent_checksum = f.sent_checksum;
    mine->bytes_received = f.bytes_received;
    mine->n_retransmits = f.n_retransmits;
    mine->write_late_max_s = f.write_late_max_s;
    mine->read_late_max_s = f.read_late_max_s;
    mine->stall_max_s = fmax(f.stall_max_s, rank->begun_late_s);
    mine->slip_sum_s = rank->slots.slip_sum_s;
    mine->slip_max_s = rank->slots.slip_max_s;
    mine->cpu_s = process_cpu_s() - rank->cpu_before_s;
    mine->run_delay_s = fmax(0, run_delay_s() - rank->delay_before_s);
    mine->job_cpu_s = rank->slots.cpu_s;
    mine->n_measured = rank->slots.n_measured;
    mine->n_slow = rank->slots.n_slow;
    pthread_mutex_unlock(&rank->lock);
}

/* Join threads of lanes that nobody joined. */
static void reap_lanes(struct strait_emu_rank *rank)
{
    for (struct strait_emu_lane *l = rank->lanes; l; l = l->next) {
        pthread_mutex_lock(&rank->lock);
        const bool ended = l->ended;
        pthread_mutex_unlock(&rank->lock);
        if (ended)
            pthread_join(l->thread, NULL);
    }
}

/* The program has ended: drop what arrives from now on, wait until everything sent is carried, then
 * write the log. */
static int end(struct strait_emu_rank *rank, struct strait_error *err)
{
    pthread_mutex_lock(&rank->lock);
    strait_emu_inbox_close(&rank->inbox);
    rank->mine->returned_s = strait_emu_clock_virtual_s(&rank->clock, strait_emu_mono_ns());
    const bool cut_off = rank->stopping;
    pthread_mutex_unlock(&rank->lock);
    reap_lanes(rank);
    if (!cut_off)
        strait_emu_transport_drain(rank->transport);
    say(rank, STRAIT_EMU_DONE);
    while (hear(rank) != STRAIT_EMU_END) /* a stop may cross our own end */
        ;
    strait_emu_transport_stop(rank->transport);
    strait_emu_slots_halt(&rank->slots);
    if (rank->plan.run->rank_end) /* nobody holds anything that it sent any more */
        rank->plan.run->rank_end(&rank->first->base);
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
    rank->plan = *plan;
    rank->mine = &plan->shared->ranks[plan->me];
    if (prepare(rank, &err) != 0)
        strait_emu_lane_fail(rank, &err);
    say(rank, STRAIT_EMU_READY);
    expect(rank, STRAIT_EMU_GO);
    if (begin(rank, &err) != 0 || wait_for_lanes(rank, &err) != 0 || end(rank, &err) != 0)
        strait_emu_lane_fail(rank, &err);
    _exit(EXIT_SUCCESS);
}
