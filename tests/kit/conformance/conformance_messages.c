/* Conformance: what streams carry, when it arrives and in which order. */
#include "conformance_parts.h"

#include <stdlib.h>
#include <string.h>

static void note_message(struct strait_rank *r, const struct strait_message *m)
{
    strait_note(r, ARRIVED, m->arrived_s);
    strait_note(r, NOW, r->backend->ops->now_s(r));
    strait_note(r, TAG, m->tag);
    strait_note(r, SRC, m->src);
    strait_note(r, SEQ, (double)m->seq);
    strait_note(r, POSTED, m->posted_s);
}

static void note_next(struct strait_rank *r, int src, int channel)
{
    const struct strait_message m = strait_rig_recv(r, src, channel);
    note_message(r, &m);
}

static void five_messages(struct strait_rank *r)
{
    for (int i = 0; i < 5; i++) {
        if (r->me == 0)
            strait_rig_send(r, 1, 3, 10 + i, 20000);
        else
            note_next(r, 0, 3);
    }
}

void conform_stream(void)
{
    struct strait_rig rig;
    if (!conform_begin(&rig, 2, five_messages))
        return;
    conform_run(&rig);
    for (int i = 0; i < 5; i++) { /* back to back: message i arrives at (i + 1) size / C + path */
        const double expected_s = (i + 1) * (20000 + FRAME) / C + PATH_S;
        CU_ASSERT(conform_near(strait_noted(&rig, 1, ARRIVED, i), expected_s));
        CU_ASSERT(conform_near(strait_noted(&rig, 1, NOW, i), expected_s));
        CU_ASSERT(conform_near(strait_noted(&rig, 1, POSTED, i), 0));
        CU_ASSERT_EQUAL(strait_noted(&rig, 1, TAG, i), 10 + i);
        CU_ASSERT_EQUAL(strait_noted(&rig, 1, SEQ, i), i);
        CU_ASSERT_EQUAL(strait_noted(&rig, 1, SRC, i), 0);
    }
    strait_rig_release(&rig);
}

static void one_to_two(struct strait_rank *r)
{
    if (r->me == 0) {
        strait_rig_send(r, 1, 0, 0, 40000);
        strait_rig_send(r, 2, 0, 0, 40000);
    } else {
        note_next(r, 0, 0);
    }
}

void conform_two_streams(void)
{
    struct strait_rig rig;
    if (!conform_begin(&rig, 3, one_to_two))
        return;
    conform_run(&rig);
    /* Shared equally both end when the port has sent both: 2 size / C. TCP may serve one before
     * the other, but not before its own bytes are sent, and the port is never idle. */
    const double both_s = 2 * (40000 + FRAME) / C + PATH_S;
    const double first_s = strait_noted(&rig, 1, ARRIVED, 0);
    const double second_s = strait_noted(&rig, 2, ARRIVED, 0);
    CU_ASSERT(conform_near(fmax(first_s, second_s), both_s));
    if (conformance_of_suite()->ideal)
        CU_ASSERT(conform_near(fmin(first_s, second_s), both_s));
    if (!conformance_of_suite()->unshaped)
        CU_ASSERT(fmin(first_s, second_s) > (both_s + PATH_S) / 2);
    strait_rig_release(&rig);
}

static void two_channels(struct strait_rank *r)
{
    if (r->me == 0) {
        strait_rig_send(r, 1, 0, 0, 60000);
        strait_rig_send(r, 1, 1, 1, 10000);
        return;
    }
    note_next(r, 0, 1);
    note_next(r, 0, 0);
}

void conform_channels(void)
{
    struct strait_rig rig;
    if (!conform_begin(&rig, 2, two_channels))
        return;
    conform_run(&rig);
    /* The short one has half of the port until it has arrived: 2 x 10096 / C. In one stream it
     * would have to wait for the 60096 bytes before it. */
    const double short_s = strait_noted(&rig, 1, ARRIVED, 0);
    if (conformance_of_suite()->ideal)
        CU_ASSERT(conform_near(short_s, 2 * (10000 + FRAME) / C + PATH_S));
    if (conform_is_timed())
        CU_ASSERT(short_s < (60000 + FRAME) / C);
    CU_ASSERT(
        conform_near(strait_noted(&rig, 1, ARRIVED, 1), (60000 + 10000 + 2 * FRAME) / C + PATH_S));
    strait_rig_release(&rig);
}

/* 100 Mbps: C' = 20 C, and 20 ms hold 239 kB, so windows of 14480, 28960 ... leave gaps. */
static void fast_links(struct strait_rig *rig)
{
    for (int i = 0; i < rig->run.n_ranks; i++)
        rig->network->out[i].rate_bits_per_s = rig->network->in[i].rate_bits_per_s = 100e6;
}

