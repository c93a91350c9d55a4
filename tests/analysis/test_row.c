/* Rows from logs made by hand. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/row.h"
#include "codecs/frame.h"
#include "tests/kit/suite.h"

/* A server and two clients after one round of 2 s; nothing of it has run. */
struct fixture {
    struct strait_experiment experiment;
    struct strait_model model;
    struct strait_param_row table[1];
    struct strait_network network;
    struct strait_trial point;
    struct strait_log logs[3];
};

static void add(struct strait_log *log, enum strait_span_kind kind, double start_s, double end_s)
{
    const struct strait_span span = {.start_s = start_s, .end_s = end_s, .peer = -1, .kind = kind};
    strait_log_add(log, &span);
}

/* Each client sends 1,000 raw bytes as 250, the server 2,000 as 2,000; one message each way. */
static void set_up(struct fixture *f, const char *codec)
{
    memset(f, 0, sizeof(*f));
    f->model.rows = f->table;
    f->model.n_rows = 1;
    snprintf(f->model.name, sizeof(f->model.name), "small");
    f->experiment.json = json_pack("{s:i}", "clients", 2);
    f->experiment.title = "by hand";
    f->experiment.model = &f->model;
    f->experiment.network = &f->network;
    f->experiment.strategy = strait_strategy_find("fedavg");
    f->experiment.n_clients = 2;
    f->experiment.n_ranks = 3;
    f->experiment.compute_speed = 1;
    f->experiment.up.spec.ops = strait_codec_find(codec);
    for (int i = 0; i < 2; i++) {
        struct strait_codec_choice *choice = i == 0 ? &f->experiment.up : &f->experiment.down;
        choice->encode_speed = choice->decode_speed = 1;
    }
    f->experiment.down.spec.ops = strait_codec_find("none");
    if (strcmp(codec, "none") != 0)
        f->experiment.up.spec.bound = (struct strait_bound){STRAIT_BOUND_RANGE, 1e-3};
    f->point.experiment = &f->experiment;
    f->point.recorded_ratio = NAN;
    f->point.logs = f->logs;
    f->point.run.n_ranks = 3;
    CU_ASSERT_FATAL(strait_facts_init(&f->point.facts, NULL) == 0);
    for (int rank = 0; rank < 3; rank++) {
        f->logs[rank].n_messages = rank == 0 ? 2 : 1;
        f->logs[rank].raw_bytes = rank == 0 ? 2000 : 1000;
        f->logs[rank].payload_bytes = rank == 0 ? 2000 : 250;
        f->logs[rank].peak_bytes = 10 * (uint64_t)(rank + 1);
        f->logs[rank].error_over_bound = -1;
    }
    add(&f->logs[0], STRAIT_SPAN_ROUND, 0, 2);
    add(&f->logs[0], STRAIT_SPAN_DECODE, 0.5, 2);
}

static void tear_down(struct fixture *f)
{
    for (int rank = 0; rank < 3; rank++)
        strait_log_release(&f->logs[rank]);
    strait_facts_release(&f->point.facts);
    json_decref(f->experiment.json);
}

