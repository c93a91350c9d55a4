/* Collectives: times against closed forms, and errors against the stated composition of bounds.
 *
 * Times: a is the delay of a path, L(e) the wire time of e elements and a frame, A(e) of adding and
 * C(e) of copying e elements. All ports are alike, nothing ramps up, and N can be divided by all
 * numbers of ranks, so that each form is exact. */
#include "collective_bounds.h"

enum { FRAME_BYTES = 96 };
static const double PATH_S = 0.02, RATE_BYTES_PER_S = 100e6 / 8 * 1448 / 1538;

/* What the ranks call: set before a run. */
static enum collective kind;

static void note_end(struct strait_rank *r)
{
    const struct strait_span end = {
        .end_s = strait_now_s(r), .rank = strait_me(r), .kind = STRAIT_SPAN_ROUND};
    strait_log_add(&r->run->logs[strait_me(r)], &end);
}

static void timed_main(struct strait_rank *r)
{
    struct strait_tensor *x = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS);
    call_collective(r, kind, strait_range(r, x, 0, N));
    note_end(r);
}

/* When the last rank is done. */
static double ended_s(const struct strait_outcome *o)
{
    double end_s = 0;
    for (int i = 0; i < o->experiment->n_ranks; i++)
        end_s = fmax(end_s, o->point->logs[i].total_s[STRAIT_SPAN_ROUND]);
    return end_s;
}

static double wire_s(double n_elems)
{
    return (4 * n_elems + FRAME_BYTES) / RATE_BYTES_PER_S;
}

static double log2_of(int n)
{
    return round(log2(n));
}

/* Open MPI's exchange of e elements both ways by two that begin together: where there are more than
 * 16384 it is asked and answered first; added (or copied) when it is there. */
static double exchanged_s(double e, double use_bytes_per_s)
{
    return (e <= 16384 ? PATH_S : 3 * PATH_S + 2 * wire_s(0)) + wire_s(e) + 4 * e / use_bytes_per_s;
}

/* Three ranks: 0 and 1 exchange halves and 1 gives 0 its own; 0 finds the question of 2 waiting and
 * answers before it asks, so that 2's answer waits for what 2 sends: one way after the other. Its
 * next question is right behind what it sends, so that they go on so, 0 sending first; then 1 gets
 * all. */
static double of_three_s(double add_bytes_per_s, double copy_bytes_per_s)
{
    const double a = PATH_S, w = wire_s(0), half = N / 2.0, R = wire_s(half),
                 A = 4 * half / add_bytes_per_s, C = 4 * half / copy_bytes_per_s;
    const double folded_1 = 2 * 1538 / (100e6 / 8) + 3 * a + 2 * w + R + A;
    const double folded_0 = folded_1 + 3 * a + 2 * w + R + C;
    const double halved_0 = folded_0 + 2 * a + w + R + fmax(w, A);
    const double found_2 = halved_0 + a + R + fmax(w, A);
    const double doubled_2 = found_2 + 2 * a + w + R + fmax(w, C);
    const double doubled_0 = doubled_2 + a + R + C;
    return doubled_0 + 3 * a + 2 * w + wire_s(N) + 4 * N / copy_bytes_per_s;
}

