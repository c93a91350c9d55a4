#include <arpa/inet.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "codecs/frame.h"
#include "process/dilated_clock.h"
#include "emu/process/pump.h"
#include "emu/process/transport.h"
#include "process/wire.h"
#include "tests/kit/suite.h"

enum { N_MAX = 4000, PATIENCE_S = 300 };

/* Two ranks in this process, on the loopback device, and what came to each. */
struct end {
    pthread_mutex_t lock;
    struct strait_emu_transport *transport;
    struct strait_message messages[N_MAX];
    int channels[N_MAX];
    int n_messages, n_acks;
    void *tickets[N_MAX];
    bool failed;
    struct strait_error error;
};

struct pair {
    struct strait_emu_shared *shared;
    struct end ends[2];
};

static uint32_t loopback(int rank)
{
    (void)rank;
    return htonl(INADDR_LOOPBACK);
}

static void arrived(void *of, struct strait_message *m, int channel, int64_t mono_ns)
{
    struct end *e = of;
    pthread_mutex_lock(&e->lock);
    m->arrived_s = (double)mono_ns / 1e9;
    e->messages[e->n_messages] = *m;
    e->channels[e->n_messages++] = channel;
    pthread_mutex_unlock(&e->lock);
}

static void acknowledged(void *of, void *ticket, int64_t mono_ns)
{
    struct end *e = of;
    (void)mono_ns;
    pthread_mutex_lock(&e->lock);
    e->tickets[e->n_acks++] = ticket;
    pthread_mutex_unlock(&e->lock);
}

static void failed(void *of, const struct strait_error *err)
{
    struct end *e = of;
    pthread_mutex_lock(&e->lock);
    e->failed = true;
    e->error = *err;
    pthread_mutex_unlock(&e->lock);
}

static bool only_forward(const struct strait_run *run, int src, int dst, int channel)
{
    (void)run;
    (void)dst;
    return src == 0 && channel < 2;
}

static void *connect_other(void *of)
{
    struct end *e = of;
    struct strait_error err = {.code = STRAIT_OK};
    const int64_t until = strait_proc_mono_ns() + (int64_t)PATIENCE_S * 1000000000;
    return strait_emu_transport_connect(e->transport, until, &err) == 0 ? e : NULL;
}

static struct pair *pair_new(bool real_payload, unsigned n_connections)
{
    struct pair *p = calloc(1, sizeof(*p));
    CU_ASSERT_FATAL(p != NULL);
    const struct strait_network star = {.n_ranks = 2};
    const struct strait_run run = {.n_ranks = 2, .network = &star, .uses_stream = only_forward};
    struct strait_error err = {.code = STRAIT_OK};
    p->shared = strait_emu_shared_new(&run, 1, 1, &err);
    CU_ASSERT_FATAL(p->shared != NULL);
    for (int i = 0; i < 2; i++) {
        const struct strait_emu_transport_plan plan = {
            .shared = p->shared,
            .me = i,
            .address = loopback,
            .congestion = STRAIT_RENO,
            .window_bytes = INFINITY,
            .n_connections = n_connections,
            .real_payload = real_payload,
            .events = {&p->ends[i], arrived, acknowledged, failed}};
        pthread_mutex_init(&p->ends[i].lock, NULL);
        CU_ASSERT_FATAL(strait_emu_transport_new(&p->ends[i].transport, &plan, &err) == 0);
    }
    pthread_t other;
    void *good = NULL;
    CU_ASSERT_FATAL(pthread_create(&other, NULL, connect_other, &p->ends[1]) == 0);
    CU_ASSERT(connect_other(&p->ends[0]) != NULL);
    pthread_join(other, &good);
    CU_ASSERT_FATAL(good != NULL);
    for (int i = 0; i < 2; i++)
        CU_ASSERT_FATAL(strait_emu_transport_start(p->ends[i].transport, &err) == 0);
    return p;
}

