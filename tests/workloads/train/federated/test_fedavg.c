/* Federated averaging as deployed: who is asked, who counts, and what it takes. */
#include <unistd.h>
#include "core/random.h"
#include "workloads/train/plans/selection.h"
#include "tests/kit/strategy_world.h"

/* Four clients that compute 1, 2, 4 and 8 times as long. */
static struct strait_outcome uneven(const char *strategy)
{
    char path[] = "/tmp/strait-slowness-XXXXXX";
    close(mkstemp(path));
    write_slowness(path, "1\n2\n4\n8\n");
    struct strait_outcome o = star_run(
        strategy, 4, json_pack("{s:{s:s}}", "/device", "slowness", path), &strait_fluid, false);
    unlink(path);
    return o;
}

/* The first two of four: the second is done after 2 x 30 steps. The server copies the model before
 * it asks (it may go on while somebody still downloads) and adds two updates. All four updates are
 * sent whether they count or not, and four messages say stop. */
static void first_two_of_four(void)
{
    struct strait_outcome o = uneven("{\"name\":\"fedavg\",\"rounds\":1,\"local_steps\":30,"
                                     "\"clients_per_round\":2,\"over_selection\":2}");
    const struct costs c = costs_of(&o);
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, c.copy_s + 2 * c.hop_s + 60 * c.step_s + 2 * c.add_s, 1e-9);
    CU_ASSERT_EQUAL(o.payload_bytes, 8 * 4 * (uint64_t)CNN_ELEMS);
    CU_ASSERT_EQUAL(o.n_messages, 4 + 4 + 4);
    strait_outcome_free(&o);
}

/* The second client is away until 7 s: two rounds end at their deadline of 5 s with one update, the
 * third has both at once. Leaving while it trains is leaving too: its step of 2 s begins after the
 * 10 s at which the third round does, so that one who goes at 11 s sends nothing. */
static void leaving(void)
{
    static const char *const events[] = {"[{\"at\":\"7 s\",\"on\":\"b\",\"present\":true},"
                                         " {\"at\":\"0 s\",\"on\":\"b\",\"present\":false}]",
                                         "[{\"at\":\"0 s\",\"on\":\"b\",\"present\":false},"
                                         " {\"at\":\"7 s\",\"on\":\"b\",\"present\":true},"
                                         " {\"at\":\"11 s\",\"on\":\"b\",\"present\":false}]"};
    for (int leaves_again = 0; leaves_again < 2; leaves_again++)
        for (int sim = 0; sim < 2; sim++) {
            json_t *settings = json_object(),
                   *port = json_pack("{s:s, s:s}", "rate", "100 Mbps", "rtt", "20 ms"),
                   *named = json_deep_copy(port);
            json_object_set_new(named, "name", json_string("b"));
            json_object_set_new(settings, "/network/client", json_pack("[o, o]", port, named));
            json_object_set_new(settings, "/network/events",
                                json_loads(events[leaves_again], 0, NULL));
            json_object_set_new(settings, "/model",
                                json_pack("{s:s, s:s}", "name", "cnn", "step", "2 s"));
            struct strait_outcome o =
                star_run("{\"name\":\"fedavg\",\"rounds\":3,\"local_steps\":1,"
                         "\"deadline\":\"5 s\"}",
                         2, settings, sim ? &strait_sim : &strait_fluid, false);
            const struct costs c = costs_of(&o);
            const double last_s = leaves_again ? 5 + c.add_s : 2 * c.hop_s + 2 + 2 * c.add_s;
            CU_ASSERT_DOUBLE_EQUAL(o.total_s, 3 * c.copy_s + 2 * (5 + c.add_s) + last_s, 1e-6);
            strait_outcome_free(&o);
        }
}

/* Of two updates each takes the server's software 0.2 s, and the round 0.5 s more. */
static void software(void)
{
    struct strait_outcome o = uneven("{\"name\":\"fedavg\",\"rounds\":1,\"local_steps\":30,"
                                     "\"clients_per_round\":2,\"over_selection\":2,"
                                     "\"server_update\":\"200 ms\",\"server_round\":\"500 ms\"}");
    const struct costs c = costs_of(&o);
    CU_ASSERT_DOUBLE_EQUAL(
        o.total_s, c.copy_s + 2 * c.hop_s + 60 * c.step_s + 2 * c.add_s + 2 * 0.2 + 0.5, 1e-9);
    strait_outcome_free(&o);
}