static json_t *row_of(const struct fixture *f)
{
    const struct strait_row_context context = {
        .backend = "fluid", .key = "k", .profile = "p", .wall_s = 1};
    struct strait_error err = {0};
    json_t *row = strait_row_new(&f->point, &context, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(row);
    return row;
}

static double number(const json_t *row, const char *group, const char *key)
{
    return json_number_value(json_object_get(group ? json_object_get(row, group) : row, key));
}

static void test_bytes(void)
{
    struct fixture f;
    set_up(&f, "sz");
    json_t *row = row_of(&f);
    CU_ASSERT_EQUAL(number(row, "bytes", "raw"), 4000);
    CU_ASSERT_EQUAL(number(row, "bytes", "payload"), 2500);
    CU_ASSERT_EQUAL(number(row, "bytes", "up"), 500);
    CU_ASSERT_EQUAL(number(row, "bytes", "down"), 2000);
    CU_ASSERT_EQUAL(number(row, "bytes", "messages"), 4);
    CU_ASSERT_EQUAL(number(row, "bytes", "frame"), 4 * STRAIT_FRAME_BYTES);
    CU_ASSERT_EQUAL(number(row, NULL, "ratio"), 4);           /* up alone is compressed */
    CU_ASSERT_EQUAL(number(row, NULL, "ratio_overall"), 1.6); /* 4000 / 2500 */
    CU_ASSERT_STRING_EQUAL(
        json_string_value(json_object_get(json_object_get(row, "bytes"), "sizes")), "predicted");
    json_decref(row);
    f.network.tcp.n_connections = 4; /* each message has a frame on every connection */
    row = row_of(&f);
    CU_ASSERT_EQUAL(number(row, NULL, "connections"), 4);
    CU_ASSERT_EQUAL(number(row, "bytes", "frame"), 4 * 4 * STRAIT_FRAME_BYTES);
    json_decref(row);
    f.network.tcp.n_connections = 1;
    f.experiment.down.spec.ops = strait_codec_find("zstd"); /* now both are: 4000 / 2500 */
    row = row_of(&f);
    CU_ASSERT_EQUAL(number(row, NULL, "ratio"), 1.6);
    json_decref(row);
    tear_down(&f);
}

static void test_times(void)
{
    struct fixture f;
    set_up(&f, "sz");
    json_t *row = row_of(&f);
    CU_ASSERT_EQUAL(number(row, NULL, "round_s"), 2);
    CU_ASSERT_EQUAL(number(row, NULL, "total_s"), 2);
    CU_ASSERT_EQUAL(number(row, "path_s", "decode"), 1.5);
    CU_ASSERT_EQUAL(number(row, "path_s", "other"), 0.5);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(row, "rounds_s")), 1);
    CU_ASSERT_EQUAL(json_number_value(json_object_get(
                        json_object_get(json_object_get(row, "busy_s"), "server"), "decode")),
                    1.5);
    json_decref(row);
    tear_down(&f);
}

static void test_nulls(void)
{
    struct fixture f;
    set_up(&f, "sz");
    json_t *row = row_of(&f);
    CU_ASSERT_TRUE(json_is_null(json_object_get(row, "interval_s")));
    CU_ASSERT_TRUE(json_is_null(json_object_get(row, "error_over_bound")));
    CU_ASSERT_TRUE(json_is_null(json_object_get(row, "recorded_ratio")));
    CU_ASSERT_TRUE(json_is_null(json_object_get(row, "control")));
    CU_ASSERT_EQUAL(number(row, NULL, "peak_bytes"), 30);
    json_decref(row);
    f.logs[1].error_over_bound = 0.75;
    row = row_of(&f);
    CU_ASSERT_EQUAL(number(row, NULL, "error_over_bound"), 0.75);
    json_decref(row);
    tear_down(&f);
}

static void test_invalid(void)
{
    struct fixture f;
    set_up(&f, "none");
    json_t *row = row_of(&f);
    CU_ASSERT_TRUE(json_is_true(json_object_get(row, "valid")));
    json_decref(row);
    json_array_append_new(f.point.facts.invalid, json_string("the shaper was late"));
    row = row_of(&f);
    CU_ASSERT_TRUE(json_is_false(json_object_get(row, "valid")));
    CU_ASSERT_STRING_EQUAL(json_string_value(json_array_get(json_object_get(row, "invalid"), 0)),
                           "the shaper was late");
    json_decref(row);
    tear_down(&f);
}

static bool says(const json_t *row, const char *part)
{
    size_t i;
    json_t *text;
    json_array_foreach (json_object_get(row, "approximations"), i, text)
        if (strstr(json_string_value(text), part))
            return true;
    return false;
}