static void pair_free(struct pair *p)
{
    for (int i = 0; i < 2; i++) {
        struct end *e = &p->ends[i];
        strait_emu_transport_free(e->transport);
        for (int m = 0; m < e->n_messages; m++)
            strait_packet_drop(e->messages[m].packet);
        pthread_mutex_destroy(&e->lock);
    }
    strait_emu_shared_free(p->shared);
    free(p);
}

/* Until n messages and acknowledgements are there, or a failure; or patience has ended. */
static bool wait_for(struct end *e, int n_messages, int n_acks)
{
    for (int i = 0; i < PATIENCE_S * 1000; i++) {
        pthread_mutex_lock(&e->lock);
        const bool done = e->n_messages >= n_messages && e->n_acks >= n_acks;
        const bool broken = e->failed;
        pthread_mutex_unlock(&e->lock);
        if (done || broken)
            return done;
        usleep(1000);
    }
    return false;
}

static void post(struct pair *p, int channel, int tag, struct strait_packet *packet, void *ticket)
{
    struct strait_error err = {.code = STRAIT_OK};
    CU_ASSERT_FATAL(packet != NULL);
    const struct strait_rank sender = {.me = 0};
    CU_ASSERT_FATAL(strait_packet_post(packet, &sender, 1, channel, &err) == 0);
    CU_ASSERT(strait_emu_transport_post(p->ends[0].transport, 1, channel, tag, packet, tag / 8.0, 0,
                                        ticket, &err) == 0);
}

static void payload_arrives_bit_by_bit(void)
{
    struct pair *p = pair_new(true, 1);
    const size_t n = 3000001;
    struct strait_packet *packet = strait_packet_new(n);
    CU_ASSERT_FATAL(packet != NULL);
    for (size_t i = 0; i < n; i++)
        packet->data[i] = (unsigned char)(i * 7 + i / 251);
    packet->raw_bytes = 4 * n;
    packet->n_elems = n;
    packet->bound = (struct strait_bound){STRAIT_BOUND_RANGE, 1e-3};
    packet->words[0] = -0.0;
    packet->words[3] = 1e300;
    strait_packet_keep(packet);
    post(p, 1, 5, packet, NULL);
    CU_ASSERT_FATAL(wait_for(&p->ends[1], 1, 0));
    const struct strait_message *m = &p->ends[1].messages[0];
    CU_ASSERT(m->src == 0 && m->tag == 5 && m->seq == 0 && p->ends[1].channels[0] == 1);
    CU_ASSERT(m->posted_s == 0.625); /* 5 / 8, through the shared memory */
    CU_ASSERT(m->packet->payload_bytes == n && m->packet->raw_bytes == 4 * n);
    CU_ASSERT(m->packet->n_elems == n && m->packet->bound.kind == STRAIT_BOUND_RANGE);
    CU_ASSERT(m->packet->bound.value == 1e-3);
    CU_ASSERT(memcmp(m->packet->words, packet->words, sizeof(packet->words)) == 0);
    CU_ASSERT(memcmp(m->packet->data, packet->data, n) == 0);
    strait_packet_drop(packet);
    pair_free(p);
}

static void a_stream_keeps_its_order(void)
{
    /* More messages at once than there are envelopes, so that the sender has to hold back. */
    struct pair *p = pair_new(true, 1);
    const int n = 3 * STRAIT_EMU_RING;
    for (int i = 0; i < n; i++)
        post(p, i % 2, i, strait_packet_new((size_t)(i % 5)), NULL);
    CU_ASSERT_FATAL(wait_for(&p->ends[1], n, 0));
    int last[2] = {-2, -1};
    for (int i = 0; i < n; i++) {
        const struct strait_message *m = &p->ends[1].messages[i];
        const int c = p->ends[1].channels[i];
        CU_ASSERT(m->tag == last[c] + 2);
        CU_ASSERT(m->seq == (uint64_t)(m->tag / 2));
        CU_ASSERT(m->packet->payload_bytes == (size_t)(m->tag % 5));
        last[c] = m->tag;
    }
    pair_free(p);
}

