/* Decoding with an offloaded cache: times and bytes against closed forms, and what rows tell of the
 * keys that are found. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "analysis/row.h"
#include "core/buffer.h"
#include "workloads/train/kvcache/transformer.h"
#include "tests/kit/harness.h"
#include "tests/kit/program.h"
#include "tests/kit/suite.h"
#include "workloads/rank/rank_state.h"

/* --- the strategies ------------------------------------------------------------------------ */

#define EXPERIMENT(strategy)                                                                       \
    "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":1,\"strategy\":" strategy   \
    ",\"device\":{\"link\":{\"rate\":\"1 GB/s\",\"half_row\":\"256 B\"},\"memory\":\"1 GB/s\"},"   \
    "\"network\":{\"client\":{\"rate\":\"1 Gbps\"}}}"

static double total_s(const char *experiment, json_t *settings)
{
    json_t *again = json_deep_copy(settings); /* each run takes its own */
    struct strait_outcome o = strait_outcome_of(experiment, settings, "default", &strait_fluid,
                                                (struct strait_trial_options){0});
    struct strait_outcome sim = strait_outcome_of(experiment, again, "default", &strait_sim,
                                                  (struct strait_trial_options){0});
    const double found_s = o.total_s;
    CU_ASSERT_EQUAL(o.payload_bytes, 0);
    CU_ASSERT_EQUAL(o.n_messages, 0);
    CU_ASSERT_DOUBLE_EQUAL(sim.total_s, found_s, 1e-9 * found_s);
    strait_outcome_free(&o);
    strait_outcome_free(&sim);
    return found_s;
}

/* 3 tokens of 4 layers; a layer's cache is 2 x 1000 x 8 x 64 x 2 B = 2.048 MB, 2.048 ms at 1 GB/s.
 * The link never rests after the first one has come, or the accelerator does not. */
static void full(void)
{
    static const char text[] =
        EXPERIMENT("{\"name\":\"kvfull\",\"rounds\":3,\"tokens\":1000,\"layers\":4,\"kv_heads\":8,"
                   "\"head_dim\":64,\"compute\":\"1 ms\"}");
    const double t = 2.048e-3;
    double c = 1e-3;
    CU_ASSERT_DOUBLE_EQUAL(total_s(text, json_object()), t + 11 * t + c, 1e-9);
    c = 5e-3;
    json_t *slow = json_pack("{s:s}", "/strategy/compute", "5 ms");
    CU_ASSERT_DOUBLE_EQUAL(total_s(text, slow), t + 11 * c + c, 1e-9);
}

/* 100 of the 1000 tokens, rows of 2 x 64 x 2 = 256 B, half as fast at 256 B, a fifth of them there
 * already: 0.8 x 0.2048 MB at 0.5 GB/s. Scores read an eighth of 1.024 MB at 1 GB/s. */
static void approximate(void)
{
    static const char text[] =
        EXPERIMENT("{\"name\":\"kvapprox\",\"rounds\":3,\"tokens\":1000,\"layers\":4,"
                   "\"kv_heads\":8,\"head_dim\":64,\"compute\":\"1 ms\","
                   "\"top_k\":100,\"hits\":\"20 %\","
                   "\"keys_kept\":\"12.5 %\"}");
    const double rows = 0.8 * 0.2048e-3 / 0.5, score = 0.128e-3;
    double c = 1e-3;
    CU_ASSERT_DOUBLE_EQUAL(total_s(text, json_object()), 12 * (score + rows + c), 1e-9);
    json_t *ahead = json_pack("{s:s}", "/strategy/speculate", "yes");
    CU_ASSERT_DOUBLE_EQUAL(total_s(text, ahead),
                           3 * (score + rows + 3 * (score + fmax(rows, c)) + c), 1e-9);
    c = 0.1e-3;
    json_t *quick =
        json_pack("{s:s, s:s}", "/strategy/speculate", "yes", "/strategy/compute", "100 us");
    CU_ASSERT_DOUBLE_EQUAL(total_s(text, quick),
                           3 * (score + rows + 3 * (score + fmax(rows, c)) + c), 1e-9);
}

/* Of 256 B rows: efficiency 0.8 x sqrt(256 / 1024) between 1024 and 64 B of a measured curve, which
 * goes on below; at most all of the link above. A row's key follows the values of the file. */
