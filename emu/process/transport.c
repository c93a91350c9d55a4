#include "transport.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include "core/random.h"
#include "process/dilated_clock.h"
#include "pump.h"

enum { BACKLOG = 4096 };

static int listen_here(struct strait_emu_transport *t, struct strait_error *err)
{
    const struct strait_emu_transport_plan *plan = &t->plan;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = plan->address(plan->me)};
    socklen_t len = sizeof(at);
    t->listener = strait_emu_open_socket(plan, err);
    if (t->listener < 0)
        return -1;
    if (bind(t->listener, (struct sockaddr *)&at, sizeof(at)) != 0 ||
        listen(t->listener, BACKLOG) != 0 ||
        getsockname(t->listener, (struct sockaddr *)&at, &len) != 0)
        return strait_error_system(err, "listen", "rank %d cannot listen", plan->me);
    plan->shared->ranks[plan->me].port = at.sin_port;
    return strait_emu_connection_watch(t, EPOLL_CTL_ADD, t->listener, EPOLLIN, STRAIT_EMU_LISTENER,
                                       0, err);
}

/* Real time for a byte of the stream at its pace; 0: unlimited. */
static double pace_ns_per_byte(const struct strait_emu_transport_plan *plan, int dst)
{
    const struct strait_network *n = plan->network;
    if (!n)
        return 0;
    const double bits_per_s = strait_path_bits_per_s(n, plan->me, dst);
    return 8e9 * plan->shared->dilation / bits_per_s / STRAIT_EMU_PACING_RATIO;
}

static void prepare_out(struct strait_emu_transport *t, struct strait_emu_out *out,
                        struct strait_emu_stream *shared)
{
    out->shared = shared;
    out->connections = t->out_connections + (out - t->outs) * t->n_connections;
    out->ns_per_byte = pace_ns_per_byte(&t->plan, shared->dst);
    out->end = &out->first;
    out->acks_end = &out->acks;
    for (int i = 0; i < t->n_connections; i++) {
        out->connections[i].fd = -1;
        out->connections[i].stream = out;
    }
}

static void prepare_in(struct strait_emu_transport *t, struct strait_emu_in *in,
                       struct strait_emu_stream *shared)
{
    in->shared = shared;
    in->connections = t->in_connections + (in - t->ins) * t->n_connections;
    in->end = &in->first;
    for (int i = 0; i < t->n_connections; i++) {
        in->connections[i].fd = -1;
        in->connections[i].stream = in;
    }
}

static int list_streams(struct strait_emu_transport *t, struct strait_error *err)
{
    struct strait_emu_shared *s = t->plan.shared;
    t->n_connections = t->plan.n_connections > 0 ? (int)t->plan.n_connections : 1;
    for (int i = 0; i < s->n_streams; i++) {
        t->n_outs += s->streams[i].src == t->plan.me;
        t->n_ins += s->streams[i].dst == t->plan.me;
    }
    const size_t n_connections = (size_t)t->n_connections;
    t->outs = calloc((size_t)t->n_outs + 1, sizeof(*t->outs));
    t->ins = calloc((size_t)t->n_ins + 1, sizeof(*t->ins));
    t->out_connections = calloc((size_t)t->n_outs * n_connections + 1, sizeof(*t->out_connections));
    t->in_connections = calloc((size_t)t->n_ins * n_connections + 1, sizeof(*t->in_connections));
    if (!t->outs || !t->ins || !t->out_connections || !t->in_connections)
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "%d streams do not fit in memory",
                                t->n_outs + t->n_ins);
    struct strait_emu_out *out = t->outs;
    struct strait_emu_in *in = t->ins;
    for (int i = 0; i < s->n_streams; i++) {
        if (s->streams[i].src == t->plan.me)
            prepare_out(t, out++, &s->streams[i]);
        else if (s->streams[i].dst == t->plan.me)
            prepare_in(t, in++, &s->streams[i]);
    }
    return 0;
}

static int make_noise(struct strait_emu_transport *t, struct strait_error *err)
{
    t->noise = malloc(STRAIT_EMU_NOISE_BYTES);
    if (!t->noise)
        return strait_error_memory(err, NULL);
    struct strait_sequence s = strait_sequence_at((uint64_t)t->plan.me);
    for (size_t i = 0; i < STRAIT_EMU_NOISE_BYTES; i += sizeof(uint64_t)) {
        const uint64_t bits = strait_sequence_next(&s);
        memcpy(t->noise + i, &bits, sizeof(bits));
    }
    return 0;
}

int strait_emu_transport_new(struct strait_emu_transport **out,
                             const struct strait_emu_transport_plan *plan, struct strait_error *err)
{
    struct strait_emu_transport *t = calloc(1, sizeof(*t));
    if (!t)
        return strait_error_memory(err, NULL);
    t->plan = *plan;
    t->listener = t->epoll = t->wake = -1;
    t->ready_end = &t->ready;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->drained, NULL);
    t->epoll = epoll_create1(EPOLL_CLOEXEC);
    t->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (t->epoll < 0 || t->wake < 0)
        strait_error_system(err, "epoll", "cannot be made");
    else if (list_streams(t, err) == 0 && (plan->real_payload || make_noise(t, err) == 0) &&
             listen_here(t, err) == 0) {
        *out = t;
        return 0;
    }
    strait_emu_transport_free(t);
    return -1;
}

