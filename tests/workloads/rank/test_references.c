/* Parameters against a reference as strategies send them: who has which values, key frames for
 * ranks that missed a packet, and what simulations reckon. */
#include <sys/mman.h>
#include "codecs/reference.h"
#include "workloads/rank/coding.h"
#include "core/bytes.h"
#include "tests/kit/profile_find.h"
#include "tests/kit/strategy_world.h"

#define STAR(name, more) "{\"name\":\"" name "\",\"rounds\":4,\"local_steps\":1" more "}"
enum { SERVER = 0, MODEL = 0, N_ROUNDS = 5 };

static json_t *codec(const char *reference)
{
    return json_pack("{s:s, s:{s:f}, s:s}", "name", "sz", "bound", "range", 1e-2, "reference",
                     reference);
}

static json_t *both_ways(void)
{
    return json_pack("{s:o, s:o}", "/codec", codec("last"), "/download_codec", codec("last"));
}

static json_t *down(void)
{
    return json_pack("{s:o}", "/download_codec", codec("last"));
}

static const struct strait_line *line_of(const struct strait_rank *r, int sender, int to)
{
    const struct strait_line *l = strait_rank_state_of(r)->lines;
    while (l && (l->sender != sender || l->to != to))
        l = l->next;
    return l;
}

/* In memory that the process of the ranks shares with the test. */
static struct shared {
    float last_sent[CNN_ELEMS], last_values[CNN_ELEMS];
} * shared;

/* --- what the strategies send -------------------------------------------------------------- */

/* The strategy itself, then the server's values and every client's: the same bits, and the
 * tensor that a client decoded into is these values, within 1e-2 of each matrix' range of
 * what was sent. */
static void after_the_strategy(struct strait_rank *r)
{
    const struct strait_trial *p = r->run->context;
    p->experiment->strategy->rank_main(r);
    const struct strait_line *l = line_of(r, SERVER, -1);
    if (!l || strait_reference_version(l->values) != 4) {
        fail_with(r, "expected the values of four rounds");
        return;
    }
    if (strait_me(r) == SERVER)
        memcpy(shared->last_values, strait_reference_values(l->values),
               sizeof(shared->last_values));
    else if (strcmp(p->experiment->strategy->name, "fedavg") == 0 &&
             memcmp(whole_tensor(r, STRAIT_SCRATCH), strait_reference_values(l->values),
                    sizeof(shared->last_values)) != 0)
        fail_with(r, "the decoded tensor is not the reference");
    else
        memcpy(shared->last_sent, strait_reference_values(l->values), sizeof(shared->last_sent));
}

static void same_bits(void)
{
    static const char *const strategies[] = {STAR("fedavg", ""), STAR("hierfl", "")};
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(shared != MAP_FAILED);
    for (int i = 0; i < 2; i++) {
        struct strait_outcome o = star_run(strategies[i], 3, down(), &strait_fluid, true);
        run_with(&o, after_the_strategy);
        CU_ASSERT_EQUAL(memcmp(shared->last_values, shared->last_sent, sizeof(shared->last_sent)),
                        0);
        double sum = 0;
        for (size_t k = 0; k < CNN_ELEMS; k++)
            sum += fabs((double)shared->last_sent[k]);
        CU_ASSERT(sum > 0);
        strait_outcome_free(&o);
    }
    munmap(shared, sizeof(*shared));
}

/* Asynchronous: each client has its own values, whatever the others have; what it trained comes
 * back against them. A version that did not fit would end the run. */
static void asynchronous(void)
{
    struct strait_outcome o = star_run(STAR("fedasync", ",\"straggler_spread\":0.5"), 3,
                                       both_ways(), &strait_fluid, true);
    CU_ASSERT(o.payload_bytes > 0);
    strait_outcome_free(&o);
}

/* Clients that take models late pass over older ones, which they must decode too; those that were
 * not asked get a key frame. */
