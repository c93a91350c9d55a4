/* Setting up the transport's connections, before time 0. */
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "process/dilated_clock.h"
#include "pump.h"
#include "transport.h"

enum { GREETING_BYTES = 12, N_EVENTS = 64 };

/* The first bytes of a connection, before time 0: stream and number of the connection. */
struct greeting {
    int32_t src, channel, connection;
};
_Static_assert(sizeof(struct greeting) == GREETING_BYTES, "sent as it lies in memory");

/* Sets only what the experiment says: setting buffer sizes would disable autotuning. */
static int prepare_socket(int fd, const struct strait_emu_transport_plan *plan,
                          struct strait_error *err)
{
    const int one = 1;
    const char *name = strait_congestion_name(plan->congestion);
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) != 0)
        return strait_error_system(err, "TCP_NODELAY", "cannot be set");
    if (setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one)) != 0)
        return strait_error_system(err, "SO_TIMESTAMPNS", "cannot be set");
    if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)) != 0)
        return strait_error_system(err, "TCP_CONGESTION", "cannot use %s", name);
    if (isfinite(plan->window_bytes)) {
        const int clamp = (int)fmin(plan->window_bytes, 1 << 30);
        if (setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &clamp, sizeof(clamp)) != 0)
            return strait_error_system(err, "TCP_WINDOW_CLAMP", "cannot be set");
    }
    return 0;
}

int strait_emu_open_socket(const struct strait_emu_transport_plan *plan, struct strait_error *err)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
    if (fd < 0)
        return strait_error_system(err, "socket", "cannot make a TCP socket");
    if (prepare_socket(fd, plan, err) == 0)
        return fd;
    close(fd);
    return -1;
}

static int begin_connections(struct strait_emu_transport *t, struct strait_error *err)
{
    for (int i = 0; i < t->n_outs * t->n_connections; i++) {
        struct strait_emu_out_connection *out = &t->out_connections[i];
        const int dst = out->stream->shared->dst;
        const struct sockaddr_in to = {.sin_family = AF_INET,
                                       .sin_addr.s_addr = t->plan.address(dst),
                                       .sin_port = t->plan.shared->ranks[dst].port};
        out->fd = strait_emu_open_socket(&t->plan, err);
        if (out->fd < 0)
            return -1;
        if (connect(out->fd, (const struct sockaddr *)&to, sizeof(to)) != 0 && errno != EINPROGRESS)
            return strait_error_system(err, "connect", "rank %d cannot reach rank %d", t->plan.me,
                                       dst);
        if (strait_emu_connection_watch(t, EPOLL_CTL_ADD, out->fd, EPOLLIN | EPOLLOUT,
                                        STRAIT_EMU_OUT, i, err) != 0)
            return -1;
    }
    return 0;
}

/* A connection that is set up is ready only if its other end has closed it, or does not wait for
 * the start: either would be ready again and again. */
static int check_silence(int fd, int other, struct strait_error *err)
{
    char byte;
    const ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (strait_emu_connection_would_block(n) || (n < 0 && errno == EINTR))
        return 0;
    if (n <= 0)
        return strait_emu_connection_broken(other, "with", n, err);
    return strait_error_set(err, STRAIT_ERR_BACKEND, NULL, "rank %d sent before the start", other);
}

static int end_connection(struct strait_emu_transport *t, int index, int *n_left,
                          struct strait_error *err)
{
    struct strait_emu_out_connection *out = &t->out_connections[index];
    const struct strait_emu_stream *shared = out->stream->shared;
    const struct greeting g = {
        .src = t->plan.me, .channel = shared->channel, .connection = index % t->n_connections};
    int problem = 0;
    socklen_t len = sizeof(problem);
    if (out->connected)
        return check_silence(out->fd, shared->dst, err);
    getsockopt(out->fd, SOL_SOCKET, SO_ERROR, &problem, &len);
    errno = problem;
    if (problem != 0 || send(out->fd, &g, sizeof(g), MSG_NOSIGNAL) != (ssize_t)sizeof(g))
        return strait_error_system(err, "connect", "rank %d cannot reach rank %d", t->plan.me,
                                   shared->dst);
    out->connected = true;
    --*n_left;
    return strait_emu_connection_watch(t, EPOLL_CTL_MOD, out->fd, EPOLLIN, STRAIT_EMU_OUT, index,
                                       err);
}