static void an_acknowledgement_comes_back_for_each_that_was_asked_for(void)
{
    struct pair *p = pair_new(true, 1);
    int tickets[3];
    post(p, 0, 0, strait_packet_new(100000), &tickets[0]);
    post(p, 0, 1, strait_packet_new(0), NULL);
    post(p, 0, 2, strait_packet_new(1), &tickets[1]);
    post(p, 0, 3, strait_packet_new(7), &tickets[2]);
    CU_ASSERT(wait_for(&p->ends[1], 4, 0));
    CU_ASSERT_FATAL(wait_for(&p->ends[0], 0, 3));
    for (int i = 0; i < 3; i++)
        CU_ASSERT(p->ends[0].tickets[i] == &tickets[i]);
    pair_free(p);
}

static void release_sized(struct strait_packet *p)
{
    free(p);
}

static void a_sized_payload_takes_its_bytes_and_no_memory(void)
{
    struct pair *p = pair_new(false, 1);
    struct strait_packet *packet = calloc(1, sizeof(*packet));
    CU_ASSERT_FATAL(packet != NULL);
    packet->payload_bytes = 1234567;
    packet->release = release_sized;
    atomic_init(&packet->n_refs, 1);
    strait_packet_keep(packet);
    post(p, 0, 0, packet, NULL);
    post(p, 0, 1, packet, NULL);
    CU_ASSERT_FATAL(wait_for(&p->ends[1], 2, 0));
    const struct strait_packet *got = p->ends[1].messages[1].packet;
    CU_ASSERT(got->payload_bytes == 1234567 && got->data == NULL);
    for (int i = 0; i < 2; i++)
        strait_emu_transport_stop(p->ends[i].transport);
    /* two messages of 1234567 bytes and one frame each; greetings come before the count */
    CU_ASSERT(strait_emu_transport_figures(p->ends[0].transport).bytes_sent ==
              2 * (1234567 + STRAIT_PROC_FRAME_BYTES));
    CU_ASSERT(strait_emu_transport_figures(p->ends[1].transport).bytes_received ==
              2 * (1234567 + STRAIT_PROC_FRAME_BYTES));
    pair_free(p);
}

static void one_packet_serves_many_sends(void)
{
    struct pair *p = pair_new(true, 1);
    struct strait_packet *packet = strait_packet_new(50000);
    CU_ASSERT_FATAL(packet != NULL);
    memset(packet->data, 0x5a, 50000);
    for (int i = 0; i < 20; i++)
        post(p, 0, i, strait_packet_keep(packet), NULL);
    CU_ASSERT_FATAL(wait_for(&p->ends[1], 20, 0));
    strait_emu_transport_drain(p->ends[0].transport);
    strait_emu_transport_stop(p->ends[0].transport);
    CU_ASSERT(atomic_load(&packet->n_refs) == 1);
    for (int i = 0; i < 20; i++)
        CU_ASSERT(memcmp(p->ends[1].messages[i].packet->data, packet->data, 50000) == 0);
    strait_packet_drop(packet);
    pair_free(p);
}

static unsigned char byte_of(int message, size_t i)
{
    return (unsigned char)(i * 7 + i / 251 + (size_t)message);
}