static void test_approximations(void)
{
    struct fixture f;
    set_up(&f, "sz");
    json_t *row = row_of(&f);
    CU_ASSERT_TRUE(says(row, "the model's table"));
    CU_ASSERT_TRUE(says(row, "no tensor is encoded"));
    CU_ASSERT_TRUE(says(row, "no codec runs"));
    CU_ASSERT_TRUE(says(row, "flows share links ideally"));
    CU_ASSERT_FALSE(says(row, "tiled"));
    CU_ASSERT_TRUE(json_is_false(json_object_get(row, "log_full")));
    json_decref(row);
    f.network.detail = STRAIT_DETAIL_PACKETS;
    row = row_of(&f);
    CU_ASSERT_FALSE(says(row, "flows"));
    json_decref(row);
    f.point.run.real_payload = f.point.run.measured_cost = true;
    f.point.recorded_ratio = 0.25;
    f.logs[2].n_lost = 5; /* from the very beginning */
    row = row_of(&f);
    CU_ASSERT_TRUE(says(row, "25 % of the model's bytes are recorded"));
    CU_ASSERT_TRUE(says(row, "a log was full: where the time goes is that of the first 0 rounds"));
    CU_ASSERT_TRUE(json_is_true(json_object_get(row, "log_full")));
    CU_ASSERT_FALSE(says(row, "no codec runs"));
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(row, "payload")), "real");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(row, "cost")), "measured");
    CU_ASSERT_TRUE(json_is_null(json_object_get(row, "profile")));
    CU_ASSERT_FALSE(says(row, "this machine's speed"));
    json_decref(row);
    f.experiment.up.profile = "cluster";
    row = row_of(&f);
    CU_ASSERT_TRUE(says(row, "the codec sz runs at this machine's speed: the profile or speed"));
    json_decref(row);
    f.experiment.up.profile = NULL;
    f.experiment.up.encode_speed = 2;
    row = row_of(&f);
    CU_ASSERT_TRUE(says(row, "the codec sz runs at this machine's speed: the profile or speed"));
    json_decref(row);
    f.experiment.up.encode_speed = 1;
    f.experiment.down.decode_speed = 0.5;
    row = row_of(&f);
    CU_ASSERT_TRUE(says(row, "the download codec none runs at this machine's speed"));
    json_decref(row);
    f.point.run.measured_cost = false; /* as a simulation has it */
    row = row_of(&f);
    CU_ASSERT_FALSE(says(row, "this machine's speed"));
    f.experiment.down.decode_speed = 1;
    json_decref(row);
    tear_down(&f);
}

/* Whatever determines a row changes its key; what does not, leaves it. */
static void test_key(void)
{
    struct fixture f;
    char key[STRAIT_KEY_CHARS], other[STRAIT_KEY_CHARS];
    set_up(&f, "sz");
    const struct strait_row_inputs base = {.resolved = f.experiment.json,
                                           .backend = "sim",
                                           .profile = "p",
                                           .program = "x",
                                           .trial = &f.point};
    struct strait_row_inputs in[8];
    for (int i = 0; i < 8; i++)
        in[i] = base;
    json_t *changed = json_pack("{s:i}", "clients", 3);
    in[0].resolved = changed;
    in[1].backend = "emu";
    in[2].profile = "q";
    in[3].program = "y";
    in[4].machine = "m";
    in[5].control = "no-ramp";
    in[6].repeat = 1;
    in[7].dilation = 2;
    CU_ASSERT_EQUAL(strait_row_key(key, &base, NULL), 0);
    for (int i = 0; i < 8; i++) {
        CU_ASSERT_EQUAL(strait_row_key(other, &in[i], NULL), 0);
        CU_ASSERT_STRING_NOT_EQUAL(other, key);
    }
    f.table[0].fwd_s_p50 = 1; /* the model's table under the same name */
    CU_ASSERT_EQUAL(strait_row_key(other, &base, NULL), 0);
    CU_ASSERT_STRING_NOT_EQUAL(other, key);
    f.table[0].fwd_s_p50 = 0;
    CU_ASSERT_EQUAL(strait_row_key(other, &base, NULL), 0);
    CU_ASSERT_STRING_EQUAL(other, key);
    json_decref(changed);
    tear_down(&f);
}

static void test_no_round(void)
{
    struct fixture f;
    struct strait_error err = {0};
    const struct strait_row_context context = {.backend = "sim", .key = "k"};
    set_up(&f, "none");
    strait_log_release(&f.logs[0]);
    CU_ASSERT_PTR_NULL(strait_row_new(&f.point, &context, &err));
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
    tear_down(&f);
}

