/* Conformance: slots, deadlines, lanes, and how a run ends. */
#include "conformance_parts.h"

#include <string.h>

/* On four slots: 3 for 60 ms; 2 for 40 ms wait for them; then 1 for 20 ms, 1 for 30 ms, which
 * would fit at once but do not overtake; 2 for 20 ms, which need both of these to end. */
static void five_jobs(struct strait_rank *r)
{
    static const struct strait_job jobs[] = {
        {.resource = STRAIT_CPU, .n_slots = 3, .cost_s = 0.06},
        {.resource = STRAIT_CPU, .n_slots = 2, .cost_s = 0.04},
        {.resource = STRAIT_CPU, .n_slots = 0, .cost_s = 0.02}, /* 0 counts as 1 */
        {.resource = STRAIT_CPU, .n_slots = 1, .cost_s = 0.03},
        {.resource = STRAIT_CPU, .n_slots = 2, .cost_s = 0.02},
        {.resource = STRAIT_TIMER, .cost_s = 0.05},
        {.resource = STRAIT_ACCEL, .n_slots = 1, .cost_s = 0.01}};
    enum { N = sizeof(jobs) / sizeof(jobs[0]) };
    struct strait_op *ops[N];
    for (int i = 0; i < N; i++)
        ops[i] = r->backend->ops->start(r, &jobs[i]);
    for (int i = N - 1; i >= 0; i--) { /* in any order */
        struct strait_times t;
        r->backend->ops->wait(r, ops[i], &t);
        strait_note(r, STARTED + 100 * i, t.started_s);
        strait_note(r, ENDED + 100 * i, t.ended_s);
        strait_note(r, POSTED + 100 * i, t.queued_s);
    }
    strait_note(r, NOW, r->backend->ops->now_s(r));
}

void conform_slots(void)
{
    static const double started_s[] = {0, 0.06, 0.06, 0.06, 0.09, 0, 0};
    static const double ended_s[] = {0.06, 0.10, 0.08, 0.09, 0.11, 0.05, 0.01};
    struct strait_rig rig;
    if (!conform_begin(&rig, 1, five_jobs))
        return;
    rig.n_slots[STRAIT_CPU] = 4;
    conform_run(&rig);
    for (int i = 0; i < 7; i++) {
        CU_ASSERT(conform_near(strait_noted(&rig, 0, POSTED + 100 * i, 0), 0));
        CU_ASSERT(conform_near(strait_noted(&rig, 0, STARTED + 100 * i, 0), started_s[i]));
        CU_ASSERT(conform_near(strait_noted(&rig, 0, ENDED + 100 * i, 0), ended_s[i]));
    }
    CU_ASSERT(conform_near(strait_noted(&rig, 0, NOW, 0), 0.11));
    strait_rig_release(&rig);
}

struct counted { /* how often and as the how-manieth */
    int *n_all;
    int n, place;
};

static void count(void *arg)
{
    struct counted *c = arg;
    c->n++;
    c->place = (*c->n_all)++;
}

static void jobs_with_functions(struct strait_rank *r)
{
    int n_all = 0;
    struct counted counts[3] = {{&n_all, 0, -1}, {&n_all, 0, -1}, {&n_all, 0, -1}};
    struct strait_op *ops[3];
    for (int i = 0; i < 3; i++) {
        const struct strait_job job = {
            .resource = STRAIT_CPU, .n_slots = 1, .cost_s = 0.01, .fn = count, .arg = &counts[i]};
        ops[i] = r->backend->ops->start(r, &job);
    }
    for (int i = 0; i < 3; i++) {
        r->backend->ops->wait(r, ops[i], NULL);
        strait_note(r, COUNT, counts[i].n);
        strait_note(r, SEQ, counts[i].place);
    }
    strait_note(r, NOW, r->backend->ops->now_s(r));
}

void conform_functions(void)
{
    struct strait_rig rig;
    if (!conform_begin(&rig, 1, jobs_with_functions))
        return;
    conform_run(&rig);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(strait_noted(&rig, 0, COUNT, i), 1);
        CU_ASSERT_EQUAL(strait_noted(&rig, 0, SEQ, i), i);
    }
    CU_ASSERT(conform_near(strait_noted(&rig, 0, NOW, 0), 0.03));
    strait_rig_release(&rig);
}

static void note_try(struct strait_rank *r, double deadline_s)
{
    struct strait_message m = {0};
    const bool got = r->backend->ops->recv(r, &m, 0, 0, deadline_s);
    strait_note(r, YES, got);
    strait_note(r, NOW, r->backend->ops->now_s(r));
    if (got)
        strait_packet_drop(m.packet);
}

