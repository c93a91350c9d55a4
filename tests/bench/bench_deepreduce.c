/* The DeepReduce family: published relative volumes beside ours, closeness against bytes of the
 * value codecs, and speed on one core. docs/deepreduce.md holds its output.
 *   bench_deepreduce */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "codecs/builtin.h"
#include "codecs/deepreduce/rank_order.h"
#include "codecs/sparse/sparse.h"
#include "codecs/deepreduce/value_codec.h"
#include "traces/tensors.h"
#include "tests/codecs/deepreduce/deepreduce_cases.h"
#include "tests/kit/tensor_kinds.h"

enum { SPEED_ELEMS = 4 << 20, N_REPEATS = 7 };

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *need(void *p)
{
    if (!p) {
        fprintf(stderr, "bench_deepreduce: memory ran out\n");
        exit(EXIT_FAILURE);
    }
    return p;
}

static void need_true(bool good)
{
    if (!good)
        need(NULL);
}

static void print_volumes(const struct strait_tensors *t)
{
    printf("bytes in %% of the dense tensor, topk 1 %%, %d values of resnet s3.1.conv1.weight\n",
           FIGURE_8_ELEMS);
    printf("%-10s %-8s %5s | %9s %9s | %9s %9s\n", "index", "value", "step", "published", "index",
           "published", "values");
    for (size_t c = 0; c < N_FIGURE_8; c++) {
        static const long steps[] = {10, 120, 300};
        for (size_t i = 0; i < 3; i++) {
            const struct strait_recording *r =
                strait_tensors_find(t, "resnet", "s3.1.conv1.weight", "grad", steps[i]);
            struct volume v;
            if (r && volume_of(&v, &figure_8[c].method, r->values, FIGURE_8_ELEMS))
                printf("%-10s %-8s %5ld | %9.2f %9.3f | %9.2f %9.3f\n", figure_8[c].method.index,
                       figure_8[c].method.value, r->step, figure_8[c].index_pct,
                       100 * v.index_bytes / (4.0 * FIGURE_8_ELEMS), figure_8[c].value_pct,
                       100 * v.value_bytes / (4.0 * FIGURE_8_ELEMS));
        }
    }
}

static void print_models(void)
{
    printf("\nrelative volume of a whole model\n%-34s %9s %9s %7s\n", "method", "published", "ours",
           "ratio");
    for (size_t c = 0; c < N_MOBILENET; c++) {
        const double v = mobilenet_volume(&mobilenet[c].method);
        printf("MobileNet %-24s %9.4f %9.4f %7.3f\n", mobilenet[c].name, mobilenet[c].volume, v,
               v / mobilenet[c].volume);
    }
    const double v = ncf_volume();
    printf("%-34s %9.4f %9.4f %7.3f\n", "NCF QSGD+BF-P0, f = 0.6, 7 bits", NCF_VOLUME, v,
           v / NCF_VOLUME);
}

/* Encoded and decoded value codec over the chosen values. */
static bool round_trip(const struct strait_value_coder *c, unsigned char *bytes, size_t cap_bytes,
                       size_t *len_bytes, float *y, const float *v, size_t n)
{
    struct strait_writer w = {.p = bytes, .end = bytes + cap_bytes};
    struct strait_error err = {0};
    if (c->codec->encode(c, &w, v, n, 1, &err) != 0)
        return false;
    *len_bytes = (size_t)(w.p - bytes);
    return c->codec->decode(c, y, n, bytes, *len_bytes, &err) == 0;
}