static void one_message(struct strait_rank *r)
{
    if (r->me == 0)
        strait_rig_send(r, 1, 0, 0, 100000);
    else
        note_next(r, 0, 0);
}

void conform_ramp(void)
{
    struct strait_rig rig;
    if (!conform_begin(&rig, 2, one_message))
        return;
    fast_links(&rig);
    conform_run(&rig);
    /* 14480 at 0, 28960 after one RTT, the last 56656 of 100096 after two, at 20 C. */
    CU_ASSERT(conform_near(strait_noted(&rig, 1, ARRIVED, 0),
                           4 * PATH_S + (100000 + FRAME - 14480 - 28960) / (20 * C) + PATH_S));
    strait_rig_release(&rig);
}

static void twice_with_a_pause(struct strait_rank *r)
{
    if (r->me == 0) {
        strait_rig_send(r, 1, 0, 0, 14000);
        strait_rig_sleep_until(r, 0.1); /* less than the RTO of 0.2 s + RTT: the window stays */
        strait_rig_send(r, 1, 0, 1, 28000);
        strait_rig_sleep_until(r, 0.7); /* two RTOs and more: 28960 halves, down to 14480 */
        strait_rig_send(r, 1, 0, 2, 28000);
    } else {
        for (int i = 0; i < 3; i++)
            note_next(r, 0, 0);
    }
}

void conform_idle(void)
{
    struct strait_rig rig;
    if (!conform_begin(&rig, 2, twice_with_a_pause))
        return;
    fast_links(&rig);
    conform_run(&rig);
    /* Acknowledged: 14096, so the window is 28576 and takes all of the second message at once. */
    CU_ASSERT(
        conform_near(strait_noted(&rig, 1, ARRIVED, 1), 0.1 + (28000 + FRAME) / (20 * C) + PATH_S));
    CU_ASSERT(conform_near(strait_noted(&rig, 1, ARRIVED, 2),
                           0.7 + 2 * PATH_S + (28000 + FRAME - 14480) / (20 * C) + PATH_S));
    strait_rig_release(&rig);
}

static void empty_message(struct strait_rank *r)
{
    if (r->me == 0) {
        struct strait_packet *p = strait_rig_packet(0);
        p->words[1] = 42.5;
        r->backend->ops->send(r, 1, 15, -7, p, false);
        return;
    }
    struct strait_message m = {0};
    r->backend->ops->recv(r, &m, 0, 15, INFINITY);
    note_message(r, &m);
    strait_note(r, WORD, m.packet->words[1]);
    strait_note(r, COUNT, (double)m.packet->payload_bytes);
    strait_packet_drop(m.packet);
}

void conform_empty(void)
{
    struct strait_rig rig;
    if (!conform_begin(&rig, 2, empty_message))
        return;
    conform_run(&rig);
    CU_ASSERT(conform_near(strait_noted(&rig, 1, ARRIVED, 0), FRAME / C + PATH_S));
    CU_ASSERT_EQUAL(strait_noted(&rig, 1, TAG, 0), -7);
    CU_ASSERT_EQUAL(strait_noted(&rig, 1, WORD, 0), 42.5);
    CU_ASSERT_EQUAL(strait_noted(&rig, 1, COUNT, 0), 0);
    strait_rig_release(&rig);
}

static void acked_message(struct strait_rank *r)
{
    if (r->me == 1) {
        note_next(r, 0, 0);
        return;
    }
    struct strait_times t;
    strait_rig_sleep_until(r, 0.05);
    struct strait_op *op = r->backend->ops->send(r, 1, 0, 0, strait_rig_packet(30000), true);
    r->backend->ops->wait(r, op, &t);
    strait_note(r, NOW, r->backend->ops->now_s(r));
    strait_note(r, POSTED, t.queued_s);
    strait_note(r, STARTED, t.started_s);
    strait_note(r, ENDED, t.ended_s);
}

void conform_acked(void)
{
    struct strait_rig rig;
    if (!conform_begin(&rig, 2, acked_message))
        return;
    conform_run(&rig);
    const double arrived_s = 0.05 + (30000 + FRAME) / C + PATH_S;
    CU_ASSERT(conform_near(strait_noted(&rig, 1, ARRIVED, 0), arrived_s));
    CU_ASSERT(conform_near(strait_noted(&rig, 0, POSTED, 0), 0.05));
    CU_ASSERT(conform_near(strait_noted(&rig, 0, STARTED, 0), 0.05));
    CU_ASSERT(conform_near(strait_noted(&rig, 0, ENDED, 0), arrived_s + PATH_S));
    CU_ASSERT(conform_near(strait_noted(&rig, 0, NOW, 0), arrived_s + PATH_S));
    strait_rig_release(&rig);
}

