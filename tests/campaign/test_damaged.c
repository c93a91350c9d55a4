/* What readers of files make of damaged ones (tests/kit/failing/damaged.h): layer tables, curves,
 * models, hosts, profiles, plans, and questions to the page. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "campaign/planner/question.h"
#include "campaign/published/published_book.h"
#include "codecs/profile/profile.h"
#include "core/hash.h"
#include "emu/programs/host_shares.h"
#include "serve/experiment_request.h"
#include "tests/kit/failing/damaged.h"
#include "tests/kit/data.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"
#include "tests/traces/import/import_text.h"
#include "traces/curves.h"
#include "traces/models/hf_config.h"
#include "traces/models/layer_csv.h"
#include "traces/tensors.h"
#include "workloads/ask/tensor_bounds.h"

/* A file of the test's own; errors name it by what follows the folder. */
struct file {
    char folder[40], path[80];
};

static void make(struct file *f, const char *name)
{
    strcpy(f->folder, "/tmp/strait-damaged-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(f->folder));
    snprintf(f->path, sizeof(f->path), "%s/%s", f->folder, name);
}

static void put(const struct file *f, const unsigned char *bytes, size_t n)
{
    FILE *out = fopen(f->path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, n, out), n);
    CU_ASSERT_EQUAL(fclose(out), 0);
}

static void check(const char *name, const char *text, damaged_read read)
{
    struct file f;
    make(&f, name);
    damaged_check(name, text, strlen(text), read, &f);
    folder_remove(f.folder);
}

static void read_layers(struct damaged_sum *s, void *context, const unsigned char *bytes, size_t n)
{
    const struct file *f = context;
    struct strait_error err = {0};
    struct strait_model *m = NULL;
    put(f, bytes, n);
    if (strait_layer_csv_load(&m, f->path, &err) != 0) {
        damaged_add_error(s, &err, f->folder);
        return;
    }
    CU_ASSERT_EQUAL(err.code, STRAIT_OK);
    damaged_add(s, m->source);
    damaged_add(s, m->timing_source);
    damaged_add(s, m->device);
    damaged_add_number(s, m->on_cpu + 2 * (int)m->family);
    damaged_add_number(s, m->fwd_flop_per_sample);
    import_add_model(s, m);
    strait_model_free(m);
}

static void layers(void)
{
    check("layers.csv",
          "# name: tiny\n# device: xeon-core, one core\n# source: by hand\n# timing: 2 runs\n"
          "# batch: 4\n" STRAIT_LAYER_CSV_HEADER "\n"
          "0,conv,weight,Conv2d,8x1x3x3,288,120.5,130,200,210,410,420,3\n"
          "0,conv,bias,Conv2d,8,32,120.5,130,200,210,400,420,2\n"
          "1,fc,weight,Linear,10x16,640,30,31,60,61,90,95,1\n"
          "1,fc,bias,Linear,10,40,30,31,60,61,80,95,0\n",
          read_layers);
}

static void read_curves(struct damaged_sum *s, void *context, const unsigned char *bytes, size_t n)
{
    const struct file *f = context;
    struct strait_error err = {0};
    struct strait_curves *c = NULL;
    put(f, bytes, n);
    if (strait_curves_load(&c, f->path, &err) != 0) {
        damaged_add_error(s, &err, f->folder);
        return;
    }
    CU_ASSERT_EQUAL(err.code, STRAIT_OK);
    for (size_t i = 0; i < c->n_curves; i++) {
        const struct strait_curve *o = &c->curves[i];
        damaged_add(s, o->run);
        damaged_add(s, o->target);
        damaged_add(s, o->codec);
        damaged_add_number(s, o->clients + 1e3 * o->seed);
        damaged_add_number(s, o->par + o->error_feedback);
        damaged_add_number(s, strait_curve_final_acc(o, 2));
        damaged_add_number(s, strait_curve_rounds_to(o, 0.5));
        for (size_t k = 0; k < o->n_rounds; k++) {
            const struct strait_curve_round *r = &o->rounds[k];
            const double all[] = {r->round,         r->train_loss, r->test_loss, r->test_acc_ratio,
                                  r->bits_per_elem, r->rel_l2_err, r->local_s};
            for (size_t j = 0; j < sizeof(all) / sizeof(*all); j++)
                damaged_add_number(s, all[j]);
        }
    }
    strait_curves_free(c);
}

/* The header and first rounds of the shipped table. */
static void curves(void)
{
    size_t n;
    char *text = folder_bytes("", DATA("traces/curves/fedavg_fmnist_cnn.csv"), &n), *end = text;
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (int line = 0; line < 5; line++)
        end = strchr(end, '\n') + 1;
    *end = '\0';
    check("curves.csv", text, read_curves);
    free(text);
}