/* Three such rounds of 0.53 s. Client 2's first update arrives after 120 steps and two hops, 0.96
 * s, in the second round, where it is late; its next one after 240 steps, and client 3's first,
 * too, come after the end. */
static void late_updates(void)
{
    struct strait_outcome o = uneven("{\"name\":\"fedavg\",\"rounds\":3,\"local_steps\":30,"
                                     "\"clients_per_round\":2,\"over_selection\":2}");
    const struct costs c = costs_of(&o);
    const double round_s = c.copy_s + 2 * c.hop_s + 60 * c.step_s + 2 * c.add_s;
    const struct strait_log *log = &o.point->logs[0];
    int n_late = 0, n_counted = 0;
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, 3 * round_s, 1e-9);
    for (size_t i = 0; i < log->n_spans; i++) {
        const struct strait_span span = strait_spans_at(&log->spans, i), *s = &span;
        if (s->kind != STRAIT_SPAN_TRANSFER)
            continue;
        n_counted += s->tag == s->round;
        if (s->tag == s->round)
            continue;
        n_late++;
        CU_ASSERT_EQUAL(s->peer, 3); /* rank 3 is client 2 */
        CU_ASSERT_EQUAL(s->tag, 0);
        CU_ASSERT_EQUAL(s->round, 1);
        CU_ASSERT_EQUAL(s->bytes, 4 * CNN_ELEMS);
        CU_ASSERT_DOUBLE_EQUAL(s->end_s, c.copy_s + 2 * c.hop_s + 120 * c.step_s, 1e-9);
    }
    CU_ASSERT_EQUAL(n_late, 1);
    CU_ASSERT_EQUAL(n_counted, 6);
    strait_outcome_free(&o);
}

/* A deadline of 0.6 s after the asking: clients 0 and 1 are there (0.30 and 0.53 s), 2 and 3 are
 * not (0.96 and 1.8 s), so the round lasts the whole deadline and two additions. One of 10 s is met
 * by all, and the round closes with the last. */
static void deadlines(void)
{
    struct strait_outcome o = uneven("{\"name\":\"fedavg\",\"rounds\":1,\"local_steps\":30,"
                                     "\"deadline\":\"600 ms\"}");
    struct costs c = costs_of(&o);
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, c.copy_s + 0.6 + 2 * c.add_s, 1e-9);
    CU_ASSERT_EQUAL(o.point->logs[0].n_missing, 2);
    strait_outcome_free(&o);
    o = uneven("{\"name\":\"fedavg\",\"rounds\":1,\"local_steps\":30,\"deadline\":\"10 s\"}");
    c = costs_of(&o);
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, c.copy_s + 2 * c.hop_s + 240 * c.step_s + 4 * c.add_s, 1e-9);
    CU_ASSERT_EQUAL(o.point->logs[0].n_missing, 0);
    strait_outcome_free(&o);
}

/* One client sends its update in four pieces of 9 ms each. The deadline falls between the second
 * and the third, so half an update is there and does not count: no addition. */
static void half_an_update(void)
{
    struct strait_outcome o = star_run("{\"name\":\"fedavg\",\"rounds\":1,\"local_steps\":0,"
                                       "\"pieces\":4,\"deadline\":\"78 ms\"}",
                                       1, NULL, &strait_fluid, false);
    const struct costs c = costs_of(&o);
    const double piece_s = (c.model_bytes / 4 + 96) / c.rate_bytes_per_s;
    CU_ASSERT(c.hop_s + 2 * piece_s + 0.01 < 0.078 && c.hop_s + 3 * piece_s + 0.01 > 0.078);
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, c.copy_s + 0.078, 1e-9);
    CU_ASSERT_EQUAL(o.payload_bytes, 2 * 4 * (uint64_t)CNN_ELEMS);
    CU_ASSERT_EQUAL(o.n_messages, 1 + 4 + 1);
    strait_outcome_free(&o);
}