/* Ranks 3, 1, 2 send 20 ms apart; rank 0 looks when all is there. */
static void scattered(struct strait_rank *r)
{
    static const double at_s[] = {0, 0.02, 0.04, 0};
    if (r->me == 0) {
        strait_rig_sleep_until(r, 0.1);
        for (int i = 0; i < 3; i++)
            note_next(r, STRAIT_ANY, 2);
        return;
    }
    strait_rig_sleep_until(r, at_s[r->me]);
    strait_rig_send(r, 0, 2, r->me, 1000);
}

void conform_any(void)
{
    static const int order[] = {3, 1, 2};
    struct strait_rig rig;
    if (!conform_begin(&rig, 4, scattered))
        return;
    conform_run(&rig);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(strait_noted(&rig, 0, SRC, i), strait_noted(&rig, 0, TAG, i));
        CU_ASSERT(i == 0 ||
                  strait_noted(&rig, 0, ARRIVED, i) >= strait_noted(&rig, 0, ARRIVED, i - 1));
        if (conform_is_timed()) {
            CU_ASSERT_EQUAL(strait_noted(&rig, 0, SRC, i), order[i]);
            CU_ASSERT(conform_near(strait_noted(&rig, 0, ARRIVED, i),
                                   0.02 * i + (1000 + FRAME) / C + PATH_S));
        }
        CU_ASSERT(conform_near(strait_noted(&rig, 0, NOW, i), 0.1));
    }
    strait_rig_release(&rig);
}

static void long_and_short_path(struct strait_rank *r)
{
    if (r->me == 0) {
        note_next(r, STRAIT_ANY, 0);
        note_next(r, STRAIT_ANY, 0);
        return;
    }
    strait_rig_sleep_until(r, r->me == 1 ? 0 : 0.01);
    strait_rig_send(r, 0, 0, 0, 1000);
}

void conform_overtaking(void)
{
    struct strait_rig rig;
    if (!conform_begin(&rig, 3, long_and_short_path))
        return;
    rig.network->out[1].delay_s = 0.035; /* 40 ms to rank 0, against 10 ms from rank 2 */
    conform_run(&rig);
    CU_ASSERT_EQUAL(strait_noted(&rig, 0, SRC, 0) + strait_noted(&rig, 0, SRC, 1), 3);
    const double short_s = 0.01 + PATH_S, long_s = 4 * PATH_S; /* since time 0; unshaped: 0 */
    CU_ASSERT(
        conform_near(strait_noted(&rig, 0, NOW, 0), fmin(short_s, long_s) + (1000 + FRAME) / C));
    CU_ASSERT(
        conform_near(strait_noted(&rig, 0, NOW, 1), fmax(short_s, long_s) + (1000 + FRAME) / C));
    if (conform_is_timed())
        CU_ASSERT_EQUAL(strait_noted(&rig, 0, SRC, 0), 2);
    strait_rig_release(&rig);
}

static void chosen_source(struct strait_rank *r)
{
    if (r->me == 0) {
        note_next(r, 2, 0); /* rank 1's message arrives first, and stays */
        note_next(r, STRAIT_ANY, 0);
        return;
    }
    strait_rig_sleep_until(r, r->me == 2 ? 0.03 : 0);
    strait_rig_send(r, 0, 0, 0, 1000);
}

void conform_one_source(void)
{
    struct strait_rig rig;
    if (!conform_begin(&rig, 3, chosen_source))
        return;
    conform_run(&rig);
    CU_ASSERT_EQUAL(strait_noted(&rig, 0, SRC, 0), 2);
    CU_ASSERT_EQUAL(strait_noted(&rig, 0, SRC, 1), 1);
    CU_ASSERT(conform_near(strait_noted(&rig, 0, NOW, 1), 0.03 + (1000 + FRAME) / C + PATH_S));
    CU_ASSERT(conform_near(strait_noted(&rig, 0, ARRIVED, 1), (1000 + FRAME) / C + PATH_S));
    strait_rig_release(&rig);
}

/* Byte i of the test payload; every value occurs, with no period of a power of two. */
static unsigned char byte_at(size_t i)
{
    return (unsigned char)((i * 2654435761u) >> 13);
}

static void real_payload(struct strait_rank *r)
{
    enum { N = 100000 };
    if (r->me == 0) {
        for (int k = 0; k < 2; k++) {
            struct strait_packet *p = strait_packet_new(N - (size_t)k);
            p->payload_bytes = p->raw_bytes = N - (size_t)k;
            for (size_t i = 0; i < p->payload_bytes; i++)
                p->data[i] = byte_at(i + (size_t)k);
            p->codec_id = 1;
            p->n_elems = p->payload_bytes / 4;
            r->backend->ops->send(r, 1, 0, k, p, false);
        }
        return;
    }
    for (int k = 0; k < 2; k++) {
        struct strait_message m = {0};
        r->backend->ops->recv(r, &m, 0, 0, INFINITY);
        double n_wrong = 0;
        for (size_t i = 0; i < m.packet->payload_bytes; i++)
            n_wrong += m.packet->data[i] != byte_at(i + (size_t)k);
        strait_note(r, COUNT, n_wrong);
        strait_note(r, WORD, (double)m.packet->payload_bytes);
        strait_packet_drop(m.packet);
    }
}