static void print_closeness(const struct strait_tensors *t, double ratio)
{
    static const struct {
        const char *name;
        struct strait_value_params params;
    } cases[] = {
        {"raw", {0, 127, false}},     {"fp16", {0, 127, false}},  {"deflate", {0, 127, false}},
        {"sz", {1e-1, 127, false}},   {"sz", {3e-2, 127, false}}, {"sz", {1e-2, 127, false}},
        {"sz", {3e-3, 127, false}},   {"sz", {1e-3, 127, false}}, {"sz", {1e-4, 127, false}},
        {"qsgd", {0, 15, false}},     {"qsgd", {0, 127, false}},  {"qsgd", {0, 2047, false}},
        {"polyfit", {0, 127, false}}, {"dexp", {0, 127, false}}};
    printf("\nvalue codecs on the topk of recorded gradients of more than 5000 values, ratio %g\n"
           "%-8s %8s %7s | %12s %12s\n",
           ratio, "value", "bound", "levels", "bits a value", "|x-y|/|x|");
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        double bits = 0, values = 0, error = 0, tensors = 0;
        struct strait_value_coder coder;
        if (!open_value(&coder, cases[c].name, cases[c].params))
            continue;
        for (size_t i = 0; i < t->n_recordings; i++) {
            const struct strait_recording *r = &t->recordings[i];
            if (strcmp(r->kind, "grad") != 0 || r->n_elems <= 5000)
                continue;
            struct chosen chosen;
            need_true(choose(&chosen, r->values, r->n_elems, "topk", ratio, coder.codec));
            const size_t n = chosen.n, cap = coder.codec->max_bytes(&coder, n);
            unsigned char *bytes = need(malloc(cap + 1));
            float *y = need(malloc(4 * n + 4));
            size_t len = 0;
            if (round_trip(&coder, bytes, cap, &len, y, chosen.values, n)) {
                double squares = 0, errors = 0;
                for (size_t k = 0; k < n; k++) {
                    const double x = (double)chosen.values[k], e = x - (double)y[k];
                    squares += x * x;
                    errors += e * e;
                }
                error += squares > 0 ? sqrt(errors / squares) : 0;
                tensors++;
                values += (double)n;
                bits += 8 * (double)len + (coder.codec->magnitudes ? (double)n : 0) +
                        (coder.codec->permutes ? (double)n * strait_rank_bits(n) : 0);
            }
            free(bytes);
            free(y);
            chosen_release(&chosen);
        }
        printf("%-8s %8g %7u | %12.2f %12.5f\n", cases[c].name, cases[c].params.bound,
               cases[c].params.levels, bits / values, error / tensors);
        strait_value_coder_close(&coder);
    }
}

static double least(const double *s, size_t n)
{
    double m = s[0];
    for (size_t i = 1; i < n; i++)
        m = s[i] < m ? s[i] : m;
    return m;
}

/* MB/s of the dense tensor: the whole codec with this index and value codec. */
static void print_speed(const float *x, const char *index, const char *value)
{
    const struct method m = {index, value, 0.01, 0, 1e-3, 127, false};
    struct strait_error err = {0};
    void *state;
    double in[N_REPEATS], out[N_REPEATS];
    size_t len = 0;
    if (!open_method(&state, &m))
        return;
    const size_t cap = strait_codec_deepreduce.max_bytes(state, SPEED_ELEMS);
    unsigned char *bytes = need(malloc(cap));
    float *y = need(malloc(4 * (size_t)SPEED_ELEMS));
    bool good = true;
    for (int i = -1; i < N_REPEATS && good; i++) {
        const double start = now_s();
        good &= strait_codec_encode(&strait_codec_deepreduce, state, bytes, cap, &len, x,
                                    SPEED_ELEMS, (struct strait_request){.key = 1}, &err) == 0;
        const double middle = now_s();
        good &= strait_codec_deepreduce.decode(state, y, SPEED_ELEMS, bytes, len, &err) == 0;
        in[i < 0 ? 0 : i] = middle - start;
        out[i < 0 ? 0 : i] = now_s() - middle;
    }
    printf("%-10s %-8s %9zu %9.0f %9.0f %s\n", index, value, len,
           4e-6 * SPEED_ELEMS / least(in, N_REPEATS), 4e-6 * SPEED_ELEMS / least(out, N_REPEATS),
           good ? "" : err.text);
    free(bytes);
    free(y);
    strait_codec_deepreduce.close(state);
}

