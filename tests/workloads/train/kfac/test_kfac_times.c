/* K-FAC schedules against max-plus recurrences of what each strategy does, written down again here
 * and in kfac_clocks.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kfac_clocks.h"
#include "workloads/rank/rank_state.h"
#include "workloads/train/kfac/kfac_parts.h"

/* Inverses: 0.3 ms e^(0.025 d), so that some are cheaper than their broadcast and some are not. */
static const char *const text =
    "{\"schema\":\"strait-experiment/1\",\"model\":\"tests/data/kfac.csv\","
    "\"clients\":4,\"strategy\":{\"name\":\"dkfac\",\"rounds\":3},"
    "\"network\":{\"client\":{\"rate\":\"60 Mbps\",\"rtt\":\"150 us\"},"
    "\"tcp\":{\"initial_window\":\"1 GB\"}}}";

static json_t *strategy_json(const char *name)
{
    return json_pack("{s:s, s:i, s:i, s:s, s:f, s:i, s:s, s:f}", "name", name, "rounds", ROUNDS,
                     "update_freq", 2, "gradient_fusion", "40 KB", "factor_speed", FACTOR_SPEED,
                     "matrix_gflops", 20, "inverse_base", "0.3 ms", "inverse_growth", 0.025);
}

/* --- rounds -------------------------------------------------------------------------------- */

/* The elements of factor i's group if i is its last member, else 0. */
static double group_elems(const struct world *w, const struct plan *p, int i)
{
    double sum = 0;
    for (int k = 0; k < N_FACTORS; k++) {
        if (k > i && p->group[k] == p->group[i])
            return 0;
        sum += p->group[k] == p->group[i] ? w->f[k].elems : 0;
    }
    return sum;
}

static void send_factor(struct world *w, const struct plan *p, int i)
{
    const double n_elems = group_elems(w, p, i);
    if (n_elems > 0 && p->to_owner && p->owner[i] != EVERYWHERE)
        reduce(w, p->owner[i], n_elems, FACTORS);
    else if (n_elems > 0)
        all_reduce(w, n_elems, FACTORS);
}

/* Forward, backward, and gradients in buckets of the last layer on: 3240 and 38720 bytes make more
 * than 40 KB, as 38720 and 30720 do; the first three layers fit. */
static void passes(struct world *w, const struct plan *p, bool with_factors)
{
    int next = 0;
    for (int l = 0; l < N_LAYERS; l++) {
        if (with_factors && next < N_FACTOR_LAYERS && w->f[next].layer == l) {
            everybody(w, w->f[next].compute_s);
            send_factor(w, p, next++);
        }
        everybody(w, fwd_s[l]);
    }
    for (int l = N_LAYERS - 1; l >= 0; l--) {
        everybody(w, bwd_s[l]);
        if (with_factors && next < N_FACTORS && w->f[next].layer == l) {
            everybody(w, w->f[next].compute_s);
            send_factor(w, p, next++);
        }
        if (l == 4 || l == 3)
            all_reduce(w, elems[l], GRADIENTS);
        if (l == 0)
            all_reduce(w, elems[0] + elems[1] + elems[2], GRADIENTS);
    }
    await(w, GRADIENTS);
}

/* Everybody's or the owner's; the owner's goes to all behind it. */
static void invert(struct world *w, const struct plan *p)
{
    for (int i = 0; i < N_FACTORS; i++) {
        for (int r = 0; r < w->n; r++)
            if (p->owner[i] == EVERYWHERE || p->owner[i] == r)
                w->now_s[r] += w->f[i].inverse_s;
        const double n_elems = p->inverses_in_groups ? group_elems(w, p, i) : w->f[i].elems;
        if (p->owner[i] != EVERYWHERE && n_elems > 0)
            broadcast(w, p->owner[i], n_elems, INVERSES);
    }
    await(w, INVERSES);
}

static double rounds_s(struct world *w, const struct plan *p)
{
    for (int round = 0; round < ROUNDS; round++) {
        const bool update = round % 2 == 0;
        passes(w, p, update && p->beside);
        for (int i = 0; i < N_FACTORS && update && !p->beside; i++)
            everybody(w, w->f[i].compute_s);
        for (int i = 0; i < N_FACTORS && update && !p->beside; i++)
            send_factor(w, p, i);
        if (update) {
            await(w, FACTORS);
            invert(w, p);
        }
        for (int i = 0; i < N_FACTORS; i++)
            everybody(w, w->f[i].precondition_s);
        everybody(w, OPT_S);
    }
    return w->now_s[0];
}