static void late_and_chosen(void)
{
    struct strait_outcome o = star_run(
        STAR("fedavg", ",\"deadline\":\"100 ms\",\"clients_per_round\":2,\"over_selection\":2,"
                       "\"straggler_spread\":1,\"straggler_draw\":\"round\",\"dropout\":\"30 %\""),
        6, down(), &strait_fluid, true);
    CU_ASSERT(o.payload_bytes > 0);
    strait_outcome_free(&o);
}

/* --- key frames ----------------------------------------------------------------------------- */

/* Rank 1 gets every packet, rank 2 those of rounds 0 and 3: as it missed two, that of round 3 is a
 * key frame for both; the bases of 1 are 0, 1, 2, 0, 4. */
static void chosen_server(struct strait_rank *r)
{
    static const uint32_t bases[N_ROUNDS] = {0, 1, 2, 0, 4};
    struct strait_codec *c = strait_codec(r, "down");
    struct strait_tensor *w = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS);
    struct strait_tensor *u = strait_tensor(r, STRAIT_UPDATE, 0, STRAIT_ALL_LAYERS);
    for (int round = 0; round < N_ROUNDS; round++) {
        const bool both = round % 3 == 0;
        strait_reach(r, c, 1);
        if (both)
            strait_reach(r, c, 2);
        struct strait_packet *p = strait_encode(r, c, NAN, w);
        if (p->data && strait_get32(p->data + 8) != bases[round])
            fail_with(r, "a packet is coded against another version than expected");
        strait_send(r, 1, MODEL, round, strait_keep(p));
        if (both)
            strait_send(r, 2, MODEL, round, strait_keep(p));
        strait_drop(r, p);
        strait_add(r, w, u, 0.1);
    }
}

static void chosen_main(struct strait_rank *r)
{
    if (strait_me(r) == SERVER) {
        chosen_server(r);
        return;
    }
    struct strait_tensor *y = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
    for (int i = 0; i < (strait_me(r) == 1 ? N_ROUNDS : 2); i++)
        strait_decode(r, y, strait_recv(r, SERVER, MODEL).packet);
}

static void key_frames(void)
{
    struct strait_outcome o = star_run(STAR("fedavg", ""), 2, down(), &strait_fluid, true);
    run_with(&o, chosen_main);
    strait_outcome_free(&o);
}

/* Packets for one rank alone begin where those for all ended, and go their own way. */
static void addressed_main(struct strait_rank *r)
{
    if (strait_me(r) != SERVER) {
        struct strait_tensor *y = strait_tensor(r, STRAIT_SCRATCH, 0, STRAIT_ALL_LAYERS);
        for (int i = 0; i < (strait_me(r) == 1 ? 4 : 2); i++)
            strait_decode(r, y, strait_recv(r, SERVER, MODEL).packet);
        return;
    }
    struct strait_codec *c = strait_codec(r, "down");
    struct strait_tensor *w = strait_tensor(r, STRAIT_WEIGHTS, 0, STRAIT_ALL_LAYERS);
    struct strait_tensor *u = strait_tensor(r, STRAIT_UPDATE, 0, STRAIT_ALL_LAYERS);
    static const int to[] = {-1, 1, 1, 2, 1};
    static const uint32_t bases[] = {0, 1, 2, 1, 3};
    for (int i = 0; i < 5; i++) {
        if (to[i] > 0)
            strait_address(r, c, to[i]);
        struct strait_packet *p = strait_encode(r, c, NAN, w);
        if (strait_get32(p->data + 8) != bases[i])
            fail_with(r, "a packet is coded against another version than expected");
        for (int dst = 1; dst <= 2; dst++)
            if (to[i] < 0 || to[i] == dst)
                strait_send(r, dst, MODEL, i, strait_keep(p));
        strait_drop(r, p);
        strait_add(r, w, u, 0.1);
    }
}

static void addressed(void)
{
    struct strait_outcome o = star_run(STAR("fedavg", ""), 2, down(), &strait_fluid, true);
    run_with(&o, addressed_main);
    strait_outcome_free(&o);
}

/* --- simulations ---------------------------------------------------------------------------- */