static void read_config(struct damaged_sum *s, void *context, const unsigned char *bytes, size_t n)
{
    const struct file *f = context;
    struct strait_error err = {0};
    struct strait_model *m = NULL;
    put(f, bytes, n);
    if (strait_hf_config_load(&m, f->path, 16, &err) != 0) {
        damaged_add_error(s, &err, f->folder);
        return;
    }
    CU_ASSERT_EQUAL(err.code, STRAIT_OK);
    damaged_add(s, m->name);
    damaged_add_number(s, m->fwd_flop_per_sample);
    import_add_model(s, m);
    strait_model_free(m);
}

static void configs(void)
{
    check(
        "llama.json",
        "{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\", \"hidden_size\": 8,"
        " \"intermediate_size\": 12, \"num_attention_heads\": 4, \"num_key_value_heads\": 2,"
        " \"num_hidden_layers\": 2, \"vocab_size\": 31, \"tie_word_embeddings\": true}",
        read_config);
    check("bert.json",
          "{\"architectures\": [\"BertModel\"], \"model_type\": \"bert\", \"hidden_size\": 8,"
          " \"intermediate_size\": 12, \"num_attention_heads\": 2, \"num_hidden_layers\": 1,"
          " \"vocab_size\": 31, \"type_vocab_size\": 2, \"max_position_embeddings\": 9}",
          read_config);
}

static void read_hosts(struct damaged_sum *s, void *context, const unsigned char *bytes, size_t n)
{
    const struct file *f = context;
    struct strait_error err = {0};
    struct strait_emu_hosts *h = calloc(1, sizeof(*h));
    CU_ASSERT_PTR_NOT_NULL_FATAL(h);
    put(f, bytes, n);
    if (strait_emu_hosts_read(h, f->path, &err) != 0 || strait_emu_hosts_place(h, 7, &err) != 0)
        damaged_add_error(s, &err, f->folder);
    for (int i = 0; i < h->n; i++) {
        const double all[] = {h->items[i].slots, h->items[i].first, h->items[i].n};
        damaged_add(s, h->items[i].name);
        damaged_add(s, h->items[i].named);
        for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++)
            damaged_add_number(s, all[k]);
        if (h->items[i].rate_bits_per_s > 0) /* not NAN, whose sign differs */
            damaged_add_number(s, h->items[i].rate_bits_per_s);
    }
    free(h);
}

static void hosts(void)
{
    check("hosts",
          "# of two rooms\nalpha slots=2 address=10.1.0.1 rate=10Gbps\n\nbeta slots=3\n"
          "gamma address=10.1.0.3 slots=4 # last\n",
          read_hosts);
    check("hosts without slots", "a\nb address=10.0.0.2\nc rate=500Mbps\n", read_hosts);
}

static void read_profile(struct damaged_sum *s, void *context, const unsigned char *bytes, size_t n)
{
    const struct file *f = context;
    struct strait_error err = {0};
    struct strait_profile *p = NULL;
    put(f, bytes, n);
    if (strait_profile_load(&p, f->path, &err) != 0) {
        damaged_add_error(s, &err, f->folder);
        return;
    }
    CU_ASSERT_EQUAL(err.code, STRAIT_OK);
    char key[STRAIT_KEY_CHARS];
    json_t *json = strait_profile_json(p);
    damaged_add(s, strait_hash_json(key, json));
    json_decref(json);
    strait_profile_free(p);
}

static void profiles(void)
{
    size_t n;
    char *text = folder_bytes("", DATA("tests/data/sketch-costs.json"), &n);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    check("profile.json", text, read_profile);
    free(text);
}

static void read_plan(struct damaged_sum *s, void *context, const unsigned char *bytes, size_t n)
{
    const struct file *f = context;
    struct strait_error err = {0};
    struct strait_plan_question q = {0};
    char key[STRAIT_KEY_CHARS];
    put(f, bytes, n);
    if (strait_plan_question_load(&q, f->path, &err) != 0) {
        damaged_add_error(s, &err, f->folder);
    } else {
        damaged_add_number(s, (double)q.n_rounds);
        damaged_add_number(s, q.least_accuracy > 0 ? q.least_accuracy : -1);
        damaged_add_number(s, q.target_value);
        damaged_add_number(s, q.prices.server_per_gb + 1e3 * q.prices.clients_per_gb);
        damaged_add_number(s, q.prices.accelerator_per_h + 1e3 * q.prices.core_per_h);
        damaged_add_number(s, q.prices.accelerator_w + 1e5 * q.prices.core_w);
        damaged_add(s, q.prices.currency);
        damaged_add(s, q.known ? strait_hash_json(key, q.known) : "");
        damaged_add(s, strait_hash_json(key, q.vary));
        damaged_add(s, strait_hash_json(key, q.sweep->base));
    }
    strait_plan_question_release(&q);
}

