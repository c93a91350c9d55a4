/* What codecs are told of the ranks that encode with them, so that their draws make up for each
 * other. */
#include "core/random.h"
#include "tests/kit/strategy_world.h"

enum { N_RANKS = 4, TO_FIRST = 0 };

/* Ranks are processes: rank 0 checks.
 *
 * All encode the same values. Of n ranks whose values lie at p between two levels n p round up, to
 * within one: the mean's squared error is 1 / (6 n^2) steps, of independent ranks 1 / (6 n), a
 * quarter. Scales are drawn independently, which adds a few hundredths. */
static void encode_all(struct strait_rank *r)
{
    static double off[CNN_ELEMS];
    double apart = 0, together = 0;
    struct strait_tensor *x = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS),
                         *y = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    struct strait_sequence s = strait_sequence_at(5);
    for (size_t i = 0; i < CNN_ELEMS; i++)
        strait_values(r, x)[i] = (float)(strait_sequence_unit(&s) + strait_sequence_unit(&s) - 1);
    struct strait_packet *mine = strait_encode(r, strait_codec(r, "up"), NAN, x);
    if (strait_me(r) != 0) {
        strait_send(r, 0, TO_FIRST, 0, mine);
        if (strait_me(r) == 1)
            strait_decode(r, y, strait_recv(r, 0, TO_FIRST).packet);
        return;
    }
    strait_send(r, 1, TO_FIRST, 0, strait_keep(mine)); /* a run without messages is an error */
    for (int rank = 0; rank < N_RANKS; rank++) {
        strait_decode(r, y, rank == 0 ? mine : strait_recv(r, rank, TO_FIRST).packet);
        for (size_t i = 0; i < CNN_ELEMS; i++) {
            const double error = (double)strait_values(r, y)[i] - (double)strait_values(r, x)[i];
            off[i] += error / N_RANKS;
            apart += error * error / N_RANKS / N_RANKS;
        }
    }
    for (size_t i = 0; i < CNN_ELEMS; i++)
        together += off[i] * off[i];
    char text[64];
    snprintf(text, sizeof(text), "found %g, expected 0.25 to 0.31", together / apart);
    if (!(together > 0.25 * apart && together < 0.31 * apart))
        fail_with(r, text);
}

static void ranks_differ_and_agree(void)
{
    struct strait_outcome o =
        star_run("{\"name\":\"bsp\",\"rounds\":1,\"collective\":\"all_to_all\"}", N_RANKS,
                 json_pack("{s:{s:s,s:s}}", "/codec", "name", "dynamiq", "profile", "shards"),
                 &strait_fluid, true);
    run_with(&o, encode_all);
    strait_outcome_free(&o);
}

static const struct strait_test tests[] = {
    {"a codec's draws are one rank's of several, by a key that all have", ranks_differ_and_agree},
};
STRAIT_SUITE("workloads/rank/draws", tests);
