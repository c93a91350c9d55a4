/* strait codec bench: ratio, speed and error of codecs on tensors, by kind of tensor. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/kit/memory.h"
#include "analysis/row.h"
#include "analysis/table.h"
#include "codecs/bundle.h"
#include "core/buffer.h"
#include "core/progress.h"
#include "codec_command.h"
#include "cli/kit/command.h"

enum { N_KINDS = 4, ALL = N_KINDS - 1, MAX_REPEATS = 100, NO_CASE = -1 };
static const char *const kinds[N_KINDS] = {"param", "update", "grad", "any"};

/* Of a codec with bounds that was named without one; all with bounds take one of the range. */
static const double loose_to_tight[] = {1e-2, 1e-3, 1e-4};
static const struct strait_bound_grid grid = {STRAIT_BOUND_RANGE, loose_to_tight, 3};

/* Sums of one case by kind of tensor, and its reference case. */
struct result {
    struct strait_codec_trial by_kind[N_KINDS];
    int against; /* NO_CASE */
};

struct bench {
    struct strait_codec_cases cases;
    struct strait_tensor_set set;
    struct result *results; /* one a case */
    const char *against;    /* text of the reference, NULL: none */
    long n_repeats;
};

/* --- the reference ------------------------------------------------------------------------ */

static bool same_spec(const struct strait_codec_spec *a, const struct strait_codec_spec *b)
{
    char text_a[STRAIT_SPEC_CHARS], text_b[STRAIT_SPEC_CHARS];
    return strcmp(strait_codec_spec_text(text_a, a), strait_codec_spec_text(text_b, b)) == 0;
}

/* The reference codec at this case's bound, or at its own if it has one. False: this case has no
 * such bound. */
static bool reference_for(struct strait_codec_spec *out, const struct strait_codec_spec *reference,
                          const struct strait_codec_spec *of)
{
    *out = *reference;
    if (out->bound.kind == STRAIT_BOUND_NONE && strait_codec_needs_bound(out->ops)) {
        out->bound = of->bound;
        return of->bound.kind != STRAIT_BOUND_NONE && out->ops->bounds >> of->bound.kind & 1;
    }
    return true;
}

static int add_references(struct bench *b, struct strait_error *err)
{
    struct strait_codec_spec reference, wanted;
    const size_t n = b->cases.n;
    if (!b->against)
        return 0;
    if (strait_codec_spec_parse(&reference, b->against, err) != 0 ||
        strait_codec_require(reference.ops, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (!reference_for(&wanted, &reference, &b->cases.items[i]))
            continue;
        bool there = false;
        for (size_t k = 0; k < b->cases.n; k++)
            there = there || same_spec(&b->cases.items[k], &wanted);
        if (!there && strait_codec_cases_add(&b->cases, &wanted, err) != 0)
            return -1;
    }
    return 0;
}

static void find_references(struct bench *b)
{
    struct strait_codec_spec reference, wanted;
    if (!b->against || strait_codec_spec_parse(&reference, b->against, NULL) != 0)
        return;
    for (size_t i = 0; i < b->cases.n; i++) {
        const bool can = reference_for(&wanted, &reference, &b->cases.items[i]);
        for (size_t k = 0; can && k < b->cases.n; k++)
            if (same_spec(&b->cases.items[k], &wanted))
                b->results[i].against = (int)k;
    }
}

/* --- measuring ---------------------------------------------------------------------------- */

static int measure_tensor(struct result *r, const struct strait_codec_spec *spec, void *state,
                          const struct strait_set_tensor *t, long n_repeats,
                          struct strait_error *err)
{
    struct strait_codec_trial trial;
    unsigned char *bytes = strait_buffer_new(spec->ops->max_bytes(state, t->n_elems) + 1);
    float *y = strait_buffer_new(t->n_elems * sizeof(*y) + 1);
    int failed = -1;
    if (!bytes || !y)
        strait_error_memory(err, spec->ops->name);
    else /* one more, since the first does not count */
        failed = strait_codec_trial_run(&trial, spec, state, bytes, y, t, 0,
                                        (unsigned)n_repeats + 1, err);
    strait_buffer_free(bytes);
    strait_buffer_free(y);
    for (size_t k = 0; k < N_KINDS && !failed; k++)
        if (k == ALL || strcmp(kinds[k], t->kind) == 0)
            strait_codec_trial_add(&r->by_kind[k], &trial);
    return failed;
}

static int measure_case(struct bench *b, size_t i, struct strait_progress *progress,
                        struct strait_error *err)
{
    const struct strait_codec_spec *spec = &b->cases.items[i];
    const bool own_state = spec->ops->flags & STRAIT_CODEC_STATEFUL;
    void *state = NULL;
    int failed = 0;
    for (size_t k = 0; k < b->set.n && !failed; k++) {
        const bool open = k == 0 || own_state;
        if (open && strait_codec_open(spec->ops, &state, spec->params, err) != 0)
            return -1;
        failed = measure_tensor(&b->results[i], spec, state, &b->set.items[k], b->n_repeats, err);
        if (own_state || failed || k + 1 == b->set.n)
            spec->ops->close(state);
        strait_progress_step(progress, i * b->set.n + k + 1);
    }
    return failed;
}

/* The recorded tensors that lossy codecs get; all of the user's. */
static int choose_tensors(struct bench *b, struct strait_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < b->set.n; i++) {
        const struct strait_set_tensor *t = &b->set.items[i];
        if (b->set.recorded ? strait_slice_lossy(t->n_dims, t->n_elems, STRAIT_BUNDLE_CUTOFF_ELEMS)
                            : t->n_elems > 0)
            b->set.items[n++] = *t;
    }
    b->set.n = n;
    return n > 0 ? 0
                 : strait_refuse(err, "codec bench", "expected a tensor with values, found none");
}

