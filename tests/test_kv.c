/* Decoding with an offloaded cache: times and bytes against closed forms; a small transformer
 * against the same one in double precision; and what approximate keys find on its keys, queries and
 * values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../analysis/row.h"
#include "../core/random.h"
#include "../traces/tensors.h"
#include "../workloads/transformer.h"
#include "harness.h"
#include "program.h"
#include "suite.h"

/* --- the strategies ------------------------------------------------------------------------ */

#define EXPERIMENT(strategy)                                                                       \
    "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":1,\"strategy\":" strategy   \
    ",\"device\":{\"link\":{\"rate\":\"1 GB/s\",\"half_row\":\"256 B\"},\"memory\":\"1 GB/s\"},"   \
    "\"network\":{\"client\":{\"rate\":\"1 Gbps\"}}}"

static double total_s(const char *experiment, json_t *settings)
{
    json_t *again = json_deep_copy(settings); /* each run takes its own */
    struct strait_outcome o = strait_outcome_of(experiment, settings, "default", &strait_fluid,
                                                (struct strait_point_options){0});
    struct strait_outcome sim = strait_outcome_of(experiment, again, "default", &strait_sim,
                                                  (struct strait_point_options){0});
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
                                                        (struct strait_point_options){0});
            const double efficiency =
                i == 3 && scale == 2 ? 0.8 : cases[i].efficiency / scale; /* 0.4 x sqrt(4) */
            CU_ASSERT_DOUBLE_EQUAL(o.total_s,
                                   size * (score_s + bytes / 1e9 / efficiency) + compute_s, 1e-9);
            const struct strait_row_inputs inputs = {
                .resolved = o.experiment->json, .backend = "fluid", .point = o.point};
            CU_ASSERT_EQUAL(strait_row_key(keys[scale - 1], &inputs, NULL), 0);
            strait_outcome_free(&o);
        }
    }
    CU_ASSERT_STRING_NOT_EQUAL(keys[0], keys[1]);
    unlink(path);
}

/* --- rows ---------------------------------------------------------------------------------- */