/* Figures of the upload codec that were never measured: of a stated profile, and with a codec. */
static void test_cost(void)
{
    static const struct {
        const char *profile, *codec, *cost;
        bool measured;
    } cases[] = {{"grace-v100", "sz", "stated", false},
                 {"grace-v100", "none", "profile", false},
                 {"default", "sz", "profile", false},
                 {NULL, "sz", "profile", false},
                 {"grace-v100", "sz", "measured", true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        struct strait_error err = {0};
        struct strait_profile *profile = NULL;
        set_up(&f, cases[i].codec);
        if (cases[i].profile)
            CU_ASSERT_EQUAL_FATAL(strait_profile_load(&profile, cases[i].profile, &err), 0);
        f.point.profile = profile;
        f.point.run.measured_cost = cases[i].measured;
        json_t *row = row_of(&f);
        CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(row, "cost")), cases[i].cost);
        json_decref(row);
        strait_profile_free(profile);
        tear_down(&f);
    }
}

/* Whether a row of it has exactly this approximation. */
static bool notes(const struct fixture *f, const struct strait_row_context *c, const char *text)
{
    size_t i;
    json_t *one, *row = strait_row_new(&f->point, c, NULL);
    int n = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(row);
    json_array_foreach (json_object_get(row, "approximations"), i, one)
        n += strcmp(json_string_value(one), text) == 0;
    json_decref(row);
    CU_ASSERT(n <= 1);
    return n == 1;
}

/* What is set in a fixture, and how the row says it; without it, the row does not. */
static void test_notes(void)
{
    static double factors[3] = {1, 2, 3};
    struct fixture f;
    const struct strait_row_context context = {.backend = "fluid", .key = "k"};
    struct strait_row_context other = context;
    set_up(&f, "sz");
#define NOTED(thing, value, without, text)                                                         \
    do {                                                                                           \
        CU_ASSERT_FALSE(notes(&f, &context, text));                                                \
        (thing) = (value);                                                                         \
        CU_ASSERT_TRUE(notes(&f, &context, text));                                                 \
        (thing) = (without);                                                                       \
    } while (0)
    NOTED(f.experiment.compute_speed, 2, 1, "compute time is scaled to a device 2 times as fast");
    f.experiment.slowness = factors;
    NOTED(f.experiment.n_slowness, 3, 0,
          "compute time is stretched by a table of 3 factors, one a client in turn");
    NOTED(f.experiment.up.encode_speed, 2, 1,
          "the codec is taken 2 times as fast as its profile says");
    NOTED(f.experiment.down.encode_speed, 0.5, 1,
          "the download codec is taken 0.5 times as fast as its profile says");
    NOTED(f.point.has_one_ratio[0], true, false,
          "the codec's profile has one ratio for all bounds: they change with the training, sizes "
          "and times do not");
    NOTED(f.point.has_one_ratio[1], true, false,
          "the download codec's profile has one ratio for all bounds: they change with the "
          "training, sizes and times do not");
    NOTED(f.experiment.up.reference, true, false,
          "the profile has no codec for changes of parameters: times and sizes are those of whole "
          "ones");
    NOTED(f.experiment.down.reference, true, false,
          "the profile has no download codec for changes of parameters: times and sizes are those "
          "of whole ones");
    NOTED(f.point.speeds_of[1][0], 'x', 0,
          "speeds of the download codec are those of x: the profile has none of its own");
    NOTED(f.network.share_spread, 0.05, 0,
          "no packet is sent: flows share links by keyed weights of 1 +- 5 %");
    NOTED(f.point.shares_values, true, false,
          "all clients send the same values: their own would not fit in memory");
    other.backend = "emu";
    CU_ASSERT_TRUE(notes(&f, &other, "replayed: what is sent are so many bytes of noise"));
    other.backend = "mpi";
    CU_ASSERT_TRUE(notes(&f, &other, "replayed: what is sent are so many bytes of noise"));
    CU_ASSERT_FALSE(notes(&f, &context, "replayed: what is sent are so many bytes of noise"));
    other = context;
    other.no_sizes = "too many";
    other.control = "unshaped";
    CU_ASSERT_TRUE(notes(&f, &other, "negative control \"unshaped\": wrong on purpose"));
    CU_ASSERT_TRUE(notes(&f, &other,
                         "encoded sizes are the profile's ratios, no tensor is encoded: too many"));
    /* encoded and decoded for real */
    f.point.run.real_payload = f.point.run.measured_cost = true;
    NOTED(f.network.share_spread, 0.05, 0,
          "the spread of flow shares is TCP's own, not the keyed one of simulations");
    CU_ASSERT_TRUE(notes(&f, &context, "every round sends the tensors of the same recorded step"));
    CU_ASSERT_TRUE(notes(&f, &context, "every rank sends the same recorded values"));
    NOTED(f.point.recorded_ratio, 0.5, NAN,
          "every rank sends the same recorded values, where they are tiled an excerpt of its own");
    f.point.shares_values = true;
    CU_ASSERT_FALSE(notes(&f, &context, "every rank sends the same recorded values"));
    tear_down(&f);
}
#undef NOTED