void conform_payload(void)
{
    struct strait_rig rig;
    if (!conform_begin(&rig, 2, real_payload))
        return;
    fast_links(&rig);
    rig.run.real_payload = true;
    rig.run.memory_bytes = 4e5;
    conform_run(&rig);
    for (int k = 0; k < 2; k++) {
        CU_ASSERT_EQUAL(strait_noted(&rig, 1, COUNT, k), 0);
        CU_ASSERT_EQUAL(strait_noted(&rig, 1, WORD, k), 100000 - k);
    }
    strait_rig_release(&rig);
}

static const double odd_words[STRAIT_N_WORDS] = {-0.0, 5e-324, 1.0 / 3, -INFINITY};

static void words(struct strait_rank *r)
{
    if (r->me == 0) {
        struct strait_packet *p = strait_rig_packet(5000);
        memcpy(p->words, odd_words, sizeof(odd_words));
        p->codec_id = 1;
        p->bound = (struct strait_bound){STRAIT_BOUND_RANGE, 1e-3};
        p->n_elems = 123456;
        p->raw_bytes = 493824;
        r->backend->ops->send(r, 1, 0, INT32_MAX, p, false);
        return;
    }
    struct strait_message m = {0};
    r->backend->ops->recv(r, &m, 0, 0, INFINITY);
    const struct strait_packet *p = m.packet;
    strait_note(r, YES, memcmp(p->words, odd_words, sizeof(odd_words)) == 0);
    strait_note(r, YES, p->codec_id == 1 && p->n_elems == 123456 && p->raw_bytes == 493824);
    strait_note(r, YES, p->bound.kind == STRAIT_BOUND_RANGE && p->bound.value == 1e-3);
    strait_note(r, YES, p->payload_bytes == 5000 && m.tag == INT32_MAX);
    strait_packet_drop(m.packet);
}

void conform_words(void)
{
    struct strait_rig rig;
    if (!conform_begin(&rig, 2, words))
        return;
    conform_run(&rig);
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(strait_noted(&rig, 1, YES, i), 1);
    strait_rig_release(&rig);
}

/* --- what is refused ---------------------------------------------------------------------- */

static bool only_channel_0(const struct strait_run *run, int src, int dst, int channel)
{
    (void)run;
    return src != dst && channel == 0;
}

static void use_channel_1(struct strait_rank *r)
{
    strait_rig_send(r, r->me, 3, 0, 1); /* to oneself needs no stream */
    strait_rig_recv(r, r->me, 3);
    if (r->me == 0)
        strait_rig_send(r, 1, 0, 0, 1);
    else
        strait_rig_recv(r, 0, 0);
    if (r->me == 1)
        strait_rig_send(r, 0, 1, 0, 1);
}

void conform_undeclared(void)
{
    struct strait_rig rig;
    if (!conform_begin(&rig, 2, use_channel_1))
        return;
    rig.run.uses_stream = only_channel_0;
    strait_rig_run(&rig, conformance_of_suite()->backend);
    CU_ASSERT_EQUAL(rig.rc, -1);
    CU_ASSERT_EQUAL(rig.err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_STRING_EQUAL(
        rig.err.text, "rank 1 sends to rank 0 on channel 1, a stream that the run did not declare");
    strait_rig_release(&rig);
}

/* Two references for four sends. */
static void send_without_keep(struct strait_rank *r)
{
    if (r->me != 0) {
        strait_rig_recv(r, 0, 0);
        return;
    }
    struct strait_packet *p = strait_packet_keep(strait_rig_packet(100000));
    for (int dst = 1; dst < 5; dst++)
        r->backend->ops->send(r, dst, 0, 0, p, false);
}

void conform_not_kept(void)
{
    struct strait_rig rig;
    if (!conform_begin(&rig, 5, send_without_keep))
        return;
    if (conformance_of_suite()->unshaped) {
        strait_test_skip("a message may be over before the next is sent, and who holds its packet "
                         "unknown");
        strait_rig_release(&rig);
        return;
    }
    strait_rig_run(&rig, conformance_of_suite()->backend);
    CU_ASSERT_EQUAL(rig.rc, -1);
    CU_ASSERT_EQUAL(rig.err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(rig.err.text, "rank 0 sends to rank 3 on channel 0 a packet that it does not hold"));
    strait_rig_release(&rig);
}
