#include <math.h>
#include <stdio.h>
#include <string.h>
#include "traces/tensors.h"
#include "bad_traces.h"
#include "tests/kit/suite.h"

static struct strait_tensors *load_shipped(void)
{
    struct strait_tensors *t = NULL;
    struct strait_error err = {.code = STRAIT_OK};
    CU_ASSERT_EQUAL(strait_tensors_load(&t, NULL, &err), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    return t;
}

static void the_shipped_set_has_150_files_of_23_megabytes(void)
{
    struct strait_tensors *t = load_shipped();
    size_t n_bytes = 0;
    CU_ASSERT_EQUAL(t->n_recordings, 150);
    for (size_t i = 0; i < t->n_recordings; i++)
        n_bytes += t->recordings[i].n_elems * sizeof(float);
    CU_ASSERT_DOUBLE_EQUAL((double)n_bytes / 1e6, 23.0, 0.05); /* tensors/README.md */
    strait_tensors_free(t);
}

static void values_are_what_the_manifest_says(void)
{
    struct strait_tensors *t = load_shipped();
    for (size_t i = 0; i < t->n_recordings; i++) {
        const struct strait_recording *r = &t->recordings[i];
        double min = INFINITY, max = -INFINITY, squares = 0;
        size_t n_zeros = 0;
        for (size_t k = 0; k < r->n_elems; k++) {
            const double x = (double)r->values[k];
            min = fmin(min, x);
            max = fmax(max, x);
            squares += x * x;
            n_zeros += x == 0;
        }
        CU_ASSERT_EQUAL(min, r->min);
        CU_ASSERT_EQUAL(max, r->max);
        CU_ASSERT_EQUAL(n_zeros, r->n_zeros);
        /* the manifest's rms was summed in another order */
        CU_ASSERT_DOUBLE_EQUAL(sqrt(squares / (double)r->n_elems), r->rms, 1e-5 * r->rms);
        CU_ASSERT_TRUE(strait_recording_is_finite(r));
    }
    strait_tensors_free(t);
}

static void find_goes_by_model_layer_kind_and_step(void)
{
    struct strait_tensors *t = load_shipped();
    const struct strait_recording *r =
        strait_tensors_find(t, "gpt", "blocks.0.qkv.weight", "param", 200);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r);
    CU_ASSERT_STRING_EQUAL(r->file, "gpt.blocks.0.qkv.weight.param.s200.f32");
    CU_ASSERT_EQUAL(r->n_elems, 576 * 192);
    CU_ASSERT_EQUAL(r->n_dims, 2);
    CU_ASSERT_EQUAL(r->shape[0], 576);
    r = strait_tensors_find(t, "gpt", "blocks.0.qkv.weight", "param", -1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r);
    CU_ASSERT_EQUAL(r->step, 600); /* the last */
    CU_ASSERT_PTR_NULL(strait_tensors_find(t, "gpt", "blocks.0.qkv.weight", "param", 201));
    CU_ASSERT_PTR_NULL(strait_tensors_find(t, "cnn", "blocks.0.qkv.weight", "param", -1));
    CU_ASSERT_PTR_NULL(strait_tensors_find(t, "gpt", "tok.weight", "param", -1));
    strait_tensors_free(t);
}

static void a_tensor_with_an_infinity_is_not_finite(void)
{
    const float values[] = {1, -INFINITY, 2}, whole[] = {1, 2, 3};
    CU_ASSERT_FALSE(
        strait_recording_is_finite(&(struct strait_recording){.n_elems = 3, .values = values}));
    CU_ASSERT_TRUE(
        strait_recording_is_finite(&(struct strait_recording){.n_elems = 3, .values = whole}));
}

static int load_tensors(const char *folder, struct strait_error *err)
{
    struct strait_tensors *t = NULL;
    const int status = strait_tensors_load(&t, folder, err);
    strait_tensors_free(t);
    return status;
}

static void every_bad_set_is_one_error_with_its_place(void)
{
    CU_ASSERT_TRUE(strait_bad_cases("tensors-", load_tensors) >= 23);
}

static void a_folder_without_manifest_is_named(void)
{
    struct strait_error err = {.code = STRAIT_OK};
    CU_ASSERT_EQUAL(load_tensors("/nonexistent", &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.where, "/nonexistent/manifest.json"));
    CU_ASSERT_EQUAL(strait_error_exit_status(&err), 2);
}

static const struct strait_test tests[] = {
    {"the shipped set has 150 files of 23 MB", the_shipped_set_has_150_files_of_23_megabytes},
    {"values are what the manifest says", values_are_what_the_manifest_says},
    {"find goes by model, layer, kind and step", find_goes_by_model_layer_kind_and_step},
    {"a tensor with an infinity is not finite", a_tensor_with_an_infinity_is_not_finite},
    {"every bad set is one error with its place", every_bad_set_is_one_error_with_its_place},
    {"a folder without manifest is named", a_folder_without_manifest_is_named},
};
STRAIT_SUITE("traces/tensors", tests);