static void late_message(struct strait_rank *r)
{
    if (r->me == 0) {
        strait_rig_sleep_until(r, 0.05);
        strait_rig_send(r, 1, 0, 0, 1000);
        return;
    }
    note_try(r, 0.03);
    note_try(r, 20); /* far behind the arrival, on a busy machine too */
    note_try(r, 0.1);
}

void conform_deadline(void)
{
    struct strait_rig rig;
    if (!conform_begin(&rig, 2, late_message))
        return;
    conform_run(&rig);
    CU_ASSERT_EQUAL(strait_noted(&rig, 1, YES, 0), 0); /* missed: at the deadline, not later */
    CU_ASSERT(conform_near(strait_noted(&rig, 1, NOW, 0), 0.03));
    CU_ASSERT_EQUAL(strait_noted(&rig, 1, YES, 1), 1); /* met: at the arrival */
    CU_ASSERT(conform_near(strait_noted(&rig, 1, NOW, 1), 0.05 + (1000 + FRAME) / C + PATH_S));
    CU_ASSERT_EQUAL(strait_noted(&rig, 1, YES, 2), 0); /* nothing more comes */
    CU_ASSERT(conform_near(strait_noted(&rig, 1, NOW, 2), 0.1));
    strait_rig_release(&rig);
}

/* The arrival is 1096 bytes over a link and 10 ms: a real clock cannot hit it, virtual time can. */
static void deadline_at_arrival(struct strait_rank *r)
{
    if (r->me == 0)
        strait_rig_send(r, 1, 0, 0, 1000);
    else
        note_try(r, (1000 + FRAME) / C + PATH_S +
                        (conform_is_timed() ? conformance_of_suite()->tolerance_s : 20));
}

void conform_deadline_instant(void)
{
    struct strait_rig rig;
    if (!conform_begin(&rig, 2, deadline_at_arrival))
        return;
    conform_run(&rig);
    CU_ASSERT_EQUAL(strait_noted(&rig, 1, YES, 0), 1);
    strait_rig_release(&rig);
}

/* Two paths of 10 ms and three messages take 25 ms; on a busy machine somewhat more. */
#define LOOK_S 1.0

static void polls(struct strait_rank *r)
{
    if (r->me == 0) {
        strait_packet_drop(strait_rig_recv(r, 1, 0).packet); /* rank 1 has looked */
        strait_rig_send(r, 1, 0, 0, 1000);
        strait_rig_send(r, 1, 0, 1, 1000);
        return;
    }
    note_try(r, 0); /* nothing is there yet */
    strait_rig_send(r, 0, 0, 0, 1000);
    strait_rig_sleep_until(r, LOOK_S);
    note_try(r, 0); /* one, two, and no third */
    note_try(r, -INFINITY);
    note_try(r, LOOK_S);
}

void conform_poll(void)
{
    static const int yes[] = {0, 1, 1, 0};
    static const double now_s[] = {0, LOOK_S, LOOK_S, LOOK_S};
    struct strait_rig rig;
    if (!conform_begin(&rig, 2, polls))
        return;
    conform_run(&rig);
    for (int i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(strait_noted(&rig, 1, YES, i), yes[i]);
        CU_ASSERT(conform_near(strait_noted(&rig, 1, NOW, i), now_s[i]));
    }
    strait_rig_release(&rig);
}

static void to_oneself(struct strait_rank *r)
{
    strait_rig_sleep_until(r, 0.02);
    strait_rig_send(r, r->me, 5, 1, 50000000);
    strait_rig_send(r, r->me, 5, 2, 50000000);
    for (int i = 0; i < 2; i++) {
        const struct strait_message m = strait_rig_recv(r, i == 0 ? STRAIT_ANY : r->me, 5);
        strait_note(r, TAG, m.tag);
        strait_note(r, SRC, m.src);
        strait_note(r, ARRIVED, m.arrived_s);
        strait_note(r, POSTED, m.posted_s);
        strait_note(r, SEQ, (double)m.seq);
    }
    struct strait_op *op = r->backend->ops->send(r, r->me, 6, 3, strait_rig_packet(1000), true);
    r->backend->ops->wait(r, op, NULL);
    strait_note(r, SEQ, (double)strait_rig_recv(r, r->me, 6).seq);
    strait_note(r, NOW, r->backend->ops->now_s(r));
}