#define PLANNED                                                                                    \
    "{\"schema\": \"strait-plan/1\", \"experiment\": \"wan-check\", \"rounds\": 50, \"set\":"      \
    " {\"/clients\": 4}, \"vary\": {\"/codec\": [\"none\", \"fp16\"]}, "

static void plans(void)
{
    check("plan.json",
          PLANNED "\"target\": {\"round\": \"9 s\"}, \"least_accuracy\": 0.75, \"accuracy\": [{"
                  "\"codec\": \"none\", \"accuracy\": 0.81, \"rounds\": 40, \"source\": \"a\"}]}",
          read_plan);
    check("costs.json",
          PLANNED "\"target\": {\"budget\": \"90 EUR\"}, \"prices\": {\"egress\": {\"server\":"
                  " \"0.08 EUR/GB\", \"clients\": \"0.01 EUR/GB\"}, \"accelerator\": \"2.5 EUR/h\","
                  " \"core\": \"0.05 EUR/h\", \"watts\": {\"accelerator\": \"300 W\", \"core\":"
                  " \"8 W\"}, \"per_hour\": {\"/clients\": {\"4\": \"7 EUR/h\"}}}}",
          read_plan);
    check("trained.json",
          PLANNED
          "\"prices\": \"no-such-prices.json\", \"accuracy\": [{\"results\": \"nowhere\"}]}",
          read_plan);
}

static void read_question(struct damaged_sum *s, void *context, const unsigned char *bytes,
                          size_t n)
{
    struct strait_error err = {0};
    struct strait_asked q = {0};
    char key[STRAIT_KEY_CHARS];
    if (strait_asked_read(&q, (const char *)bytes, n, &err) != 0) {
        damaged_add_error(s, &err, NULL);
    } else {
        damaged_add_number(s, q.wants_round + 2 * q.wants_why + 4 * q.wants_estimate);
        damaged_add_number(s, (double)q.sweep->n_points);
        damaged_add(s, strait_hash_json(key, q.sweep->base));
    }
    strait_asked_release(&q);
    (void)context;
}

static void questions(void)
{
    check("question",
          "{\"round\": true, \"why\": false, \"experiment\": {\"schema\": \"strait-experiment/1\","
          " \"model\": \"cnn\", \"strategy\": {\"name\": \"fedavg\", \"rounds\": 2}, \"codec\":"
          " \"fp16\", \"network\": {\"client\": {\"rate\": \"1 Gbps\", \"rtt\": \"50 ms\"},"
          " \"server\": {\"rate\": \"10 Gbps\"}}, \"clients\": 4, \"seed\": 7,"
          " \"vary\": {\"/clients\": [2, 9]}}}",
          read_question);
}

static void read_published(struct damaged_sum *s, void *context, const unsigned char *bytes,
                           size_t n)
{
    const struct file *f = context;
    struct strait_error err = {0};
    struct published_book b = {.path = f->path};
    put(f, bytes, n);
    if (published_book_read(&b, NULL, 0, &err) != 0)
        damaged_add_error(s, &err, f->folder);
    for (size_t i = 0; i < b.n_claims; i++) {
        const struct published_claim *c = &b.claims[i];
        const char *const texts[] = {
            c->name,           c->claim,      c->model,       c->source, c->kind,
            c->unit,           c->group,      c->suspect,     c->reason, c->measure.experiment,
            c->measure.metric, c->measure.as, c->measure.pick};
        const double numbers[] = {c->published,       c->spread,           c->input,
                                  c->parts.compute_s, c->parts.wire_bytes, c->parts.bits_per_s,
                                  c->parts.known};
        for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++)
            damaged_add(s, texts[k]);
        for (size_t k = 0; k < sizeof(numbers) / sizeof(*numbers); k++)
            damaged_add_number(s, numbers[k]);
    }
    json_decref(b.json);
    free(b.claims);
}

static void published(void)
{
    check(
        "published.json",
        "{\"schema\": \"strait-published/1\", \"rows\": [{\"case\": \"a\", \"claim\": \"b\","
        " \"kind\": \"from\", \"source\": \"c\", \"published\": 32, \"spread\": 2, \"unit\": \"d\","
        " \"group\": \"e\", \"model\": \"f\", \"suspect\": \"g\", \"input\": true, \"parts\":"
        " {\"compute_s\": 0.25, \"wire_mb\": 153, \"gbps\": 56, \"samples\": 256}, \"measure\":"
        " {\"experiment\": \"h\", \"metric\": \"round_s\", \"as\": \"threshold\", \"pick\": "
        "\"min\","
        " \"set\": {\"/a\": 1}, \"against\": [{\"/codec\": \"none\"}], \"over\": {\"/clients\":"
        " [1, 2]}}, \"reason\": \"i\"}, {\"case\": \"a\", \"claim\": \"b\", \"source\": \"c\","
        " \"published\": 1, \"unit\": \"d\"}]}",
        read_published);
}