/* Owners make, invert and precondition what is theirs, layer after layer in turn; nothing else than
 * gradients travels, and those of layers with factors twice. */
static double owned_rounds_s(struct world *w)
{
    const struct plan none = {.beside = false};
    for (int round = 0; round < ROUNDS; round++) {
        passes(w, &none, false);
        for (int i = 0; i < N_FACTOR_LAYERS && round % 2 == 0; i++)
            for (int of_g = 0; of_g < 2; of_g++) {
                const struct factor *f = &w->f[of_g ? N_FACTORS - 1 - i : i];
                w->now_s[i % w->n] += f->compute_s + f->inverse_s;
            }
        for (int i = 0; i < N_FACTOR_LAYERS; i++) {
            w->now_s[i % w->n] += w->f[i].precondition_s;
            broadcast(w, i % w->n, elems[w->f[i].layer], INVERSES);
        }
        await(w, INVERSES);
        everybody(w, OPT_S);
    }
    return w->now_s[0];
}

/* --- against the strategies ------------------------------------------------------------------ */

static const int ranks[] = {1, 2, 3, 4, 6};

/* SimGrid runs at a precision of 1e-9 s, with about a hundred messages one behind another. */
static const double tolerance_s[] = {1e-10, 1e-7};

/* strategy: taken. */
static void expect(json_t *strategy, int n, double piece_bytes,
                   double (*form)(struct world *w, const char *setting), const char *setting)
{
    static const struct strait_backend *const backends[] = {&strait_fluid, &strait_sim};
    char piece[32];
    snprintf(piece, sizeof(piece), "%g B", piece_bytes);
    if (strcmp(json_string_value(json_object_get(strategy, "name")), "dkfac") != 0)
        json_object_set_new(strategy, "piece", json_string(piece));
    for (int i = 0; i < 2; i++) {
        struct strait_outcome o =
            strait_outcome_of(text, json_pack("{s:O, s:i}", "/strategy", strategy, "/clients", n),
                              "default", backends[i], (struct strait_trial_options){0});
        struct world w = {.n = n,
                          .piece_bytes = piece_bytes,
                          .add_s_per_byte = 1 / o.point->add_bytes_per_s,
                          .copy_s_per_byte = 1 / o.point->copy_bytes_per_s,
                          .launch_s = n > 1 ? strait_experiment_param(o.experiment, "launch") : 0};
        fill_factors(w.f);
        const double expected_s = form(&w, setting);
        CU_ASSERT_DOUBLE_EQUAL(o.total_s, expected_s, tolerance_s[i]);
        if (fabs(o.total_s - expected_s) > tolerance_s[i])
            fprintf(stderr, "%s %s of %d on %s, pieces of %s: expected %.12g, found %.12g s\n",
                    o.experiment->strategy->name, setting, n, backends[i]->name, piece, expected_s,
                    o.total_s);
        strait_outcome_free(&o);
    }
    json_decref(strategy);
}

/* Trees of two are chains of one piece; larger ones share ports
 * (tests/workloads/train/collectives/test_collective_times.c). */
static void expect_all(const char *name, const char *key, const char *value,
                       double (*form)(struct world *w, const char *setting))
{
    for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++)
        for (int whole = 0; whole < (ranks[i] <= 2 ? 2 : 1); whole++) {
            json_t *strategy = strategy_json(name);
            if (key)
                json_object_set_new(strategy, key, json_string(value));
            expect(strategy, ranks[i], whole ? 0 : 4000, form, value);
        }
}

static double buffered(struct world *w, const char *setting)
{
    struct plan p = {.beside = false};
    (void)setting;
    fill_buffers(&p, w->f, 40e3);
    for (int i = 0; i < N_FACTORS; i++)
        p.owner[i] = EVERYWHERE;
    return rounds_s(w, &p);
}

static void dkfac(void)
{
    expect_all("dkfac", "factor_fusion", "40 KB", buffered);
}