static void gathered(void)
{
    static const char text[] =
        EXPERIMENT("{\"name\":\"kvapprox\",\"rounds\":1,\"tokens\":1000,\"layers\":1,"
                   "\"kv_heads\":8,\"head_dim\":64,\"top_k\":100,\"compute\":\"1 ms\"}");
    char path[] = "/tmp/strait-gather-XXXXXX", keys[2][STRAIT_KEY_CHARS];
    const double bytes = 204800, score_s = 0.128e-3, compute_s = 1e-3;
    static const struct {
        int head_dim;
        double efficiency;
    } cases[] = {{64, 0.4}, {256, 0.8}, {4, 0.1}, {1024, 1}};
    close(mkstemp(path));
    for (int scale = 1; scale <= 2; scale++) {
        FILE *f = fopen(path, "w");
        CU_ASSERT_PTR_NOT_NULL_FATAL(f);
        fprintf(f, "row_bytes,efficiency\n64,%g\n1024,%g\n", 0.2 / scale, 0.8 / scale);
        fclose(f);
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            const double size = cases[i].head_dim / 64.0;
            json_t *set = json_pack("{s:{s:{s:s, s:s}, s:s}, s:i}", "/device", "link", "rate",
                                    "1 GB/s", "gather", path, "memory", "1 GB/s",
                                    "/strategy/head_dim", cases[i].head_dim);
            struct strait_outcome o = strait_outcome_of(text, set, "default", &strait_fluid,
                                                        (struct strait_trial_options){0});
            const double efficiency =
                i == 3 && scale == 2 ? 0.8 : cases[i].efficiency / scale; /* 0.4 x sqrt(4) */
            CU_ASSERT_DOUBLE_EQUAL(o.total_s,
                                   size * (score_s + bytes / 1e9 / efficiency) + compute_s, 1e-9);
            const struct strait_row_inputs inputs = {
                .resolved = o.experiment->json, .backend = "fluid", .trial = o.point};
            CU_ASSERT_EQUAL(strait_row_key(keys[scale - 1], &inputs, NULL), 0);
            strait_outcome_free(&o);
        }
    }
    CU_ASSERT_STRING_NOT_EQUAL(keys[0], keys[1]);
    unlink(path);
}

#define IN_MEMORY "{\"rate\":\"1 GB/s\",\"gather\":[[64,0.25],[1024,1]],\"in_memory\":true}"

static json_t *in_memory(void)
{
    return json_pack("{s:o}", "/device/link", json_loads(IN_MEMORY, 0, NULL));
}

/* In simulation the link is a timer all the same, of pairs as of a file: rows of 256 B at half the
 * rate. */
static void pairs(void)
{
    static const char text[] =
        EXPERIMENT("{\"name\":\"kvapprox\",\"rounds\":1,\"tokens\":1000,\"layers\":1,"
                   "\"kv_heads\":8,\"head_dim\":64,\"top_k\":100,\"compute\":\"1 ms\"}");
    CU_ASSERT_DOUBLE_EQUAL(total_s(text, in_memory()), 0.128e-3 + 0.2048e-3 / 0.5 + 1e-3, 1e-9);
}

static bool can_emulate(const char *text)
{
    struct strait_error err = {0};
    struct strait_outcome o = strait_outcome_of(text, in_memory(), "default", &strait_fluid,
                                                (struct strait_trial_options){0});
    const bool can = strait_emu.check(&o.point->run, &err) == 0;
    if (!can)
        strait_test_skip(err.text);
    strait_outcome_free(&o);
    return can;
}

/* Between processes the cache is there: 3 tokens of 4 layers as much as ever is copied, in the time
 * that it takes, 0.8 GB in all of them, which no memory copies in a millisecond. */