/* Closed form; NAN where there is none for this n. */
static double form_s(int n, double add_bytes_per_s, double copy_bytes_per_s)
{
    const double a = PATH_S, k = log2_of(n), e = (double)N / n, L = wire_s(N), Le = wire_s(e),
                 A = 4 * N / add_bytes_per_s, Ae = 4 * e / add_bytes_per_s,
                 C = 4 * N / copy_bytes_per_s, Ce = 4 * e / copy_bytes_per_s, m = n - 1;
    const bool is_power = exp2(k) == n;
    double s = 0;
    switch (kind) {
    case RING_ENCODED: /* without a codec the same */
    case RING:         /* both halves: n - 1 steps of a part */
        return m * (a + Le + Ae) + m * (a + Le + Ce);
    case HALVING: /* a half, a quarter ...; back n / 2^k parts a step, the last one copied behind */
        for (int j = 1; j <= k; j++)
            s += a + wire_s(N / exp2(j)) + 4 * N / exp2(j) / add_bytes_per_s + a + exp2(j - 1) * Le;
        return is_power && n > 1 ? s + Ce : NAN;
    case TREE: /* the root adds its k children when the last is here; then it feeds j at once */
        for (int j = 1; j <= k; j++)
            s += a + L + (j < k ? A : k * A) + a + j * L;
        return is_power && n > 1 ? s + C : NAN;
    case DOUBLE_TREE: /* of four, two leaves share the port of the middle, up and down */
        return n == 2   ? 2 * (a + wire_s(N / 2.0)) + A / 2 + C / 2
               : n == 4 ? 4 * a + 6 * wire_s(N / 2.0) + 3 * A / 2 + C / 2
                        : NAN;
    case GLOO: /* each half: a pair of segments is asked for, comes, and is added, n - 1 times; the
                  second of a pair is one behind, once */
        return n > 1 ? m * (4 * a + 2 * wire_s(0) + 2 * wire_s(e / 2) + Ae / 2 + Ce / 2) +
                           2 * wire_s(e / 2)
                     : 0;
    case PAT: /* as many parts as odd multiples of each power of two below n; as many back */
        for (int d = 1; d < n; d *= 2)
            s += 2 * (a + floor((n - 1 + d) / (2.0 * d)) * Le) + Ae;
        return n > 1 ? s + Ce : 0;
    case OPEN_MPI: /* two frames for what may have been asked already, too */
        s = n > 1 ? 2 * k * 2 * 1538 / (100e6 / 8) : 0;
        for (int j = 1; j <= k; j++)
            s += exchanged_s(N / exp2(j), add_bytes_per_s) +
                 exchanged_s(N / exp2(j), copy_bytes_per_s);
        return n == 3 ? of_three_s(add_bytes_per_s, copy_bytes_per_s) : is_power && n > 1 ? s : NAN;
    case ALL_TO_ALL: /* n - 1 parts share the ports both times */
        return n > 1 ? 2 * (a + m * Le) + m * (Ae + Ce) : 0;
    case SITES: /* two of three: two messages into a leader, a ring of two, two out */
        return n == 6 ? a + 2 * L + 2 * A + 2 * (a + wire_s(N / 2.0)) +
                            4 * (N / 2.0) / add_bytes_per_s + 4 * (N / 2.0) / copy_bytes_per_s + a +
                            2 * L + C
                      : NAN;
    case SCATTER:
        return m * (a + Le + Ae);
    case GATHER:
        return m * (a + Le + Ce);
    case CHAIN: /* a piece through the chain, added at each hop in less time than the next needs */
        return n > 1 ? m * (a + wire_s((double)N / N_PIECES) + A / N_PIECES) +
                           (N_PIECES - 1) * wire_s((double)N / N_PIECES)
                     : 0;
    case REDUCE: /* every level but the root's adds as it goes */
        for (int j = 1; j <= k; j++)
            s += a + L + (j < k ? A : k * A);
        return is_power && n > 1 ? s : NAN;
    case BROADCAST:
        for (int j = 1; j <= k; j++)
            s += a + j * L;
        return is_power && n > 1 ? s + C : NAN;
    case PIPELINED: /* a piece through the chain, the others behind it */
        return n > 1 ? m * (a + wire_s((double)N / N_PIECES)) +
                           (N_PIECES - 1) * wire_s((double)N / N_PIECES) + C / N_PIECES
                     : 0;
    default:
        return NAN;
    }
}

