/* strait codec encode and decode: a tensor's file to an encoded file, and back. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analysis/row.h"
#include "analysis/table.h"
#include "codecs/container.h"
#include "core/clock.h"
#include "core/host.h"
#include "codec_command.h"
#include "cli/kit/command.h"
#include "cli/kit/files.h"
#include "campaign/host_header.h"
#include "core/names.h"

enum { PATH_CHARS = 4096, LINE_CHARS = 2048 };

static bool is_standard(const char *path)
{
    return strcmp(path, "-") == 0;
}

/* Refuse to write binary output to a terminal. */
static int check_output(const char *command, const char *out, bool force, bool json,
                        struct strait_error *err)
{
    if (json && is_standard(out))
        return strait_error_set(err, STRAIT_ERR_USAGE, command,
                                "expected a file after -o beside --json, which has standard output "
                                "for itself");
    if (is_standard(out) && isatty(STDOUT_FILENO))
        return strait_error_set(err, STRAIT_ERR_USAGE, command,
                                "expected standard output to be a file or a pipe (-o FILE), found "
                                "a terminal");
    return strait_file_check_new(out, force, err);
}

/* What both commands say of a tensor, for programs. A new object. */
static json_t *figures_of(const char *path, const char *out, const struct strait_container *c,
                          double raw_bytes, double encoded_bytes)
{
    char spec[STRAIT_SPEC_CHARS];
    return json_pack("{s:s, s:s, s:s, s:I, s:o, s:o, s:o}", "file", path, "out", out, "codec",
                     strait_codec_spec_text(spec, &c->spec), "values", (json_int_t)c->form.n_elems,
                     "raw_bytes", strait_json_number(raw_bytes), "encoded_bytes",
                     strait_json_number(encoded_bytes), "ratio",
                     strait_json_number(raw_bytes / encoded_bytes));
}

/* "1.57 MB as 266 KB, ratio 5.913" */
static void put_sizes(FILE *line, double raw_bytes, double encoded_bytes)
{
    char raw[STRAIT_NUMBER_CHARS], encoded[STRAIT_NUMBER_CHARS], number[STRAIT_NUMBER_CHARS];
    fprintf(line, "%s as %s, ratio %s", strait_bytes_text(raw, raw_bytes),
            strait_bytes_text(encoded, encoded_bytes),
            strait_format_number(number, raw_bytes / encoded_bytes, 4));
}

/* --- encode ------------------------------------------------------------------------------- */

struct encode {
    const char *path, *out, *codec, *key;
    char named[PATH_CHARS]; /* out, where none was given */
    long n_rows;
    bool force, json;
};

static int read_key(uint64_t *key, const char *text, struct strait_error *err)
{
    char *end;
    errno = 0;
    *key = text ? strtoull(text, &end, 10) : 0;
    if (text && (text[0] < '0' || text[0] > '9' || *end || errno != 0))
        return strait_error_set(err, STRAIT_ERR_USAGE, "codec encode",
                                "expected a whole number after --key, found \"%s\"", text);
    return 0;
}

/* Parse --codec and check that it is complete enough to encode. */
static int read_spec(struct strait_codec_spec *spec, const char *text, struct strait_error *err)
{
    if (!text)
        return strait_error_set(err, STRAIT_ERR_USAGE, "codec encode",
                                "expected --codec SPEC such as sz:range=1e-3, found none");
    if (strait_codec_spec_parse(spec, text, err) != 0)
        return -1;
    if (strait_codec_needs_bound(spec->ops) && spec->bound.kind == STRAIT_BOUND_NONE)
        return strait_refuse(err, text,
                             "expected a bound such as %s:range=1e-3 (strait codec list %s)",
                             spec->ops->name, spec->ops->name);
    return strait_codec_require(spec->ops, err);
}

static int choose_rows(struct strait_container *c, long asked, struct strait_error *err)
{
    c->n_rows = asked > 0 ? (size_t)asked : c->form.n_dims >= 2 ? c->form.shape[0] : 0;
    if (c->n_rows > 0 && c->form.n_elems % c->n_rows != 0)
        return strait_error_set(err, STRAIT_ERR_USAGE, "codec encode",
                                "expected a number of rows that divides %zu values after --rows, "
                                "found %zu",
                                c->form.n_elems, c->n_rows);
    return 0;
}

