/* What partial sums of an all-reduce take as encoded, against a walk from rank to rank here. */
#include "analysis/measured/sums.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "codecs/bundle.h"
#include "tests/kit/suite.h"
#include "traces/tensor_fill.h"
#include "traces/tensors.h"

enum { N_RANKS = 4 };

static struct strait_experiment *experiment(const char *all_reduce, const char *codec)
{
    struct strait_error err = {0};
    struct strait_experiment *e = NULL;
    json_t *codec_json = json_loads(codec, JSON_DECODE_ANY, NULL);
    json_t *json = json_pack("{s:s, s:s, s:i, s:{s:s, s:s}, s:o, s:{s:{s:s}}}", "schema",
                             "strait-experiment/1", "model", "fashion-mlp", "clients", N_RANKS,
                             "strategy", "name", "bsp", "collective", all_reduce, "codec",
                             codec_json, "network", "client", "rate", "1 Gbps");
    const int status = strait_experiment_read(&e, "sums", json, &err);
    strait_test_context("%s %s: %s", all_reduce, codec, err.text);
    CU_ASSERT_EQUAL_FATAL(status, 0);
    json_decref(json);
    return e;
}

/* Of the part [lo, hi) of one parameter: bytes as encoded of the sum of ranks first, first + 1,
 * ... added up to out[k], without what the bundle adds. */
static void walk(double out[N_RANKS + 1], const struct strait_experiment *e,
                 const struct strait_tensor_fill_plan *plan, size_t row, size_t lo, size_t hi,
                 unsigned first)
{
    const struct strait_param_row *r = &e->model->rows[row];
    const struct strait_bundle bundle = {.lossy.ops = e->up.spec.ops, .bound = e->up.spec.bound};
    struct strait_bundle b = bundle;
    struct strait_error err = {0};
    const size_t n = hi - lo;
    float *sum = calloc(n, sizeof(*sum)), *own = calloc(n, sizeof(*own));
    struct strait_slice s = {
        .x = sum, .n_elems = n, .lossy = true, .n_rows = n == r->n_elems ? r->shape[0] : 0};
    CU_ASSERT_EQUAL_FATAL(strait_codec_open(b.lossy.ops, &b.lossy.state, e->up.spec.params, &err),
                          0);
    const size_t room = strait_bundle_max_bytes(&b, &s, 1);
    unsigned char *bytes = malloc(room);
    for (unsigned k = 0; k < N_RANKS; k++) {
        size_t len_bytes;
        strait_tensor_fill_row(own, n, plan, row, lo, (first + k) % N_RANKS);
        for (size_t i = 0; i < n; i++)
            sum[i] = k > 0 ? sum[i] + own[i] : own[i];
        CU_ASSERT_EQUAL(strait_bundle_encode(&b, bytes, room, &len_bytes, NULL, &s, 1, &err), 0);
        CU_ASSERT_EQUAL(strait_bundle_decode(&b, &s, 1, bytes, len_bytes, &err), 0);
        out[k + 1] += (double)(len_bytes - STRAIT_BUNDLE_SLICE_BYTES);
    }
    if (b.lossy.ops->close)
        b.lossy.ops->close(b.lossy.state);
    free(bytes);
    free(own);
    free(sum);
}

/* All of the model that the codec takes, in parts of equally many elements. */
static double walk_all(double coded[N_RANKS + 1], const struct strait_experiment *e, size_t n_parts)
{
    struct strait_tensors *tensors;
    struct strait_tensor_fill_plan *plan;
    struct strait_error err = {0};
    const struct strait_model *m = e->model;
    double n_elems = 0;
    memset(coded, 0, (N_RANKS + 1) * sizeof(*coded));
    CU_ASSERT_EQUAL_FATAL(strait_tensors_load(&tensors, e->tensors, &err), 0);
    CU_ASSERT_EQUAL_FATAL(
        strait_tensor_fill_plan_new(&plan, m, tensors, "grad", STRAIT_FILL_HELD_OUT, &err), 0);
    for (size_t part = 0; part < n_parts; part++) {
        const size_t lo = m->n_elems * part / n_parts, hi = m->n_elems * (part + 1) / n_parts;
        size_t at = 0;
        for (size_t i = 0; i < m->n_rows; at += m->rows[i++].n_elems) {
            const size_t end = at + m->rows[i].n_elems, from = at > lo ? at : lo,
                         to = end < hi ? end : hi;
            if (m->rows[i].n_dims < 2 || m->rows[i].n_elems <= 1024 || from >= to)
                continue;
            walk(coded, e, plan, i, from - at, to - at, (unsigned)part);
            n_elems += (double)(to - from);
        }
    }
    strait_tensor_fill_plan_free(plan);
    strait_tensors_free(tensors);
    return n_elems;
}

