/* The layer table: what its comments may say, the limits of its rows, and the medians beside it. */
#include "traces/models/layer_csv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"

#define ROW "0,a,w,Linear,2x3,24,1,1,2,2,3,3,0\n"

/* A table with these comments and rows, read from a folder of its own. */
static struct strait_model *read_at(const char *name, const char *comments, const char *rows,
                                    struct strait_error *err)
{
    char folder[] = "/tmp/strait-layers-XXXXXX", path[256], iters[256];
    struct strait_model *m = NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fprintf(f, "%s" STRAIT_LAYER_CSV_HEADER "\n%s", comments, rows);
    fclose(f);
    snprintf(iters, sizeof(iters), "%s/i.csv", folder);
    f = fopen(iters, "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs(STRAIT_ITERS_CSV_HEADER "\n0,10,90,4\n1,20,70,9\n2,60,60,1\n3,30,80,2\n", f);
    fclose(f);
    *err = (struct strait_error){0};
    const int status = strait_layer_csv_load(&m, path, err);
    CU_ASSERT_EQUAL(status, m ? 0 : -1);
    CU_ASSERT_EQUAL(err->code, m ? STRAIT_OK : STRAIT_ERR_INPUT);
    /* where: without the folder */
    if (strncmp(err->where, folder, strlen(folder)) == 0)
        memmove(err->where, err->where + strlen(folder) + 1,
                strlen(err->where + strlen(folder) + 1) + 1);
    folder_remove(folder);
    return m;
}

static void comments(void)
{
    char long_name[80], long_device[80];
    memset(long_name, 'n', sizeof(long_name));
    memset(long_device, ' ', sizeof(long_device));
    memcpy(long_name, "# name: ", 8);
    memcpy(long_device, "# device: cpu,", 14);
    strcpy(long_name + 8 + 63, "\n");
    strcpy(long_device + 73 - 1, "x\n"); /* 63 characters behind "# device: " */
    const struct {
        const char *comment, *error; /* NULL: taken */
    } cases[] = {
        {"# device: cpu\n", NULL},
        {"# device: accelerator: ours\n", NULL},
        {"# device: accelerator, ours\n", NULL},
        {long_device, NULL},
        {"# device: cpus\n", "expected \"# device: cpu\" or \"# device: accelerator\", each with "
                             "more words or not, found \"cpus\""},
        {"# batch: 1\n", NULL},
        {"# batch: 9\n", NULL},
        {"# batch: 1000000000\n", NULL},
        {"# batch: 1000000001\n", "expected \"# batch: \" and samples, found \"1000000001\""},
        {"# batch: 0\n", "expected \"# batch: \" and samples, found \"0\""},
        {"# batch: 1x\n", "expected \"# batch: \" and samples, found \"1x\""},
        {"# batch:\n", "expected \"# batch: \" and samples, found \"\""},
        {"# name: n\n", NULL},
        {long_name, NULL},
        {"# name:\n", "expected 1 to 63 characters after \"# name:\", found 0"},
        {"# timing:\n", "expected 1 to 255 characters after \"# timing:\", found 0"},
        {"# name: caf\xc3\xa9\n", NULL},
        {"# name: caf\xe9\n", "expected UTF-8 after \"# name:\", found \"caf?\""},
        {"# source: caf\xe9\n", "expected UTF-8 after \"# source:\", found \"caf?\""},
        {"# batches: 1\n", "unknown key \"batches\", did you mean \"batch\"?"},
        {"# zzzzzzzzz: 1\n",
         "unknown key \"zzzzzzzzz\"; known: name, source, timing, batch, device, iters"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_error err;
        strait_test_context("%s", cases[i].comment);
        struct strait_model *m = read_at("t.csv", cases[i].comment, ROW, &err);
        CU_ASSERT_STRING_EQUAL(err.text, cases[i].error ? cases[i].error : "");
        CU_ASSERT_STRING_EQUAL(err.where, cases[i].error ? "t.csv:1" : "");
        strait_model_free(m);
    }
    struct strait_error err;
    strcpy(long_name + 8 + 63, "n\n");
    CU_ASSERT_PTR_NULL(read_at("t.csv", long_name, ROW, &err));
    CU_ASSERT_STRING_EQUAL(err.text, "expected 1 to 63 characters after \"# name:\", found 64");
    struct strait_model *m = read_at("t.csv", "# batch: 1000000000\n# device: cpu: 8\n", ROW, &err);
    CU_ASSERT_EQUAL(m->batch, 1000000000);
    CU_ASSERT_TRUE(m->on_cpu);
    CU_ASSERT_STRING_EQUAL(m->device, "cpu: 8");
    strait_model_free(m);
    m = read_at("t.csv", "# device: accelerator of ours\n", ROW, &err);
    CU_ASSERT_FALSE(m->on_cpu);
    CU_ASSERT_STRING_EQUAL(m->device, "accelerator of ours");
    strait_model_free(m);
}

static void names(void)
{
    static const struct {
        const char *file, *name;
    } cases[] = {
        {"layers_net.csv", "net"},          {"net.csv", "net"},     {"layers_.csv", ".csv"},
        {"layer_net.csv", "layer_net"},     {"net.txt", "net.txt"}, {".csv", ".csv"},
        {"layers_layers_a.csv", "layers_a"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_error err;
        struct strait_model *m = read_at(cases[i].file, "", ROW, &err);
        CU_ASSERT_PTR_NOT_NULL_FATAL(m);
        CU_ASSERT_STRING_EQUAL(m->name, cases[i].name);
        CU_ASSERT_STRING_EQUAL(m->timing_source, "the layer table's own times");
        CU_ASSERT_STRING_EQUAL(m->device, "accelerator");
        CU_ASSERT_CONTAINS(m->source, cases[i].file);
        strait_model_free(m);
    }
}

/* One row, or two, at each limit and one over it. */
static void rows(void)
{
    static const struct {
        const char *rows;
        size_t line; /* behind the header, 1 is its own; 0: taken */
        const char *error;
    } cases[] = {
        {"0,a,w,Linear,1x1x1x1x1x1x1x2,8,1,1,2,2,3,3,0\n", 0, ""}, /* eight dimensions */
        {"0,a,w,Linear,2,8,0,1000000000000,0,0,0,0,0\n", 0, ""},   /* eleven days */
        {"0,a,bc,Linear,2,8,1,1,2,2,3,3,0\n1,ab,c,Linear,2,8,1,1,2,2,3,3,1\n", 0, ""},
        {"0,a,w,Linear,2,8,0,1000000000001,0,0,0,0,0\n", 2,
         "expected a number from 0 to 1e+12 in column fwd_us_p90, found \"1000000000001\""},
        {"0,a,w,Linear,2,8,1,1,2,1.9,3,3,0\n", 2,
         "expected a p90 of at least the p50, found 1.9 and 2"},
        {"0,a,w,Linear,2,8,1,1,2,2,3,2,0\n", 2,
         "expected a p90 of at least the p50, found 2 and 3"},
        {"0,\xc3\xa9,w,Linear,2,8,1,1,2,2,3,3,0\n", 0, ""},
        {"0,\xe9,w,Linear,2,8,1,1,2,2,3,3,0\n", 2, "expected UTF-8 in column layer, found \"?\""},
        {"0,a,w,Linear,2x,8,1,1,2,2,3,3,0\n", 2,
         "expected a shape such as \"16x1x3x3\" in column shape, found \"2x\""},
        {"0,a,w,Linear,2y3,8,1,1,2,2,3,3,0\n", 2,
         "expected a shape such as \"16x1x3x3\" in column shape, found \"2y3\""},
        {"0,a,w,Linear,-2,8,1,1,2,2,3,3,0\n", 2,
         "expected a shape such as \"16x1x3x3\" in column shape, found \"-2\""},
        {"0,a,w,Linear,9x9x9,2916,1,1,2,2,3,3,0\n", 0, ""},
        {"0,a,w,Linear,99999999999999999999,8,1,1,2,2,3,3,0\n", 2,
         "expected a shape that fits an address, found \"99999999999999999999\""},
        {"0,a,w,Linear,2,9,1,1,2,2,3,3,0\n", 2, "expected 8 bytes for the shape 2, found 9"},
        {"1,a,w,Linear,2,8,1,1,2,2,3,3,0\n", 2, "expected fwd_index 0, found 1"},
        {"0,a,w,Linear,2,8,1,1,2,2,3,3,1\n", 2,
         "expected a ready_order below 1 (one for each row), found 1"},
        {ROW "1,b,w,Linear,2,8,1,1,2,2,3,3,0\n", 3,
         "expected each ready_order once, found 0 as in line 2"},
        {ROW "1,a,w,Linear,2,8,1,1,2,2,3,3,1\n", 3,
         "expected each parameter once, found \"a.w\" again"},
        {ROW "1,a,b,Conv,2,8,1,1,2,2,3,3,1\n", 3,
         "expected one type for layer \"a\", found Linear and Conv"},
        {ROW "1,a,b,Linear,2,8,0.9,1,2,2,3,3,1\n", 3,
         "expected the forward and backward times of layer \"a\" in each of its rows, found "
         "others"},
        {ROW "1,a,b,Linear,2,8,1,1.1,2,2,3,3,1\n", 3,
         "expected the forward and backward times of layer \"a\" in each of its rows, found "
         "others"},
        {ROW "1,a,b,Linear,2,8,1,1,1.9,2,3,3,1\n", 3,
         "expected the forward and backward times of layer \"a\" in each of its rows, found "
         "others"},
        {ROW "1,a,b,Linear,2,8,1,1,2,2.1,3,3,1\n", 3,
         "expected the forward and backward times of layer \"a\" in each of its rows, found "
         "others"},
        {ROW "1,b,w,Linear,2,8,1,1,2,2,3,3,1\n2,a,x,Linear,2,8,1,1,2,2,3,3,2\n", 4,
         "expected the rows of layer \"a\" one after another"},
        {"", 2, "expected at least one row, found the end of the file"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_error err;
        char where[32] = "";
        strait_test_context("%s", cases[i].rows);
        struct strait_model *m = read_at("t.csv", "", cases[i].rows, &err);
        CU_ASSERT_STRING_EQUAL(err.text, cases[i].error);
        if (cases[i].line > 0)
            snprintf(where, sizeof(where), "t.csv:%zu", cases[i].line);
        CU_ASSERT_STRING_EQUAL(err.where, where);
        strait_model_free(m);
    }
}

/* Times in us, each in its place; one layer of two parameters. */
static void times(void)
{
    struct strait_error err;
    struct strait_model *m = read_at(
        "t.csv", "", "0,a,w,Linear,2x3,24,1,2,3,4,5,6,1\n1,a,b,Conv,3,12,1,2,3,4,7,8,0\n", &err);
    CU_ASSERT_PTR_NULL(m);
    m = read_at("t.csv", "", "0,a,w,Linear,2x3,24,1,2,3,4,5,6,1\n1,a,b,Linear,3,12,1,2,3,4,7,8,0\n",
                &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    const struct strait_param_row *r = &m->rows[0];
    CU_ASSERT_DOUBLE_EQUAL(r->fwd_s_p50, 1e-6, 1e-18);
    CU_ASSERT_DOUBLE_EQUAL(r->fwd_s_p90, 2e-6, 1e-18);
    CU_ASSERT_DOUBLE_EQUAL(r->bwd_s_p50, 3e-6, 1e-18);
    CU_ASSERT_DOUBLE_EQUAL(r->bwd_s_p90, 4e-6, 1e-18);
    CU_ASSERT_DOUBLE_EQUAL(r->ready_s_p50, 5e-6, 1e-18);
    CU_ASSERT_DOUBLE_EQUAL(r->ready_s_p90, 6e-6, 1e-18);
    CU_ASSERT_EQUAL(r->ready_order, 1);
    CU_ASSERT_EQUAL(m->rows[1].layer_index, 0);
    CU_ASSERT_EQUAL(m->n_layers, 1);
    CU_ASSERT_EQUAL(m->n_elems, 9);
    CU_ASSERT_DOUBLE_EQUAL(m->fwd_s, 1e-6, 1e-18); /* of the layer, not of each row */
    CU_ASSERT_DOUBLE_EQUAL(m->bwd_s, 3e-6, 1e-18);
    strait_model_free(m);
}

/* Of four iterations the mean of the middle two: (20 + 30) / 2, (70 + 80) / 2, (2 + 4) / 2. */
static void medians(void)
{
    struct strait_error err;
    size_t n = 0;
    struct strait_model *m = read_at("t.csv", "# iters: i.csv\n", ROW, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_DOUBLE_EQUAL(m->fwd_s, 25e-6, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(m->bwd_s, 75e-6, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(m->opt_s, 3e-6, 1e-15);
    /* by an absolute path, one iteration is its own median */
    char path[] = "/tmp/strait-iters-XXXXXX", comment[64];
    const int fd = mkstemp(path);
    static const char text[] = STRAIT_ITERS_CSV_HEADER "\n7,1,2,3\n";
    CU_ASSERT_FATAL(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    CU_ASSERT_EQUAL(strait_iters_csv_load(m, &n, path, &err), 0);
    CU_ASSERT_EQUAL(n, 1);
    CU_ASSERT_DOUBLE_EQUAL(m->opt_s, 3e-6, 1e-15);
    strait_model_free(m);
    snprintf(comment, sizeof(comment), "# iters: %s\n", path);
    m = read_at("t.csv", comment, ROW, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m);
    CU_ASSERT_DOUBLE_EQUAL(m->bwd_s, 2e-6, 1e-15);
    strait_model_free(m);
    unlink(path);
}

static const struct strait_test tests[] = {
    {"what comments may say", comments},
    {"a table without a name is called as its file", names},
    {"rows at their limits and over them", rows},
    {"times and orders, each in its place", times},
    {"iterations give their medians", medians},
};
STRAIT_SUITE("traces/models/layer_csv", tests);