/* ms for the index of the topk alone, without choosing. */
static void print_index_speed(const float *x, const struct strait_index_codec *c)
{
    struct chosen chosen;
    need_true(choose(&chosen, x, SPEED_ELEMS, "topk", 0.01, &strait_value_raw));
    const size_t cap = c->max_bytes(SPEED_ELEMS, chosen.n, 0);
    unsigned char *bytes = need(malloc(cap));
    uint32_t *index = need(malloc(4 * (size_t)SPEED_ELEMS));
    uint32_t *scratch = need(malloc(4 * ((size_t)SPEED_ELEMS + 1024)));
    double in[N_REPEATS], out[N_REPEATS];
    size_t len = 0;
    for (int i = -1; i < N_REPEATS; i++) {
        size_t n = chosen.n;
        memcpy(index, chosen.index, 4 * n);
        struct strait_writer w = {.p = bytes, .end = bytes + cap};
        const double start = now_s();
        c->encode(&w, index, &n, SPEED_ELEMS, 0, 1, scratch);
        const double middle = now_s();
        struct strait_reader r = {.p = bytes, .end = w.p};
        const bool good = c->decode(&r, index, &n, SPEED_ELEMS, scratch);
        in[i < 0 ? 0 : i] = middle - start;
        out[i < 0 ? 0 : i] = now_s() - middle;
        len = good ? (size_t)(w.p - bytes) : 0;
    }
    printf("%-10s %8.2f bits %8.2f ms %8.2f ms %9.0f %9.0f\n", c->name,
           8 * (double)len / (double)chosen.n, 1e3 * least(in, N_REPEATS),
           1e3 * least(out, N_REPEATS), 4e-6 * SPEED_ELEMS / least(in, N_REPEATS),
           4e-6 * SPEED_ELEMS / least(out, N_REPEATS));
    free(bytes);
    free(index);
    free(scratch);
    chosen_release(&chosen);
}

static void print_value_speed(const float *x, const struct strait_value_codec *codec)
{
    struct strait_value_coder c;
    struct chosen chosen;
    if (!open_value(&c, codec->name, (struct strait_value_params){1e-3, 127, false}))
        return;
    need_true(choose(&chosen, x, SPEED_ELEMS, "topk", 0.01, codec));
    const size_t cap = codec->max_bytes(&c, chosen.n);
    unsigned char *bytes = need(malloc(cap + 1));
    float *y = need(malloc(4 * chosen.n));
    double in[N_REPEATS], out[N_REPEATS];
    size_t len = 0;
    for (int i = -1; i < N_REPEATS; i++) {
        struct strait_error err = {0};
        struct strait_writer w = {.p = bytes, .end = bytes + cap};
        const double start = now_s();
        codec->encode(&c, &w, chosen.values, chosen.n, 1, &err);
        const double middle = now_s();
        len = (size_t)(w.p - bytes);
        codec->decode(&c, y, chosen.n, bytes, len, &err);
        in[i < 0 ? 0 : i] = middle - start;
        out[i < 0 ? 0 : i] = now_s() - middle;
    }
    printf("%-10s %8.2f bits %8.3f ms %8.3f ms %9.0f %9.0f\n", codec->name,
           8 * (double)len / (double)chosen.n, 1e3 * least(in, N_REPEATS),
           1e3 * least(out, N_REPEATS), 4e-6 * (double)chosen.n / least(in, N_REPEATS),
           4e-6 * (double)chosen.n / least(out, N_REPEATS));
    free(bytes);
    free(y);
    chosen_release(&chosen);
    strait_value_coder_close(&c);
}

static void print_speeds(void)
{
    float *x = need(malloc(4 * (size_t)SPEED_ELEMS));
    size_t n_index, n_value;
    const struct strait_index_codec *const *index = strait_index_codecs(&n_index);
    const struct strait_value_codec *const *value = strait_value_codecs(&n_value);
    make_tensor(x, SPEED_ELEMS, TENSOR_ROWS, 1);
    printf("\nindex codecs, topk 1 %% of %d values: bits an index, ms and MB/s of the tensor\n",
           SPEED_ELEMS);
    for (size_t i = 0; i < n_index; i++)
        print_index_speed(x, index[i]);
    printf("\nvalue codecs on these: bits a value, ms and MB/s of the chosen values\n");
    for (size_t i = 0; i < n_value; i++)
        print_value_speed(x, value[i]);
    printf("\nthe codec deepreduce: bytes, MB/s of the tensor in and out\n");
    for (size_t i = 0; i < n_index; i++)
        print_speed(x, index[i]->name, "raw");
    for (size_t i = 1; i < n_value; i++)
        print_speed(x, "rice", value[i]->name);
    print_speed(x, "raw", "polyfit");
    free(x);
}

int main(void)
{
    struct strait_error err = {0};
    struct strait_tensors *t = NULL;
    if (strait_tensors_load(&t, NULL, &err) != 0) {
        fprintf(stderr, "bench_deepreduce: %s: %s\n", err.where, err.text);
        return EXIT_FAILURE;
    }
    print_volumes(t);
    print_models();
    print_closeness(t, 0.01);
    print_closeness(t, 0.1);
    print_speeds();
    strait_tensors_free(t);
    return EXIT_SUCCESS;
}
