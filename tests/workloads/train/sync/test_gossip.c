/* D-PSGD and CHOCO-SGD: bytes and times in closed form, and real training against the algorithms in
 * double precision, five ranks in a graph. */
#include "tests/kit/live_world.h"
#include "tests/kit/strategy_world.h"

enum { N = 5, MAX_ROUNDS = 6 };

/* Each message is the model; a round of n ranks sends one for each edge of the graph. */
static void bytes(void)
{
    static const struct {
        const char *form;
        int n, n_edges; /* in three rounds */
    } cases[] = {
        {"{\"name\":\"dpsgd\",\"rounds\":3}", 7, 3 * 14},
        {"{\"name\":\"dpsgd\",\"rounds\":3}", 2, 3 * 2},
        {"{\"name\":\"dpsgd\",\"rounds\":3}", 1, 0},
        {"{\"name\":\"dpsgd\",\"rounds\":3,\"graph\":\"torus\"}", 9, 3 * 36},
        {"{\"name\":\"dpsgd\",\"rounds\":3,\"graph\":\"exponential\"}", 6, 3 * 18},
        {"{\"name\":\"dpsgd\",\"rounds\":3,\"graph\":\"one_peer\"}", 6, 3 * 6},
        {"{\"name\":\"choco\",\"rounds\":3,\"graph\":\"complete\"}", 4, 3 * 12},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_outcome o = star_run(cases[i].form, cases[i].n, NULL, &strait_fluid, false);
        strait_test_context("case %d", (int)i);
        CU_ASSERT_EQUAL(o.payload_bytes, (uint64_t)cases[i].n_edges * 4 * CNN_ELEMS);
        CU_ASSERT_EQUAL(o.n_messages, (uint64_t)cases[i].n_edges);
        strait_outcome_free(&o);
    }
    strait_test_context("%s", "");
}

/* On a ring two messages share a port, and take two access links. D-PSGD: a copy is sent, the
 * gradient is computed meanwhile, two are added, and a step. CHOCO: gradient and step, a copy of
 * the difference is sent, its own adds are beside the transfer; then two, and two for the step. */
static void times(void)
{
    for (int choco = 0; choco < 2; choco++) {
        struct strait_outcome o = star_run(choco ? "{\"name\":\"choco\",\"rounds\":2}"
                                                 : "{\"name\":\"dpsgd\",\"rounds\":2}",
                                           6, NULL, &strait_fluid, false);
        const struct strait_model *m = o.experiment->model;
        const struct costs c = costs_of(&o);
        const double messages_s = 2 * (c.model_bytes + 96) / c.rate_bytes_per_s + 0.02,
                     round_s = choco ? c.step_s + c.copy_s + messages_s + 4 * c.add_s
                                     : c.copy_s + messages_s + 2 * c.add_s + m->opt_s;
        CU_ASSERT(m->fwd_s + m->bwd_s + 2 * c.copy_s < messages_s);
        CU_ASSERT_DOUBLE_EQUAL(o.total_s, 2 * round_s, 1e-9);
        strait_outcome_free(&o);
    }
}

static void same_on_simgrid(void)
{
    static const char *const forms[] = {
        "{\"name\":\"dpsgd\",\"rounds\":2,\"graph\":\"exponential\"}",
        "{\"name\":\"choco\",\"rounds\":2,\"graph\":\"torus\"}"};
    for (int i = 0; i < 2; i++) {
        double total_s[2];
        for (int b = 0; b < 2; b++) {
            json_t *set = json_pack("{s:{s:s,s:b}}", "/codec", "name", "topk", "error_feedback", 0);
            struct strait_outcome o =
                star_run(forms[i], 6, set, b == 0 ? &strait_fluid : &strait_sim, false);
            total_s[b] = o.total_s;
            strait_outcome_free(&o);
        }
        CU_ASSERT_DOUBLE_EQUAL(total_s[0], total_s[1], 1e-9 * total_s[0]);
    }
}

/* --- training by hand ----------------------------------------------------------------------- */

struct five {
    double h[N][DIM], c[N][DIM]; /* curvature and optimum of each worker */
    double x[N][DIM], m[N][DIM]; /* parameters and momentum */
    double told[N][DIM];         /* CHOCO: what all know of each */
};

static void five_of(struct five *f, const struct strait_learn *l)
{
    memset(f, 0, sizeof(*f));
    for (int k = 0; k < N; k++)
        for (int i = 0; i < DIM; i++) {
            f->h[k][i] = strait_quadratic_curvature(l, k, (size_t)i);
            f->c[k][i] = strait_quadratic_centre(l, k, (size_t)i);
        }
}

static void five_step(struct five *f, double at[N][DIM])
{
    for (int k = 0; k < N; k++)
        for (int i = 0; i < DIM; i++) {
            f->m[k][i] = MOMENTUM * f->m[k][i] + f->h[k][i] * (at[k][i] - f->c[k][i]);
            f->x[k][i] -= LR * f->m[k][i];
        }
}

/* w[i][j] of what j sends to i, written out: five ranks. */
static const double ring[N][N] = {
    {1, 1, 0, 0, 1}, {1, 1, 1, 0, 0}, {0, 1, 1, 1, 0}, {0, 0, 1, 1, 1}, {1, 0, 0, 1, 1}};