int strait_emu_transport_start(struct strait_emu_transport *t, struct strait_error *err)
{
    close(t->listener);
    t->listener = -1;
    if (strait_emu_connection_watch(t, EPOLL_CTL_ADD, t->wake, EPOLLIN, STRAIT_EMU_WAKE, 0, err) !=
        0)
        return -1;
    errno = pthread_create(&t->thread, NULL, strait_emu_pump, t);
    if (errno != 0)
        return strait_error_system(err, "pthread_create", "cannot start the transport");
    t->running = true;
    return 0;
}

static struct strait_emu_out *find_out(struct strait_emu_transport *t,
                                       const struct strait_emu_stream *s)
{
    int low = 0; /* streams are sorted as in the shared table */
    for (int high = t->n_outs; low < high;) {
        const int mid = low + (high - low) / 2;
        if (t->outs[mid].shared < s)
            low = mid + 1;
        else
            high = mid;
    }
    return &t->outs[low];
}

int strait_emu_transport_post(struct strait_emu_transport *t, int dst, int channel, int tag,
                              struct strait_packet *packet, double posted_s, int64_t posted_ns,
                              void *ticket, struct strait_error *err)
{
    const struct strait_emu_stream *s =
        strait_emu_shared_stream(t->plan.shared, t->plan.me, dst, channel);
    assert(s); /* strait_stream_check */
    struct strait_emu_out *out = find_out(t, s);
    pthread_mutex_lock(&t->lock);
    struct strait_emu_posted *m = t->spare;
    if (m)
        t->spare = m->next;
    else if (!(m = malloc(sizeof(*m)))) {
        pthread_mutex_unlock(&t->lock);
        strait_packet_drop(packet);
        return strait_error_set(err, STRAIT_ERR_NOMEM, NULL, "memory ran out for a message");
    }
    *m = (struct strait_emu_posted){.packet = packet,
                                    .posted_s = posted_s,
                                    .posted_ns = posted_ns,
                                    .ticket = ticket,
                                    .tag = tag,
                                    .n_connections = (unsigned)t->n_connections,
                                    .prompt = !out->first};
    *out->end = m;
    out->end = &m->next;
    t->n_queued++;
    const bool wake = !t->ready;
    for (int i = 0; i < t->n_connections; i++)
        if (!out->connections[i].at) {
            out->connections[i].at = m;
            strait_emu_connection_ready(t, &out->connections[i]);
        }
    pthread_mutex_unlock(&t->lock);
    const uint64_t one = 1;
    if (wake && write(t->wake, &one, sizeof(one)) < 0 && errno != EAGAIN)
        return strait_error_system(err, "eventfd", "cannot wake the transport");
    return 0;
}

void strait_emu_transport_drain(struct strait_emu_transport *t)
{
    pthread_mutex_lock(&t->lock);
    while (t->n_queued > 0)
        pthread_cond_wait(&t->drained, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

struct strait_emu_transport_figures
strait_emu_transport_figures(const struct strait_emu_transport *t)
{
    struct strait_emu_transport_figures f = {.bytes_sent = t->bytes_sent,
                                             .sent_checksum = t->sent_checksum,
                                             .bytes_received = t->bytes_received,
                                             .write_late_max_s = (double)t->write_late_ns / 1e9,
                                             .read_late_max_s = (double)t->read_late_ns / 1e9,
                                             .stall_max_s = (double)t->stall_ns / 1e9};
    for (int i = 0; i < t->n_outs * t->n_connections; i++) {
        struct tcp_info info;
        socklen_t len = sizeof(info);
        if (getsockopt(t->out_connections[i].fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0)
            f.n_retransmits += info.tcpi_total_retrans;
    }
    return f;
}

static void free_arriving(struct strait_emu_arriving *m)
{
    while (m) {
        struct strait_emu_arriving *next = m->next;
        strait_packet_drop(m->packet);
        free(m);
        m = next;
    }
}

static void free_posted(struct strait_emu_posted *m)
{
    while (m) {
        struct strait_emu_posted *next = m->next;
        strait_packet_drop(m->packet);
        free(m);
        m = next;
    }
}

void strait_emu_transport_stop(struct strait_emu_transport *t)
{
    if (!t->running)
        return;
    const uint64_t one = 1;
    pthread_mutex_lock(&t->lock);
    t->stopping = true;
    pthread_mutex_unlock(&t->lock);
    TEMP_FAILURE_RETRY(write(t->wake, &one, sizeof(one)));
    pthread_join(t->thread, NULL);
    t->running = false;
}

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

void strait_emu_transport_free(struct strait_emu_transport *t)
{
    if (!t)
        return;
    strait_emu_transport_stop(t);
    for (int i = 0; t->outs && i < t->n_outs; i++) {
        free_posted(t->outs[i].first);
        free_posted(t->outs[i].acks);
    }
    for (int i = 0; t->ins && i < t->n_ins; i++) {
        free_arriving(t->ins[i].first);
        free_arriving(t->ins[i].spare);
    }
    for (int i = 0; t->out_connections && i < t->n_outs * t->n_connections; i++)
        if (t->out_connections[i].stream)
            close_if_open(t->out_connections[i].fd);
    for (int i = 0; t->in_connections && i < t->n_ins * t->n_connections; i++)
        if (t->in_connections[i].stream)
            close_if_open(t->in_connections[i].fd);
    for (struct strait_emu_posted *m = t->spare, *next; m; m = next) {
        next = m->next;
        free(m);
    }
    close_if_open(t->listener);
    close_if_open(t->epoll);
    close_if_open(t->wake);
    pthread_cond_destroy(&t->drained);
    pthread_mutex_destroy(&t->lock);
    free(t->outs);
    free(t->ins);
    free(t->out_connections);
    free(t->in_connections);
    free(t->noise);
    free(t);
}