static void assert_to_oneself(const struct strait_rig *rig, int rank)
{
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(strait_noted(rig, rank, TAG, i), i + 1);
        CU_ASSERT_EQUAL(strait_noted(rig, rank, SRC, i), rank);
        CU_ASSERT(conform_near(strait_noted(rig, rank, ARRIVED, i), 0.02));
        CU_ASSERT(conform_near(strait_noted(rig, rank, POSTED, i), 0.02));
        CU_ASSERT_EQUAL(strait_noted(rig, rank, SEQ, i), i);
    }
    CU_ASSERT_EQUAL(strait_noted(rig, rank, SEQ, 2), 0); /* the first of its channel */
    CU_ASSERT(conform_near(strait_noted(rig, rank, NOW, 0), 0.02));
}

void conform_oneself(void)
{
    struct strait_rig rig;
    if (!conform_begin(&rig, 2, to_oneself))
        return;
    conform_run(&rig);
    assert_to_oneself(&rig, 0);
    assert_to_oneself(&rig, 1);
    strait_rig_release(&rig);
}

void conform_one_rank(void)
{
    struct strait_rig rig;
    if (!conform_begin(&rig, 1, to_oneself))
        return;
    conform_run(&rig);
    assert_to_oneself(&rig, 0);
    strait_rig_release(&rig);
}

static void returns_early(struct strait_rank *r)
{
    if (r->me == 1) { /* 30096 bytes take 50 ms and are carried although their sender is gone */
        strait_rig_send(r, 0, 0, 0, 30000);
        return;
    }
    strait_rig_send(r, 1, 0, 0, 1000); /* nobody takes these */
    strait_rig_sleep_until(r, 0.12);
    strait_rig_send(r, 1, 0, 1, 1000);
    const struct strait_message m = strait_rig_recv(r, 1, 0);
    strait_note(r, ARRIVED, m.arrived_s);
    strait_note(r, NOW, r->backend->ops->now_s(r));
}

void conform_early_return(void)
{
    struct strait_rig rig;
    if (!conform_begin(&rig, 2, returns_early))
        return;
    conform_run(&rig);
    CU_ASSERT(conform_near(strait_noted(&rig, 0, ARRIVED, 0), (30000 + FRAME) / C + PATH_S));
    CU_ASSERT(conform_near(strait_noted(&rig, 0, NOW, 0), 0.12));
    strait_rig_release(&rig);
}

static void waits_for_nothing(struct strait_rank *r)
{
    if (r->me == 1)
        strait_rig_recv(r, 0, 4);
    else
        strait_rig_send(r, 1, 3, 0, 100); /* another channel */
}