static double in_turn(struct world *w, const char *setting)
{
    struct plan p = {.beside = false};
    (void)setting;
    fill_buffers(&p, w->f, 40e3);
    for (int i = 0; i < N_FACTORS; i++) /* layers, A and G together */
        p.owner[i] = (i < N_FACTOR_LAYERS ? i : N_FACTORS - 1 - i) % w->n;
    return rounds_s(w, &p);
}

static void mpdkfac(void)
{
    expect_all("mpdkfac", "factor_fusion", "40 KB", in_turn);
}

static double merged(struct world *w, const char *placement)
{
    struct plan p = {.beside = true};
    merge(&p, w, N_FACTOR_LAYERS, merge(&p, w, 0, 0));
    balance(&p, w);
    for (int i = 0; i < N_FACTORS; i++)
        if (strcmp(placement, "balanced") != 0)
            p.owner[i] = strcmp(placement, "everywhere") == 0 ? EVERYWHERE : i % w->n;
    return rounds_s(w, &p);
}

static void spdkfac(void)
{
    expect_all("spdkfac", "placement", "balanced", merged);
    expect_all("spdkfac", "placement", "round_robin", merged);
    expect_all("spdkfac", "placement", "everywhere", merged);
}

static double blocks(struct world *w, const char *setting)
{
    struct plan p = {.beside = true, .to_owner = true, .inverses_in_groups = true};
    block(&p, w, atof(setting));
    return rounds_s(w, &p);
}

static void padkfac(void)
{
    for (int small = 0; small <= 30; small += 30)
        for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++)
            for (int whole = 0; whole < (ranks[i] <= 2 ? 2 : 1); whole++) {
                json_t *strategy = strategy_json("padkfac");
                json_object_set_new(strategy, "reduce_above", json_integer(small));
                expect(strategy, ranks[i], whole ? 0 : 4000, blocks, small > 0 ? "30" : "0");
            }
}

static double owned(struct world *w, const char *setting)
{
    (void)setting;
    return owned_rounds_s(w);
}

static void dpkfac(void)
{
    expect_all("dpkfac", NULL, "", owned);
}

/* Each collective is called: 2 ms in the lane, and in what plans are made with. */
static void launched(void)
{
    static const struct {
        const char *name, *key, *value;
        double (*form)(struct world *w, const char *setting);
    } all[] = {{"dkfac", "factor_fusion", "40 KB", buffered},
               {"mpdkfac", "factor_fusion", "40 KB", in_turn},
               {"spdkfac", "placement", "balanced", merged},
               {"dpkfac", NULL, NULL, owned}};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        for (int n = 1; n <= 4; n += n) {
            json_t *strategy = strategy_json(all[i].name);
            json_object_set_new(strategy, "launch", json_string("2 ms"));
            if (all[i].value)
                json_object_set_new(strategy, all[i].key, json_string(all[i].value));
            expect(strategy, n, 4000, all[i].form, all[i].value ? all[i].value : "");
        }
    json_t *strategy = strategy_json("padkfac");
    json_object_set_new(strategy, "reduce_above", json_integer(0));
    json_object_set_new(strategy, "launch", json_string("2 ms"));
    expect(strategy, 4, 4000, blocks, "0");
}

/* Seconds of a run of two ranks. strategy: taken. */
static double pair_s(json_t *strategy)
{
    struct strait_outcome o =
        strait_outcome_of(text, json_pack("{s:o, s:i}", "/strategy", strategy, "/clients", 2),
                          "default", &strait_fluid, (struct strait_trial_options){0});
    const double total_s = o.total_s;
    strait_outcome_free(&o);
    return total_s;
}

static json_t *with(const char *name, const char *key, json_t *value)
{
    json_t *strategy = strategy_json(name);
    json_object_set_new(strategy, key, value);
    return strategy;
}

/* D-KFAC sends all factors after the passes, of every second round: each takes its 1 ms. And each
 * of 9 tensors is updated in 1 ms in the end of every round. */