/* From i - 1, i - 2 and i - 4. */
static const double exponential[N][N] = {
    {1, 1, 0, 1, 1}, {1, 1, 1, 0, 1}, {1, 1, 1, 1, 0}, {0, 1, 1, 1, 1}, {1, 0, 1, 1, 1}};
/* tests/data/edges.csv: 0 - 1, 1 - 2, 1 - 3, 3 - 4, so 1, 3, 1, 2 and 1 neighbours. A pair weighs 1
 * by one more than the larger of its two numbers, and a rank what is left. */
static const double tree[N][N] = {{3. / 4, 1. / 4, 0, 0, 0},
                                  {1. / 4, 1. / 4, 1. / 4, 1. / 4, 0},
                                  {0, 1. / 4, 3. / 4, 0, 0},
                                  {0, 1. / 4, 0, 5. / 12, 1. / 3},
                                  {0, 0, 0, 1. / 3, 2. / 3}};
#define BY_FILE                                                                                    \
    "\"graph\":\"file\",\"edges\":\""                                                              \
    "tests/data/edges.csv"                                                                         \
    "\""
/* From i - 1, i - 2, i - 4 in turn. */
static const int one_peer[3] = {1, 2, 4};

static void mix(struct five *f, double from[N][DIM], const double w[N][N], int round)
{
    for (int i = 0; i < N; i++)
        for (int d = 0; d < DIM; d++) {
            double sum = 0, n = 0;
            for (int j = 0; j < N; j++) {
                const double here = w ? w[i][j] : j == i || j == (i + N - one_peer[round % 3]) % N;
                sum += here * from[j][d];
                n += here;
            }
            f->x[i][d] = sum / n;
        }
}

static double score_of(const struct five *f)
{
    double sum = 0;
    for (int i = 0; i < DIM; i++) {
        double h = 0, best = 0;
        for (int k = 0; k < N; k++) {
            h += f->h[k][i] / N;
            best += f->h[k][i] * f->c[k][i] / N;
        }
        best /= h;
        sum += 0.5 * h * (f->x[0][i] - best) * (f->x[0][i] - best);
    }
    return sum;
}

static bool run_five(struct live *o, const char *strategy)
{
    return live_run(o, strategy, ",\"clients\":5", &strait_fluid);
}

static void dpsgd_by_hand(void)
{
    static const struct {
        const char *form;
        const double (*w)[N];
    } cases[] = {{"{\"name\":\"dpsgd\",\"rounds\":6}", ring},
                 {"{\"name\":\"dpsgd\",\"rounds\":6," BY_FILE "}", tree},
                 {"{\"name\":\"dpsgd\",\"rounds\":6,\"graph\":\"exponential\"}", exponential},
                 {"{\"name\":\"dpsgd\",\"rounds\":6,\"graph\":\"one_peer\"}", NULL}};
    for (int i = 0; i < 4; i++) {
        static struct five f;
        struct live o;
        if (!run_five(&o, cases[i].form))
            return;
        five_of(&f, o.trial->learn);
        for (int round = 0; round < MAX_ROUNDS; round++) {
            double old[N][DIM];
            memcpy(old, f.x, sizeof(old));
            mix(&f, old, cases[i].w, round);
            five_step(&f, old);
            const double score = score_of(&f);
            CU_ASSERT_DOUBLE_EQUAL(o.trial->logs[0].scored[round].loss, score, LIVE_RATIO * score);
        }
        live_free(&o);
    }
}

/* With a delay of 2: two rounds alone, then the neighbours' parameters of two rounds before. */
static void delayed_by_hand(void)
{
    enum { DELAY = 2 };
    static struct five f;
    static double old[MAX_ROUNDS][N][DIM];
    struct live o;
    if (!run_five(&o, "{\"name\":\"dpsgd\",\"rounds\":6,\"delay\":2}"))
        return;
    five_of(&f, o.trial->learn);
    for (int round = 0; round < MAX_ROUNDS; round++) {
        memcpy(old[round], f.x, sizeof(f.x));
        for (int i = 0; i < N && round >= DELAY; i++)
            for (int d = 0; d < DIM; d++) {
                f.x[i][d] = old[round][i][d] / 3;
                for (int j = 0; j < N; j++)
                    f.x[i][d] += j != i ? ring[i][j] / 3 * old[round - DELAY][j][d] : 0;
            }
        five_step(&f, old[round]);
        const double score = score_of(&f);
        CU_ASSERT_DOUBLE_EQUAL(o.trial->logs[0].scored[round].loss, score, LIVE_RATIO * score);
    }
    live_free(&o);
}

/* On a ring of six at 100 Mbps messages take 70 ms a round and 20 ms. Without a delay a round waits
 * for both; with two rounds of delay for the wire alone, and two rounds' messages are still to come
 * when the last ends. */