/* Nobody answers: every round is its copy and its deadline; only models and stops are sent. */
static void all_silent(void)
{
    struct strait_outcome o =
        star_run("{\"name\":\"fedavg\",\"rounds\":3,\"local_steps\":1,\"deadline\":\"2 s\","
                 "\"dropout\":\"100 %\"}",
                 3, NULL, &strait_fluid, false);
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, 3 * (2 + costs_of(&o).copy_s), 1e-9);
    CU_ASSERT_EQUAL(o.payload_bytes, 3 * 3 * 4 * (uint64_t)CNN_ELEMS);
    CU_ASSERT_EQUAL(o.n_messages, 3 * 3 + 3);
    CU_ASSERT_EQUAL(o.point->logs[0].n_missing, 3 * 3);
    strait_outcome_free(&o);
}

/* Of 8 clients and 20 rounds with a dropout of 25 %, as many fall silent as keyed draws say, and
 * the updates on the wire are the others'. */
static void some_silent(void)
{
    struct strait_outcome o =
        star_run("{\"name\":\"fedavg\",\"rounds\":20,\"local_steps\":0,\"deadline\":\"1 s\","
                 "\"dropout\":\"25 %\"}",
                 8, NULL, &strait_fluid, false);
    uint64_t n_sent = 0;
    for (uint64_t rank = 1; rank <= 8; rank++)
        for (uint64_t round = 0; round < 20; round++)
            n_sent += strait_random_unit(3, "dropout", rank, round) >= 0.25;
    CU_ASSERT(n_sent > 90 && n_sent < 150); /* 120 +- 5.5 sqrt(160 x 0.25 x 0.75) */
    CU_ASSERT_EQUAL(o.payload_bytes, (160 + n_sent) * 4 * (uint64_t)CNN_ELEMS);
    CU_ASSERT_EQUAL(o.n_messages, 160 + n_sent + 8);
    strait_outcome_free(&o);
}

/* Everybody: n models, n updates a round; n stops in the end. */
static void everybody(void)
{
    for (uint64_t n = 1; n <= 9; n++) {
        struct strait_outcome o = star_run("{\"name\":\"fedavg\",\"rounds\":3,\"local_steps\":1}",
                                           (int)n, NULL, &strait_fluid, false);
        CU_ASSERT_EQUAL(o.payload_bytes, 3 * 2 * n * 4 * CNN_ELEMS);
        CU_ASSERT_EQUAL(o.n_messages, 3 * 2 * n + n);
        strait_outcome_free(&o);
    }
}

/* Two of n clients a round: 2 models, 2 updates; n stops in the end. Those asked are the pure
 * function's choice of the round's draw. */
static void selected(void)
{
    for (int n = 2; n <= 9; n++) {
        struct strait_outcome o = star_run("{\"name\":\"fedavg\",\"rounds\":5,\"local_steps\":1,"
                                           "\"clients_per_round\":2}",
                                           n, NULL, &strait_fluid, false);
        CU_ASSERT_EQUAL(o.payload_bytes, 5 * 2 * 2 * 4 * (uint64_t)CNN_ELEMS);
        CU_ASSERT_EQUAL(o.n_messages, 5 * 2 * 2 + (uint64_t)n);
        const struct strait_log *log = &o.point->logs[0];
        int n_right = 0;
        for (size_t i = 0; i < log->n_spans; i++) {
            int chosen[2];
            const struct strait_span span = strait_spans_at(&log->spans, i), *s = &span;
            strait_choose_clients(chosen, 2, n,
                                  strait_random_unit(3, "selection", 0, (uint64_t)(s->round)));
            n_right += s->kind == STRAIT_SPAN_TRANSFER &&
                       (s->peer == chosen[0] + 1 || s->peer == chosen[1] + 1);
        }
        CU_ASSERT_EQUAL(n_right, 5 * 2);
        strait_outcome_free(&o);
    }
}

/* One client, lognormal slowness of sigma 0.8: drawn once, before round 0, it is the same in both
 * rounds; drawn anew, each round has its own. */
static void stragglers(void)
{
    static const char *const draws[] = {"client", "round"};
    for (int k = 0; k < 2; k++) {
        char strategy[256];
        snprintf(strategy, sizeof(strategy),
                 "{\"name\":\"fedavg\",\"rounds\":2,\"local_steps\":10,\"straggler_spread\":0.8,"
                 "\"straggler_draw\":\"%s\"}",
                 draws[k]);
        struct strait_outcome o = star_run(strategy, 1, NULL, &strait_fluid, false);
        const struct costs c = costs_of(&o);
        double slowness = 0;
        for (int round = 0; round < 2; round++) {
            const uint64_t key = k == 0 ? (uint64_t)-1 : (uint64_t)round;
            slowness += strait_draw_slowness(0.8, strait_random_unit(3, "straggler", 1, key),
                                             strait_random_unit(3, "straggler's angle", 1, key));
        }
        CU_ASSERT_DOUBLE_EQUAL(o.total_s, 2 * (2 * c.hop_s + c.add_s) + 10 * c.step_s * slowness,
                               1e-9);
        strait_outcome_free(&o);
    }
}