static void packed(void)
{
    enum { N_TENSORS = 9 };
    const int n_updates = (ROUNDS + 1) / 2;
    const double plain_s = pair_s(strategy_json("dkfac"));
    CU_ASSERT_DOUBLE_EQUAL(pair_s(with("dkfac", "pack", json_string("1 ms"))),
                           plain_s + n_updates * N_FACTORS * 1e-3, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(pair_s(with("dkfac", "update", json_string("1 ms"))),
                           plain_s + ROUNDS * N_TENSORS * 1e-3, 1e-9);
}

/* Computing that loses a share of its speed beside collectives takes longer, the more it loses; a
 * rank alone loses none. */
static void contended(void)
{
    double before_s = pair_s(strategy_json("spdkfac"));
    for (int tenths = 3; tenths <= 9; tenths += 3) {
        const double this_s = pair_s(with("spdkfac", "contention", json_real(tenths / 10.0)));
        CU_ASSERT(this_s > before_s + 1e-4);
        before_s = this_s;
    }
    json_t *alone = with("spdkfac", "contention", json_real(0.9));
    expect(alone, 1, 4000, merged, "balanced");
}

/* What plans are made with. 10 kB go down a tree as a whole, where a rank's sends share its port:
 * of three, 2 messages from the root; of four, these and one more hop; of five, 3 from the root and
 * again one. Or as three pieces, 4 kB at most, down a chain: n - 1 hops of the first, then two
 * more. A ring takes 2 (n - 1) steps of a hop and a frame, and moves 2 (n - 1) / n of its bytes. */
static void costs(void)
{
    const double frame_s = FRAME_BYTES / RATE_BYTES_PER_S;
    for (int pieces = 0; pieces < 2; pieces++)
        for (int n = 1; n <= 5; n++) {
            json_t *strategy = strategy_json("spdkfac");
            json_object_set_new(strategy, "launch", json_string("2 ms"));
            json_object_set_new(strategy, "piece", json_string(pieces ? "4 KB" : "0 B"));
            struct strait_outcome o = strait_outcome_of(
                text, json_pack("{s:o, s:i}", "/strategy", strategy, "/clients", n), "default",
                &strait_fluid, (struct strait_trial_options){0});
            struct strait_rank_state state = {.point = o.point};
            struct strait_run run = o.point->run;
            struct strait_rank rank = {.run = &run, .wrap = &state};
            const struct kfac k = {.r = &rank};
            const double n_hops[] = {0, 0, 1, 1, 2, 2}, n_messages[] = {0, 0, 1, 2, 3, 4};
            const double launch_s = n > 1 ? 2e-3 : 0;
            const double piece_s = 10e3 / 3 / RATE_BYTES_PER_S + frame_s;
            const double expected_s =
                launch_s + (pieces ? (n - 1) * (DELAY_S + piece_s) + (n > 1 ? 2 * piece_s : 0)
                                   : n_hops[n] * DELAY_S +
                                         n_messages[n] * (10e3 / RATE_BYTES_PER_S + frame_s));
            strait_test_context("%d ranks, %s", n, pieces ? "pieces of 4 KB" : "whole");
            CU_ASSERT_DOUBLE_EQUAL(kfac_broadcast_s(&k, 10e3), expected_s, 1e-12);
            double alpha_s, beta_s_per_byte;
            kfac_ring_cost(&k, &alpha_s, &beta_s_per_byte);
            CU_ASSERT_DOUBLE_EQUAL(alpha_s, launch_s + 2 * (n - 1) * (DELAY_S + frame_s), 1e-12);
            CU_ASSERT_DOUBLE_EQUAL(beta_s_per_byte * RATE_BYTES_PER_S, 2.0 * (n - 1) / n, 1e-12);
            strait_outcome_free(&o);
        }
    strait_test_context("%s", "");
}

static const struct strait_test tests[] = {
    {"what plans reckon with is a ring's and a broadcast's closed form", costs},
    {"D-KFAC takes what its recurrence says", dkfac},
    {"MPD-KFAC takes what its recurrence says", mpdkfac},
    {"SPD-KFAC takes what its recurrence says, its groups the best of all", spdkfac},
    {"PAD-KFAC takes what its recurrence says, its blocks the best of all", padkfac},
    {"DP-KFAC takes what its recurrence says", dpkfac},
    {"calling a collective takes its time in all of them, and in their plans", launched},
    {"a factor takes its time in a collective, a tensor when it is updated", packed},
    {"computing beside collectives is slower, the more speed it loses", contended},
};
STRAIT_SUITE_WITH("workloads/train/kfac/kfac_times", tests, .release = true);