/* The profile has nothing for changes: priced as whole parameters, plus the head of 12 bytes and a
 * bit for each of ten tensors; the server decodes once more, twice adds and once copies a model,
 * and a client adds one. */
static void sized(void)
{
    struct strait_outcome plain =
        star_run(STAR("fedavg", ""), 1, json_pack("{s:o}", "/download_codec", codec("none")),
                 &strait_fluid, false);
    struct strait_outcome o = star_run(STAR("fedavg", ""), 1, down(), &strait_fluid, false);
    const size_t head_bytes = 12 + (o.experiment->model->n_rows + 7) / 8;
    CU_ASSERT_EQUAL(o.payload_bytes, plain.payload_bytes + 4 * head_bytes);
    const struct costs c = costs_of(&o);
    const double *spent = o.point->logs[1].total_s, *before = plain.point->logs[1].total_s;
    const double decode_s = before[STRAIT_SPAN_DECODE] / 4;
    CU_ASSERT_DOUBLE_EQUAL(spent[STRAIT_SPAN_DECODE], 4 * (decode_s + c.add_s), 1e-9);
    const double more_s = o.point->logs[0].total_s[STRAIT_SPAN_ENCODE] -
                          plain.point->logs[0].total_s[STRAIT_SPAN_ENCODE];
    const double pass_s = c.model_bytes / o.profile->add_bytes_per_s,
                 copy_s = c.model_bytes / o.profile->copy_bytes_per_s;
    CU_ASSERT_DOUBLE_EQUAL(more_s, 4 * (decode_s + 2 * pass_s + copy_s), 1e-9);
    CU_ASSERT_FALSE(o.point->has_changes[1]);
    strait_outcome_free(&plain);
    strait_outcome_free(&o);
}

/* With a profile of changes a round after the first costs a change's bytes instead of the
 * parameters': of the matrices with more than 1024 values, 32 x 144 + 64 x 1568 = 104960, and bytes
 * are rounded up once a packet. */
static void priced_changes(void)
{
    static const char *const references[] = {"none", "last"};
    struct strait_profile *p = NULL;
    struct strait_profile_cost whole, change;
    const struct strait_bound bound = {STRAIT_BOUND_RANGE, 1e-2};
    double sent_bytes[2];
    CU_ASSERT_EQUAL_FATAL(strait_profile_load(&p, "changes", NULL), 0);
    CU_ASSERT_EQUAL_FATAL(find_published(&whole, p, "sz", bound, "param", "", NULL), 0);
    CU_ASSERT_EQUAL_FATAL(find_published(&change, p, "sz", bound, "change", "", NULL), 0);
    strait_profile_free(p);
    for (int i = 0; i < 2; i++) {
        json_t *down = codec(references[i]);
        json_object_set_new(down, "profile", json_string("changes"));
        struct strait_outcome o =
            star_run(STAR("fedavg", ""), 1, json_pack("{s:o}", "/download_codec", down),
                     &strait_fluid, false);
        CU_ASSERT_EQUAL(o.point->has_changes[1], i == 1);
        sent_bytes[i] = (double)o.payload_bytes;
        if (i == 1)
            sent_bytes[i] -= 4 * (12 + (double)((o.experiment->model->n_rows + 7) / 8));
        strait_outcome_free(&o);
    }
    const double saved_bytes = 3 * 4.0 * 104960 * (1 / whole.ratio - 1 / change.ratio);
    CU_ASSERT_DOUBLE_EQUAL(sent_bytes[0] - sent_bytes[1], saved_bytes, 4);
}

static const struct strait_test tests[] = {
    {"all ranks have the server's values bit for bit", same_bits},
    {"asynchronous clients have values of their own", asynchronous},
    {"who takes a model late follows those that it passes over", late_and_chosen},
    {"who missed a packet gets a key frame", key_frames},
    {"packets for one rank go their own way", addressed},
    {"simulations count the head, the closed loop and the passes", sized},
    {"a profile's entries for changes are what a round after the first costs", priced_changes},
};
STRAIT_SUITE("workloads/rank/references", tests);