/* Factors 1 and 3 in turn for three clients: the second is the slowest. */
static void table_in_turn(void)
{
    char path[] = "/tmp/strait-slowness-XXXXXX";
    close(mkstemp(path));
    write_slowness(path, "1\n3\n");
    struct strait_outcome o =
        star_run("{\"name\":\"fedavg\",\"rounds\":1,\"local_steps\":10}", 3,
                 json_pack("{s:{s:s}}", "/device", "slowness", path), &strait_fluid, false);
    const struct costs c = costs_of(&o);
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, 2 * c.hop_s + 30 * c.step_s + 3 * c.add_s, 1e-9);
    strait_outcome_free(&o);
    unlink(path);
}

/* On a shared port equal clients arrive together; with spread shares they arrive one by one, the
 * last no later, and SimGrid says the same as the solver. */
static void spread_shares(void)
{
    double arrivals[3][3];
    for (int k = 0; k < 3; k++) {
        struct strait_outcome o =
            star_run("{\"name\":\"fedavg\",\"rounds\":1,\"local_steps\":1}", 3,
                     json_pack("{s:s, s:s}", "/network/server/rate", "100 Mbps",
                               "/strategy/share_spread", k == 0 ? "0 %" : "40 %"),
                     k == 2 ? &strait_sim : &strait_fluid, false);
        const struct strait_log *log = &o.point->logs[0];
        for (size_t i = 0; i < log->n_spans; i++)
            if (strait_spans_at(&log->spans, i).kind == STRAIT_SPAN_TRANSFER)
                arrivals[k][strait_spans_at(&log->spans, i).peer - 1] =
                    strait_spans_at(&log->spans, i).end_s;
        strait_outcome_free(&o);
    }
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3;
        CU_ASSERT_DOUBLE_EQUAL(arrivals[0][i], arrivals[0][j], 1e-9);
        CU_ASSERT(fabs(arrivals[1][i] - arrivals[1][j]) > 1e-3);
        CU_ASSERT(arrivals[1][i] <= arrivals[0][i] + 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(arrivals[1][i], arrivals[2][i], 1e-7);
    }
}

/* --- real values --------------------------------------------------------------------------- */

/* Two clients, the second on a link a hundred times slower; the first one is enough. While the
 * second still downloads, the server adds: what arrives must be the model as it was. */
static void check_frozen(struct strait_rank *r)
{
    const struct strait_trial *p = strait_rank_state_of(r)->point;
    if (strait_me(r) > 0)
        scale_prepared(r, STRAIT_UPDATE);
    p->experiment->strategy->rank_main(r);
    float *model = malloc(CNN_ELEMS * sizeof(float)), *update = malloc(CNN_ELEMS * sizeof(float));
    strait_recorded(model, p, STRAIT_WEIGHTS, 0);
    sent(update, p, STRAIT_UPDATE, 1);
    if (strait_me(r) == 0) /* averaged over the one that counts */
        for (int i = 0; i < CNN_ELEMS; i++)
            model[i] += 1.0f * update[i];
    const float *mine = whole_tensor(r, strait_me(r) == 0 ? STRAIT_WEIGHTS : STRAIT_SCRATCH);
    const bool same = mine && memcmp(mine, model, CNN_ELEMS * sizeof(float)) == 0;
    free(model);
    free(update);
    if (!same)
        fail_with(r, strait_me(r) == 0 ? "the server's model is not the recorded one and the first "
                                         "client's update"
                                       : "a client's model is not the one that was sent");
}

static void frozen(void)
{
    struct strait_outcome o = star_run(
        "{\"name\":\"fedavg\",\"rounds\":1,\"local_steps\":1,\"clients_per_round\":1,"
        "\"over_selection\":2}",
        2, json_pack("{s:[{s:s}, {s:s}]}", "/network/client", "rate", "100 Mbps", "rate", "1 Mbps"),
        &strait_fluid, true);
    run_with(&o, check_frozen);
    strait_outcome_free(&o);
}

