/* The streams of two ranks that take turns in one thread, over letter boxes in place of MPI: what
 * each turn asks of MPI, in which parts and order, when a link is calm, and what it refuses. */
#include "mpi/link.h"
#include <stdlib.h>
#include <string.h>
#include "core/names.h"
#include "mpi/link_parts.h"
#include "tests/kit/failing/set_clock.h"
#include "tests/kit/links/fake_mpi.h"
#include "tests/kit/suite.h"

enum { N = 2, CHANNEL = 2, LETTER = sizeof(struct letter) };

static struct end {
    struct strait_mpi_world world;
    struct strait_run run;
    struct strait_proc_state state;
    struct strait_proc_rank rank;
    struct strait_mpi_link *link;
    struct strait_mpi_note note; /* the last that came */
    int n_notes;
} ends[N];

static void noted(void *of, const struct strait_mpi_note *note)
{
    struct end *e = of;
    e->note = *note;
    e->n_notes++;
}

static void begin(void)
{
    fake_mpi_empty();
    strait_test_clock_set(50);
    memset(ends, 0, sizeof(ends));
    for (int i = 0; i < N; i++) {
        struct end *e = &ends[i];
        struct strait_error err = {0};
        e->world = fake_mpi_world(i, N);
        e->run.n_ranks = N;
        e->rank = (struct strait_proc_rank){
            .run = &e->run, .me = i, .state = &e->state, .clock = {40000000000, 1}};
        pthread_mutex_init(&e->rank.lock, NULL);
        strait_proc_inbox_init(&e->rank.inbox);
        CU_ASSERT_EQUAL_FATAL(strait_mpi_link_new(&e->link, &e->world, &e->rank, noted, e, &err),
                              0);
        CU_ASSERT(strait_mpi_link_is_calm(e->link));
    }
}

static void end(void)
{
    for (int i = 0; i < N; i++) {
        strait_mpi_link_free(ends[i].link);
        strait_proc_inbox_release(&ends[i].rank.inbox);
        pthread_mutex_destroy(&ends[i].rank.lock);
    }
    fake_mpi_empty();
    strait_test_clock_real();
}

static unsigned char value(size_t i)
{
    return (unsigned char)(i % 251 + 3);
}

static void let_go(struct strait_packet *p)
{
    free(p);
}

/* A packet of n bytes; not real: without data. */
static struct strait_packet *packet(size_t n, bool real)
{
    static const struct strait_rank nobody = {0};
    struct strait_packet *p = real ? strait_packet_new(n) : calloc(1, sizeof(*p));
    for (size_t i = 0; real && i < n; i++)
        p->data[i] = value(i);
    if (!real) {
        p->payload_bytes = n;
        p->release = let_go;
        atomic_store(&p->n_refs, 1);
    }
    p->words[0] = 0.5;
    CU_ASSERT_EQUAL(strait_packet_post(p, &nobody, 0, CHANNEL, NULL), 0);
    return p;
}

/* Rank 1 to rank 0. */
static void post(int tag, size_t n, bool real, void *ticket)
{
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(
        strait_mpi_link_post(ends[1].link, 0, CHANNEL, tag, packet(n, real), 7.25, ticket, &err),
        0);
}