static void copied(void)
{
    static const char text[] =
        EXPERIMENT("{\"name\":\"kvfull\",\"rounds\":3,\"tokens\":32768,\"layers\":4,"
                   "\"kv_heads\":8,\"head_dim\":64,\"compute\":\"0 s\"}");
    static const char some[] =
        EXPERIMENT("{\"name\":\"kvapprox\",\"rounds\":3,\"tokens\":32768,\"layers\":4,"
                   "\"kv_heads\":8,\"head_dim\":64,\"top_k\":16384,\"compute\":\"0 s\"}");
    const char *const texts[] = {text, some};
    for (int i = 0; i < 2 && can_emulate(texts[i]); i++) {
        const double layer = 2.0 * 32768 * 8 * 64 * 2;
        struct strait_outcome o = strait_outcome_of(
            texts[i], in_memory(), "default", &strait_emu,
            (struct strait_trial_options){.real_payload = true, .measured_cost = true});
        CU_ASSERT_EQUAL((double)o.point->logs[0].link_bytes, 12 * layer / (i + 1));
        CU_ASSERT(o.total_s > 1e-3);
        strait_outcome_free(&o);
        o = strait_outcome_of(texts[i], in_memory(), "default", &strait_fluid,
                              (struct strait_trial_options){.plans_memory = true});
        CU_ASSERT(o.point->logs[0].allocated_bytes >= (4 + 1.0 / (i + 1)) * layer);
        strait_outcome_free(&o);
    }
}

/* 4 layers of 2.048 MB and what one fetch copies: there when the rank begins, then its own. */
static void early_main(struct strait_rank *r)
{
    struct strait_rank_state *w = strait_rank_state_of(r);
    const size_t fetched_bytes =
        strait_experiment_has_param(w->point->experiment, "top_k") ? 204800 : 2048000;
    struct strait_error err = {0};
    float *const cache = w->prepared->early[0], *const to = w->prepared->early[1];
    bool good = cache && to && w->prepared->early_elems[0] == 2048000 + 1 &&
                w->prepared->early_elems[1] == fetched_bytes / 4 + 1;
    w->point->experiment->strategy->rank_main(r);
    good = good && !w->prepared->early[0] && !w->prepared->early[1] && w->tensors &&
           w->tensors->values == to && w->tensors->next && w->tensors->next->values == cache;
    if (!good) {
        strait_error_set(&err, STRAIT_ERR_BACKEND, NULL, "memory of the cache was not made early");
        strait_fail(r, &err);
    }
}

static void early(void)
{
    static const char *const texts[] = {
        EXPERIMENT("{\"name\":\"kvfull\",\"rounds\":1,\"tokens\":1000,\"layers\":4,"
                   "\"kv_heads\":8,\"head_dim\":64}"),
        EXPERIMENT("{\"name\":\"kvapprox\",\"rounds\":1,\"tokens\":1000,\"layers\":4,"
                   "\"kv_heads\":8,\"head_dim\":64,\"top_k\":100}")};
    for (int i = 0; i < 2; i++) {
        struct strait_error err = {0};
        struct strait_outcome o =
            strait_outcome_of(texts[i], in_memory(), "default", &strait_fluid,
                              (struct strait_trial_options){.real_payload = true});
        const double total_s = o.total_s;
        strait_log_release(&o.point->logs[0]);
        memset(&o.point->logs[0], 0, sizeof(o.point->logs[0]));
        o.point->run.rank_main = early_main;
        CU_ASSERT_EQUAL(strait_trial_run(o.point, &strait_fluid, &err), 0);
        CU_ASSERT_EQUAL(o.point->logs[0].total_s[STRAIT_SPAN_ROUND], total_s);
        CU_ASSERT_STRING_EQUAL(err.text, "");
        strait_outcome_free(&o);
        /* each is counted once: the buffers, and what an update that is prepared takes */
        o = strait_outcome_of(texts[i], in_memory(), "default", &strait_fluid,
                              (struct strait_trial_options){.plans_memory = true});
        CU_ASSERT_EQUAL(o.point->logs[0].allocated_bytes,
                        (double)strait_buffer_bytes(4 * (2048000 + 1)) +
                            (double)strait_buffer_bytes((i ? 204800 : 2048000) + 4) +
                            (double)strait_buffer_bytes(4 * 105866));
        strait_outcome_free(&o);
    }
}

/* --- rows ---------------------------------------------------------------------------------- */