static int measure(struct bench *b, struct strait_error *err)
{
    struct strait_progress progress;
    b->results = calloc(b->cases.n + 1, sizeof(*b->results));
    if (!b->results)
        return strait_error_memory(err, NULL);
    for (size_t i = 0; i < b->cases.n; i++)
        b->results[i].against = NO_CASE;
    find_references(b);
    strait_progress_init(&progress, "tensors encoded", b->cases.n * b->set.n);
    int failed = 0;
    for (size_t i = 0; i < b->cases.n && !failed; i++)
        failed = measure_case(b, i, &progress, err);
    strait_progress_release(&progress);
    return failed;
}

/* --- showing ------------------------------------------------------------------------------ */

/* Against the same kind of the reference; NAN where there is none. */
struct factors {
    double ratio, encode, decode;
};

static struct factors factors_of(const struct bench *b, size_t i, size_t kind)
{
    const int at = b->results[i].against;
    if (at == NO_CASE)
        return (struct factors){NAN, NAN, NAN};
    const struct strait_codec_trial *own = &b->results[i].by_kind[kind],
                                    *other = &b->results[at].by_kind[kind];
    return (struct factors){strait_codec_trial_ratio(own) / strait_codec_trial_ratio(other),
                            other->encode_s / own->encode_s, other->decode_s / own->decode_s};
}

/* "all" would repeat a single kind. */
static bool is_shown(const struct bench *b, size_t i, size_t kind)
{
    const struct strait_codec_trial *t = b->results[i].by_kind;
    size_t n_kinds = 0;
    for (size_t k = 0; k < ALL; k++)
        n_kinds += t[k].n_tensors > 0;
    return t[kind].n_tensors > 0 && !(kind == ALL && n_kinds == 1);
}

static void print_header(struct strait_table *t, const struct bench *b)
{
    char title[STRAIT_SPEC_CHARS + 16];
    strait_table_column(t, "codec", false);
    strait_table_column(t, "tensors", false);
    strait_table_key(t);
    strait_table_column(t, "ratio", true);
    strait_table_column(t, "in MB/s", true);
    strait_table_column(t, "out MB/s", true);
    strait_table_column(t, "error/bound", true);
    strait_table_column(t, "L2 error", true);
    if (b->against) {
        snprintf(title, sizeof(title), "ratio/%.20s", b->against);
        strait_table_column(t, title, true);
        strait_table_column(t, "in", true);
        strait_table_column(t, "out", true);
    }
}

