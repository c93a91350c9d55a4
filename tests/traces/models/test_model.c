#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "traces/models/layer_csv.h"
#include "traces/models/model.h"
#include "tests/traces/bad_traces.h"
#include "tests/kit/suite.h"

static const char table[] =
    "fwd_index,layer,param,type,shape,bytes,fwd_us_p50,fwd_us_p90,bwd_us_p50,bwd_us_p90,"
    "ready_us_p50,ready_us_p90,ready_order\r\n"
    "0,fc1,weight,Linear,4x3,48,10,11,20,22,60,66,3\r\n"
    "1,fc1,bias,Linear,4,16,10,11,20,22,59,65,2\r\n"
    "2,fc2,weight,Linear,2x4,32,5,6,30,33,30,33,0\r\n"
    "3,fc2,bias,Linear,2,8,5,6,30,33,31,34,1\r\n";

/* A file in /tmp with this text; the caller unlinks it. */
static void write_file(char *path, size_t cap, const char *text)
{
    snprintf(path, cap, "/tmp/strait-layers-XXXXXX");
    const int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static struct strait_model *load(const char *name)
{
    struct strait_model *m = NULL;
    struct strait_error err = {.code = STRAIT_OK};
    CU_ASSERT_EQUAL(strait_model_load(&m, name, &err), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    return m;
}

static void every_shipped_model_loads(void)
{
    size_t n;
    const char *const *names = strait_model_names(&n);
    CU_ASSERT_EQUAL(n, 14); /* 3 recorded, 4 of our own trainer, 7 architectures */
    CU_ASSERT_PTR_NULL(names[n]);
    for (size_t i = 0; i < n; i++) {
        struct strait_model *m = load(names[i]);
        CU_ASSERT_STRING_EQUAL(m->name, names[i]);
        CU_ASSERT_TRUE(strlen(m->source) > 0 && strlen(m->timing_source) > 0);
        CU_ASSERT_TRUE(strlen(m->timing_source) < sizeof m->timing_source - 1); /* not cut */
        CU_ASSERT_TRUE(m->batch > 0 && strait_model_step_s(m) > 0);
        strait_model_free(m);
    }
}

static void recorded_parameter_counts(void)
{
    /* traces/tensors/README.md; cnn: 16*9+16 + 32*16*9+32 + 64*1568+64 + 10*64+10 = 105,866; mlp:
     * 785 200 + 201 200 + 201 10; the others as in the tests of their tasks. */
    const struct {
        const char *name;
        size_t n_elems, n_rows;
    } expected[] = {{"cnn", 105866, 8},
                    {"resnet", 392866, 50},
                    {"gpt", 2971776, 53},
                    {"quadratic", 1000, 4},
                    {"fashion-mlp", 199210, 6},
                    {"fashion-resnet", 174970, 47},
                    {"char-transformer", 822016, 52}};
    for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
        struct strait_model *m = load(expected[i].name);
        CU_ASSERT_EQUAL(m->n_elems, expected[i].n_elems);
        CU_ASSERT_EQUAL(m->n_rows, expected[i].n_rows);
        CU_ASSERT_EQUAL(m->timing, STRAIT_TIMING_RECORDED);
        CU_ASSERT_TRUE(m->on_cpu);
        strait_model_free(m);
    }
}

static void recorded_step_times_keep_unattributed_work(void)
{
    /* The 30th and 31st of 60 rows of iters_cnn.csv, sorted: forward 4246.6 and 4268.6 us, backward
     * 2730.2 and 2734.8, optimiser 238.2 and 239.1. The layers sum to 1266.9 us forward and 1997.1
     * backward, as awk adds them: ReLU and pooling have no rows. */
    struct strait_model *m = load("cnn");
    CU_ASSERT_DOUBLE_EQUAL(m->fwd_s, 4257.6e-6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(m->bwd_s, 2732.5e-6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(m->opt_s, 238.65e-6, 1e-12);
    double fwd_s = 0, bwd_s = 0;
    for (size_t l = 0; l < m->n_layers; l++) {
        fwd_s += m->layers[l].fwd_s_p50;
        bwd_s += m->layers[l].bwd_s_p50;
    }
    CU_ASSERT_DOUBLE_EQUAL(fwd_s, 1266.9e-6, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(bwd_s, 1997.1e-6, 1e-9);
    strait_model_free(m);
}

static void times_are_summed_over_layers_not_rows(void)
{
    char path[64];
    write_file(path, sizeof path, table);
    /* Forward 10 + 5 us, backward 20 + 30 us; both layers have two rows. */
    struct strait_model *m = load(path);
    CU_ASSERT_EQUAL(m->n_layers, 2);
    CU_ASSERT_DOUBLE_EQUAL(m->fwd_s, 15e-6, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(m->bwd_s, 50e-6, 1e-15);
    CU_ASSERT_EQUAL(m->opt_s, 0);
    CU_ASSERT_EQUAL(m->layers[0].n_elems, 16);
    CU_ASSERT_EQUAL(m->layers[1].first_row, 2);
    CU_ASSERT_DOUBLE_EQUAL(m->layers[1].ready_s_p50, 31e-6, 1e-15); /* the later of 30 and 31 */
    CU_ASSERT_EQUAL(m->n_elems, 12 + 4 + 8 + 2);
    strait_model_free(m);
    unlink(path);
}

static void a_users_table_with_crlf_says_what_it_does_not_know(void)
{
    char path[64];
    write_file(path, sizeof path, table);
    struct strait_model *m = load(path);
    CU_ASSERT_EQUAL(m->timing, STRAIT_TIMING_USER_TABLE);
    CU_ASSERT_EQUAL(m->batch, 0);
    CU_ASSERT_FALSE(m->on_cpu);
    CU_ASSERT_STRING_EQUAL(m->rows[3].param, "bias");
    CU_ASSERT_EQUAL(m->rows[3].ready_order, 1);
    CU_ASSERT_EQUAL(m->rows[0].shape[1], 3);
    strait_model_free(m);
    unlink(path);
}

static void leading_comments_name_model_batch_and_device(void)
{
    char path[64], text[1024];
    snprintf(text, sizeof text,
             "# a table of my own\n# name: mine\n#source: lab: notes\n# timing: my profiler\n"
             "# batch: 12\n# device: cpu, 8 cores\n%s",
             table);
    write_file(path, sizeof path, text);
    struct strait_model *m = load(path);
    CU_ASSERT_STRING_EQUAL(m->name, "mine");
    CU_ASSERT_STRING_EQUAL(m->source, "lab: notes");
    CU_ASSERT_STRING_EQUAL(m->timing_source, "my profiler");
    CU_ASSERT_EQUAL(m->batch, 12);
    CU_ASSERT_TRUE(m->on_cpu);
    strait_model_free(m);
    unlink(path);
}

static void iterations_of_a_user_are_medians(void)
{
    char iters[64], path[64], text[1024];
    /* medians of 3: 20, 70, 4; of an even number the mean of the middle two is taken */
    write_file(iters, sizeof iters, "iter,fwd_us,bwd_us,opt_us\n0,20,90,4\n1,10,70,9\n2,30,60,1\n");
    snprintf(text, sizeof text, "# iters: %s\n%s", strrchr(iters, '/') + 1, table);
    write_file(path, sizeof path, text);
    struct strait_model *m = load(path);
    CU_ASSERT_DOUBLE_EQUAL(m->fwd_s, 20e-6, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(m->bwd_s, 70e-6, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(m->opt_s, 4e-6, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(strait_model_step_s(m), 94e-6, 1e-15);
    strait_model_free(m);
    unlink(path);
    unlink(iters);
}

static void ready_order_is_a_permutation_and_the_head_is_first(void)
{
    size_t n;
    const char *const *names = strait_model_names(&n);
    for (size_t i = 0; i < n; i++) {
        struct strait_model *m = load(names[i]);
        size_t sum = 0, first = 0;
        for (size_t r = 0; r < m->n_rows; r++) {
            sum += m->rows[r].ready_order;
            if (m->rows[r].ready_order == 0)
                first = r;
        }
        CU_ASSERT_EQUAL(sum, m->n_rows * (m->n_rows - 1) / 2);
        CU_ASSERT_EQUAL(m->rows[first].layer_index, m->n_layers - 1);
        strait_model_free(m);
    }
}

static void a_recorded_model_has_no_device_rate(void)
{
    struct strait_model *m = load("cnn");
    struct strait_error err = {.code = STRAIT_OK};
    const double before_s = strait_model_step_s(m);
    CU_ASSERT_EQUAL(strait_model_set_device_rate(m, 1e12, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_EQUAL(strait_model_step_s(m), before_s);
    strait_model_free(m);
}

static void an_unknown_name_gets_the_nearest_one(void)
{
    struct strait_model *m = NULL;
    struct strait_error err = {.code = STRAIT_OK};
    CU_ASSERT_EQUAL(strait_model_load(&m, "gpt2-smal", &err), -1);
    CU_ASSERT_PTR_NULL(m);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "\"gpt2-small\""));
    err = (struct strait_error){.code = STRAIT_OK};
    CU_ASSERT_EQUAL(strait_model_load(&m, "/nonexistent/layers.csv", &err), -1);
    CU_ASSERT_STRING_EQUAL(err.where, "/nonexistent/layers.csv");
    CU_ASSERT_EQUAL(strait_error_exit_status(&err), 2);
    err = (struct strait_error){.code = STRAIT_OK};
    CU_ASSERT_EQUAL(strait_model_load(&m, "/tmp/", &err), -1); /* a folder */
    CU_ASSERT_EQUAL(strait_error_exit_status(&err), 2);
}

static int load_layers(const char *folder, struct strait_error *err)
{
    char path[1100];
    struct strait_model *m = NULL;
    snprintf(path, sizeof path, "%s/layers.csv", folder);
    const int status = strait_model_load(&m, path, err);
    strait_model_free(m);
    return status;
}

static void every_bad_table_is_one_error_with_its_line(void)
{
    CU_ASSERT_TRUE(strait_bad_cases("layers-", load_layers) >= 28);
}

/* 100,000 layers: a search of all of them for each would take a minute. */
static void large(void)
{
    enum { N = 100000 };
    char path[] = "/tmp/strait-table-XXXXXX";
    struct strait_model *m = NULL;
    struct strait_error err = {0};
    const int fd = mkstemp(path);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fprintf(f, "%s\n", STRAIT_LAYER_CSV_HEADER);
    for (int i = 0; i < N; i++)
        fprintf(f, "%d,l%d,weight,Linear,2x2,16,1,1,2,2,3,3,%d\n", i, i, N - 1 - i);
    CU_ASSERT_EQUAL(fclose(f), 0);
    CU_ASSERT_EQUAL(strait_layer_csv_load(&m, path, &err), 0);
    CU_ASSERT_EQUAL(m ? m->n_layers : 0, N);
    CU_ASSERT_EQUAL(m ? m->n_elems : 0, 4 * (size_t)N);
    strait_model_free(m);
    unlink(path);
}

static const struct strait_test tests[] = {
    {"a table of 100,000 layers is read", large},
    {"every shipped model loads", every_shipped_model_loads},
    {"recorded parameter counts are those of the recordings", recorded_parameter_counts},
    {"recorded step times keep unattributed work", recorded_step_times_keep_unattributed_work},
    {"times are summed over layers, not rows", times_are_summed_over_layers_not_rows},
    {"a user's table with CRLF says what it does not know",
     a_users_table_with_crlf_says_what_it_does_not_know},
    {"leading comments name model, batch and device", leading_comments_name_model_batch_and_device},
    {"iterations of a user are medians", iterations_of_a_user_are_medians},
    {"the ready order is a permutation and the head is first",
     ready_order_is_a_permutation_and_the_head_is_first},
    {"a recorded model has no device rate", a_recorded_model_has_no_device_rate},
    {"an unknown name gets the nearest one", an_unknown_name_gets_the_nearest_one},
    {"every bad table is one error with its line", every_bad_table_is_one_error_with_its_line},
};
STRAIT_SUITE("traces/models/model", tests);