static json_t *row_of(const char *experiment, json_t *settings)
{
    struct strait_error err = {0};
    const struct strait_row_context context = {.backend = "fluid", .key = "k", .profile = "p"};
    struct strait_outcome o = strait_outcome_of(experiment, settings, "default", &strait_fluid,
                                                (struct strait_trial_options){0});
    json_t *row = strait_row_new(o.point, &context, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(row);
    strait_outcome_free(&o);
    return row;
}

static double number(const json_t *row, const char *group, const char *key)
{
    const json_t *value = json_object_get(json_object_get(row, group), key);
    CU_ASSERT(json_is_number(value));
    return json_number_value(value);
}

/* 2 x 1000 x 8 x 64 x 2 B a layer and token, of 4 layers and as many tokens as are decoded, also
 * where rounds repeat; or 100 tokens' rows of them but for a fifth. */
static void link_bytes(void)
{
    static const char text[] =
        EXPERIMENT("{\"name\":\"kvfull\",\"tokens\":1000,\"layers\":4,\"kv_heads\":8,"
                   "\"head_dim\":64}");
    static const char few[] =
        EXPERIMENT("{\"name\":\"kvapprox\",\"tokens\":1000,\"layers\":4,\"kv_heads\":8,"
                   "\"head_dim\":64,\"top_k\":100,\"hits\":\"20 %\"}");
    for (json_int_t rounds = 1; rounds <= 1000; rounds *= 10) {
        json_t *row = row_of(text, json_pack("{s:I}", "/strategy/rounds", rounds));
        CU_ASSERT_EQUAL(number(row, "bytes", "link"), (double)rounds * 4 * 2048000);
        CU_ASSERT_EQUAL(number(row, "bytes", "payload"), 0);
        const json_t *limits = json_object_get(row, "limits");
        CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(limits, "by")), "host-link");
        CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(limits, "at")), "rank 0");
        /* it never rests after the first layer, until the last is computed with */
        const double first_s = rounds == 1 ? 0.5 / (2.048 * 4 + 0.5) : 0.5 / (2.048 * 4 * 3);
        CU_ASSERT(number(row, "limits", "utilisation") > 1 - 2 * first_s);
        json_decref(row);
        row = row_of(few, json_pack("{s:I}", "/strategy/rounds", rounds));
        CU_ASSERT_EQUAL(number(row, "bytes", "link"), (double)rounds * 4 * 163840);
        json_decref(row);
    }
}

static json_t *with_keys(const char *keys, const char *kept)
{
    return json_pack("{s:s, s:s}", "/strategy/keys", keys, "/strategy/keys_kept", kept);
}

/* What the row says: all there is of a whole cache; a seventh of 700 tokens finds more with more
 * bits, and less when it is asked a layer too early. Seed and settings say all. */
static void told(void)
{
    static const char all[] = EXPERIMENT("{\"name\":\"kvfull\",\"rounds\":1}");
    static const char some[] = EXPERIMENT("{\"name\":\"kvapprox\",\"rounds\":1,"
                                          "\"tokens\":700,\"top_k\":100}");
    json_t *row = row_of(all, json_object());
    CU_ASSERT_EQUAL(number(row, "quality", "recall"), 1);
    CU_ASSERT_EQUAL(number(row, "quality", "attention_error"), 0);
    json_decref(row);
    json_t *rows[5], *early = with_keys("quantised", "25 %");
    json_object_set_new(early, "/strategy/speculate", json_string("yes"));
    rows[0] = row_of(some, with_keys("quantised", "25 %"));
    rows[1] = row_of(some, with_keys("quantised", "12.5 %"));
    rows[2] = row_of(some, early);
    rows[3] = row_of(some, with_keys("low-rank", "100 %"));
    rows[4] = row_of(some, with_keys("quantised", "25 %"));
    CU_ASSERT(number(rows[0], "quality", "recall") > 0.9);
    CU_ASSERT(number(rows[1], "quality", "recall") < number(rows[0], "quality", "recall") - 0.1);
    CU_ASSERT(number(rows[2], "quality", "recall") < number(rows[0], "quality", "recall") - 0.02);
    CU_ASSERT(number(rows[3], "quality", "recall") > 0.99);
    CU_ASSERT_DOUBLE_EQUAL(number(rows[3], "quality", "attention_error"),
                           number(rows[3], "quality", "attention_error_of_true"), 1e-3);
    CU_ASSERT(json_equal(json_object_get(rows[0], "quality"), json_object_get(rows[4], "quality")));
    /* of 512 words a seventh: 73 */
    char *notes = json_dumps(json_object_get(rows[0], "approximations"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(notes, "over 512 drawn words: 73 of them"));
    free(notes);
    for (int i = 0; i < 5; i++)
        json_decref(rows[i]);
}

/* What people see: 32 layers of 2 x 8192 x 32 x 128 x 2 B are 4.29 GB, and there is no error; a
 * share of the tokens is 268 MB, with an error. */
static void shown(void)
{
    struct program p = {0};
    program_set_up(&p);
    struct said s = PROGRAM_CALL(&p, "run", "kv-offload", "--on", "fluid", "--set",
                                 "/strategy/tokens=8192", "--out", "out");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "link a round"));
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "recall %  attention error %"));
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "4.29 GB       100                  0 "));
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "268 MB"));
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "those of\na transformer of 4 layers"));
    said_release(&s);
    program_tear_down(&p);
}