/* How many bytes a connection must have for it to be ready. */
static int wake_from(int fd, int n_bytes, struct strait_error *err)
{
    if (setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &n_bytes, sizeof(n_bytes)) != 0)
        return strait_error_system(err, "SO_RCVLOWAT", "cannot be set");
    return 0;
}

static int accept_all(struct strait_emu_transport *t, struct strait_error *err)
{
    for (;;) {
        const int fd = accept4(t->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
            return 0;
        if (fd < 0)
            return strait_error_system(err, "accept", "rank %d cannot accept", t->plan.me);
        if (prepare_socket(fd, &t->plan, err) != 0 ||
            wake_from(fd, (int)GREETING_BYTES, err) != 0 ||
            strait_emu_connection_watch(t, EPOLL_CTL_ADD, fd, EPOLLIN, STRAIT_EMU_GREETING, fd,
                                        err) != 0) {
            close(fd);
            return -1;
        }
    }
}

/* Drop connections that do not greet like a rank of this run; an incomplete greeting is ready only
 * when no more of it will come. A rank that has greeted does not try again: what fails here fails
 * the run, or both would wait for each other. */
static int read_greeting(struct strait_emu_transport *t, int fd, int *n_left,
                         struct strait_error *err)
{
    struct greeting g;
    const ssize_t n = recv(fd, &g, sizeof(g), MSG_PEEK);
    if (strait_emu_connection_would_block(n) || (n < 0 && errno == EINTR))
        return 0;
    if (n < 0 && errno != ECONNRESET)
        return strait_error_system(err, "recv", "rank %d cannot read a greeting", t->plan.me);
    for (int i = 0; n == (ssize_t)sizeof(g) && i < t->n_ins * t->n_connections; i++) {
        struct strait_emu_in_connection *in = &t->in_connections[i];
        const struct strait_emu_stream *shared = in->stream->shared;
        if (shared->src != g.src || shared->channel != g.channel ||
            i % t->n_connections != g.connection || in->fd >= 0)
            continue;
        in->fd = fd;
        if (recv(fd, &g, sizeof(g), 0) != (ssize_t)sizeof(g))
            return strait_error_system(err, "recv", "rank %d cannot read a greeting", t->plan.me);
        if (wake_from(fd, 1, err) != 0)
            return -1;
        --*n_left;
        return strait_emu_connection_watch(t, EPOLL_CTL_MOD, fd, EPOLLIN, STRAIT_EMU_IN, i, err);
    }
    close(fd);
    return 0;
}

static int not_reached(const struct strait_emu_transport *t, struct strait_error *err)
{
    for (int i = 0; i < t->n_outs * t->n_connections; i++)
        if (!t->out_connections[i].connected)
            return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                    "rank %d does not reach rank %d in time", t->plan.me,
                                    t->out_connections[i].stream->shared->dst);
    for (int i = 0; i < t->n_ins * t->n_connections; i++)
        if (t->in_connections[i].fd < 0)
            return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                                    "rank %d is not reached by rank %d in time", t->plan.me,
                                    t->in_connections[i].stream->shared->src);
    return 0;
}

int strait_emu_transport_connect(struct strait_emu_transport *t, int64_t until_mono_ns,
                                 struct strait_error *err)
{
    int n_left = (t->n_outs + t->n_ins) * t->n_connections, failed = begin_connections(t, err);
    while (!failed && n_left > 0) {
        struct epoll_event events[N_EVENTS];
        const int64_t left_ms = (until_mono_ns - strait_proc_mono_ns()) / 1000000;
        if (left_ms < 0)
            return not_reached(t, err);
        const int n = epoll_wait(t->epoll, events, N_EVENTS, (int)left_ms + 1);
        if (n < 0 && errno != EINTR)
            return strait_error_system(err, "epoll_wait", "failed");
        for (int i = 0; i < n && !failed; i++) {
            const int index = (int)(uint32_t)events[i].data.u64;
            switch ((enum strait_emu_source)(events[i].data.u64 >> 32)) {
            case STRAIT_EMU_LISTENER:
                failed = accept_all(t, err);
                break;
            case STRAIT_EMU_GREETING:
                failed = read_greeting(t, index, &n_left, err);
                break;
            case STRAIT_EMU_OUT:
                failed = end_connection(t, index, &n_left, err);
                break;
            case STRAIT_EMU_IN:
                failed = check_silence(t->in_connections[index].fd,
                                       t->in_connections[index].stream->shared->src, err);
                break;
            default:
                break;
            }
        }
    }
    return failed;
}