static void read_bounds(struct damaged_sum *s, void *context, const unsigned char *bytes, size_t n)
{
    const struct file *f = context;
    struct strait_error err = {0};
    struct strait_model *m = NULL;
    double *bounds = NULL;
    enum strait_bound_kind kind = STRAIT_BOUND_NONE;
    put(f, bytes, n);
    CU_ASSERT_EQUAL_FATAL(strait_model_load(&m, "cnn", &err), 0);
    if (strait_tensor_bounds_load(&bounds, &kind, f->path, m, "w", &err) != 0)
        damaged_add_error(s, &err, f->folder);
    damaged_add_number(s, kind);
    for (size_t i = 0; bounds && i < m->n_rows; i++)
        damaged_add_number(s, isnan(bounds[i]) ? -1 : bounds[i]);
    free(bounds);
    strait_model_free(m);
}

static void bounds(void)
{
    check("bounds.json",
          "{\"schema\": \"strait-bounds/1\", \"kind\": \"rms\", \"found\": {},"
          " \"tensors\": {\"fc1.weight\": 0.02, \"fc1.bias\": 5}}",
          read_bounds);
}

/* Two tensors of two and of four values. */
static void read_tensors(struct damaged_sum *s, void *context, const unsigned char *bytes, size_t n)
{
    const struct file *f = context;
    struct strait_error err = {0};
    struct strait_tensors *t = NULL;
    char path[100];
    put(f, bytes, n);
    for (int i = 0; i < 2; i++) {
        struct file values = *f;
        snprintf(path, sizeof(path), "%s/%d", f->folder, i);
        strcpy(values.path, path);
        put(&values, (const unsigned char *)"abcdefghijklmnop", i ? 16 : 8);
    }
    if (strait_tensors_load(&t, f->folder, &err) != 0) {
        damaged_add_error(s, &err, f->folder);
        return;
    }
    CU_ASSERT_EQUAL(err.code, STRAIT_OK);
    for (size_t i = 0; i < t->n_recordings; i++) {
        const struct strait_recording *r = &t->recordings[i];
        const char *const texts[] = {r->model, r->layer, r->kind, r->file};
        const double numbers[] = {
            (double)r->step, r->n_dims,          (double)r->shape[0], r->min, r->max, r->rms,
            r->values[0],    (double)r->n_zeros, (double)r->n_elems};
        for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++)
            damaged_add(s, texts[k]);
        for (size_t k = 0; k < sizeof(numbers) / sizeof(*numbers); k++)
            damaged_add_number(s, numbers[k]);
    }
    strait_tensors_free(t);
}

static void tensors(void)
{
    check(
        "manifest.json",
        "{\"format\": \"raw float32 little-endian, C order\", \"tensors\": [{\"file\": \"0\","
        " \"model\": \"cnn\", \"layer\": \"fc1.bias\", \"kind\": \"grad\", \"step\": 10, \"shape\":"
        " [2], \"dtype\": \"f32le\", \"n\": 2, \"min\": -0.03, \"max\": 0.5, \"rms\": 0.01,"
        " \"zeros\": 0, \"loss\": 2.5}, {\"file\": \"1\", \"model\": \"cnn\", \"layer\":"
        " \"fc1.weight\", \"kind\": \"update\", \"step\": 20, \"shape\": [2, 2], \"dtype\":"
        " \"f32le\", \"n\": 4, \"min\": -3, \"max\": 7, \"rms\": null, \"zeros\": 1,"
        " \"local_steps\": 3}]}",
        read_tensors);
}

static const struct strait_test tests[] = {
    {"a damaged layer table is read or refused as it was", layers},
    {"a damaged table of curves is read or refused as it was", curves},
    {"a damaged model's configuration is read or refused as it was", configs},
    {"a damaged file of hosts is read or refused as it was", hosts},
    {"a damaged profile is read or refused as it was", profiles},
    {"a damaged plan is read or refused as it was", plans},
    {"a damaged file of published figures is read or refused as it was", published},
    {"a damaged file of bounds is read or refused as it was", bounds},
    {"a damaged manifest of tensors is read or refused as it was", tensors},
    {"a damaged question is read or refused as it was", questions},
};
STRAIT_SUITE_WITH("campaign/damaged", tests, .release = true);
