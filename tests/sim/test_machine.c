/* What the machine of both simulators promises beyond the conformance suite. */
#include <string.h>

#include "tests/kit/rig.h"
#include "tests/kit/suite.h"

#define C (1e9 / 8 * 1448 / 1514) /* payload bytes/s of 1 Gbps */
enum { ARRIVED, COUNT, NOW };

static const struct strait_backend *const both[] = {&strait_sim, &strait_fluid};

static struct strait_rig run(int i, int n_ranks, void (*rank_main)(struct strait_rank *),
                             bool ends_with_rank_0)
{
    struct strait_rig rig;
    strait_rig_init(&rig, n_ranks, strait_rig_link(1e9, 0.01), rank_main);
    rig.run.ends_with_rank_0 = ends_with_rank_0;
    strait_rig_run(&rig, both[i]);
    return rig;
}

static void says_goodbye(struct strait_rank *r)
{
    if (r->me == 0) {
        strait_rig_send(r, 1, 0, 0, 1000);
        return;
    }
    for (;;)
        strait_note(r, ARRIVED, strait_rig_recv(r, 0, 0).arrived_s);
}

static void last_words(void)
{
    for (int i = 0; i < 2; i++) {
        struct strait_rig rig = run(i, 2, says_goodbye, true);
        CU_ASSERT_EQUAL(rig.rc, 0);
        CU_ASSERT_DOUBLE_EQUAL(strait_noted(&rig, 1, ARRIVED, 0), 1096 / C + 0.02, 1e-9);
        strait_rig_release(&rig);
    }
}

/* Three lanes that wait for each other's end, in a circle. */
static void waits_for_first(struct strait_rank *lane, void *other)
{
    lane->backend->ops->join(lane, *(struct strait_rank **)other);
}

static void circle(struct strait_rank *r)
{
    struct strait_rank *first = r;
    r->backend->ops->join(r, r->backend->ops->spawn(r, waits_for_first, &first));
}

static void deadlocked_lanes(void)
{
    for (int i = 0; i < 2; i++) {
        struct strait_rig rig = run(i, 1, circle, false);
        CU_ASSERT_EQUAL(rig.rc, -1);
        CU_ASSERT_EQUAL(rig.err.code, STRAIT_ERR_BACKEND);
        CU_ASSERT_PTR_NOT_NULL(strstr(rig.err.text, "lanes wait for ever"));
        strait_rig_release(&rig);
    }
}

static void bad_job(struct strait_rank *r)
{
    const struct strait_job jobs[] = {{.resource = STRAIT_CPU, .cost_s = NAN},
                                      {.resource = STRAIT_CPU, .n_slots = 2, .cost_s = 1}};
    r->backend->ops->start(r, &jobs[r->run->seed]);
}

static void impossible_jobs(void)
{
    static const char *const parts[] = {"finite cost", "at most 1 slots, found 2"};
    for (uint64_t k = 0; k < 4; k++) {
        struct strait_rig rig;
        strait_rig_init(&rig, 1, strait_rig_link(1e9, 0.01), bad_job);
        rig.run.seed = k / 2;
        strait_rig_run(&rig, both[k % 2]);
        CU_ASSERT_EQUAL(rig.rc, -1);
        CU_ASSERT_PTR_NOT_NULL(strstr(rig.err.text, parts[k / 2]));
        strait_rig_release(&rig);
    }
}

static void releases(struct strait_packet *p)
{
    ++*(int *)p->owner;
}

/* One packet to three ranks, one of which has returned, and to itself. */
static void shared_packet(struct strait_rank *r)
{
    int n_released = 0;
    struct strait_packet p = {.payload_bytes = 5000, .release = releases, .owner = &n_released};
    if (r->me == 3)
        return;
    if (r->me != 0) {
        strait_rig_recv(r, 0, 0);
        strait_rig_send(r, 0, 1, 0, 0); /* done with it */
        return;
    }
    strait_rig_sleep_until(r, 0.1);
    atomic_init(&p.n_refs, 4);
    for (int dst = 0; dst < 4; dst++)
        r->backend->ops->send(r, dst, 0, 0, &p, false);
    strait_rig_recv(r, 0, 0);
    strait_note(r, COUNT, n_released);
    for (int i = 0; i < 2; i++)
        strait_rig_recv(r, STRAIT_ANY, 1);
    strait_rig_sleep_until(r, 0.3);
    strait_note(r, COUNT, n_released);
}

static void references(void)
{
    for (int i = 0; i < 2; i++) {
        struct strait_rig rig = run(i, 4, shared_packet, false);
        CU_ASSERT_EQUAL(rig.rc, 0);
        CU_ASSERT_EQUAL(strait_noted(&rig, 0, COUNT, 0), 0);
        CU_ASSERT_EQUAL(strait_noted(&rig, 0, COUNT, 1), 1);
        strait_rig_release(&rig);
    }
}

static void posts_in_pieces(struct strait_rank *r)
{
    enum { N = 200 };
    for (int i = 0; i < N; i++) {
        if (r->me == 0)
            strait_rig_send(r, 1, 0, i, 20000);
        else if (r->me == 1)
            strait_note(r, ARRIVED, strait_rig_recv(r, 0, 0).arrived_s);
    }
    if (r->me == 2)
        strait_rig_send(r, 3, 0, 0, N * 20000 + (N - 1) * 96); /* as many bytes in all */
    if (r->me == 3)
        strait_note(r, ARRIVED, strait_rig_recv(r, 2, 0).arrived_s);
}

static void pieces(void)
{
    for (int i = 0; i < 2; i++) {
        struct strait_rig rig = run(i, 4, posts_in_pieces, false);
        CU_ASSERT_EQUAL(rig.rc, 0);
        CU_ASSERT_DOUBLE_EQUAL(strait_noted(&rig, 1, ARRIVED, 199),
                               strait_noted(&rig, 3, ARRIVED, 0), 1e-9);
        strait_rig_release(&rig);
    }
}

static const struct strait_test tests[] = {
    {"what rank 0 sent last is received before the run ends with it", last_words},
    {"lanes that wait for each other's end are an error", deadlocked_lanes},
    {"a job without a cost or with too many slots is an error", impossible_jobs},
    {"a packet is released once, when its last receiver is done", references},
    {"many small messages ramp up as one large one", pieces},
};
STRAIT_SUITE("sim/machine", tests);