static void times(void)
{
    int n_forms = 0;
    for (kind = 0; kind < N_COLLECTIVES; kind++)
        for (int n = 1; n <= MAX_RANKS; n++) {
            struct strait_outcome o = run_ranks(n, false, timed_main, NULL);
            const double wanted_s = form_s(n, o.point->add_bytes_per_s, o.point->copy_bytes_per_s);
            n_forms += !isnan(wanted_s);
            if (fabs(ended_s(&o) - wanted_s) > 1e-9)
                fprintf(stderr, "kind %d, %d ranks: expected %.12g s, found %.12g s\n", (int)kind,
                        n, wanted_s, ended_s(&o));
            if (!isnan(wanted_s))
                CU_ASSERT_DOUBLE_EQUAL(ended_s(&o), wanted_s, 1e-9);
            strait_outcome_free(&o);
        }
    /* nine at all numbers of ranks, five at 2, 4 and 8 only, one at 6, one at 2 and 4, one at 3 */
    CU_ASSERT_EQUAL(n_forms, 9 * 9 + 5 * 3 + 1 + 2 + 1);
}

/* At any number of ranks, also where there is no short form; the copy is not in the plan. */
static void planned_broadcast(void)
{
    kind = BROADCAST;
    for (int n = 1; n <= MAX_RANKS; n++) {
        struct strait_outcome o = run_ranks(n, false, timed_main, NULL);
        const double copy_s = n > 1 ? 4.0 * N / o.point->copy_bytes_per_s : 0;
        strait_test_context("%d ranks", n);
        CU_ASSERT_DOUBLE_EQUAL(ended_s(&o), strait_broadcast_s(n, wire_s(N), PATH_S) + copy_s,
                               1e-9);
        strait_outcome_free(&o);
    }
    /* 2^k: k delays and k (k + 1) / 2 messages */
    CU_ASSERT_DOUBLE_EQUAL(strait_broadcast_s(16, 1, 100), 4 * 100 + 10, 1e-12);
    strait_test_context("%s", "");
}

/* Packets of N / n elements a step, and before them n - 1 steps of a frame. */
static void gather_main(struct strait_rank *r)
{
    struct strait_group world = strait_world(r, 0);
    memset(strait_group_met(r, &world), true, (size_t)world.n); /* connections are open */
    struct strait_tensor *x = strait_tensor(r, STRAIT_GRADIENTS, 0, STRAIT_ALL_LAYERS);
    struct strait_packet **all = strait_alloc(r, (size_t)world.n, sizeof(struct strait_packet *));
    all[world.me] =
        strait_encode(r, strait_codec(r, "none"), NAN, strait_range(r, x, 0, N / (size_t)world.n));
    strait_gather_packets(r, world, all, true);
    for (int i = 0; i < world.n; i++)
        strait_drop(r, all[i]);
    note_end(r);
}

static void gather_time(void)
{
    for (int n = 1; n <= MAX_RANKS; n++) {
        struct strait_outcome o = run_ranks(n, false, gather_main, NULL);
        CU_ASSERT_DOUBLE_EQUAL(ended_s(&o), (n - 1) * (2 * PATH_S + wire_s(0) + wire_s(N / n)),
                               1e-9);
        strait_outcome_free(&o);
    }
}

/* --- errors --------------------------------------------------------------------------------- */

static void bounds_add_up(void)
{
    static const int counts[] = {3, 8};
    for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
        struct strait_outcome o = run_ranks(counts[k], true, bounded_all, BOUNDED_CODEC);
        CU_ASSERT(o.payload_bytes > 0);
        strait_outcome_free(&o);
    }
}

static const struct strait_test tests[] = {
    {"every collective takes the time of its closed form", times},
    {"a broadcast takes what plans count for it, at every number of ranks", planned_broadcast},
    {"gathered packets take a step each, their sizes one more", gather_time},
    {"errors of bounded codecs add up to the stated number of bounds at most", bounds_add_up},
};
STRAIT_SUITE_WITH("workloads/train/collectives/collective_times", tests, .release = true);
