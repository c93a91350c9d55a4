#include "hf_config.h"
#include <stdio.h>
#include <string.h>
#include "arch_tokens.h"
#include "core/json.h"
#include "core/names.h"

enum { MAX_WIDTH = 1 << 20, MAX_BLOCKS = 1000, MAX_ROWS = 1 << 24 };

/* A whole number of at least 1; fallback 0: the key is required. Null is as good as absent. */
static int size_of(size_t *out, struct strait_object *o, const char *key, long max, size_t fallback,
                   struct strait_error *err)
{
    long value = (long)fallback;
    const bool absent = !strait_object_value(o, key) || json_is_null(strait_object_value(o, key));
    if (!(absent && fallback > 0) && strait_object_integer(o, &value, key, 1, max, err) != 0)
        return -1;
    *out = (size_t)value;
    return 0;
}

static int read_gpt2(struct strait_transformer *t, struct strait_object *o,
                     struct strait_error *err)
{
    return size_of(&t->width, o, "n_embd", MAX_WIDTH, 0, err) != 0 ||
                   size_of(&t->inner, o, "n_inner", MAX_WIDTH, 4 * t->width, err) != 0 ||
                   size_of(&t->n_blocks, o, "n_layer", MAX_BLOCKS, 0, err) != 0 ||
                   size_of(&t->n_positions, o, "n_positions", MAX_ROWS, 0, err) != 0 ||
                   size_of(&t->vocabulary, o, "vocab_size", MAX_ROWS, 0, err) != 0 ||
                   strait_object_bool_or(o, &t->tied, "tie_word_embeddings", true, err) != 0
               ? -1
               : 0;
}

/* What the others call the same. */
static int read_blocks(struct strait_transformer *t, struct strait_object *o,
                       struct strait_error *err)
{
    return size_of(&t->width, o, "hidden_size", MAX_WIDTH, 0, err) != 0 ||
                   size_of(&t->inner, o, "intermediate_size", MAX_WIDTH, 0, err) != 0 ||
                   size_of(&t->n_blocks, o, "num_hidden_layers", MAX_BLOCKS, 0, err) != 0
               ? -1
               : 0;
}

static int read_llama(struct strait_transformer *t, struct strait_object *o,
                      struct strait_error *err)
{
    size_t n_heads, n_key_heads, head;
    char where[STRAIT_JSON_POINTER_MAX * 2];
    if (read_blocks(t, o, err) != 0 ||
        size_of(&n_heads, o, "num_attention_heads", MAX_WIDTH, 0, err) != 0)
        return -1;
    if (t->width % n_heads != 0 && !json_is_integer(strait_object_value(o, "head_dim")))
        return strait_refuse(err,
                             strait_object_where(o, "num_attention_heads", where, sizeof(where)),
                             "expected a divisor of hidden_size %zu, found %zu", t->width, n_heads);
    if (size_of(&n_key_heads, o, "num_key_value_heads", (long)n_heads, n_heads, err) != 0)
        return -1;
    if (n_heads % n_key_heads != 0)
        return strait_refuse(
            err, strait_object_where(o, "num_key_value_heads", where, sizeof(where)),
            "expected a divisor of num_attention_heads %zu, found %zu", n_heads, n_key_heads);
    if (size_of(&head, o, "head_dim", MAX_WIDTH, t->width / n_heads + !(t->width / n_heads), err) !=
        0)
        return -1;
    t->query_width = n_heads * head;
    t->key_width = n_key_heads * head;
    return size_of(&t->n_positions, o, "max_position_embeddings", MAX_ROWS, 2048, err) != 0 ||
                   size_of(&t->vocabulary, o, "vocab_size", MAX_ROWS, 0, err) != 0 ||
                   strait_object_bool_or(o, &t->attention_bias, "attention_bias", false, err) !=
                       0 ||
                   strait_object_bool_or(o, &t->mlp_bias, "mlp_bias", false, err) != 0 ||
                   strait_object_bool_or(o, &t->tied, "tie_word_embeddings", false, err) != 0
               ? -1
               : 0;
}

static int read_bert(struct strait_transformer *t, struct strait_object *o,
                     struct strait_error *err)
{
    return read_blocks(t, o, err) != 0 ||
                   size_of(&t->n_positions, o, "max_position_embeddings", MAX_ROWS, 0, err) != 0 ||
                   size_of(&t->n_segments, o, "type_vocab_size", MAX_ROWS, 2, err) != 0 ||
                   size_of(&t->vocabulary, o, "vocab_size", MAX_ROWS, 0, err) != 0
               ? -1
               : 0;
}

