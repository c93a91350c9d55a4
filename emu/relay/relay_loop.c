#include "relay_loop.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include "core/clock.h"
#include "emu/links/lateness.h"
#include "emu/host/dilation.h"
#include "relay.h"
#include "emu/links/segment.h"

enum { READ_BATCH = 16 }; /* packets from one device before due packets are written again */

/* The clock of the guest in virtual time has steps of 256 ns, its timers have not: who waits for
 * the next step would wait for ever. */
static const double VIRTUAL_STEP_S = 1e-6;
static const double WAKE_STEP_S = 1e-6, WAKE_FIRST_S = 30e-6, WAKE_MAX_S = 100e-6;
/* The relay wakes up this often without being asked to: a packet that came while it did not run has
 * the time at which it was read, so that its own lateness says nothing of it. */
static const double BEAT_S = 2e-3;

struct loop {
    const struct strait_emu_net_plan *plan;
    struct strait_emu_relay *relay;
    const int *tun_fds;
    int trunk_fd, control_fd, epoll_fd, timer_fd;
    double armed_s;     /* when the timer is set to fire */
    double wake_s;      /* running median of the time from an interrupt to being awake */
    double most_wake_s; /* 0: in virtual time, where nothing wakes up late */
    double step_s;      /* what is due within that is due: steps of the clock there */
    double credit_s;    /* when the event that woke us happened; NAN: use the clock */
    double began_s;
    double beat_s;    /* when it wakes up next even if nothing is due; INFINITY: never */
    double gap_max_s; /* how late it was for a beat at most */
    bool realtime;
    struct strait_emu_lateness lateness;
    uint64_t n_delivered, n_write_failures;
    struct strait_emu_link_report *links; /* of a report: out, in, between */
    unsigned char scratch[STRAIT_EMU_PACKET_CAP_BYTES];
};

/* Write all due packets. A write runs the receiver's TCP, so time passes between writes. */
static double deliver_due(struct loop *loop)
{
    double now_s = strait_clock_s();
    struct strait_emu_delivery d;
    while (strait_emu_relay_take(loop->relay, now_s + loop->step_s, &d)) {
        strait_emu_lateness_note(&loop->lateness, now_s - d.due_s);
        const ssize_t n = TEMP_FAILURE_RETRY(write(loop->tun_fds[d.dst], d.bytes, d.len_bytes));
        if (n == (ssize_t)d.len_bytes)
            loop->n_delivered++;
        else
            loop->n_write_failures++;
        strait_emu_relay_done(loop->relay, &d);
        now_s = strait_clock_s();
    }
    return now_s;
}

static void read_device(struct loop *loop, int node)
{
    const int fd = node == STRAIT_EMU_ELSEWHERE ? loop->trunk_fd : loop->tun_fds[node];
    for (int i = 0; i < READ_BATCH; i++) {
        const ssize_t n = TEMP_FAILURE_RETRY(read(fd, loop->scratch, sizeof(loop->scratch)));
        if (n <= 0)
            return;
        const double at_s = isnan(loop->credit_s) ? strait_clock_s() : loop->credit_s;
        loop->credit_s = NAN;
        strait_emu_relay_offer(loop->relay, at_s, node, loop->scratch, (size_t)n);
    }
}

/* Set the timer early by the time that waking up takes; turn() polls for the rest. */
static void arm(struct loop *loop)
{
    const double target_s = fmin(strait_emu_relay_next_s(loop->relay) - loop->wake_s, loop->beat_s);
    if (target_s == loop->armed_s)
        return;
    struct itimerspec t = {0}; /* no packet under way and no beat: no timer */
    if (isfinite(target_s)) {
        const double whole_s = floor(target_s);
        t.it_value.tv_sec = (time_t)whole_s;
        t.it_value.tv_nsec = (long)((target_s - whole_s) * 1e9);
    }
    timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &t, NULL);
    loop->armed_s = target_s;
}

/* Note how late the relay is for its beat: it was stopped, or busy, or had no processor. */
static void beat(struct loop *loop, double now_s)
{
    if (now_s < loop->beat_s)
        return;
    loop->gap_max_s = fmax(loop->gap_max_s, now_s - loop->beat_s);
    loop->beat_s = now_s + BEAT_S;
}

/* The timer fired: update the median of wake-up times. */
static void fired(struct loop *loop, double woke_s)
{
    const double took_s = woke_s - loop->armed_s;
    loop->wake_s += took_s > loop->wake_s ? WAKE_STEP_S : -WAKE_STEP_S;
    loop->wake_s = fmin(fmax(loop->wake_s, 0), loop->most_wake_s);
    loop->armed_s = INFINITY; /* edge-triggered: nothing to read */
}