/* Large ones, and some that leave connections with nothing but a frame. */
static void parallel_connections_put_messages_together_in_their_order(void)
{
    static const size_t sizes[] = {3000001, 0, 1, 15, 16, 17, 200000, 2, 1 << 20, 0};
    enum { N_SIZES = sizeof(sizes) / sizeof(sizes[0]) };
    static const unsigned counts[] = {2, 3, 16};
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        struct pair *p = pair_new(true, counts[c]);
        int tickets[N_SIZES];
        size_t sum_bytes = 0, n_wrong = 0;
        for (int m = 0; m < N_SIZES; m++) {
            struct strait_packet *packet = strait_packet_new(sizes[m]);
            CU_ASSERT_FATAL(packet != NULL);
            for (size_t i = 0; i < sizes[m]; i++)
                packet->data[i] = byte_of(m, i);
            sum_bytes += sizes[m];
            post(p, 1, m, packet, m % 2 ? &tickets[m] : NULL);
        }
        CU_ASSERT_FATAL(wait_for(&p->ends[1], N_SIZES, 0));
        CU_ASSERT_FATAL(wait_for(&p->ends[0], 0, N_SIZES / 2));
        for (int m = 0; m < N_SIZES; m++) {
            const struct strait_message *got = &p->ends[1].messages[m];
            CU_ASSERT(got->tag == m && got->seq == (uint64_t)m);
            CU_ASSERT_FATAL(got->packet->payload_bytes == sizes[m]);
            for (size_t i = 0; i < sizes[m]; i++)
                n_wrong += got->packet->data[i] != byte_of(m, i);
        }
        CU_ASSERT(n_wrong == 0);
        for (int m = 0; m < N_SIZES / 2; m++)
            CU_ASSERT(p->ends[0].tickets[m] == &tickets[2 * m + 1]);
        for (int i = 0; i < 2; i++)
            strait_emu_transport_stop(p->ends[i].transport);
        /* a frame for each message and connection, and one for each acknowledgement back */
        const size_t frame = STRAIT_PROC_FRAME_BYTES;
        CU_ASSERT(strait_emu_transport_figures(p->ends[0].transport).bytes_sent ==
                  sum_bytes + N_SIZES * counts[c] * frame);
        CU_ASSERT(strait_emu_transport_figures(p->ends[1].transport).bytes_received ==
                  sum_bytes + N_SIZES * counts[c] * frame);
        CU_ASSERT(strait_emu_transport_figures(p->ends[1].transport).bytes_sent ==
                  N_SIZES / 2 * frame);
        pair_free(p);
    }
}

static void parallel_connections_of_many_messages_keep_their_order(void)
{
    struct pair *p = pair_new(true, 5);
    const int n = 3 * STRAIT_EMU_RING;
    for (int i = 0; i < n; i++)
        post(p, 0, i, strait_packet_new((size_t)(i % 7 * 1000)), NULL);
    CU_ASSERT_FATAL(wait_for(&p->ends[1], n, 0));
    for (int i = 0; i < n; i++) {
        CU_ASSERT(p->ends[1].messages[i].tag == i);
        CU_ASSERT(p->ends[1].messages[i].packet->payload_bytes == (size_t)(i % 7 * 1000));
    }
    pair_free(p);
}

/* The end of one connection is seen on both sides, and named once. */
static void a_single_connection_that_is_lost_is_a_failure(void)
{
    for (int end = 0; end < 2; end++) {
        struct pair *p = pair_new(true, 4);
        shutdown(end == 0 ? p->ends[0].transport->out_connections[2].fd
                          : p->ends[1].transport->in_connections[2].fd,
                 SHUT_RDWR);
        CU_ASSERT(!wait_for(&p->ends[0], 1, 0));
        CU_ASSERT(!wait_for(&p->ends[1], 1, 0));
        CU_ASSERT(p->ends[0].failed && strstr(p->ends[0].error.text, "the connection to rank 1"));
        CU_ASSERT(p->ends[1].failed && strstr(p->ends[1].error.text, "the connection from rank 0"));
        pair_free(p);
    }
}