static int read_vit(struct strait_transformer *t, struct strait_object *o, struct strait_error *err)
{
    const char *of =
        json_string_value(json_array_get(json_object_get(o->json, "architectures"), 0));
    const size_t n_labels = json_object_size(json_object_get(o->json, "id2label"));
    char where[STRAIT_JSON_POINTER_MAX * 2];
    if (read_blocks(t, o, err) != 0 ||
        size_of(&t->image, o, "image_size", MAX_WIDTH, 224, err) != 0 ||
        size_of(&t->patch, o, "patch_size", (long)t->image, 16, err) != 0 ||
        size_of(&t->n_channels, o, "num_channels", 1024, 3, err) != 0 ||
        strait_object_bool_or(o, &t->attention_bias, "qkv_bias", true, err) != 0)
        return -1;
    if (t->image % t->patch != 0)
        return strait_refuse(err, strait_object_where(o, "patch_size", where, sizeof(where)),
                             "expected a divisor of image_size %zu, found %zu", t->image, t->patch);
    if (of && strcmp(of, "ViTForImageClassification") == 0)
        t->n_labels = n_labels > 0 ? n_labels : 2;
    t->n_positions = (t->image / t->patch) * (t->image / t->patch) + 1;
    return 0;
}

struct family {
    const char *name, *built_as;
    int (*read)(struct strait_transformer *t, struct strait_object *o, struct strait_error *err);
    void (*build)(struct strait_builder *b, const struct strait_transformer *t);
};
static const struct family families[] = {
    {"gpt2", "GPT2LMHeadModel", read_gpt2, strait_arch_gpt2},
    {"llama", "LlamaForCausalLM", read_llama, strait_arch_llama},
    {"mistral", "MistralForCausalLM", read_llama, strait_arch_llama},
    {"bert", "BertModel with pooler", read_bert, strait_arch_bert},
    {"vit", "ViT", read_vit, strait_arch_vit},
};
enum { N_FAMILIES = sizeof families / sizeof families[0] };

static const struct family *find_family(struct strait_object *o, struct strait_error *err)
{
    const char *type, *names[N_FAMILIES + 1] = {NULL};
    char where[STRAIT_JSON_POINTER_MAX * 2];
    if (strait_object_string(o, &type, "model_type", err) != 0)
        return NULL;
    for (size_t i = 0; i < N_FAMILIES; i++) {
        if (strcmp(families[i].name, type) == 0)
            return &families[i];
        names[i] = families[i].name;
    }
    strait_refuse_name(err, STRAIT_ERR_INPUT,
                       strait_object_where(o, "model_type", where, sizeof(where)),
                       "one of gpt2, llama, mistral, bert, vit", type, names);
    return NULL;
}

/* "bert 12x768", or what the file calls itself without its owner. */
static void name_of(char name[64], const json_t *config, const struct family *f,
                    const struct strait_transformer *t)
{
    const char *said = json_string_value(json_object_get(config, "_name_or_path"));
    const char *slash = said ? strrchr(said, '/') : NULL;
    said = slash ? slash + 1 : said;
    if (said && *said)
        snprintf(name, 64, "%.63s", said);
    else
        snprintf(name, 64, "%s %zux%zu", f->name, t->n_blocks, t->width);
}

static int build(struct strait_model **out, struct strait_object *o, size_t n_tokens,
                 struct strait_error *err)
{
    struct strait_transformer t = {0};
    struct strait_builder b;
    char name[64], source[640], where[STRAIT_JSON_POINTER_MAX * 2];
    const struct family *f = find_family(o, err);
    if (!f || f->read(&t, o, err) != 0)
        return -1;
    if (n_tokens > t.n_positions)
        return strait_refuse(err, strait_object_where(o, NULL, where, sizeof(where)),
                             "expected room for %zu tokens a sample, found %zu positions", n_tokens,
                             t.n_positions);
    t.n_tokens = n_tokens == 0 || f->read == read_vit ? t.n_positions : n_tokens;
    name_of(name, o->json, f, &t);
    strait_build_init(&b, name);
    f->build(&b, &t);
    if (strait_build_finish(out, &b, err) != 0)
        return -1;
    snprintf(source, sizeof source, "%.500s: Hugging Face %s, %zu tokens a sample", o->file,
             f->built_as, t.n_tokens);
    if (n_tokens == 0 && f->read != read_vit)
        snprintf((*out)->inferred, sizeof((*out)->inferred),
                 "a sample is taken to have all %zu tokens that the model has positions for: "
                 "\"tokens\" says otherwise",
                 t.n_tokens);
    return strait_model_set_source(*out, source, err);
}

int strait_hf_config_load(struct strait_model **out, const char *path, size_t n_tokens,
                          struct strait_error *err)
{
    struct strait_object o;
    json_t *json = strait_json_load(path, err);
    *out = NULL;
    const int failed = !json || strait_object_open(&o, path, "", json, err) != 0 ||
                       build(out, &o, n_tokens, err) != 0;
    json_decref(json);
    if (failed)
        strait_model_free(*out);
    if (failed)
        *out = NULL;
    return failed ? -1 : 0;
}