static void report_encode(const struct encode *e, const struct strait_container *c,
                          const struct strait_codec_trial *t, size_t n_changed)
{
    char form[LINE_CHARS], number[STRAIT_NUMBER_CHARS];
    if (e->json) {
        json_t *line = figures_of(e->path, e->out, c, t->raw_bytes, t->encoded_bytes);
        const bool bounded = !t->exact && t->error_over_bound >= 0;
        json_object_set_new(line, "rounded", json_integer((json_int_t)n_changed));
        json_object_set_new(line, "exact", json_boolean(t->exact));
        json_object_set_new(line, "error_over_bound",
                            bounded ? strait_json_number(t->error_over_bound) : json_null());
        json_object_set_new(line, "l2_error", strait_json_number(strait_codec_trial_l2_error(t)));
        json_object_set_new(line, "encode_s", strait_json_number(t->encode_s));
        json_object_set_new(line, "decode_s", strait_json_number(t->decode_s));
        strait_command_print_json(line);
        json_decref(line);
        return;
    }
    fprintf(stderr, "%s: %s, ", e->path, strait_array_text(form, sizeof(form), &c->form));
    if (strait_array_value_bytes(&c->form) != sizeof(float))
        fprintf(stderr, "read as float32 with %zu values rounded, ", n_changed);
    put_sizes(stderr, t->raw_bytes, t->encoded_bytes);
    if (t->exact)
        fprintf(stderr, ", every bit kept");
    else if (t->error_over_bound >= 0)
        fprintf(stderr, ", largest error %s of the bound",
                strait_format_number(number, t->error_over_bound, 4));
    if (!t->exact)
        fprintf(stderr, ", relative L2 error %s",
                strait_format_number(number, strait_codec_trial_l2_error(t), 3));
    fprintf(stderr, ", in %.0f MB/s, out %.0f MB/s", t->raw_bytes / t->encode_s / 1e6,
            t->raw_bytes / t->decode_s / 1e6);
    fputs("\n", stderr);
}

/* Encode behind the head, decode again, and check the bound before keeping it. */
static int encode_tensor(const struct encode *e, struct strait_container *c, const float *x,
                         size_t n_changed, struct strait_error *err)
{
    struct strait_codec_trial trial;
    void *state;
    const size_t head_bytes = strait_container_head_bytes(c), n = c->form.n_elems;
    const struct strait_set_tensor tensor = {
        .name = e->path, .kind = "any", .x = x, .n_elems = n, .n_rows = c->n_rows};
    if (strait_codec_open(c->spec.ops, &state, c->spec.params, err) != 0)
        return -1;
    unsigned char *file = malloc(head_bytes + c->spec.ops->max_bytes(state, n) + 1);
    float *y = malloc(n * sizeof(*y) + 1);
    int failed = -1;
    if (!file || !y)
        strait_error_memory(err, e->path);
    else
        failed = strait_codec_trial_run(&trial, &c->spec, state, file + head_bytes, y, &tensor,
                                        c->key, 1, err) != 0 ||
                 strait_codec_trial_check(&trial, &c->spec, err) != 0;
    if (!failed) {
        c->payload_bytes = (size_t)trial.encoded_bytes;
        strait_container_seal(file, c);
        failed = strait_file_write(e->out, e->force, file, head_bytes, file + head_bytes,
                                   c->payload_bytes, err);
    }
    if (!failed)
        report_encode(e, c, &trial, n_changed);
    c->spec.ops->close(state);
    free(file);
    free(y);
    return failed ? -1 : 0;
}

static int encode(struct encode *e, struct strait_error *err)
{
    struct strait_container c = {0};
    float *x;
    size_t n_changed;
    if (read_spec(&c.spec, e->codec, err) != 0 || read_key(&c.key, e->key, err) != 0)
        return -1;
    if (!e->out) {
        snprintf(e->named, sizeof(e->named), "%s%s", e->path,
                 is_standard(e->path) ? "" : STRAIT_CONTAINER_SUFFIX);
        e->out = e->named;
    }
    if (check_output("codec encode", e->out, e->force, e->json, err) != 0 ||
        strait_tensor_read(&c.form, &x, &n_changed, e->path, err) != 0)
        return -1;
    const int status =
        choose_rows(&c, e->n_rows, err) != 0 ? -1 : encode_tensor(e, &c, x, n_changed, err);
    free(x);
    return status;
}