void conform_nothing_can_arrive(void)
{
    struct strait_rig rig;
    if (!conform_begin(&rig, 2, waits_for_nothing))
        return;
    strait_rig_run(&rig, conformance_of_suite()->backend);
    CU_ASSERT_EQUAL(rig.rc, -1);
    CU_ASSERT_EQUAL(rig.err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_PTR_NOT_NULL(strstr(rig.err.text, "rank 1 waits for ever"));
    CU_ASSERT_PTR_NOT_NULL(strstr(rig.err.text, "from rank 0 on channel 4"));
    strait_rig_release(&rig);
}

static void others_go_on(struct strait_rank *r)
{
    if (r->me == 0) {
        strait_rig_sleep_until(r, 0.05);
        strait_rig_send(r, 2, 0, 0, 1000); /* still carried: rank 2 has it before the end */
        strait_note(r, NOW, r->backend->ops->now_s(r));
    } else if (r->me == 1) {
        for (;;)
            strait_rig_work(r, STRAIT_CPU, 0.01);
    } else {
        for (;;)
            strait_rig_recv(r, 0, 0);
    }
}

void conform_rank_0_ends(void)
{
    struct strait_rig rig;
    if (!conform_begin(&rig, 3, others_go_on))
        return;
    rig.run.ends_with_rank_0 = true;
    conform_run(&rig);
    CU_ASSERT(conform_near(strait_noted(&rig, 0, NOW, 0), 0.05));
    strait_rig_release(&rig);
}

enum { TO_LANE = 7, FROM_LANE = 8, DATA = 9 };

struct shared {
    int value;
    bool same_wrap;
    double got_s, worked_s;
};

static void second_lane(struct strait_rank *lane, void *arg)
{
    struct shared *s = arg;
    s->same_wrap = lane->wrap == s;
    s->value += strait_rig_recv(lane, lane->me, TO_LANE).tag; /* 1 + 10 */
    strait_rig_recv(lane, 1, DATA);
    s->got_s = lane->backend->ops->now_s(lane);
    strait_rig_work(lane, STRAIT_ACCEL, 0.02); /* after the first lane's job */
    s->worked_s = lane->backend->ops->now_s(lane);
    strait_rig_send(lane, lane->me, FROM_LANE, s->value * 2, 0);
    strait_rig_sleep_until(lane, 0.12);
}

static void two_lanes(struct strait_rank *r)
{
    if (r->me == 1) {
        strait_rig_send(r, 0, DATA, 0, 10000);
        return;
    }
    struct shared s = {.value = 1};
    r->wrap = &s; /* a lane inherits it */
    struct strait_rank *lane = r->backend->ops->spawn(r, second_lane, &s);
    strait_note(r, YES, lane->me == r->me && lane->lane == 1 && r->lane == 0);
    strait_rig_send(r, r->me, TO_LANE, 10, 0);
    strait_rig_work(r, STRAIT_ACCEL, 0.06);
    const struct strait_message m = strait_rig_recv(r, r->me, FROM_LANE);
    strait_note(r, TAG, m.tag);
    strait_note(r, NOW, r->backend->ops->now_s(r));
    r->backend->ops->join(r, lane);
    strait_note(r, ENDED, r->backend->ops->now_s(r));
    strait_note(r, ARRIVED, s.got_s);
    strait_note(r, STARTED, s.worked_s);
    strait_note(r, WORD, s.value);
    strait_note(r, YES, s.same_wrap);
}

void conform_lanes(void)
{
    struct strait_rig rig;
    if (!conform_begin(&rig, 2, two_lanes))
        return;
    conform_run(&rig);
    /* 10096 bytes arrive at 27 ms beside the first lane's 60 ms on the accelerator, which then
     * serves the second lane for 20 ms; its message comes at 80 ms and it ends at 120 ms. */
    CU_ASSERT_EQUAL(strait_noted(&rig, 0, YES, 0), 1);
    CU_ASSERT(conform_near(strait_noted(&rig, 0, ARRIVED, 0), (10000 + FRAME) / C + PATH_S));
    CU_ASSERT(conform_near(strait_noted(&rig, 0, STARTED, 0), 0.08));
    CU_ASSERT(conform_near(strait_noted(&rig, 0, NOW, 0), 0.08));
    CU_ASSERT(conform_near(strait_noted(&rig, 0, ENDED, 0), 0.12));
    CU_ASSERT_EQUAL(strait_noted(&rig, 0, YES, 1), 1);
    CU_ASSERT_EQUAL(strait_noted(&rig, 0, WORD, 0), 11);
    CU_ASSERT_EQUAL(strait_noted(&rig, 0, TAG, 0), 22);
    strait_rig_release(&rig);
}

static void gives_up(struct strait_rank *r)
{
    if (r->me == 1) {
        struct strait_error err = {0};
        strait_rig_sleep_until(r, 0.02);
        strait_error_set(&err, STRAIT_ERR_INPUT, "here", "rank 1 gave up");
        r->backend->ops->fail(r, &err);
    }
    strait_rig_recv(r, 1, 0);
}

void conform_fail(void)
{
    struct strait_rig rig;
    if (!conform_begin(&rig, 3, gives_up))
        return;
    strait_rig_run(&rig, conformance_of_suite()->backend);
    CU_ASSERT_EQUAL(rig.rc, -1);
    CU_ASSERT_EQUAL(rig.err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(rig.err.text, "rank 1 gave up");
    strait_rig_release(&rig);
}

static void busy_star(struct strait_rank *r)
{
    if (r->me == 0) {
        for (int i = 0; i < 12; i++) {
            const struct strait_message m = strait_rig_recv(r, STRAIT_ANY, 0);
            strait_note(r, ARRIVED, m.arrived_s);
            strait_note(r, SRC, m.src);
        }
        return;
    }
    for (int i = 0; i < 4; i++) {
        strait_rig_work(r, STRAIT_CPU, 0.001 * ((7 * r->me + 3 * i) % 5));
        strait_rig_send(r, 0, 0, i, 1000 * (size_t)(1 + (r->me + i) % 3));
    }
}

void conform_rerun(void)
{
    struct strait_rig rig;
    if (!conform_begin(&rig, 4, busy_star))
        return;
    double first[12];
    conform_run(&rig);
    for (int i = 0; i < 12; i++)
        first[i] = strait_noted(&rig, 0, ARRIVED, i);
    conform_run(&rig);
    CU_ASSERT_EQUAL(strait_n_noted(&rig, 0, ARRIVED), 12);
    for (int i = 0; i < 12; i++) {
        const double again = strait_noted(&rig, 0, ARRIVED, i);
        if (conformance_of_suite()->ideal)
            CU_ASSERT(memcmp(&again, &first[i], sizeof(again)) == 0);
        CU_ASSERT(i == 0 || again >= strait_noted(&rig, 0, ARRIVED, i - 1));
    }
    strait_rig_release(&rig);
}
