#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "traces/tensor_fill.h"
#include "tests/kit/suite.h"

static const char *const kinds[] = {"param", "grad", "update"};

static struct strait_tensors *tensors(void)
{
    struct strait_tensors *t = NULL;
    struct strait_error err = {.code = STRAIT_OK};
    CU_ASSERT_EQUAL(strait_tensors_load(&t, NULL, &err), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    return t;
}

static struct strait_model *model(const char *name)
{
    struct strait_model *m = NULL;
    struct strait_error err = {.code = STRAIT_OK};
    CU_ASSERT_EQUAL(strait_model_load(&m, name, &err), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

static struct strait_tensor_fill_plan *plan(const struct strait_model *m,
                                            const struct strait_tensors *t, const char *kind,
                                            enum strait_tensor_fill_set set)
{
    struct strait_tensor_fill_plan *p = NULL;
    struct strait_error err = {.code = STRAIT_OK};
    CU_ASSERT_EQUAL(strait_tensor_fill_plan_new(&p, m, t, kind, set, &err), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    return p;
}

static float *filled(const struct strait_tensor_fill_plan *p, size_t row, unsigned rank,
                     size_t n_elems)
{
    float *x = malloc(n_elems * sizeof *x);
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    strait_tensor_fill_row(x, n_elems, p, row, 0, rank);
    return x;
}

static void sent_and_held_out_share_no_file(void)
{
    struct strait_tensors *t = tensors();
    size_t n_models;
    const char *const *names = strait_model_names(&n_models);
    for (size_t i = 0; i < n_models; i++) {
        struct strait_model *m = model(names[i]);
        for (size_t k = 0; k < 3; k++) {
            struct strait_tensor_fill_plan *sent = plan(m, t, kinds[k], STRAIT_FILL_SENT);
            struct strait_tensor_fill_plan *held = plan(m, t, kinds[k], STRAIT_FILL_HELD_OUT);
            size_t n_sent = 0, n_held = 0;
            for (size_t r = 0; r < t->n_recordings; r++) {
                const bool a = strait_tensor_fill_uses(sent, &t->recordings[r]);
                const bool b = strait_tensor_fill_uses(held, &t->recordings[r]);
                CU_ASSERT_FALSE(a && b);
                n_sent += a;
                n_held += b;
            }
            CU_ASSERT_TRUE(n_sent > 0 && n_held > 0);
            strait_tensor_fill_plan_free(sent);
            strait_tensor_fill_plan_free(held);
        }
        strait_model_free(m);
    }
    strait_tensors_free(t);
}

static void every_byte_is_either_recorded_or_tiled(void)
{
    /* Recorded of gpt's parameters: qkv 576x192, fc 768x192, out 192x768, head 3072x192,
     * pos 64x192, ln1 192, fc.bias 768 = 1,008,576 of 2,971,776 = 33.94 %. */
    struct strait_tensors *t = tensors();
    struct strait_model *m = model("gpt");
    struct strait_tensor_fill_plan *p = plan(m, t, "param", STRAIT_FILL_SENT);
    CU_ASSERT_EQUAL(p->recorded_bytes, 4 * 1008576);
    CU_ASSERT_EQUAL(p->recorded_bytes + p->tiled_bytes, 4 * m->n_elems);
    CU_ASSERT_DOUBLE_EQUAL(strait_tensor_fill_recorded_ratio(p), 0.3394, 0.00005);
    for (size_t r = 0; r < p->n_rows; r++)
        CU_ASSERT_TRUE(!p->rows[r].recorded != !p->rows[r].tiled_from);
    strait_tensor_fill_plan_free(p);
    strait_model_free(m);
    m = model("gpt2-small");
    p = plan(m, t, "param", STRAIT_FILL_SENT);
    CU_ASSERT_EQUAL(strait_tensor_fill_recorded_ratio(p), 0);
    strait_tensor_fill_plan_free(p);
    strait_model_free(m);
    strait_tensors_free(t);
}

static void a_recorded_model_gets_its_own_bytes_on_every_rank(void)
{
    struct strait_tensors *t = tensors();
    struct strait_model *m = model("cnn"); /* recorded at 10, 150 and 390, every tensor */
    for (size_t k = 0; k < 3; k++) {
        struct strait_tensor_fill_plan *sent = plan(m, t, kinds[k], STRAIT_FILL_SENT);
        struct strait_tensor_fill_plan *held = plan(m, t, kinds[k], STRAIT_FILL_HELD_OUT);
        CU_ASSERT_EQUAL(sent->tiled_bytes, 0);
        CU_ASSERT_EQUAL(held->tiled_bytes, 0);
        for (size_t r = 0; r < m->n_rows; r++) {
            const struct strait_recording *last = sent->rows[r].recorded;
            float *x = filled(sent, r, (unsigned)r, m->rows[r].n_elems);
            CU_ASSERT_EQUAL(last->step, 390);
            CU_ASSERT_EQUAL(memcmp(x, last->values, last->n_elems * sizeof *x), 0);
            /* |ln(151/391)| = 0.95 against |ln(11/391)| = 3.57 */
            CU_ASSERT_EQUAL(held->rows[r].recorded->step, 150);
            free(x);
        }
        strait_tensor_fill_plan_free(sent);
        strait_tensor_fill_plan_free(held);
    }
    strait_model_free(m);
    strait_tensors_free(t);
}

static void a_row_may_be_filled_in_parts(void)
{
    struct strait_tensors *t = tensors();
    struct strait_model *m = model("gpt2-small");
    struct strait_tensor_fill_plan *p = plan(m, t, "update", STRAIT_FILL_SENT);
    enum { ROW = 1, PART = 100003 }; /* wpe: 786,432 values, three times round its pool */
    const size_t n = m->rows[ROW].n_elems;
    float *whole = filled(p, ROW, 3, n), *parts = malloc(n * sizeof *parts);
    CU_ASSERT_PTR_NOT_NULL_FATAL(parts);
    for (size_t first = 0; first < n; first += PART) {
        const size_t count = n - first < PART ? n - first : PART;
        strait_tensor_fill_row(parts + first, count, p, ROW, first, 3);
    }
    CU_ASSERT_EQUAL(memcmp(whole, parts, n * sizeof *whole), 0);
    free(whole);
    free(parts);
    strait_tensor_fill_plan_free(p);
    strait_model_free(m);
    strait_tensors_free(t);
}

/* Values that are bit for bit the same in both, zeros apart. */
static size_t same_bits(const float *a, const float *b, size_t n)
{
    size_t n_same = 0;
    for (size_t i = 0; i < n; i++)
        n_same += a[i] != 0 && a[i] == b[i];
    return n_same;
}

static void tiled_rows_differ_by_row_rank_and_repetition(void)
{
    struct strait_tensors *t = tensors();
    struct strait_model *m = model("gpt2-small");
    struct strait_tensor_fill_plan *p = plan(m, t, "param", STRAIT_FILL_SENT);
    /* h.0.attn.c_proj and h.1.attn.c_proj: rows 6 and 18, 768 x 768 */
    CU_ASSERT_STRING_EQUAL_FATAL(m->rows[18].layer, "h.1.attn.c_proj");
    const size_t n = m->rows[6].n_elems, period = p->rows[6].tiled_from->n_elems;
    float *a = filled(p, 6, 0, n), *other_row = filled(p, 18, 0, n),
          *other_rank = filled(p, 6, 1, n);
    /* Two random float32 with 24 bits agree now and then: a thousandth is far above chance. */
    CU_ASSERT_TRUE(same_bits(a, other_row, n) < n / 1000);
    CU_ASSERT_TRUE(same_bits(a, other_rank, n) < n / 1000);
    CU_ASSERT_TRUE_FATAL(period < n);
    CU_ASSERT_TRUE(same_bits(a, a + period, n - period) < (n - period) / 1000);
    /* ... and yet it is the same tensor, but for a factor within 1/256 of 1 */
    size_t n_near = 0;
    for (size_t i = 0; i < n - period; i++)
        n_near += fabsf(a[i] - a[i + period]) <= fabsf(a[i]) / 250;
    CU_ASSERT_EQUAL(n_near, n - period);
    free(a);
    free(other_row);
    free(other_rank);
    strait_tensor_fill_plan_free(p);
    strait_model_free(m);
    strait_tensors_free(t);
}

static void classes_follow_from_the_shape(void)
{
    const size_t bias[] = {768}, qkv[] = {576, 192}, head[] = {3072, 192}, conv[] = {32, 1, 3, 3},
                 eight[] = {8, 1}, nine[] = {9, 1}, wide[] = {64, 1568};
    CU_ASSERT_EQUAL(strait_tensor_fill_class(1, bias), STRAIT_FILL_VECTOR);
    CU_ASSERT_EQUAL(strait_tensor_fill_class(2, qkv), STRAIT_FILL_INNER);
    CU_ASSERT_EQUAL(strait_tensor_fill_class(2, head), STRAIT_FILL_TABLE);
    CU_ASSERT_EQUAL(strait_tensor_fill_class(4, conv), STRAIT_FILL_INNER);
    CU_ASSERT_EQUAL(strait_tensor_fill_class(2, eight), STRAIT_FILL_INNER);
    CU_ASSERT_EQUAL(strait_tensor_fill_class(2, nine), STRAIT_FILL_TABLE);
    CU_ASSERT_EQUAL(strait_tensor_fill_class(2, wide), STRAIT_FILL_INNER);
}

static void stand_ins_come_from_the_same_family_kind_and_class(void)
{
    struct strait_tensors *t = tensors();
    const struct {
        const char *model, *from;
    } expected[] = {{"gpt2-small", "gpt"},
                    {"vit-b16", "gpt"},
                    {"bert-base", "gpt"},
                    {"resnet50", "resnet"},
                    {"vgg16", "resnet"}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        struct strait_model *m = model(expected[i].model);
        struct strait_tensor_fill_plan *p = plan(m, t, "update", STRAIT_FILL_SENT);
        const struct strait_tensor_fill_pool *inner = &p->pools[STRAIT_FILL_INNER];
        CU_ASSERT_EQUAL(inner->n_sources, 2); /* two matrices of updates in either model */
        for (size_t s = 0; s < inner->n_sources; s++) {
            CU_ASSERT_STRING_EQUAL(inner->sources[s].recording->model, expected[i].from);
            CU_ASSERT_STRING_EQUAL(inner->sources[s].recording->kind, "update");
            CU_ASSERT_TRUE(inner->sources[s].recording->n_dims >= 2);
        }
        const struct strait_recording *bias = p->pools[STRAIT_FILL_VECTOR].sources[0].recording;
        CU_ASSERT_EQUAL(bias->n_dims, 1);
        /* resnet has no update of a vector: its gradients stand in */
        CU_ASSERT_STRING_EQUAL(bias->kind,
                               strcmp(expected[i].from, "gpt") == 0 ? "update" : "grad");
        strait_tensor_fill_plan_free(p);
        strait_model_free(m);
    }
    strait_tensors_free(t);
}

/* Bits a value needs when the matrices are rounded to bins of 2 x 1e-3 x range: the order-0
 * entropy, at most a million values a row. */
static double bits_per_value(const struct strait_model *m, const struct strait_tensor_fill_plan *p)
{
    enum { MAX = 1000000, BINS = 502 };
    double bits = 0, n_values = 0;
    for (size_t r = 0; r < m->n_rows; r++) {
        if (m->rows[r].n_dims < 2)
            continue;
        const size_t n = m->rows[r].n_elems < MAX ? m->rows[r].n_elems : MAX;
        size_t count[BINS] = {0};
        float *x = filled(p, r, 0, n), min = x[0], max = x[0];
        for (size_t i = 1; i < n; i++) {
            min = fminf(min, x[i]);
            max = fmaxf(max, x[i]);
        }
        const double bin = 2e-3 * ((double)max - (double)min);
        for (size_t i = 0; i < n && bin > 0; i++)
            count[(size_t)(((double)x[i] - (double)min) / bin)]++;
        double row_bits = 0;
        for (size_t b = 0; b < BINS; b++)
            if (count[b] > 0)
                row_bits -= log2((double)count[b] / (double)n) * (double)count[b];
        bits += row_bits / (double)n * (double)m->rows[r].n_elems;
        n_values += (double)m->rows[r].n_elems;
        free(x);
    }
    return bits / n_values;
}

static void held_out_data_codes_to_the_size_of_what_is_sent(void)
{
    /* Within 8 % for every model whose updates or parameters are sent (measured: cnn 7 and 6 %,
     * because its updates shrink from step 150 to 390; the others within 2 %). Gradients are not
     * here: gpt's embeddings have no second recording, and 10 steps of cnn change them by 20 %. */
    const char *const names[] = {"cnn", "resnet", "gpt", "gpt2-small"};
    struct strait_tensors *t = tensors();
    for (size_t i = 0; i < 4; i++) {
        struct strait_model *m = model(names[i]);
        for (size_t k = 0; k < 3; k += 2) {
            struct strait_tensor_fill_plan *sent = plan(m, t, kinds[k], STRAIT_FILL_SENT);
            struct strait_tensor_fill_plan *held = plan(m, t, kinds[k], STRAIT_FILL_HELD_OUT);
            const double ratio = bits_per_value(m, held) / bits_per_value(m, sent);
            CU_ASSERT_DOUBLE_EQUAL(ratio, 1, strcmp(names[i], "cnn") == 0 ? 0.08 : 0.03);
            strait_tensor_fill_plan_free(sent);
            strait_tensor_fill_plan_free(held);
        }
        strait_model_free(m);
    }
    strait_tensors_free(t);
}

/* A tensor set of our own in memory: two matrices of ranges 2 and 10, one of them with a NaN. */
static void recordings_in_a_pool_have_one_value_range(void)
{
    const float narrow[] = {-1, -0.5F, 0.5F, 1}, wide[] = {-5, 0, NAN, 5};
    struct strait_recording recordings[] = {{.model = "m",
                                             .layer = "a.weight",
                                             .kind = "param",
                                             .n_dims = 2,
                                             .shape = {2, 2},
                                             .n_elems = 4,
                                             .values = narrow},
                                            {.model = "m",
                                             .layer = "b.weight",
                                             .kind = "param",
                                             .n_dims = 2,
                                             .shape = {2, 2},
                                             .n_elems = 4,
                                             .values = wide}};
    char folder[] = "memory";
    const struct strait_tensors t = {folder, recordings, 2};
    struct strait_param_row row = {
        .layer = "c", .param = "weight", .n_dims = 2, .shape = {8, 8}, .n_elems = 64};
    const struct strait_model m = {.name = "other", .rows = &row, .n_rows = 1};
    struct strait_tensor_fill_plan *p = plan(&m, &t, "param", STRAIT_FILL_SENT);
    const struct strait_tensor_fill_pool *pool = &p->pools[STRAIT_FILL_INNER];
    CU_ASSERT_EQUAL(pool->n_elems, 8);
    CU_ASSERT_EQUAL(pool->sources[0].scale, 1);
    CU_ASSERT_DOUBLE_EQUAL(pool->sources[1].scale, 0.2, 1e-15); /* 2 / 10 over finite values */
    float *x = filled(p, 0, 0, 64);
    size_t n_nan = 0;
    for (size_t i = 0; i < 64; i++) {
        n_nan += isnan(x[i]) != 0;
        CU_ASSERT_TRUE(isnan(x[i]) || fabsf(x[i]) <= 1);
    }
    CU_ASSERT_EQUAL(n_nan, 8); /* one in eight, as recorded */
    free(x);
    strait_tensor_fill_plan_free(p);

    /* Both are sent, so nothing is left to hold out, and no bias was recorded at all. */
    struct strait_error err = {.code = STRAIT_OK};
    p = NULL;
    CU_ASSERT_EQUAL(strait_tensor_fill_plan_new(&p, &m, &t, "param", STRAIT_FILL_HELD_OUT, &err),
                    -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "recordings that are not sent"));
    row.n_dims = 1;
    err = (struct strait_error){.code = STRAIT_OK};
    CU_ASSERT_EQUAL(strait_tensor_fill_plan_new(&p, &m, &t, "param", STRAIT_FILL_SENT, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "vectors"));
    err = (struct strait_error){.code = STRAIT_OK};
    CU_ASSERT_EQUAL(strait_tensor_fill_plan_new(&p, &m, &t, "weights", STRAIT_FILL_SENT, &err), -1);
    CU_ASSERT_EQUAL(strait_error_exit_status(&err), 2);
}

static void a_recording_of_another_shape_is_not_taken_as_it_is(void)
{
    struct strait_tensors *t = tensors();
    struct strait_param_row row = {
        .layer = "fc1", .param = "weight", .n_dims = 2, .shape = {1568, 64}, .n_elems = 100352};
    const struct strait_model m = {.name = "cnn", .rows = &row, .n_rows = 1};
    struct strait_tensor_fill_plan *p = plan(&m, t, "param", STRAIT_FILL_SENT);
    CU_ASSERT_PTR_NULL(p->rows[0].recorded); /* cnn.fc1.weight is 64 x 1568 */
    CU_ASSERT_EQUAL(p->tiled_bytes, 401408);
    strait_tensor_fill_plan_free(p);
    strait_tensors_free(t);
}

static const struct strait_test tests[] = {
    {"sent and held out share no file", sent_and_held_out_share_no_file},
    {"every byte is either recorded or tiled", every_byte_is_either_recorded_or_tiled},
    {"a recorded model gets its own bytes on every rank",
     a_recorded_model_gets_its_own_bytes_on_every_rank},
    {"a row may be filled in parts", a_row_may_be_filled_in_parts},
    {"tiled rows differ by row, rank and repetition", tiled_rows_differ_by_row_rank_and_repetition},
    {"classes follow from the shape", classes_follow_from_the_shape},
    {"stand-ins come from the same family, kind and class",
     stand_ins_come_from_the_same_family_kind_and_class},
    {"held-out data codes to the size of what is sent",
     held_out_data_codes_to_the_size_of_what_is_sent},
    {"recordings in a pool have one value range", recordings_in_a_pool_have_one_value_range},
    {"a recording of another shape is not taken as it is",
     a_recording_of_another_shape_is_not_taken_as_it_is},
};
STRAIT_SUITE("traces/fill", tests);