static void delay_hides(void)
{
    struct strait_outcome o =
        star_run("{\"name\":\"dpsgd\",\"rounds\":12,\"delay\":2}", 6, NULL, &strait_fluid, false);
    const struct costs c = costs_of(&o);
    const double wire_s = 2 * (c.model_bytes + 96) / c.rate_bytes_per_s,
                 alone_s = strait_model_step_s(o.experiment->model) + 2 * c.copy_s;
    CU_ASSERT(wire_s > 3 * alone_s);
    CU_ASSERT_EQUAL(o.n_messages, 12 * 12);
    /* the tenth message is added in the last round: 10 on the wire, and a path */
    CU_ASSERT_DOUBLE_EQUAL(o.total_s, 10 * wire_s + 0.02, 2 * alone_s);
    strait_outcome_free(&o);
}

/* Without a codec everybody is told all, so told_j = x_j after its step. */
static void choco_on(const char *strategy, const double w[N][N], double sum)
{
    static struct five f;
    struct live o;
    if (!run_five(&o, strategy))
        return;
    five_of(&f, o.trial->learn);
    for (int round = 0; round < MAX_ROUNDS; round++) {
        double old[N][DIM];
        memcpy(old, f.x, sizeof(old));
        five_step(&f, old);
        memcpy(f.told, f.x, sizeof(f.told));
        for (int i = 0; i < N; i++)
            for (int d = 0; d < DIM; d++)
                for (int j = 0; j < N; j++)
                    f.x[i][d] += 0.4 * w[i][j] / sum * (f.told[j][d] - f.told[i][d]);
        const double score = score_of(&f);
        CU_ASSERT_DOUBLE_EQUAL(o.trial->logs[0].scored[round].loss, score, LIVE_RATIO * score);
    }
    live_free(&o);
}

static void choco_by_hand(void)
{
    choco_on("{\"name\":\"choco\",\"rounds\":6,\"gamma\":0.4}", ring, 3);
    choco_on("{\"name\":\"choco\",\"rounds\":6,\"gamma\":0.4," BY_FILE "}", tree, 1);
}

/* Plain SGD of a small step on a convex task, a tenth of the values in each message. What a codec
 * leaves out is in the difference until it is sent, so the run comes as near to the optimum as one
 * that sends all of them: within 1 %, since the mean takes the same steps. D-PSGD forgets it and
 * loses nine tenths of every neighbour's parameters. */
#define PLAIN                                                                                      \
    ",\"clients\":5,\"training\":{\"task\":\"quadratic\",\"dim\":40,\"condition\":10,"             \
    "\"shift\":0.2,\"skew\":0.2,\"batch\":8,\"lr\":0.02,\"momentum\":0}"
#define TENTH ",\"codec\":{\"name\":\"topk\",\"ratio\":0.1,\"error_feedback\":false,\"cutoff\":0}"

static double last_loss(const char *form, const char *more)
{
    struct live o;
    double loss = NAN;
    if (live_run_coded(&o, form, more)) {
        loss = o.trial->logs[0].scored[o.trial->logs[0].n_scored - 1].loss;
        live_free(&o);
    }
    return loss;
}

static void nothing_is_forgotten(void)
{
    static const char choco[] = "{\"name\":\"choco\",\"rounds\":400,\"gamma\":0.1}";
    const double all = last_loss(choco, PLAIN), tenth = last_loss(choco, PLAIN TENTH),
                 forgetful = last_loss("{\"name\":\"dpsgd\",\"rounds\":400}", PLAIN TENTH);
    CU_ASSERT(fabs(tenth - all) < 0.01 * all);
    CU_ASSERT(fabs(tenth - all) > 1e-5 * all); /* or nothing was left out */
    CU_ASSERT(forgetful > 10 * tenth);
}

static void refuses(void)
{
    static const struct {
        const char *strategy, *more, *part;
    } cases[] = {
        {"{\"name\":\"choco\",\"graph\":\"one_peer\"}", "",
         "expected ring, torus, complete or file"},
        {"{\"name\":\"choco\"}", ",\"codec\":\"topk\"", "(\"error_feedback\": false)"},
        {"{\"name\":\"dpsgd\",\"graph\":\"file\"}", "", "pairs of ranks that reach all 3"},
        {"{\"name\":\"dpsgd\"," BY_FILE "}", ",\"clients\":6", "pairs of ranks that reach all 6"},
        {"{\"name\":\"dpsgd\"," BY_FILE "}", "", "a number from 0 to 2"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        live_refuses(cases[i].strategy, cases[i].more, cases[i].part);
}

static const struct strait_test tests[] = {
    {"a round sends the model along every edge of the graph", bytes},
    {"a round on a ring takes what its parts take", times},
    {"graphs and codecs take the same time on SimGrid and fluid", same_on_simgrid},
    {"D-PSGD's steps are those of the algorithm, by any graph", dpsgd_by_hand},
    {"with a delay the neighbours' parameters are old", delayed_by_hand},
    {"a delay hides the path and the gradient beside the wire", delay_hides},
    {"CHOCO's steps are those of the algorithm", choco_by_hand},
    {"CHOCO forgets nothing of what a codec leaves out", nothing_is_forgotten},
    {"directed graphs and codecs with a memory are refused", refuses},
};
STRAIT_SUITE("workloads/train/sync/gossip", tests);