static const char encode_notes[] =
    "FILE is a NumPy file (float32; float16 and float64 are converted) or raw\n"
    "float32, distinguished by the first bytes; - is standard input, or output\n"
    "after -o. The encoded tensor is decoded again before it is written. A SPEC is a\n"
    "codec with its settings (strait codec list): a bound if it is bounded, and its\n"
    "parameters. Error feedback and momentum have no effect on a single tensor.\n"
    "\n"
    "  strait codec encode weights.npy --codec sz:range=1e-3\n"
    "  strait codec encode gradient.f32 --codec topk:ratio=0.01 -o gradient.strait\n"
    "  strait codec encode - --codec zstd < weights.npy > weights.npy.strait\n";

int strait_codec_encode_command(int argc, char **argv)
{
    struct encode e = {0};
    const struct strait_option options[] = {
        {"codec", 0, STRAIT_OPTION_TEXT, &e.codec, "SPEC",
         "codec and settings, such as sz:range=1e-3"},
        {"out", 'o', STRAIT_OPTION_TEXT, &e.out, "OUT", "name of the result (default FILE.strait)"},
        {"key", 0, STRAIT_OPTION_TEXT, &e.key, "N", "seed of stochastic codecs (default 0)"},
        {"rows", 0, STRAIT_OPTION_COUNT, &e.n_rows, "N",
         "rows of a matrix (a NumPy file's first dim.)"},
        {"force", 0, STRAIT_OPTION_FLAG, &e.force, NULL, "replace what OUT names"},
        {"json", 0, STRAIT_OPTION_FLAG, &e.json, NULL, "figures on standard output"}};
    const struct strait_usage usage = {"codec encode", "FILE", "Encode a tensor into a file.",
                                       STRAIT_OPTIONS(options), encode_notes};
    struct strait_error err = {0};
    int status;
    if (!strait_command_begin(&status, &usage, argc, argv, &e.path, 1, NULL))
        return status;
    if (encode(&e, &err) == 0)
        return 0;
    return strait_command_fail(&err);
}

/* --- decode ------------------------------------------------------------------------------- */

struct decode {
    const char *path, *out;
    char named[PATH_CHARS]; /* out, where none was given */
    bool force, json;
};

/* A few bytes may stand for any number of equal values: refuse what exceeds the machine's memory
 * before allocating it. */
static int check_memory(const struct strait_container *c, const char *path,
                        struct strait_error *err)
{
    const double available_bytes = strait_host_memory_bytes("MemAvailable");
    char wanted[STRAIT_NUMBER_CHARS], found[STRAIT_NUMBER_CHARS];
    const double bytes = 4 * (double)c->form.n_elems;
    if (bytes <= available_bytes)
        return 0;
    return strait_error_set(err, STRAIT_ERR_HOST, path, "expected %s of memory, found %s",
                            strait_bytes_text(wanted, bytes),
                            strait_bytes_text(found, available_bytes));
}

static int decode_tensor(float *x, double *decode_s, const struct strait_container *c,
                         const unsigned char *payload, const char *path, struct strait_error *err)
{
    void *state;
    struct strait_error why = {0};
    if (strait_codec_open(c->spec.ops, &state, c->spec.params, err) != 0)
        return -1;
    const struct strait_instant begin = strait_instant_now();
    const int status =
        c->spec.ops->decode(state, x, c->form.n_elems, payload, c->payload_bytes, &why);
    *decode_s = strait_instant_cost_s(&begin);
    c->spec.ops->close(state);
    if (status != 0)
        strait_error_set(err, why.code, path, "%s: %s", why.where, why.text);
    return status;
}

static int write_tensor(const struct decode *d, const struct strait_container *c, const float *x,
                        struct strait_error *err)
{
    unsigned char header[STRAIT_NPY_HEADER_BYTES];
    const size_t header_bytes = c->form.npy ? strait_npy_header(header, &c->form) : 0;
    return strait_file_write(d->out, d->force, header, header_bytes, x,
                             c->form.n_elems * sizeof(*x), err);
}