/* What another program, or a broken one, would send on connection 3 of 4. */
static void a_bad_frame_on_any_connection_is_a_failure(void)
{
    enum { NO_FRAME, ANOTHER_FRAME, AN_ANSWER };
    static const char *const said[] = {"a message begins with a bad frame",
                                       "another frame than on the others",
                                       "rank 1 answered on a connection"};
    for (int what = NO_FRAME; what <= AN_ANSWER; what++) {
        struct pair *p = pair_new(true, 4);
        struct end *judge = &p->ends[what == AN_ANSWER ? 0 : 1];
        const struct strait_packet empty = {.payload_bytes = 0};
        unsigned char frame[STRAIT_PROC_FRAME_BYTES] = {0};
        /* an envelope, as every message has one */
        struct strait_emu_stream *s = strait_emu_shared_stream(p->shared, 0, 1, 0);
        atomic_store(&s->n_put, 1);
        if (what == ANOTHER_FRAME) {
            strait_proc_wire_pack(frame, &empty, 7);
            CU_ASSERT(send(p->ends[0].transport->out_connections[0].fd, frame, sizeof(frame), 0) ==
                      sizeof(frame));
            strait_proc_wire_pack(frame, &empty, 8);
        }
        const int fd = what == AN_ANSWER ? p->ends[1].transport->in_connections[2].fd
                                         : p->ends[0].transport->out_connections[2].fd;
        CU_ASSERT(send(fd, frame, sizeof(frame), 0) == sizeof(frame));
        CU_ASSERT(!wait_for(judge, 1, 0));
        pthread_mutex_lock(&judge->lock);
        CU_ASSERT(judge->failed && judge->error.code == STRAIT_ERR_BACKEND);
        CU_ASSERT(strstr(judge->error.text, said[what]) != NULL);
        pthread_mutex_unlock(&judge->lock);
        pair_free(p);
    }
}

static void a_peer_that_goes_away_is_a_failure(void)
{
    struct pair *p = pair_new(true, 1);
    strait_emu_transport_free(p->ends[0].transport);
    p->ends[0].transport = NULL;
    CU_ASSERT(!wait_for(&p->ends[1], 1, 0));
    pthread_mutex_lock(&p->ends[1].lock);
    CU_ASSERT(p->ends[1].failed);
    CU_ASSERT(strstr(p->ends[1].error.text, "the connection from rank 0") != NULL);
    pthread_mutex_unlock(&p->ends[1].lock);
    pair_free(p);
}

static void a_changed_byte_is_noticed(void)
{
    unsigned char frame[STRAIT_PROC_FRAME_BYTES];
    struct strait_error err = {.code = STRAIT_OK};
    struct strait_packet *packet = strait_packet_new(1000);
    CU_ASSERT_FATAL(packet != NULL);
    memset(packet->data, 1, 1000);
    strait_proc_wire_pack(frame, packet, 3);
    CU_ASSERT(strait_proc_wire_verify(frame, packet, &err) == 0);
    packet->data[999] ^= 0x10;
    CU_ASSERT(strait_proc_wire_verify(frame, packet, &err) == -1);
    CU_ASSERT(err.code == STRAIT_ERR_BACKEND && strstr(err.text, "1000 bytes is damaged") != NULL);
    strait_packet_drop(packet);
}

static void a_payload_beyond_the_limit_is_refused_before_memory_is_taken(void)
{
    unsigned char bytes[STRAIT_FRAME_BYTES];
    struct strait_frame f = {.payload_bytes = 0};
    strait_frame_pack(bytes, &f, NULL);
    const uint64_t huge = STRAIT_PROC_MAX_PAYLOAD_BYTES + 1;
    for (int i = 0; i < 8; i++) /* bytes 24 to 31: payload_bytes, see codecs/frame.h */
        bytes[24 + i] = (unsigned char)(huge >> 8 * i);
    struct strait_packet *packet = NULL;
    struct strait_error err = {.code = STRAIT_OK};
    int tag;
    CU_ASSERT(strait_proc_wire_unpack(&packet, &tag, bytes, 0, true, &err) == -1);
    CU_ASSERT(packet == NULL && err.code == STRAIT_ERR_BACKEND);
    CU_ASSERT(strstr(err.text, "expected a payload of at most 4294967296 bytes") != NULL);
    bytes[0] = 'X';
    err.code = STRAIT_OK;
    CU_ASSERT(strait_proc_wire_unpack(&packet, &tag, bytes, 0, true, &err) == -1);
    CU_ASSERT(strstr(err.text, "bad frame") != NULL);
}