static bool computes(const struct program *p, const char *how_many)
{
    struct said s = PROGRAM_CALL(p, "run", "kv-offload", "--on", "fluid", "--set",
                                 "/strategy={\"name\":\"kvapprox\"}", "--set",
                                 "/strategy/tokens=8192", "--set", "/tensors=t", "--out", "out");
    const bool found = s.status == 0 && strstr(s.err, how_many);
    if (!found)
        fprintf(stderr, "%d: %s", s.status, s.err);
    said_release(&s);
    return found;
}

/* Positions are a part of the transformer: other ones, another row. */
static void recorded_again(void)
{
    static float positions[STRAIT_GPT_POSITIONS * STRAIT_GPT_WIDTH];
    struct program p = {0};
    char folder[128];
    program_set_up(&p);
    snprintf(folder, sizeof(folder), "%s/t", p.folder);
    CU_ASSERT_EQUAL_FATAL(mkdir(folder, 0777), 0);
    program_write(&p, "t/manifest.json",
                  "{\"format\": \"raw float32 little-endian, C order\", \"tensors\": [{\"file\": "
                  "\"pos.f32\", \"model\": \"gpt\", \"layer\": \"pos.weight\", \"kind\": "
                  "\"param\", \"step\": 200, \"dtype\": \"f32le\", \"shape\": [64, 192], \"n\": "
                  "12288, \"min\": 0, \"max\": 0, \"rms\": 0, \"zeros\": 12288}]}");
    program_write_bytes(&p, "t/pos.f32", positions, sizeof(positions));
    CU_ASSERT(computes(&p, "1 row, 1 computed now"));
    CU_ASSERT(computes(&p, "1 row, 0 computed now"));
    positions[700] = 0.5f;
    program_write_bytes(&p, "t/pos.f32", positions, sizeof(positions));
    CU_ASSERT(computes(&p, "1 row, 1 computed now"));
    program_tear_down(&p);
}

/* 16-bit values: 12.5 % are 2 bits, 10 % are 1.6. */
static void half_bits(void)
{
    struct strait_error err = {0};
    struct strait_experiment *e = NULL;
    json_t *json = json_loads(EXPERIMENT("{\"name\":\"kvapprox\",\"keys\":\"quantised\","
                                         "\"keys_kept\":\"10 %\"}"),
                              0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    CU_ASSERT_EQUAL(strait_experiment_read(&e, "kv.json", json, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.where, "kv.json#/strategy/keys_kept");
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "found 1.6 bits"));
    json_decref(json);
}

static const struct strait_test tests[] = {
    {"a whole cache streams one layer ahead of the computation", full},
    {"the chosen rows are fetched, after scoring or ahead of it", approximate},
    {"rows are gathered as a measured curve says", gathered},
    {"pairs are a curve too, and in simulation memory is a timer", pairs},
    {"in an emulation a cache in memory is copied", copied},
    {"and its memory is made before time 0", early},
    {"the bytes over the link are those of what is fetched, however many rounds", link_bytes},
    {"rows tell what the chosen keys find and cost", told},
    {"tables show bytes over the link, recall and error", shown},
    {"other recorded values are another row", recorded_again},
    {"keys of half a bit are refused", half_bits},
};
STRAIT_SUITE_WITH("workloads/train/kvcache/kv", tests, .release = true);