static void report_decode(const struct decode *d, const struct strait_container *c, double decode_s)
{
    char form[LINE_CHARS], spec[STRAIT_SPEC_CHARS];
    const double raw_bytes = 4 * (double)c->form.n_elems;
    if (d->json) {
        json_t *line = figures_of(d->path, d->out, c, raw_bytes, (double)c->payload_bytes);
        json_object_set_new(line, "decode_s", strait_json_number(decode_s));
        strait_command_print_json(line);
        json_decref(line);
        return;
    }
    struct strait_array_form now = c->form;
    memcpy(now.dtype, "<f4", sizeof(now.dtype));
    fprintf(stderr, "%s: %s, %s, ", d->path, strait_codec_spec_text(spec, &c->spec),
            strait_array_text(form, sizeof(form), &now));
    put_sizes(stderr, raw_bytes, (double)c->payload_bytes);
    fprintf(stderr, ", out %.0f MB/s", raw_bytes / decode_s / 1e6);
    if (strcmp(c->form.dtype, now.dtype) != 0)
        fprintf(stderr, "; was %s", c->form.dtype);
    fputs("\n", stderr);
}

/* The name without its suffix. */
static int default_output(char out[PATH_CHARS], const char *path, struct strait_error *err)
{
    if (is_standard(path)) {
        snprintf(out, PATH_CHARS, "-");
        return 0;
    }
    if (!strait_text_ends_with(path, STRAIT_CONTAINER_SUFFIX))
        return strait_error_set(err, STRAIT_ERR_USAGE, "codec decode",
                                "expected a name that ends in %s, or -o OUT, found \"%s\"",
                                STRAIT_CONTAINER_SUFFIX, path);
    snprintf(out, PATH_CHARS, "%.*s", (int)(strlen(path) - strlen(STRAIT_CONTAINER_SUFFIX)), path);
    return 0;
}

static int decode(struct decode *d, struct strait_error *err)
{
    struct strait_container c;
    unsigned char *file;
    size_t len_bytes, at_bytes;
    double decode_s;
    float *x = NULL;
    if (!d->out && default_output(d->named, d->path, err) != 0)
        return -1;
    d->out = d->out ? d->out : d->named;
    if (check_output("codec decode", d->out, d->force, d->json, err) != 0 ||
        strait_file_read(&file, &len_bytes, d->path, err) != 0)
        return -1;
    int failed = strait_container_open(&c, &at_bytes, file, len_bytes, d->path, err) != 0 ||
                 strait_codec_require(c.spec.ops, err) != 0 || check_memory(&c, d->path, err) != 0;
    if (!failed && !(x = malloc(c.form.n_elems * sizeof(*x) + 1)))
        failed = strait_error_memory(err, d->path);
    failed = failed || decode_tensor(x, &decode_s, &c, file + at_bytes, d->path, err) != 0 ||
             write_tensor(d, &c, x, err) != 0;
    if (!failed)
        report_decode(d, &c, decode_s);
    free(x);
    free(file);
    return failed ? -1 : 0;
}

static const char decode_notes[] =
    "OUT is a NumPy file if FILE was made from one, else raw float32; the default is\n"
    "FILE without its .strait. - is standard input, or output after -o.\n"
    "\n"
    "  strait codec decode weights.npy.strait\n"
    "  strait codec decode weights.npy.strait -o again.npy\n"
    "  strait codec decode - < weights.npy.strait > weights.npy\n";

int strait_codec_decode_command(int argc, char **argv)
{
    struct decode d = {0};
    const struct strait_option options[] = {
        {"out", 'o', STRAIT_OPTION_TEXT, &d.out, "OUT", "name of the result"},
        {"force", 0, STRAIT_OPTION_FLAG, &d.force, NULL, "replace what OUT names"},
        {"json", 0, STRAIT_OPTION_FLAG, &d.json, NULL, "figures on standard output"}};
    const struct strait_usage usage = {"codec decode", "FILE",
                                       "Decode what strait codec encode wrote.",
                                       STRAIT_OPTIONS(options), decode_notes};
    struct strait_error err = {0};
    int status;
    if (!strait_command_begin(&status, &usage, argc, argv, &d.path, 1, NULL))
        return status;
    if (decode(&d, &err) == 0)
        return 0;
    return strait_command_fail(&err);
}