static json_t *row_of(const char *experiment, json_t *settings)
{
    struct strait_error err = {0};
    const struct strait_row_context context = {
        .backend = "fluid", .key = "k", .profile = "p", .interval_s = {NAN, NAN}};
    struct strait_outcome o = strait_outcome_of(experiment, settings, "default", &strait_fluid,
                                                (struct strait_point_options){0});
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
    CU_ASSERT(computes(&p, "1 rows, 1 computed now"));
    CU_ASSERT(computes(&p, "1 rows, 0 computed now"));
    positions[700] = 0.5f;
    program_write_bytes(&p, "t/pos.f32", positions, sizeof(positions));
    CU_ASSERT(computes(&p, "1 rows, 1 computed now"));
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

/* --- the transformer ----------------------------------------------------------------------- */

enum {
    WIDTH = STRAIT_GPT_WIDTH,
    N_HEADS = STRAIT_GPT_HEADS,
    HEAD = WIDTH / N_HEADS,
    HIDDEN = STRAIT_GPT_HIDDEN,
    N = 512,
    N_QUERIES = 40
};

static struct strait_transformer *transformer(struct strait_tensors **recorded)
{
    struct strait_error err = {0};
    struct strait_transformer *t;
    CU_ASSERT_EQUAL_FATAL(strait_tensors_load(recorded, NULL, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_transformer_new(&t, *recorded, 7, &err), 0);
    return t;
}

/* y[n_out] = bias + W' x of one token, in double. */
static void linear(double *y, const double *x, const float *w, const float *bias, int n_in,
                   int n_out)
{
    for (int o = 0; o < n_out; o++) {
        y[o] = bias ? (double)bias[o] : 0;
        for (int i = 0; i < n_in; i++)
            y[o] += x[i] * (double)w[i * n_out + o];
    }
}

static void layer_norm(double *y, const double *x, const float *scale)
{
    double mean = 0, variance = 0;
    for (int i = 0; i < WIDTH; i++)
        mean += x[i] / WIDTH;
    for (int i = 0; i < WIDTH; i++)
        variance += (x[i] - mean) * (x[i] - mean) / WIDTH;
    for (int i = 0; i < WIDTH; i++)
        y[i] = (x[i] - mean) / sqrt(variance + 1e-5) * (double)scale[i];
}

enum { FEW = 70 }; /* tokens: positions begin again after 64 */

/* Attention of token t over all up to it, head by head, from the textbook. */
static void mix(double *y, double (*qkv)[3 * WIDTH], int t)
{
    for (int h = 0; h < N_HEADS; h++) {
        double weights[FEW], sum = 0;
        for (int k = 0; k <= t; k++) {
            double score = 0;
            for (int j = h * HEAD; j < (h + 1) * HEAD; j++)
                score += qkv[t][j] * qkv[k][WIDTH + j];
            weights[k] = exp(score / sqrt(HEAD));
            sum += weights[k];
        }
        for (int j = h * HEAD; j < (h + 1) * HEAD; j++) {
            y[j] = 0;
            for (int k = 0; k <= t; k++)
                y[j] += weights[k] / sum * qkv[k][2 * WIDTH + j];
        }
    }
}

static void finish(double *x, double (*qkv)[3 * WIDTH], int t, const struct strait_block *b)
{
    static double y[WIDTH], more[WIDTH], hidden[HIDDEN];
    mix(y, qkv, t);
    linear(more, y, b->proj, NULL, WIDTH, WIDTH);
    for (int j = 0; j < WIDTH; j++)
        x[j] += more[j];
    layer_norm(y, x, b->scale_2);
    linear(hidden, y, b->fc, b->fc_bias, WIDTH, HIDDEN);
    for (int j = 0; j < HIDDEN; j++)
        hidden[j] *= 0.5 * (1 + erf(hidden[j] / sqrt(2)));
    linear(more, hidden, b->out, NULL, HIDDEN, WIDTH);
    for (int j = 0; j < WIDTH; j++)
        x[j] += more[j];
}

/* The largest difference of one layer's keys, values and queries, over their rms. */
static double difference(const struct strait_cache *c, size_t layer, double (*qkv)[3 * WIDTH],
                         double (*early)[3 * WIDTH])
{
    const float *const arrays[] = {c->queries, c->keys, c->values};
    double most = 0, squares = 0;
    for (int t = 0; t < FEW; t++)
        for (int j = 0; j < WIDTH; j++) {
            const size_t at =
                strait_cache_at(c, layer, (size_t)(j / HEAD), (size_t)t) + (size_t)(j % HEAD);
            for (int k = 0; k < 3; k++) {
                const double x = qkv[t][k * WIDTH + j];
                most = fmax(most, fabs((double)arrays[k][at] - x));
                squares += x * x / (3 * FEW * WIDTH);
            }
            most = fmax(most, fabs((double)c->early_queries[at] - early[t][j]));
        }
    return most / sqrt(squares);
}

/* Float sums of up to 768 products through four layers: 1e-7 x sqrt(768) x some. */
static void as_in_double(void)
{
    struct strait_error err = {0};
    struct strait_tensors *recorded;
    struct strait_cache c;
    static double x[FEW][WIDTH], normal[FEW][WIDTH], qkv[FEW][3 * WIDTH], early[FEW][3 * WIDTH];
    struct strait_transformer *t = transformer(&recorded);
    CU_ASSERT_EQUAL_FATAL(strait_transformer_run(&c, t, FEW, 5, &err), 0);
    for (int i = 0; i < FEW; i++) {
        const int word = (int)(strait_random_unit(5, "word", (uint64_t)i, 0) * STRAIT_GPT_WORDS);
        for (int j = 0; j < WIDTH; j++)
            x[i][j] = (double)t->words[word * WIDTH + j] +
                      (double)t->positions[i % STRAIT_GPT_POSITIONS * WIDTH + j];
    }
    for (size_t layer = 0; layer < STRAIT_GPT_BLOCKS; layer++) {
        const struct strait_block *b = &t->blocks[layer];
        for (int i = 0; i < FEW; i++) {
            if (layer > 0)
                linear(early[i], normal[i], b->qkv, NULL, WIDTH, 3 * WIDTH);
            layer_norm(normal[i], x[i], b->scale_1);
            linear(qkv[i], normal[i], b->qkv, NULL, WIDTH, 3 * WIDTH);
        }
        CU_ASSERT(difference(&c, layer, qkv, layer > 0 ? early : qkv) < 2e-5);
        for (int i = 0; i < FEW; i++)
            finish(x[i], qkv, i, b);
    }
    strait_cache_release(&c);
    strait_transformer_free(t);
    strait_tensors_free(recorded);
}

/* Words, positions, the first block's attention and scale, the third's network, the last one's
 * output, of 1,769,472 of blocks and 602,112 before them. What is not recorded has the rms of what
 * is, or 0.02, and follows the seed. */
static void parameters(void)
{
    struct strait_error err = {0};
    struct strait_tensors *recorded, none = {0};
    struct strait_transformer *t = transformer(&recorded), *drawn;
    const struct strait_recording *qkv =
        strait_tensors_find(recorded, "gpt", "blocks.0.qkv.weight", "param", 200);
    CU_ASSERT_EQUAL(t->blocks[0].qkv[1], qkv->values[WIDTH]); /* output 1 of input 0 */
    CU_ASSERT_EQUAL(t->blocks[0].qkv[3 * WIDTH], qkv->values[1]);
    double squares = 0;
    for (int i = 0; i < 3 * WIDTH * WIDTH; i++)
        squares += (double)t->blocks[1].qkv[i] * (double)t->blocks[1].qkv[i];
    CU_ASSERT_DOUBLE_EQUAL(sqrt(squares / (3 * WIDTH * WIDTH)), qkv->rms, 0.02 * qkv->rms);
    const double n_recorded = (STRAIT_GPT_WORDS + STRAIT_GPT_POSITIONS) * WIDTH + WIDTH +
                              3 * WIDTH * WIDTH + 2 * WIDTH * HIDDEN + HIDDEN;
    const double n = (STRAIT_GPT_WORDS + STRAIT_GPT_POSITIONS) * WIDTH +
                     4.0 * (2 * WIDTH + 4 * WIDTH * WIDTH + 2 * WIDTH * HIDDEN + HIDDEN);
    CU_ASSERT_DOUBLE_EQUAL(t->recorded_ratio, n_recorded / n, 1e-12);
    CU_ASSERT_EQUAL_FATAL(strait_transformer_new(&drawn, &none, 7, &err), 0);
    CU_ASSERT_EQUAL(drawn->recorded_ratio, 0);
    CU_ASSERT_NOT_EQUAL(drawn->blocks[0].qkv[1], t->blocks[0].qkv[1]);
    CU_ASSERT_EQUAL(drawn->blocks[0].proj[5], t->blocks[0].proj[5]);
    strait_transformer_free(drawn);
    CU_ASSERT_EQUAL_FATAL(strait_transformer_new(&drawn, &none, 8, &err), 0);
    CU_ASSERT_NOT_EQUAL(drawn->blocks[0].proj[5], t->blocks[0].proj[5]);
    strait_transformer_free(drawn);
    strait_transformer_free(t);
    strait_tensors_free(recorded);
}

/* --- what approximate keys find -------------------------------------------------------------- */

static struct strait_cache cache;

static void make_cache(void)
{
    struct strait_error err = {0};
    struct strait_tensors *recorded;
    struct strait_transformer *t = transformer(&recorded);
    CU_ASSERT_EQUAL_FATAL(strait_transformer_run(&cache, t, N, 7, &err), 0);
    strait_transformer_free(t);
    strait_tensors_free(recorded);
}

static struct strait_key_quality quality_of(size_t k, size_t rank, unsigned bits)
{
    struct strait_error err = {0};
    struct strait_key_quality q;
    CU_ASSERT_EQUAL(strait_attention_quality(&q, &cache,
                                             (struct strait_key_choice){k, rank, bits, false},
                                             N_QUERIES, &err),
                    0);
    return q;
}

/* One query of one head over all keys up to its own, step by step; bits 0: no rounding. */
static void add_query(struct strait_key_quality *sum, size_t at, size_t token, size_t k,
                      unsigned bits)
{
    struct strait_error err = {0};
    static float rounded[N * HEAD], scores[N], guessed[N], all[HEAD], some[HEAD];
    static size_t truth[N], found[N];
    const float *query = cache.queries + at + token * HEAD;
    const size_t n = token + 1;
    memcpy(rounded, cache.keys + at, sizeof(rounded));
    if (bits > 0)
        strait_keys_quantise(rounded, cache.keys + at, N, HEAD, bits);
    strait_attention_scores(scores, cache.keys + at, query, n, HEAD);
    strait_attention_scores(guessed, rounded, query, n, HEAD);
    strait_attention_top(truth, k, scores, n, &err);
    strait_attention_top(found, k, guessed, n, &err);
    strait_attention_output(all, scores, cache.values + at, NULL, 0, n, HEAD);
    strait_attention_output(some, scores, cache.values + at, found, k, n, HEAD);
    sum->recall += strait_attention_recall(truth, found, k);
    sum->error += strait_attention_error(some, all, HEAD);
}

static void means(void)
{
    make_cache();
    const struct strait_key_quality found = quality_of(64, 0, 3);
    struct strait_key_quality sum = {0};
    for (size_t layer = 0; layer < STRAIT_GPT_BLOCKS; layer++)
        for (size_t head = 0; head < N_HEADS; head++)
            for (size_t token = N - N_QUERIES; token < N; token++)
                add_query(&sum, strait_cache_at(&cache, layer, head, 0), token, 64, 3);
    const double n = STRAIT_GPT_BLOCKS * N_HEADS * N_QUERIES;
    CU_ASSERT_DOUBLE_EQUAL(found.recall, sum.recall / n, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(found.error, sum.error / n, 1e-9);
    strait_cache_release(&cache);
}

static void exact_keys(void)
{
    make_cache();
    const struct strait_key_quality exact = quality_of(32, 0, 0);
    CU_ASSERT_EQUAL(exact.recall, 1);
    CU_ASSERT_EQUAL(exact.error, exact.error_of_true_k);
    CU_ASSERT(quality_of(32, HEAD, 0).recall > 0.99); /* all directions: rounding swaps near ties */
    CU_ASSERT(quality_of(N - N_QUERIES, 0, 0).error < exact.error / 3); /* almost all tokens */
    strait_cache_release(&cache);
}

static void more_is_better(void)
{
    make_cache();
    const struct strait_key_quality coarse = quality_of(64, 4, 0), fine = quality_of(64, 16, 0);
    const struct strait_key_quality few_bits = quality_of(64, 0, 2), bits = quality_of(64, 0, 4);
    const struct strait_key_quality few = quality_of(16, 0, 8), many = quality_of(256, 0, 8);
    printf("recall / error of 64 of %d tokens: rank 4 %.3f / %.3f, 16 %.3f / %.3f; 2 bits %.3f / "
           "%.3f, 4 bits %.3f / %.3f; 8 bits, 16 tokens %.3f, 256 tokens %.3f\n",
           N, coarse.recall, coarse.error, fine.recall, fine.error, few_bits.recall, few_bits.error,
           bits.recall, bits.error, few.error, many.error);
    const double by_chance = 64.0 / N;
    CU_ASSERT(coarse.recall > 2 * by_chance);
    CU_ASSERT(fine.recall > coarse.recall);
    CU_ASSERT(bits.recall > few_bits.recall);
    CU_ASSERT(bits.recall > 0.9);
    CU_ASSERT(many.error < few.error);
    strait_cache_release(&cache);
}

/* Three tokens by hand: scores 0, ln 2 and ln 5, so weights 1 : 2 : 5 of 8. */
static void by_hand(void)
{
    const float scores[] = {0, logf(2), logf(5)}, v[] = {8, 0, 0, 8, 16, 16};
    const size_t two[] = {0, 2};
    struct strait_error err = {0};
    size_t top[2];
    float out[2];
    strait_attention_output(out, scores, v, NULL, 0, 3, 2);
    CU_ASSERT_DOUBLE_EQUAL(out[0], 1 + 10, 1e-5);
    CU_ASSERT_DOUBLE_EQUAL(out[1], 2 + 10, 1e-5);
    strait_attention_output(out, scores, v, two, 2, 3, 2);
    CU_ASSERT_DOUBLE_EQUAL(out[0], (8 + 80) / 6.0, 1e-5);
    strait_attention_top(top, 2, scores, 3, &err);
    CU_ASSERT(top[0] == 1 && top[1] == 2);
    CU_ASSERT_EQUAL(strait_attention_recall(top, two, 2), 0.5);
    /* 2 bits: steps of a third of the channel's range */
    const float k[] = {0, 1, 3, 2.4f};
    float rounded[4];
    strait_keys_quantise(rounded, k, 4, 1, 2);
    CU_ASSERT(rounded[0] == 0 && rounded[1] == 1 && rounded[2] == 3 && rounded[3] == 2);
}

static const struct strait_test tests[] = {
    {"a whole cache streams one layer ahead of the computation", full},
    {"the chosen rows are fetched, after scoring or ahead of it", approximate},
    {"rows are gathered as a measured curve says", gathered},
    {"the bytes over the link are those of what is fetched, however many rounds", link_bytes},
    {"rows tell what the chosen keys find and cost", told},
    {"tables show bytes over the link, recall and error", shown},
    {"other recorded values are another row", recorded_again},
    {"keys of half a bit are refused", half_bits},
    {"recorded parameters are taken, others drawn by seed", parameters},
    {"the transformer's keys, values and queries are those in double precision", as_in_double},
    {"weights, tops and steps are those worked out by hand", by_hand},
    {"recall and error are means over layers, heads and queries", means},
    {"exact keys find the true tokens, and all tokens give the true output", exact_keys},
    {"more directions, bits and tokens come nearer on the transformer's keys", more_is_better},
};
STRAIT_SUITE("workloads/kv", tests);
