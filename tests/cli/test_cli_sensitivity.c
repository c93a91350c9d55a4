/* strait sensitivity from outside: a user's checkpoint and program, a task that is trained here,
 * and what is refused. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/kit/folder.h"
#include "tests/kit/program.h"

static struct program program;
#define CALL(...)       PROGRAM_CALL(&program, "sensitivity", __VA_ARGS__)
#define CHECKPOINT(...) CALL("--checkpoint", "w.f32", "--model", "m.csv", __VA_ARGS__)

/* One matrix of 40 x 50 and a bias of 40. */
static const char table[] =
    "# name: small\n# source: this test\n# timing: made up\n# batch: 8\n"
    "fwd_index,layer,param,type,shape,bytes,fwd_us_p50,fwd_us_p90,bwd_us_p50,bwd_us_p90,"
    "ready_us_p50,ready_us_p90,ready_order\n"
    "0,fc,weight,Linear,40x50,8000,1000,1000,2000,2000,2000,2000,0\n"
    "1,fc,bias,Linear,40,160,1000,1000,2000,2000,2000,2000,1\n";

static void write_checkpoint(size_t n_elems)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/w.f32", program.folder);
    FILE *f = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    for (size_t i = 0; i < n_elems; i++) {
        const float x = i % 2 ? -1.0f : 1.0f;
        fwrite(&x, sizeof(x), 1, f);
    }
    fclose(f);
}

static void write_program(const char *text)
{
    char path[512];
    program_write(&program, "loss.sh", text);
    snprintf(path, sizeof(path), "%s/loss.sh", program.folder);
    chmod(path, 0755);
}

static void set_up(const char *script)
{
    program_set_up(&program);
    program_write(&program, "m.csv", table);
    write_checkpoint(2040);
    write_program(script);
}

/* Nothing adds to a loss that is always 0.5: the bound is the largest tried, twice the rms of 1.
 * The program sees a file of 8160 bytes. */
static void a_checkpoint(void)
{
    set_up("#!/bin/sh\n[ $(wc -c < \"$1\") = 8160 ] && echo the loss is 0.5\nls \"$1\" >seen\n");
    struct said s = CHECKPOINT("--eval", "./loss.sh", "--trials", "1", "-o", "b.json", "--json");
    CU_ASSERT_EQUAL(s.status, 0);
    json_t *found = json_loads(s.out, 0, NULL);
    const json_t *tensors = json_object_get(found, "tensors");
    CU_ASSERT_EQUAL(json_object_size(tensors), 1);
    CU_ASSERT_DOUBLE_EQUAL(
        json_number_value(json_object_get(json_object_get(tensors, "fc.weight"), "bound")), 2,
        1e-6);
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(found, "loss")), 0.5, 1e-12);
    json_decref(found);
    size_t n;
    char *copy = folder_bytes(program.folder, "seen", &n); /* the changed copy: it is gone */
    CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
    CU_ASSERT_TRUE_FATAL(n > 1);
    copy[n - 1] = '\0';
    CU_ASSERT_EQUAL(copy[0], '/');
    CU_ASSERT_EQUAL(access(copy, F_OK), -1);
    free(copy);
    said_release(&s);
    s = CHECKPOINT("--eval", "./loss.sh", "--trials", "1");
    CU_ASSERT_EQUAL(s.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.out, "fc.weight"));
    CU_ASSERT_PTR_NULL(strstr(s.out, "fc.bias"));
    said_release(&s);
    /* the file is what a codec takes */
    program_write(&program, "e.json",
                  "{\"schema\":\"strait-experiment/1\",\"model\":\"m.csv\",\"clients\":2,"
                  "\"strategy\":{\"name\":\"fedavg\",\"rounds\":1},\"codec\":{\"name\":\"sz\","
                  "\"bound\":{\"rms\":0.1},\"bounds\":\"b.json\"},\"network\":{\"client\":{"
                  "\"rate\":\"1 Gbps\"},\"server\":{\"rate\":\"1 Gbps\"}}}");
    s = PROGRAM_CALL(&program, "check", "e.json", "--on", "emu");
    CU_ASSERT_PTR_NULL(strstr(s.err, "b.json"));
    said_release(&s);
    program_tear_down(&program);
}

static void says(const char *err, int status, struct said s)
{
    CU_ASSERT_EQUAL(s.status, status);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.err, err));
    if (!strstr(s.err, err))
        fprintf(stderr, "%s", s.err);
    said_release(&s);
}

static void refused(void)
{
    set_up("#!/bin/sh\necho no loss today\n");
    says("expected a loss as the last word of its output, found \"no loss today", 1,
         CHECKPOINT("--eval", "./loss.sh"));
    says("nothing.sh", 3, CHECKPOINT("--eval", "./nothing.sh"));
    write_program("#!/bin/sh\necho it broke >&2\nexit 4\n");
    says("it broke", 1, CHECKPOINT("--eval", "./loss.sh"));
    write_checkpoint(2041);
    says("w.f32: expected the 2040 float32 of the model's table, found more", 2,
         CHECKPOINT("--eval", "./loss.sh"));
    write_checkpoint(2039);
    says("found fewer", 2, CHECKPOINT("--eval", "./loss.sh"));
    says("expected --checkpoint, --model and --eval together, found no --eval", 2,
         CHECKPOINT("--json"));
    says("found neither", 2, CALL("--json"));
    says("found both", 2, CHECKPOINT("e.json"));
    says("--budget: expected a percentage such as", 2,
         CHECKPOINT("--eval", "./loss.sh", "--budget", "1"));
    says("expected a codec with a bound of kind abs, range or rms", 2,
         CHECKPOINT("--eval", "./loss.sh", "--codec", "topk"));
    program_write(&program, "e.json",
                  "{\"schema\":\"strait-experiment/1\",\"model\":\"m.csv\",\"clients\":2,"
                  "\"strategy\":\"fedavg\",\"network\":{\"client\":{\"rate\":\"1 Gbps\"},"
                  "\"server\":{\"rate\":\"1 Gbps\"}}}");
    says("expected an experiment with \"training\", found none in e.json", 2, CALL("e.json"));
    write_checkpoint(2040);
    write_program("#!/bin/sh\necho 0.5\n");
    program_write(&program, "m.csv",
                  "fwd_index,layer,param,type,shape,bytes,fwd_us_p50,fwd_us_p90,bwd_us_p50,"
                  "bwd_us_p90,ready_us_p50,ready_us_p90,ready_order\n"
                  "0,a,weight,Linear,32x32,4096,1,1,2,2,2,2,0\n"
                  "1,b,weight,Linear,127x8,4064,1,1,2,2,2,2,1\n");
    says("m: expected a tensor that sz encodes with loss, found none: each has at most 1024 values",
         2, CHECKPOINT("--eval", "./loss.sh"));
    program_tear_down(&program);
}

static const struct strait_test tests[] = {
    {"a checkpoint's bounds come from a program's loss", a_checkpoint},
    {"what it cannot use is refused in one line", refused},
};
STRAIT_SUITE("cli/cli_sensitivity", tests);