/* A turn asks for this and no more. */
static void turn(int i, bool moves, const char *asked)
{
    struct strait_error err = {0};
    bool moved = !moves;
    CU_ASSERT_EQUAL(strait_mpi_link_turn(ends[i].link, &moved, &err), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_EQUAL(moved, moves);
    CU_ASSERT_STRING_EQUAL(fake_mpi_asked(), asked);
}

static void turn_fails(int i, const char *text)
{
    struct strait_error err = {0};
    bool moved;
    CU_ASSERT_EQUAL(strait_mpi_link_turn(ends[i].link, &moved, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_STRING_EQUAL(err.text, text);
}

static bool is_calm(int i)
{
    return strait_mpi_link_is_calm(ends[i].link);
}

/* The next message to rank 0 is there, and is this one. */
static void take(int tag, size_t n, bool real, uint64_t seq)
{
    struct strait_message m = {0};
    CU_ASSERT_FATAL(strait_proc_inbox_take(&ends[0].rank.inbox, &m, STRAIT_ANY, CHANNEL, INFINITY));
    CU_ASSERT_EQUAL(m.src, 1);
    CU_ASSERT_EQUAL(m.tag, tag);
    CU_ASSERT_EQUAL(m.seq, seq);
    CU_ASSERT_EQUAL(m.posted_s, 7.25);
    CU_ASSERT_DOUBLE_EQUAL(m.arrived_s, 10, 1e-6); /* 50 s, 40 of them before time 0 */
    CU_ASSERT_EQUAL(m.packet->payload_bytes, n);
    CU_ASSERT_EQUAL(m.packet->words[0], 0.5);
    CU_ASSERT_EQUAL(m.packet->data != NULL, real && n > 0);
    for (size_t i = 0; real && i < n; i++)
        if (m.packet->data[i] != value(i)) {
            CU_ASSERT_EQUAL(m.packet->data[i], value(i));
            break;
        }
    strait_packet_drop(m.packet);
}

static void none(void)
{
    struct strait_message m;
    CU_ASSERT_FALSE(strait_proc_inbox_take(&ends[0].rank.inbox, &m, STRAIT_ANY, CHANNEL, INFINITY));
}

/* --- what travels ----------------------------------------------------------------------------- */

static void one_message(void)
{
    struct strait_op op = {0};
    begin();
    turn(1, false, "");
    post(7, 5000, true, &op);
    CU_ASSERT_FALSE(is_calm(1));
    fake_mpi.held = true;
    turn(1, true, "L1>0#2:128 P1>0#2:5000 ");
    turn(1, false, "");
    CU_ASSERT_FALSE(is_calm(1)); /* both still are under way */
    fake_mpi.held = false;
    turn(1, true, "");
    CU_ASSERT(is_calm(1));
    turn(1, false, "");
    const struct strait_mpi_figures sent = strait_mpi_link_figures(ends[1].link);
    CU_ASSERT_EQUAL(sent.bytes_sent, LETTER + 5000);
    CU_ASSERT_EQUAL(sent.bytes_received, 0);
    CU_ASSERT_EQUAL(sent.sent_checksum, strait_proc_wire_checksum(fake_mpi.items[0].data));

    turn(0, true, "r0<1#2:5000 ");
    CU_ASSERT_FALSE(is_calm(0));
    none();
    fake_mpi.held = true;
    turn(0, true, "L0>1#18:0 "); /* the payload has come: acknowledged on the channel of its own */
    CU_ASSERT_EQUAL(ends[0].state.n_landed, 1);
    CU_ASSERT_FALSE(is_calm(0));
    fake_mpi.held = false;
    turn(0, true, "");
    CU_ASSERT(is_calm(0));
    const struct strait_mpi_figures come = strait_mpi_link_figures(ends[0].link);
    CU_ASSERT_EQUAL(come.bytes_received, LETTER + 5000);
    CU_ASSERT_EQUAL(come.bytes_sent, 0);
    take(7, 5000, true, 0);
    none();

    strait_test_clock_pass(1);
    CU_ASSERT_FALSE(op.done);
    turn(1, true, "");
    CU_ASSERT(op.done);
    CU_ASSERT_EQUAL(op.ended_ns, 51000000000);
    CU_ASSERT_EQUAL(ends[1].state.n_landed, 1);
    end();
}

/* Two of a stream at most, and in order; another stream does not wait for them. */
static void two_at_a_time(void)
{
    struct strait_error err = {0};
    begin();
    for (int tag = 1; tag <= 3; tag++)
        post(tag, 10, true, NULL);
    CU_ASSERT_EQUAL(strait_mpi_link_post(ends[1].link, 0, 5, 9, packet(4, true), 1, NULL, &err), 0);
    fake_mpi.held = true;
    turn(1, true, "L1>0#5:128 P1>0#5:4 L1>0#2:128 P1>0#2:10 L1>0#2:128 P1>0#2:10 ");
    turn(1, false, "");
    fake_mpi.held = false;
    turn(1, true, "");
    CU_ASSERT_FALSE(is_calm(1));
    turn(1, true, "L1>0#2:128 P1>0#2:10 ");
    CU_ASSERT(is_calm(1));
    turn(0, true, "r0<1#2:10 r0<1#2:10 r0<1#2:10 r0<1#5:4 ");
    turn(0, true, "");
    CU_ASSERT(is_calm(0));
    CU_ASSERT_EQUAL(ends[0].state.n_landed, 4);
    for (int tag = 1; tag <= 3; tag++)
        take(tag, 10, true, (uint64_t)tag - 1);
    none();
    turn(0, false, "");
    post(4, 1, true, NULL);
    turn(1, true, "L1>0#2:128 P1>0#2:1 ");
    turn(0, true, "r0<1#2:1 ");
    turn(0, true, "");
    take(4, 1, true, 3);
    end();
}

/* Acknowledgements are of the messages that asked for them, in their order. */
static void acknowledged(void)
{
    struct strait_op ops[2] = {0};
    begin();
    post(1, 0, true, NULL);
    turn(1, true, "L1>0#2:128 ");
    post(2, 0, true, &ops[0]);
    turn(1, true, "L1>0#2:128 ");
    post(3, 0, true, &ops[1]);
    turn(1, true, "L1>0#2:128 ");
    fake_mpi.delay_s = 1;
    turn(0, true, "L0>1#18:0 L0>1#18:0 "); /* without a payload all has come at once */
    for (int tag = 1; tag <= 3; tag++)
        take(tag, 0, true, (uint64_t)tag - 1);
    turn(1, false, "");
    fake_mpi.items[4].from_s = INFINITY; /* letters: three messages, two acknowledgements */
    strait_test_clock_pass(2);
    turn(1, true, "");
    CU_ASSERT(ops[0].done && !ops[1].done);
    CU_ASSERT_EQUAL(ops[0].ended_ns, 52000000000);
    fake_mpi.items[4].from_s = 0;
    strait_test_clock_pass(1);
    turn(1, true, "");
    CU_ASSERT(ops[1].done);
    CU_ASSERT_EQUAL(ops[0].ended_ns, 52000000000);
    CU_ASSERT_EQUAL(ops[1].ended_ns, 53000000000);
    turn(0, true, ""); /* they have left */
    CU_ASSERT(is_calm(0) && is_calm(1));
    end();
}

static void expect_parts(char *text, const char *before, const char *part, int n, const char *after)
{
    *text = '\0';
    strait_text_add(text, 1024, "%s", before);
    for (int i = 0; i < n; i++)
        strait_text_add(text, 1024, "%s", part);
    strait_text_add(text, 1024, "%s", after);
}

/* 20001 bytes in parts of 1000: eight requests at most, the letter's too. The next message's letter
 * follows the last part, and its payload is asked for when all of the first one's was. */
static void parts(void)
{
    char text[1024];
    begin();
    strait_mpi_link_unasked(ends[1].link);
    post(1, 20001, true, NULL);
    post(2, 3, true, NULL);
    fake_mpi.held = true;
    expect_parts(text, "L1>0#2:128 ", "P1>0#2:1000 ", 7, "");
    turn(1, true, text);
    turn(1, false, "");
    fake_mpi.held = false;
    turn(1, true, "");
    CU_ASSERT_FALSE(is_calm(1));
    expect_parts(text, "", "P1>0#2:1000 ", 8, "");
    turn(1, true, text);
    CU_ASSERT_FALSE(is_calm(1));
    expect_parts(text, "", "P1>0#2:1000 ", 5, "P1>0#2:1 L1>0#2:128 P1>0#2:3 ");
    turn(1, true, text);
    CU_ASSERT(is_calm(1));
    CU_ASSERT_EQUAL(strait_mpi_link_figures(ends[1].link).bytes_sent, 2 * LETTER + 20004);

    expect_parts(text, "", "r0<1#2:1000 ", 8, "");
    turn(0, true, text);
    turn(0, true, text);
    expect_parts(text, "", "r0<1#2:1000 ", 4, "r0<1#2:1 r0<1#2:3 ");
    turn(0, true, text);
    none();
    CU_ASSERT_FALSE(is_calm(0));
    turn(0, true, "");
    CU_ASSERT(is_calm(0));
    take(1, 20001, true, 0);
    take(2, 3, true, 1);
    CU_ASSERT_EQUAL(strait_mpi_link_figures(ends[0].link).bytes_received, 2 * LETTER + 20004);
    end();
}

/* A second message that has come while the first one's payload lacks waits for it. */
static void in_order(void)
{
    begin();
    post(1, 10, true, NULL);
    post(2, 20, true, NULL);
    turn(1, true, "L1>0#2:128 P1>0#2:10 L1>0#2:128 P1>0#2:20 ");
    fake_mpi.items[1].from_s = 60;
    turn(0, true, "r0<1#2:10 r0<1#2:20 ");
    fake_mpi.items[3].tag = 3; /* so that a request of 10 bytes does not find it */
    turn(0, false, "");
    none();
    CU_ASSERT_FALSE(is_calm(0));
    fake_mpi.items[1].from_s = 0;
    turn(0, true, "");
    take(1, 10, true, 0);
    none();
    CU_ASSERT_FALSE(is_calm(0));
    fake_mpi.items[3].tag = 2;
    turn(0, true, "");
    take(2, 20, true, 1);
    CU_ASSERT(is_calm(0));
    end();
}

/* What has a size alone travels as noise; what has values and none of them is a letter. */
static void sized(void)
{
    begin();
    post(1, 3000, false, NULL);
    post(2, 0, true, NULL);
    turn(1, true, "L1>0#2:128 P1>0#2:3000 L1>0#2:128 ");
    CU_ASSERT_EQUAL(strait_mpi_link_figures(ends[1].link).bytes_sent, 2 * LETTER + 3000);
    CU_ASSERT_EQUAL(strait_mpi_link_figures(ends[1].link).sent_checksum,
                    strait_proc_wire_checksum(fake_mpi.items[0].data) +
                        strait_proc_wire_checksum(fake_mpi.items[2].data));
    for (int i = 0; i < 3000; i++)
        if (((const char *)fake_mpi.items[1].data)[i] != 0)
            CU_FAIL("expected zeros");
    turn(0, true, "r0<1#2:3000 ");
    turn(0, true, "");
    take(1, 3000, false, 0);
    take(2, 0, true, 1);
    CU_ASSERT_EQUAL(strait_mpi_link_figures(ends[0].link).bytes_received, 2 * LETTER + 3000);
    end();
}

static void notes(void)
{
    struct strait_error err = {0};
    const struct strait_mpi_note note = {.word = STRAIT_MPI_PONG, .from = 7, .time_ns = 12345};
    begin();
    fake_mpi.held = true;
    CU_ASSERT_EQUAL(strait_mpi_link_note(ends[1].link, 0, &note, &err), 0);
    CU_ASSERT_FALSE(is_calm(1));
    turn(1, false, "");
    fake_mpi.held = false;
    turn(1, true, "");
    CU_ASSERT(is_calm(1));
    turn(0, true, "");
    CU_ASSERT_EQUAL(ends[0].n_notes, 1);
    CU_ASSERT_EQUAL(ends[0].note.word, STRAIT_MPI_PONG);
    CU_ASSERT_EQUAL(ends[0].note.from, 1); /* who sent it, whatever it says */
    CU_ASSERT_EQUAL(ends[0].note.time_ns, 12345);
    turn(0, false, "");
    end();
}

/* --- what does not --------------------------------------------------------------------------- */

/* A failure leaves what was under way. */
static void drop_rest(void)
{
    for (int i = 0; i < N; i++) {
        for (struct in *in = ends[i].link->used_ins; in; in = in->next)
            for (struct arriving *a = in->first, *next; a; a = next) {
                next = a->next;
                if (a->packet)
                    strait_packet_drop(a->packet);
                free(a->noise);
                free(a);
            }
        for (struct out *o = ends[i].link->used_outs; o; o = o->next)
            for (struct sending *s = o->first, *next; s; s = next) {
                next = s->next;
                strait_packet_landed(s->packet);
                strait_packet_drop(s->packet);
                free(s);
            }
        for (struct sending *s = ends[i].link->active, *next; s; s = next) {
            next = s->next;
            if (s->packet) {
                strait_packet_landed(s->packet);
                strait_packet_drop(s->packet);
            }
            free(s);
        }
    }
    end();
}

static void letter(int tag, size_t n_bytes)
{
    static const char bytes[sizeof(struct strait_mpi_note) + 1] = "";
    struct strait_mpi_request request;
    fake_mpi_calls.isend(ends[1].world.mpi, &request, STRAIT_MPI_LETTERS, bytes, n_bytes, 0, tag);
}

static void odd_letters(void)
{
    char text[100];
    begin();
    letter(CHANNEL, 100);
    turn_fails(0, "rank 1 sent a frame of 100 bytes, expected 128");
    drop_rest();

    begin();
    letter(CHANNEL, LETTER);
    turn_fails(0, "a message begins with a bad frame: expected \"STRT\", found bytes "
                  "00 00 00 00");
    drop_rest();

    begin();
    letter(STRAIT_MPI_TAG_NOTE, sizeof(struct strait_mpi_note) + 1);
    snprintf(text, sizeof(text), "rank 1 sent a note of %zu bytes, expected %zu",
             sizeof(struct strait_mpi_note) + 1, sizeof(struct strait_mpi_note));
    turn_fails(0, text);
    CU_ASSERT_EQUAL(ends[0].n_notes, 0);
    drop_rest();

    begin();
    letter(TAG_ACK + CHANNEL, 0);
    turn_fails(0, "rank 1 acknowledges what was not sent");
    drop_rest();

    begin();
    letter(STRAIT_MPI_TAG_TALK, 9); /* of what comes after the run */
    turn(0, false, "L1>0#64:9 ");
    CU_ASSERT_FALSE(fake_mpi.items[0].taken);
    end();
}

static void damage(void)
{
    begin();
    post(1, 100, true, NULL);
    turn(1, true, "L1>0#2:128 P1>0#2:100 ");
    ((char *)fake_mpi.items[1].data)[50] ^= 1;
    turn(0, true, "r0<1#2:100 ");
    turn_fails(0, "a message of 100 bytes is damaged: frame and payload do not match their "
                  "checksum");
    none();
    drop_rest();
}

/* Without values nothing has to lie in memory. MPI counts to 2^31 - 1. */
static void large(void)
{
    begin();
    post(1, (size_t)1 << 32, false, NULL);
    turn(1, true,
         "L1>0#2:128 P1>0#2:1073741824 P1>0#2:1073741824 P1>0#2:1073741824 P1>0#2:1073741824 ");
    CU_ASSERT(is_calm(1));
    end();
    begin();
    post(1, ((size_t)1 << 32) + 1, false, NULL);
    turn_fails(1, "expected a payload of at most 4294967296 bytes, found 4294967297");
    CU_ASSERT_STRING_EQUAL(fake_mpi_asked(), "");
    drop_rest();
}

static const struct strait_test tests[] = {
    {"a message is a letter and its payload, and is acknowledged when both have come", one_message},
    {"two messages of a stream are under way at most", two_at_a_time},
    {"acknowledgements go to the messages that asked for them", acknowledged},
    {"eight parts of a message are under way at most", parts},
    {"messages of a stream are delivered in their order", in_order},
    {"a payload without values travels as noise", sized},
    {"a note says who sent it", notes},
    {"letters of a wrong size, or of nothing that was sent, are refused", odd_letters},
    {"a payload that was changed on its way is refused", damage},
    {"a payload has 4 GiB at most, in parts that MPI can count", large},
};
STRAIT_SUITE("mpi/link", tests);