/* Of a tree two send their own, one sends what it has of two, and three are sent the sum of all. Of
 * a ring each part is sent once of 1, 2 and 3 ranks, and thrice of all. */
static void sums(void)
{
    static const struct {
        const char *all_reduce, *codec, *kind;
        size_t n_parts;
        double sent[N_RANKS + 1];
    } cases[] = {{"tree",
                  "{\"name\": \"sz\", \"bound\": {\"range\": 1e-2}}",
                  "grad tree 4",
                  1,
                  {0, 2, 1, 0, 3}},
                 {"ring",
                  "{\"name\": \"sz\", \"bound\": {\"range\": 1e-2}}",
                  "grad sum 4",
                  4,
                  {0, 1, 1, 1, 3}},
                 {"ring", "\"fp16\"", "grad sum 4", 4, {0, 1, 1, 1, 3}}};
    static const int of[] = {0, 1, 2, 4};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct strait_experiment *e = experiment(cases[i].all_reduce, cases[i].codec);
        struct strait_profile_entry entries[STRAIT_MAX_SUM_ENTRIES];
        struct strait_error err = {0};
        double coded[N_RANKS + 1], n_sent = 0, bytes = 0;
        int n;
        const double n_elems = walk_all(coded, e, cases[i].n_parts);
        for (int k = 1; k <= N_RANKS; k++) {
            n_sent += cases[i].sent[k];
            bytes += cases[i].sent[k] * coded[k];
        }
        CU_ASSERT_EQUAL(strait_sums_measure(entries, &n, e, "grad", &err), 0);
        CU_ASSERT_EQUAL_FATAL(n, 4);
        for (int k = 0; k < n; k++) {
            const struct strait_profile_entry *entry = &entries[k];
            char kind[32];
            snprintf(kind, sizeof(kind), k > 0 ? "%s/%d" : "%s", cases[i].kind, of[k]);
            strait_test_context("%s %s %s", cases[i].all_reduce, cases[i].codec, kind);
            CU_ASSERT_STRING_EQUAL(entry->kind, kind);
            CU_ASSERT_STRING_EQUAL(entry->codec, e->up.spec.ops->name);
            CU_ASSERT_STRING_EQUAL(entry->model, "fashion-mlp");
            CU_ASSERT_STRING_EQUAL(entry->settings, "");
            CU_ASSERT_EQUAL(entry->bound.kind, e->up.spec.bound.kind);
            CU_ASSERT_EQUAL(entry->bound.value, e->up.spec.bound.value);
            CU_ASSERT_DOUBLE_EQUAL(
                entry->ratio, k > 0 ? 4 * n_elems / coded[of[k]] : n_sent * 4 * n_elems / bytes,
                1e-9);
            CU_ASSERT_EQUAL(entry->ratios.p10, entry->ratio);
            CU_ASSERT_EQUAL(entry->ratios.p90, entry->ratio);
            CU_ASSERT(entry->encode_bytes_per_s > 1e3 && entry->encode_bytes_per_s < 1e13);
            CU_ASSERT(entry->decode_bytes_per_s > 1e3 && entry->decode_bytes_per_s < 1e13);
            CU_ASSERT_EQUAL(entry->encode.p50, entry->encode_bytes_per_s);
            CU_ASSERT_EQUAL(entry->decode.p50, entry->decode_bytes_per_s);
        }
        strait_experiment_free(e);
    }
}

/* A codec that takes none of the tensors has no entry. */
static void none(void)
{
    struct strait_experiment *e = experiment("ring", "{\"name\": \"fp16\", \"cutoff\": 1000000}");
    struct strait_profile_entry entries[STRAIT_MAX_SUM_ENTRIES];
    struct strait_error err = {0};
    int n = -1;
    CU_ASSERT_EQUAL(strait_sums_measure(entries, &n, e, "grad", &err), 0);
    CU_ASSERT_EQUAL(n, 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    strait_experiment_free(e);
}

static const struct strait_test tests[] = {
    {"sums are as large as those of a walk from rank to rank", sums},
    {"of tensors that the codec does not take there are no sums", none},
};
STRAIT_SUITE_WITH("analysis/measured/sums", tests, .release = true);
