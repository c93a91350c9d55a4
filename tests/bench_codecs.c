/* What the codecs cost and save here, on the recorded tensors: a table, and a profile of it.
 *   bench_codecs [PROFILE.json [TITLE MACHINE DATE]] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../codecs/calibrate.h"
#include "../traces/tensors.h"

static const double range_grid[] = {1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6};
static const double abs_grid[] = {1e-2, 1e-3, 1e-4, 1e-5, 1e-6};
static const double rms_grid[] = {1.0, 0.5, 1e-1, 3e-2, 1e-2, 1e-3};
#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))
enum { MAX_CASES = 64, REPEATS = 7 };

static size_t add_cases(struct strait_calibration_case *c, const char *name)
{
    const struct strait_codec_ops *ops = strait_codec_find(name);
    size_t n = 0;
    if (!(ops->flags & STRAIT_CODEC_BOUNDED)) {
        c[n++] = (struct strait_calibration_case){.ops = ops};
        return n;
    }
    for (size_t i = 0; i < LENGTH(range_grid); i++)
        c[n++] = (struct strait_calibration_case){ops, {STRAIT_BOUND_RANGE, range_grid[i]}};
    for (size_t i = 0; i < LENGTH(abs_grid); i++)
        c[n++] = (struct strait_calibration_case){ops, {STRAIT_BOUND_ABS, abs_grid[i]}};
    for (size_t i = 0; i < LENGTH(rms_grid); i++)
        c[n++] = (struct strait_calibration_case){ops, {STRAIT_BOUND_RMS, rms_grid[i]}};
    return n;
}

/* Largest |x - y| / bound over all tensors. */
static double worst_error(const struct strait_calibration_case *c, const struct strait_tensors *t)
{
    struct strait_error err = {0};
    void *state;
    double worst = 0;
    if (strait_codec_open_default(c->ops, &state, &err) != 0)
        return NAN;
    for (size_t i = 0; i < t->n_recordings; i++) {
        const struct strait_recording *r = &t->recordings[i];
        const size_t cap = c->ops->max_bytes(state, r->n_elems);
        unsigned char *bytes = malloc(cap);
        float *y = malloc(4 * r->n_elems);
        size_t len;
        const double bound = strait_bound_absolute(c->bound, r->values, r->n_elems);
        if (!bytes || !y ||
            c->ops->encode(state, bytes, cap, &len, r->values, r->n_elems, c->bound, &err) != 0 ||
            c->ops->decode(state, y, r->n_elems, bytes, len, &err) != 0)
            worst = NAN;
        for (size_t k = 0; k < r->n_elems && !isnan(worst); k++) {
            const double e = fabs((double)r->values[k] - (double)y[k]);
            worst = fmax(worst, bound > 0 ? e / bound : e > 0 ? INFINITY : 0);
        }
        free(bytes);
        free(y);
    }
    c->ops->close(state);
    return worst;
}

static void print_entry(const struct strait_profile_entry *e, double worst)
{
    char bound[32] = "";
    if (e->bound.kind != STRAIT_BOUND_NONE)
        snprintf(bound, sizeof(bound), "%s %g", strait_bound_kind_name(e->bound.kind),
                 e->bound.value);
    printf("%-5s %-12s %-7s %8.3f %8.0f %8.0f %8.0f %8.1f %8.0f %8.0f %8.1f", e->codec, bound,
           e->kind, e->ratio, e->encode.p50 / 1e6, e->decode.p50 / 1e6, e->encode_bytes_per_s / 1e6,
           e->encode_fixed_s * 1e6, e->decode_bytes_per_s / 1e6, e->decode.p10 / 1e6,
           e->decode_fixed_s * 1e6);
    if (strcmp(e->kind, "any") == 0)
        printf(" %9.6f", worst);
    printf("\n");
}

int main(int argc, char **argv)
{
    struct strait_error err = {0};
    struct strait_tensors *t = NULL;
    struct strait_profile *p = NULL;
    struct strait_calibration_case cases[MAX_CASES];
    static const char *const names[] = {"none", "zstd", "sz", "zfp"};
    size_t n_cases = 0;
    for (size_t i = 0; i < LENGTH(names); i++)
        n_cases += add_cases(cases + n_cases, names[i]);
    int failed = strait_tensors_load(&t, NULL, &err);
    struct strait_calibration_tensor *tensors =
        t ? calloc(t->n_recordings, sizeof(*tensors)) : NULL;
    if (!failed && tensors) {
        for (size_t i = 0; i < t->n_recordings; i++) {
            const struct strait_recording *r = &t->recordings[i];
            tensors[i] =
                (struct strait_calibration_tensor){r->values, r->n_elems, r->n_dims, r->kind};
        }
        const struct strait_calibration c = {
            .title = argc > 2 ? argv[2] : "codecs on the recorded tensors",
            .machine = argc > 3 ? argv[3] : "this machine",
            .date = argc > 4 ? argv[4] : "undated",
            .version = STRAIT_VERSION,
            .source = "tests/bench_codecs.c on traces/tensors, one thread",
            .tensors = tensors,
            .n_tensors = t->n_recordings,
            .cases = cases,
            .n_cases = n_cases,
            .n_repeats = REPEATS};
        failed = strait_calibrate(&p, &c, &err);
    }
    if (!failed) {
        printf("%-5s %-12s %-7s %8s %8s %8s %8s %8s %8s %8s %8s %9s\n", "codec", "bound", "kind",
               "ratio", "enc p50", "dec p50", "enc MB/s", "fixed us", "dec MB/s", "dec p10",
               "fixed us", "|x-y|/e");
        for (size_t i = 0, k = 0; i < p->n_entries; i++) {
            const bool last = strcmp(p->entries[i].kind, "any") == 0;
            print_entry(&p->entries[i], last ? worst_error(&cases[k], t) : 0);
            k += last;
        }
        printf("add %.0f MB/s, copy %.0f MB/s\n", p->add_bytes_per_s / 1e6,
               p->copy_bytes_per_s / 1e6);
        if (argc > 1)
            failed = strait_profile_save(p, argv[1], &err);
    }
    if (failed)
        fprintf(stderr, "bench_codecs: %s: %s\n", err.where, err.text);
    strait_profile_free(p);
    strait_tensors_free(t);
    free(tensors);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