/* The same two clients, both wanted, and a deadline of 1 s: the first needs 0.1 s, the second above
 * 7 s (423,560 bytes at 118 kB/s, twice). The sum is divided by the one update that is there, not
 * by the two that were wanted. */
static void divided_by_those_there(void)
{
    struct strait_outcome o = star_run(
        "{\"name\":\"fedavg\",\"rounds\":1,\"local_steps\":1,\"deadline\":\"1 s\"}", 2,
        json_pack("{s:[{s:s}, {s:s}]}", "/network/client", "rate", "100 Mbps", "rate", "1 Mbps"),
        &strait_fluid, true);
    run_with(&o, check_frozen);
    strait_outcome_free(&o);
}

/* --- what is refused ----------------------------------------------------------------------- */

static void refused(const char *settings, const char *expected)
{
    char text[512];
    struct strait_error err = {0};
    struct strait_experiment *e;
    snprintf(text, sizeof(text),
             "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":4,"
             "\"strategy\":{\"name\":\"fedavg\",%s},\"network\":{\"client\":{\"rate\":\"1 Mbps\"},"
             "\"server\":{\"rate\":\"1 Mbps\"}}}",
             settings);
    json_t *json = json_loads(text, 0, NULL);
    CU_ASSERT_EQUAL(strait_experiment_read(&e, "a.json", json, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, expected));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.where, "a.json#/strategy/"));
    json_decref(json);
}

/* Four clients, 1, 2, 4 and 200 times as slow, train for 30 steps of the first one's: 30, 15, 7 and
 * at least one step. The round waits for the last, whose step takes 200. */
static void as_long(void)
{
    static const double factors[] = {1, 2, 4, 200}, steps[] = {30, 15, 7, 1};
    char path[] = "/tmp/strait-slowness-XXXXXX", form[128];
    close(mkstemp(path));
    write_slowness(path, "1\n2\n4\n200\n");
    struct strait_outcome o = star_run("{\"name\":\"fedavg\"}", 4, NULL, &strait_fluid, false);
    const struct costs c = costs_of(&o);
    strait_outcome_free(&o);
    snprintf(form, sizeof(form), "{\"name\":\"fedavg\",\"rounds\":2,\"train_time\":\"%.9f s\"}",
             30 * c.step_s);
    o = star_run(form, 4, json_pack("{s:{s:s}}", "/device", "slowness", path), &strait_fluid,
                 false);
    for (int i = 0; i < 4; i++)
        CU_ASSERT_DOUBLE_EQUAL(o.point->logs[1 + i].n_batches, 2 * steps[i], 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(
        o.total_s, 2 * (2 * c.hop_s + steps[3] * factors[3] * c.step_s + 4 * c.add_s), 1e-6);
    strait_outcome_free(&o);
    unlink(path);
}

static void refusals(void)
{
    refused("\"clients_per_round\":5", "expected at most the 4 clients that there are, found 5");
    refused("\"over_selection\":1.5", "expected a number above 0 beside over_selection");
    refused("\"dropout\":\"10 %\"", "expected a deadline");
}

static const struct strait_test tests[] = {
    {"a client that is away sends nothing, and one that is back does", leaving},
    {"the first two of four close the round, all four are paid", first_two_of_four},
    {"the server's software takes its time for each update and each round", software},
    {"late updates are dropped by their round", late_updates},
    {"a deadline is waited for when missed and not when met", deadlines},
    {"half an update does not count", half_an_update},
    {"silence is noticed by the deadline alone", all_silent},
    {"dropouts are keyed draws", some_silent},
    {"a round sends every client's model and update, to the byte", everybody},
    {"two of n clients are asked, to the byte", selected},
    {"slowness is drawn once a client or once a round", stragglers},
    {"a table of slowness is taken in turn", table_in_turn},
    {"all may train as long, each the steps that fit", as_long},
    {"spread shares let equal clients arrive one by one", spread_shares},
    {"a model that is on its way stays as it was sent", frozen},
    {"the average is over the updates that are there", divided_by_those_there},
    {"what cannot be is refused by name", refusals},
};
STRAIT_SUITE("workloads/train/federated/fedavg", tests);