static void print_row(struct strait_table *t, const struct bench *b, size_t i, size_t kind,
                      bool first)
{
    char text[STRAIT_SPEC_CHARS], number[STRAIT_NUMBER_CHARS];
    const struct strait_codec_trial *r = &b->results[i].by_kind[kind];
    const struct factors f = factors_of(b, i, kind);
    strait_table_cell(t, first ? strait_codec_spec_text(text, &b->cases.items[i]) : "");
    strait_table_cell(t, strait_tensor_kind_word(kinds[kind]));
    strait_table_cell(t, strait_format_number(number, strait_codec_trial_ratio(r), 4));
    strait_table_cellf(t, "%.0f", r->raw_bytes / r->encode_s / 1e6);
    strait_table_cellf(t, "%.0f", r->raw_bytes / r->decode_s / 1e6);
    strait_table_cell(t, strait_format_number(number, r->error_over_bound, 5));
    strait_table_cell(
        t, r->exact ? "0" : strait_format_number(number, strait_codec_trial_l2_error(r), 3));
    if (!b->against)
        return;
    strait_table_cell(t, strait_format_number(number, f.ratio, 4));
    strait_table_cell(t, strait_format_number(number, f.encode, 3));
    strait_table_cell(t, strait_format_number(number, f.decode, 3));
}

static void print_table(const struct bench *b)
{
    struct strait_table *t = strait_table_new();
    char bytes[STRAIT_NUMBER_CHARS];
    double raw_bytes = 0;
    print_header(t, b);
    for (size_t i = 0; i < b->cases.n; i++) {
        bool first = true;
        for (size_t k = 0; k < N_KINDS; k++) {
            if (!is_shown(b, i, k))
                continue;
            if (first && i > 0 && b->cases.items[i].ops != b->cases.items[i - 1].ops)
                strait_table_rule(t);
            print_row(t, b, i, k, first);
            first = false;
        }
    }
    strait_show_table(t);
    for (size_t i = 0; i < b->set.n; i++)
        raw_bytes += 4 * (double)b->set.items[i].n_elems;
    putchar('\n');
    strait_prose(stdout, "%zu %stensor%s%s, %s; speeds are MB of float32 a second, medians of %ld",
                 b->set.n, b->set.recorded ? "recorded " : "", b->set.n == 1 ? "" : "s",
                 b->set.recorded ? " of more than 1024 values" : "",
                 strait_bytes_text(bytes, raw_bytes), b->n_repeats);
}

static void print_json(const struct bench *b)
{
    char text[STRAIT_SPEC_CHARS];
    for (size_t i = 0; i < b->cases.n; i++)
        for (size_t k = 0; k < N_KINDS; k++) {
            const struct strait_codec_trial *r = &b->results[i].by_kind[k];
            const struct factors f = factors_of(b, i, k);
            if (!is_shown(b, i, k))
                continue;
            json_t *row = json_pack(
                "{s:s, s:s, s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:o, s:o, s:b}", "codec",
                b->cases.items[i].ops->name, "spec",
                strait_codec_spec_text(text, &b->cases.items[i]), "tensors",
                strait_tensor_kind_word(kinds[k]), "n_tensors", (json_int_t)r->n_tensors,
                "raw_bytes", r->raw_bytes, "encoded_bytes", r->encoded_bytes, "ratio",
                strait_codec_trial_ratio(r), "encode_bytes_per_s", r->raw_bytes / r->encode_s,
                "decode_bytes_per_s", r->raw_bytes / r->decode_s, "error_over_bound",
                strait_json_number(r->error_over_bound), "relative_l2_error",
                strait_json_number(strait_codec_trial_l2_error(r)), "exact", r->exact);
            if (b->against)
                json_object_set_new(row, "against",
                                    json_pack("{s:s, s:o, s:o, s:o}", "spec", b->against, "ratio",
                                              strait_json_number(f.ratio), "encode",
                                              strait_json_number(f.encode), "decode",
                                              strait_json_number(f.decode)));
            strait_command_print_json(row);
            json_decref(row);
        }
}