/* A constant of named software counts as another job's unless model and device are its own. */
static void test_software(void)
{
    static const char note[] = "\"deadline\" comes from another job, small on gpu (1 figure, error "
                               "0.1 s)",
                      of_two[] = "\"deadline\" comes from another job, large on gpu (2 figures, "
                                 "error 0.1 s)";
    const struct strait_row_context context = {.backend = "fluid", .key = "k"};
    struct fixture f;
    set_up(&f, "none");
    json_t *estimated = json_pack("{s:{s:s, s:s, s:i, s:s}}", "deadline", "model", "small",
                                  "device", "gpu", "figures", 1, "error", "0.1 s"),
           *constant = json_object_get(estimated, "deadline");
    f.experiment.estimated = estimated;
    CU_ASSERT_FALSE(notes(&f, &context, note)); /* the strategy does not use it */
    for (unsigned i = 0; i < f.experiment.strategy->n_params; i++)
        if (strcmp(f.experiment.strategy->params[i].name, "deadline") == 0)
            f.experiment.params[i] = 1;
    CU_ASSERT_TRUE(notes(&f, &context, note));
    json_object_set_new(f.experiment.json, "device", json_pack("{s:s}", "name", "gpu"));
    CU_ASSERT_FALSE(notes(&f, &context, note));
    json_object_set_new(constant, "model", json_string("large"));
    json_object_set_new(constant, "figures", json_integer(2));
    CU_ASSERT_TRUE(notes(&f, &context, of_two));
    json_decref(estimated);
    tear_down(&f);
}

/* Said where a codec would have ranks agree and the strategy has no exchange for it. */
static void test_statistics(void)
{
    static const char note[] =
        "each packet is coded by its own statistics: ranks of \"%s\" agree on none";
    static const struct {
        const char *strategy, *codec;
        bool said;
    } cases[] = {{"fedavg", "dynamiq", true},
                 {"fedavg", "dynamiq:statistics=own", false},
                 {"fedavg", "fp16", false},
                 {"diloco", "dynamiq", false},
                 {"elastic-diloco", "dynamiq", true}};
    const struct strait_row_context context = {.backend = "fluid", .key = "k"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[128];
        struct fixture f;
        set_up(&f, "dynamiq");
        f.experiment.strategy = strait_strategy_find(cases[i].strategy);
        CU_ASSERT_EQUAL(strait_codec_spec_parse(&f.experiment.up.spec, cases[i].codec, NULL), 0);
        snprintf(text, sizeof(text), note, cases[i].strategy);
        strait_test_context("%s, %s", cases[i].strategy, cases[i].codec);
        CU_ASSERT_EQUAL(notes(&f, &context, text), cases[i].said);
        CU_ASSERT_EQUAL(
            notes(&f, &context, "codec times are those of packets with their own statistics"),
            strcmp(cases[i].strategy, "diloco") == 0);
        tear_down(&f);
    }
    strait_test_context("%s", "");
}

static const struct strait_test tests[] = {
    {"a strategy whose ranks agree on no statistics says so", test_statistics},
    {"each approximation is said where there is one, and only there", test_notes},
    {"constants of another job are said to be so", test_software},
    {"bytes go up and down, and the ratio is of what is compressed", test_bytes},
    {"times, rounds and where they go", test_times},
    {"what is not known is null on purpose", test_nulls},
    {"costs are measured, of a profile, or were stated", test_cost},
    {"a run with a complaint is not valid", test_invalid},
    {"what is faked is listed", test_approximations},
    {"a key changes with everything that determines a row", test_key},
    {"logs without a round make no row", test_no_round},
};
STRAIT_SUITE("analysis/row", tests);