static bool send_all(int fd, const void *bytes, size_t n_bytes)
{
    for (size_t done = 0; done < n_bytes;) {
        const ssize_t n = send(fd, (const char *)bytes + done, n_bytes - done, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* False when it cannot be said: whoever asked would wait, and hears at once that this has ended. */
static bool report(struct loop *loop, bool restart)
{
    const int n = loop->plan->n_nodes, n_links = strait_emu_relay_n_links(loop->relay);
    const double now_s = strait_clock_s();
    struct strait_emu_relay_report totals = {
        .at_s = now_s,
        .n_nodes = n,
        .n_between = n_links - 2 * n,
        .n_delivered = loop->n_delivered,
        .n_write_failures = loop->n_write_failures,
        .late_p50_s = strait_emu_lateness_quantile_s(&loop->lateness, 0.5),
        .late_p99_s = strait_emu_lateness_quantile_s(&loop->lateness, 0.99),
        .late_p999_s = strait_emu_lateness_quantile_s(&loop->lateness, 0.999),
        .late_max_s = loop->lateness.max_s,
        .gap_max_s = loop->gap_max_s,
        .cpu_s = strait_clock_read_s(CLOCK_PROCESS_CPUTIME_ID),
        .wall_s = now_s - loop->began_s,
        .realtime = loop->realtime,
    };
    strait_emu_relay_totals(&totals, loop->relay);
    for (int i = 0; i < n_links; i++)
        loop->links[i < 2 * n ? i / 2 + n * (i % 2) : i] =
            strait_emu_relay_link(loop->relay, i, now_s);
    if (!send_all(loop->control_fd, &totals, sizeof(totals)) ||
        !send_all(loop->control_fd, loop->links, (size_t)n_links * sizeof(*loop->links)))
        return false;
    if (!restart)
        return true;
    strait_emu_relay_restart_counters(loop->relay);
    loop->lateness = (struct strait_emu_lateness){.max_s = 0};
    loop->n_delivered = loop->n_write_failures = 0;
    loop->gap_max_s = 0;
    return true;
}

/* False when the other side has closed, or does not hear. */
static bool answer_control(struct loop *loop)
{
    char command;
    const ssize_t n = recv(loop->control_fd, &command, 1, MSG_DONTWAIT);
    if (n == 0)
        return false;
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    return report(loop, command == STRAIT_EMU_RELAY_RESTART);
}

static bool watch(int epoll_fd, int fd, uint32_t events, int id)
{
    struct epoll_event e = {.events = events, .data = {.u64 = (uint64_t)id}};
    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &e) == 0;
}

static bool prepare(struct loop *loop)
{
    const int n = loop->plan->n_nodes;
    loop->relay = strait_emu_relay_new(loop->plan, NULL);
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (!loop->relay || loop->epoll_fd < 0 || loop->timer_fd < 0)
        return false;
    loop->links = calloc((size_t)strait_emu_relay_n_links(loop->relay), sizeof(*loop->links));
    if (!loop->links)
        return false;
    for (int i = 0; i < n; i++)
        if (strait_emu_trunk_has(loop->plan->trunk, i) &&
            !watch(loop->epoll_fd, loop->tun_fds[i], EPOLLIN, i))
            return false;
    if (loop->trunk_fd >= 0 && !watch(loop->epoll_fd, loop->trunk_fd, EPOLLIN, n + 2))
        return false;
    return watch(loop->epoll_fd, loop->timer_fd, EPOLLIN | EPOLLET, n) &&
           watch(loop->epoll_fd, loop->control_fd, EPOLLIN, n + 1);
}

static void turn(struct loop *loop)
{
    enum { MAX_EVENTS = 64 };
    struct epoll_event events[MAX_EVENTS];
    const int n_nodes = loop->plan->n_nodes;
    for (;;) {
        const double now_s = deliver_due(loop);
        beat(loop, now_s);
        const bool soon =
            strait_emu_relay_next_s(loop->relay) - loop->wake_s <= now_s + loop->step_s;
        if (!soon)
            arm(loop);
        const int n = epoll_wait(loop->epoll_fd, events, MAX_EVENTS, soon ? 0 : -1);
        if (n < 0 && errno != EINTR)
            return;
        const double woke_s = strait_clock_s();
        /* A packet that woke us arrived before we were awake, but not before we slept. */
        loop->credit_s = soon ? NAN : fmax(now_s, woke_s - loop->wake_s);
        for (int i = 0; i < n; i++) {
            const int id = (int)events[i].data.u64;
            if (id < n_nodes || id == n_nodes + 2) {
                read_device(loop, id < n_nodes ? id : STRAIT_EMU_ELSEWHERE);
                deliver_due(loop);
            } else if (id == n_nodes) {
                fired(loop, woke_s);
            } else if (!answer_control(loop)) {
                return;
            }
            loop->credit_s = NAN;
        }
    }
}

void strait_emu_relay_loop(const struct strait_emu_net_plan *plan, const int *tun_fds, int trunk_fd,
                           int control_fd, bool realtime)
{
    const bool virtual_time = strait_emu_in_virtual_time();
    struct loop *loop = calloc(1, sizeof(*loop));
    if (!loop)
        return;
    *loop = (struct loop){.plan = plan,
                          .tun_fds = tun_fds,
                          .trunk_fd = trunk_fd,
                          .control_fd = control_fd,
                          .realtime = realtime,
                          .began_s = strait_clock_s(),
                          .armed_s = INFINITY,
                          .beat_s = strait_emu_has_beat() ? strait_clock_s() : INFINITY,
                          .wake_s = virtual_time ? 0 : WAKE_FIRST_S,
                          .most_wake_s = virtual_time ? 0 : WAKE_MAX_S,
                          .step_s = virtual_time ? VIRTUAL_STEP_S : 0,
                          .credit_s = NAN};
    const char ready = STRAIT_EMU_RELAY_READY;
    if (prepare(loop) && send_all(control_fd, &ready, 1))
        turn(loop);
    strait_emu_relay_free(loop->relay);
    free(loop->links);
    free(loop);
}