static int bench(struct bench *b, bool json, struct strait_error *err)
{
    if (b->n_repeats > MAX_REPEATS)
        return strait_error_set(err, STRAIT_ERR_USAGE, "codec bench",
                                "expected at most %d after --repeats, found %ld", MAX_REPEATS,
                                b->n_repeats);
    if (choose_tensors(b, err) != 0 || measure(b, err) != 0)
        return -1;
    (json ? print_json : print_table)(b);
    int status = 0;
    for (size_t i = 0; i < b->cases.n && status == 0; i++)
        status = strait_codec_trial_check(&b->results[i].by_kind[ALL], &b->cases.items[i], err);
    return status;
}

static const char notes[] =
    "TENSORS are .npy or raw float32 files, or a folder with a manifest.json;\n"
    "without any, the shipped recorded tensors. A SPEC is a codec with its settings\n"
    "(strait codec list); a bounded codec without a bound is measured at 1e-2, 1e-3\n"
    "and 1e-4 of the range.\n"
    "error/bound: the largest error in units of the bound; L2 error: of all values\n"
    "together, relative to their norm. Every tensor is encoded as in the first\n"
    "round, with empty error feedback and momentum.\n"
    "\n"
    "  strait codec bench\n"
    "  strait codec bench --codec sz --codec zfp --kind gradients\n"
    "  strait codec bench layer1.npy --codec sz:abs=1e-4 --codec topk:ratio=0.01\n"
    "  strait codec bench --codec sz --against sz3\n"
    "\n"
    "Exit status 1 if a codec exceeded its bound.\n";

int strait_codec_bench_command(int argc, char **argv)
{
    struct bench b = {.n_repeats = 5};
    struct strait_texts texts = {0};
    const char *kind = NULL, **paths = calloc((size_t)argc, sizeof(*paths));
    bool json = false, help = false;
    const struct strait_option options[] = {
        {"codec", 0, STRAIT_OPTION_TEXTS, &texts, "SPEC",
         "measure this codec; repeatable (default all)"},
        {"kind", 0, STRAIT_OPTION_TEXT, &kind, "KIND", "weights, updates or gradients"},
        {"against", 0, STRAIT_OPTION_TEXT, &b.against, "SPEC", "also show factors over this codec"},
        {"repeats", 0, STRAIT_OPTION_COUNT, &b.n_repeats, "N", "timings a tensor (default 5)"},
        {"json", 0, STRAIT_OPTION_FLAG, &json, NULL, "JSON Lines on standard output"},
        STRAIT_WIDE_OPTION};
    const struct strait_usage usage = {
        "codec bench", "[TENSORS...]",
        "Measure codecs: ratio, MB/s in and out, and error, by kind of tensor.",
        STRAIT_OPTIONS(options), notes};
    struct strait_error err = {0};
    size_t n_paths = 0;
    if (!paths)
        strait_error_set(&err, STRAIT_ERR_NOMEM, "codec bench", "memory ran out");
    strait_command_begins_again();
    int failed = !paths || strait_options_parse(&usage, argc, argv, paths, (size_t)argc, &n_paths,
                                                &help, &err) != 0;
    if (!failed && help)
        strait_options_print(&usage, stdout);
    else if (!failed) {
        failed = strait_codec_cases_fill(&b.cases, &texts, &grid, 1, &err) != 0 ||
                 add_references(&b, &err) != 0 ||
                 strait_tensor_set_load(&b.set, paths, n_paths, kind, &err) != 0;
        failed = failed || bench(&b, json, &err) != 0;
        if (!failed)
            strait_codec_cases_left_out(&texts);
    }
    strait_tensor_set_release(&b.set);
    strait_codec_cases_release(&b.cases);
    free(b.results);
    free(texts.items);
    free(paths);
    return failed ? strait_command_fail(&err) : 0;
}
