/* SparseLoCo through an object store: bytes and times in closed form, quorums, and training as by a
 * ring. */
#include <unistd.h>
#include "tests/kit/live_world.h"
#include "tests/kit/strategy_world.h"

/* Peers at 100 Mbps and 10 ms a way, a store whose links nobody waits for. */
static struct strait_outcome run(const char *settings, int n_peers, json_t *set,
                                 const struct strait_backend *backend)
{
    char text[1024];
    snprintf(text, sizeof(text),
             "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"seed\":3,\"clients\":%d,"
             "\"strategy\":{\"name\":\"sparseloco\",\"exchange\":\"store\",\"rounds\":2%s},"
             "\"network\":{\"overhead\":\"24 B\",\"client\":[{\"count\":%d,\"rate\":\"100 Mbps\","
             "\"rtt\":\"20 ms\"},{\"count\":1,\"rate\":\"100 Gbps\",\"rtt\":\"0 ms\"}],"
             "\"tcp\":{\"initial_window\":\"1 GB\"}}}",
             n_peers + 1, settings, n_peers);
    return strait_outcome_of(text, set ? set : json_object(), "default", backend,
                             (struct strait_trial_options){0});
}

/* Each peer uploads once and downloads n - 1 times: an upload, a path, n - 1 downloads and the word
 * that closes, a path; a copy of its own and n additions. A ring would upload n - 1 times. */
static void times(void)
{
    for (int n = 1; n <= 5; n += 2) {
        struct strait_outcome o = run(",\"local_steps\":3", n, NULL, &strait_fluid);
        const struct costs c = costs_of(&o);
        const uint64_t u = (uint64_t)n;
        const double message_s = (c.model_bytes + 96) / c.rate_bytes_per_s,
                     round_s = 3 * c.step_s + message_s + 0.01 + (n - 1) * message_s +
                               96 / c.rate_bytes_per_s + 0.01 + c.copy_s + n * c.add_s;
        strait_test_context("%d peers", n);
        CU_ASSERT_EQUAL(o.payload_bytes, 2 * (u + u * (u - 1)) * 4 * CNN_ELEMS);
        CU_ASSERT_EQUAL(o.n_messages, 2 * (u + u * (u - 1) + u));
        CU_ASSERT_DOUBLE_EQUAL(o.total_s, 2 * round_s, 1e-5);
        strait_outcome_free(&o);
    }
    strait_test_context("%s", "");
}

/* Of three peers the last is ten times as slow. With a quorum of two and no grace the others go on:
 * what it uploads is late in both rounds and is passed on to nobody. A grace that is longer than it
 * needs waits for it. */
static void quorum(void)
{
    static const struct {
        const char *grace;
        uint64_t n_passed_on;
    } cases[] = {{"0 s", 2 * 2}, {"1000 s", 2 * 3 * 2}};
    char path[] = "/tmp/strait-quorum-XXXXXX";
    CU_ASSERT_FATAL(close(mkstemp(path)) == 0);
    write_slowness(path, "1\n1\n10\n1\n");
    for (int i = 0; i < 2; i++) {
        char form[96];
        snprintf(form, sizeof(form), ",\"local_steps\":200,\"quorum\":2,\"grace\":\"%s\"",
                 cases[i].grace);
        struct strait_outcome o =
            run(form, 3, json_pack("{s:{s:s}}", "/device", "slowness", path), &strait_fluid);
        const struct costs c = costs_of(&o);
        strait_test_context("grace %s", cases[i].grace);
        /* the two in time go to two others each */
        CU_ASSERT_EQUAL(o.payload_bytes,
                        (2 * 3 + (i == 0 ? 2 * 2 * 2 : cases[i].n_passed_on)) * 4 * CNN_ELEMS);
        CU_ASSERT(i == 0 ? o.total_s < 2 * 2 * 200 * c.step_s : o.total_s > 2 * 2000 * c.step_s);
        strait_outcome_free(&o);
    }
    unlink(path);
    strait_test_context("%s", "");
}

/* Three peers and a store take the steps of three ranks of a ring: the same sums, bit by bit. */
static void as_a_ring(void)
{
    struct live ring, store;
    if (!live_run(&ring, "{\"name\":\"sparseloco\",\"rounds\":5,\"local_steps\":3}", "",
                  &strait_fluid) ||
        !live_run(&store,
                  "{\"name\":\"sparseloco\",\"rounds\":5,\"local_steps\":3,\"exchange\":\"store\"}",
                  ",\"clients\":4", &strait_fluid))
        return;
    CU_ASSERT_EQUAL_FATAL(store.trial->logs[0].n_scored, ring.trial->logs[0].n_scored);
    for (size_t i = 0; i < ring.trial->logs[0].n_scored; i++)
        CU_ASSERT_DOUBLE_EQUAL(store.trial->logs[0].scored[i].loss,
                               ring.trial->logs[0].scored[i].loss, 0);
    live_free(&ring);
    live_free(&store);
}

static void refuses(void)
{
    static const struct {
        const char *strategy, *part;
    } cases[] = {
        {"{\"name\":\"sparseloco\",\"quorum\":2}", "all of them unless"},
        {"{\"name\":\"sparseloco\",\"exchange\":\"store\",\"quorum\":3}", "at most the 2 peers"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_error err = {0};
        struct live o;
        CU_ASSERT_EQUAL(live_try(&o, LIVE_QUADRATIC, cases[i].strategy, "", false, 1, &err), -1);
        CU_ASSERT_CONTAINS(err.text, cases[i].part);
        live_free(&o);
    }
}

static const struct strait_test tests[] = {
    {"a peer uploads once and downloads the others'", times},
    {"what comes after the quorum and its grace counts for nobody", quorum},
    {"peers train as ranks of a ring do", as_a_ring},
    {"quorums of a ring, and larger than the peers, are refused", refuses},
};
STRAIT_SUITE("workloads/train/federated/object_store", tests);