/* Five of the twelve bytes of a greeting, and nothing more: who waits for the rest of it sleeps. A
 * loop that reads again and again would take all of these 200 ms of a processor. */
static void an_incomplete_greeting_keeps_nobody_busy(void)
{
    const struct strait_network star = {.n_ranks = 2};
    const struct strait_run run = {.n_ranks = 2, .network = &star, .uses_stream = only_forward};
    struct strait_error err = {.code = STRAIT_OK};
    struct strait_emu_transport *t = NULL;
    struct strait_emu_shared *shared = strait_emu_shared_new(&run, 1, 1, &err);
    CU_ASSERT_FATAL(shared != NULL);
    const struct strait_emu_transport_plan plan = {.shared = shared,
                                                   .me = 1,
                                                   .address = loopback,
                                                   .congestion = STRAIT_RENO,
                                                   .window_bytes = INFINITY};
    CU_ASSERT_FATAL(strait_emu_transport_new(&t, &plan, &err) == 0);
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                   .sin_port = shared->ranks[1].port};
    const int stranger = socket(AF_INET, SOCK_STREAM, 0), half = socket(AF_INET, SOCK_STREAM, 0);
    CU_ASSERT(connect(stranger, (const struct sockaddr *)&to, sizeof(to)) == 0);
    CU_ASSERT(connect(half, (const struct sockaddr *)&to, sizeof(to)) == 0);
    CU_ASSERT_EQUAL(send(stranger, "hello", 5, 0), 5);
    strait_test_may_leave(1); /* of the stranger, who may still greet */
    CU_ASSERT_EQUAL(send(half, "hello", 5, 0), 5);
    CU_ASSERT(shutdown(half, SHUT_WR) == 0); /* no more of it will come */
    const int64_t before = strait_proc_thread_cpu_ns(), patience_ns = 200000000;
    CU_ASSERT(strait_emu_transport_connect(t, strait_proc_mono_ns() + patience_ns, &err) == -1);
    CU_ASSERT_CONTAINS(err.text, "rank 1 is not reached by rank 0 in time");
    CU_ASSERT_AT_MOST((double)(strait_proc_thread_cpu_ns() - before), (double)patience_ns / 4);
    close(stranger);
    close(half);
    strait_emu_transport_free(t);
    strait_emu_shared_free(shared);
}

static const struct strait_test tests[] = {
    {"an incomplete greeting keeps nobody busy", an_incomplete_greeting_keeps_nobody_busy},
    {"payload, words and bound arrive bit by bit", payload_arrives_bit_by_bit},
    {"a stream keeps its order, whatever is posted at once", a_stream_keeps_its_order},
    {"an acknowledgement comes back for each that was asked for",
     an_acknowledgement_comes_back_for_each_that_was_asked_for},
    {"a sized payload takes its bytes on the wire and no memory",
     a_sized_payload_takes_its_bytes_and_no_memory},
    {"one packet serves many sends", one_packet_serves_many_sends},
    {"parallel connections put messages together in their order",
     parallel_connections_put_messages_together_in_their_order},
    {"parallel connections of many small messages keep their order",
     parallel_connections_of_many_messages_keep_their_order},
    {"a single connection that is lost is a failure",
     a_single_connection_that_is_lost_is_a_failure},
    {"a bad frame on any connection is a failure", a_bad_frame_on_any_connection_is_a_failure},
    {"a peer that goes away is a failure", a_peer_that_goes_away_is_a_failure},
    {"a changed byte is noticed", a_changed_byte_is_noticed},
    {"a payload beyond the limit is refused before memory is taken",
     a_payload_beyond_the_limit_is_refused_before_memory_is_taken},
};
STRAIT_SUITE_WITH("emu/process/transport", tests, .threads = true);
