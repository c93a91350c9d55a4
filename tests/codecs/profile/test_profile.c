#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "codecs/profile/profile.h"
#include "codecs/profile/profile_table.h"
#include "core/shipped.h"
#include "tests/kit/folder.h"
#include "tests/kit/profile_find.h"
#include "tests/kit/suite.h"

static const char *const head =
    "{\"schema\": \"strait-profile/1\", \"title\": \"t\", \"machine\": \"m\", \"date\": \"d\", "
    "\"version\": \"v\", \"source\": \"s\", \"add\": \"2 GB/s\", \"copy\": \"3 GB/s\", "
    "\"entries\": [";

/* A profile file with these entries, loaded. NULL with *err as the reader left it. */
static struct strait_profile *load_entries(const char *entries, struct strait_error *err)
{
    char path[] = "/tmp/strait-profile-XXXXXX.json";
    struct strait_profile *p = NULL;
    const int fd = mkstemps(path, 5);
    CU_ASSERT_FATAL(fd >= 0);
    FILE *f = fdopen(fd, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fprintf(f, "%s%s]}", head, entries);
    fclose(f);
    strait_profile_load(&p, path, err);
    unlink(path);
    return p;
}

static const char *const two =
    "{\"codec\": \"sz\", \"kind\": \"any\", \"bound\": {\"range\": 1e-2}, "
    "\"ratio\": {\"aggregate\": 8}, \"encode\": {\"speed\": \"100 MB/s\", \"fixed\": \"4 us\"}, "
    "\"decode\": {\"speed\": \"400 MB/s\"}},"
    "{\"codec\": \"sz\", \"kind\": \"any\", \"bound\": {\"range\": 1e-4}, "
    "\"ratio\": {\"aggregate\": 4}, \"encode\": {\"speed\": \"50 MB/s\", \"fixed\": \"8 us\"}, "
    "\"decode\": {\"speed\": \"100 MB/s\"}}";

static void interpolation(void)
{
    struct strait_error err = {0};
    struct strait_profile_cost c;
    struct strait_profile *p = load_entries(two, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(p->add_bytes_per_s, 2e9);
    CU_ASSERT_EQUAL(p->copy_bytes_per_s, 3e9);
    /* 1e-3 is half way in log10(bound): 4 bits and 8 bits a value give 6, a ratio of 32/6; 10 and
     * 20 ns a byte give 15; 2.5 and 10 give 6.25; 4 and 8 us give 6. */
    CU_ASSERT_EQUAL_FATAL(find_published(&c, p, "sz",
                                         (struct strait_bound){STRAIT_BOUND_RANGE, 1e-3}, "param",
                                         "cnn", &err),
                          0);
    CU_ASSERT_DOUBLE_EQUAL(c.ratio, 32 / 6.0, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(c.encode_bytes_per_s, 1e9 / 15, 1);
    CU_ASSERT_DOUBLE_EQUAL(c.decode_bytes_per_s, 1e9 / 6.25, 1);
    CU_ASSERT_DOUBLE_EQUAL(c.encode_fixed_s, 6e-6, 1e-12);
    CU_ASSERT_EQUAL(c.decode_fixed_s, 0);
    CU_ASSERT_EQUAL_FATAL(find_published(&c, p, "sz",
                                         (struct strait_bound){STRAIT_BOUND_RANGE, 1e-2}, "param",
                                         "cnn", &err),
                          0);
    CU_ASSERT_EQUAL(c.ratio, 8);          /* a grid point is itself */
    CU_ASSERT_EQUAL(c.encode.p50, 100e6); /* quantiles that are not given are the aggregate */
    strait_profile_free(p);
}

static void no_extrapolation(void)
{
    static const struct {
        const char *codec;
        struct strait_bound bound;
        const char *part;
    } cases[] = {
        {"sz", {STRAIT_BOUND_RANGE, 1e-5}, "between the profile's 0.0001 and 0.01, found 1e-05"},
        {"sz", {STRAIT_BOUND_RANGE, 0.1}, "between the profile's 0.0001 and 0.01, found 0.1"},
        {"sz", {STRAIT_BOUND_ABS, 1e-3}, "codec \"sz\" with a abs bound"},
        {"zfp", {STRAIT_BOUND_RANGE, 1e-3}, "codec \"zfp\" with a range bound"}};
    struct strait_error err = {0};
    struct strait_profile *p = load_entries(two, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_profile_cost c;
        err = (struct strait_error){0};
        CU_ASSERT_EQUAL(find_published(&c, p, cases[i].codec, cases[i].bound, "grad", "", &err),
                        -1);
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].part));
    }
    CU_ASSERT(strait_profile_has(p, "sz"));
    CU_ASSERT_FALSE(strait_profile_has(p, "zfp"));
    strait_profile_free(p);
}

#define ENTRY(kind, more, ratio)                                                                   \
    "{\"codec\": \"zstd\", \"kind\": \"" kind "\"" more ", \"ratio\": {\"aggregate\": " ratio      \
    "}, \"encode\": {\"speed\": \"1 GB/s\"}, \"decode\": {\"speed\": \"1 GB/s\"}}"

static void preference(void)
{
    struct strait_error err = {0};
    struct strait_profile_cost c;
    const struct strait_bound none = {STRAIT_BOUND_NONE, 0};
    struct strait_profile *p = load_entries(
        ENTRY("any", "", "1.1") "," ENTRY("any", ", \"model\": \"cnn\"", "1.2") "," ENTRY(
            "grad", "", "1.3") "," ENTRY("grad", ", \"model\": \"cnn\"", "1.4"),
        &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    static const struct {
        const char *kind, *model;
        double ratio;
    } cases[] = {
        {"grad", "cnn", 1.4}, {"grad", "gpt", 1.3}, {"param", "cnn", 1.2}, {"param", "gpt", 1.1}};
    for (size_t i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL_FATAL(
            find_published(&c, p, "zstd", none, cases[i].kind, cases[i].model, &err), 0);
        CU_ASSERT_EQUAL(c.ratio, cases[i].ratio);
    }
    strait_profile_free(p);
}

static void sums(void)
{
    struct strait_error err = {0};
    struct strait_profile *p =
        load_entries(ENTRY("grad sum 4", "", "3") ", " ENTRY("grad sum 4/2", "", "5"), &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_STRING_EQUAL(p->entries[0].kind, "grad sum 4");
    CU_ASSERT_STRING_EQUAL(p->entries[1].kind, "grad sum 4/2");
    strait_profile_free(p);
}

static void saved_and_loaded(void)
{
    char path[] = "/tmp/strait-profile-XXXXXX.json";
    char before[STRAIT_KEY_CHARS], after[STRAIT_KEY_CHARS], other[STRAIT_KEY_CHARS];
    struct strait_error err = {0};
    struct strait_profile *p = load_entries(two, &err), *q = NULL;
    const int fd = mkstemps(path, 5);
    CU_ASSERT_FATAL(p && fd >= 0);
    close(fd);
    p->entries[0].ratio = 28.0 / 3; /* more digits than the file has */
    CU_ASSERT_EQUAL_FATAL(strait_profile_save(p, path, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_profile_load(&q, path, &err), 0);
    strait_profile_hash(before, p);
    strait_profile_hash(after, q);
    CU_ASSERT_STRING_EQUAL(before, after);
    q->entries[1].ratio = 4.5;
    strait_profile_hash(other, q);
    CU_ASSERT_STRING_NOT_EQUAL(before, other);
    strait_profile_free(p);
    strait_profile_free(q);
    unlink(path);
}

static void refusals(void)
{
    static const struct {
        const char *entry, *where, *text;
    } cases[] = {
        {ENTRY("any", ", \"modle\": \"cnn\"", "1"), "#/entries/0",
         "unknown key \"modle\", did you mean \"model\"?"},
        {ENTRY("weights", "", "1"), "#/entries/0/kind", "found \"weights\""},
        {ENTRY("grad sum", "", "1"), "#/entries/0/kind", "found \"grad sum\""},
        {ENTRY("grad sum 1", "", "1"), "#/entries/0/kind", "found \"grad sum 1\""},
        {ENTRY("grad sum 4x", "", "1"), "#/entries/0/kind", "found \"grad sum 4x\""},
        {ENTRY("grad sum 4/", "", "1"), "#/entries/0/kind", "found \"grad sum 4/\""},
        {ENTRY("grad sum 4/5", "", "1"), "#/entries/0/kind", "found \"grad sum 4/5\""},
        {ENTRY("grad sum 4/0", "", "1"), "#/entries/0/kind", "found \"grad sum 4/0\""},
        {ENTRY("sum 4", "", "1"), "#/entries/0/kind", "found \"sum 4\""},
        {ENTRY("grad star 4", "", "1"), "#/entries/0/kind", "found \"grad star 4\""},
        {ENTRY("any", ", \"bound\": {\"range\": -1}", "1"), "#/entries/0/bound/range", "-1"},
        {ENTRY("any", ", \"bound\": {}", "1"), "#/entries/0/bound", "one bound"},
        {ENTRY("any", "", "0"), "#/entries/0/ratio/aggregate", "0"},
        {"{\"codec\": \"lz9\", \"kind\": \"any\"}", "#/entries/0/codec", "found \"lz9\""},
        {"{\"codec\": \"zstd\", \"kind\": \"any\", \"ratio\": {\"aggregate\": 1}, \"encode\": "
         "{\"speed\": \"7\"}, \"decode\": {\"speed\": \"1 GB/s\"}}",
         "#/entries/0/encode/speed", "found \"7\""},
        {"7", "#/entries/0", "object"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_error err = {0};
        CU_ASSERT_PTR_NULL(load_entries(cases[i].entry, &err));
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.where, cases[i].where));
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].text));
    }
    struct strait_profile *p;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(strait_profile_load(&p, "no-such-profile", &err), -1);
    CU_ASSERT_PTR_NULL(p);
}

static void shipped(void)
{
    static const char *const kinds[] = {"param", "update", "grad", "any"};
    static const char *const lossy[] = {"sz", "zfp"};
    struct strait_error err = {0};
    struct strait_profile *p = NULL;
    struct strait_profile_cost c;
    CU_ASSERT_EQUAL_FATAL(strait_profile_load(&p, "default", &err), 0);
    CU_ASSERT_FALSE(p->stated);
    for (size_t k = 0; k < 4; k++) {
        for (size_t l = 0; l < 2; l++)
            for (double e = 1e-6; e < 0.2; e *= 10)
                CU_ASSERT_EQUAL(find_published(&c, p, lossy[l],
                                               (struct strait_bound){STRAIT_BOUND_RANGE, e},
                                               kinds[k], "gpt2-small", &err),
                                0);
        for (double e = 1e-3; e < 0.2; e *= 10)
            CU_ASSERT_EQUAL(find_published(&c, p, "sz", (struct strait_bound){STRAIT_BOUND_RMS, e},
                                           kinds[k], "", &err),
                            0);
        const struct strait_bound none = {STRAIT_BOUND_NONE, 0};
        CU_ASSERT_EQUAL(find_published(&c, p, "none", none, kinds[k], "", &err), 0);
        CU_ASSERT_EQUAL(c.ratio, 1);
        CU_ASSERT_EQUAL(find_published(&c, p, "zstd", none, kinds[k], "", &err), 0);
        CU_ASSERT(c.ratio > 1.05 && c.ratio < 1.6);
    }
    /* Parameters at 1e-3: 4.15 over the large tensors; the small ones hardly move it. */
    find_published(&c, p, "sz", (struct strait_bound){STRAIT_BOUND_RANGE, 1e-3}, "param", "", &err);
    CU_ASSERT_DOUBLE_EQUAL(c.ratio, 4.15, 0.05);
    strait_profile_free(p);
}

/* Whoever names a codec gets an answer, from the profile of the machine that measured it. */
static void every_codec(void)
{
    struct strait_error err = {0};
    struct strait_profile *p = NULL, *own;
    size_t n, n_own = 0;
    const struct strait_codec_ops *const *codecs = strait_codecs(&n);
    CU_ASSERT_EQUAL_FATAL(strait_profile_load(&p, "default", &err), 0);
    for (size_t i = 0; i < n; i++) {
        strait_test_context("%s", codecs[i]->name);
        if (strait_profile_has(p, codecs[i]->name) || strait_codec_unavailable(codecs[i]))
            continue;
        CU_ASSERT_EQUAL(strait_profile_load_shipped_for(&own, codecs[i]->name, &err), 0);
        CU_ASSERT_PTR_NOT_NULL_FATAL(own);
        CU_ASSERT_FALSE(own->stated);
        CU_ASSERT(strait_profile_has(own, codecs[i]->name));
        n_own++;
        strait_profile_free(own);
    }
    CU_ASSERT_AT_LEAST(n_own, 13); /* those of four profiles */
    CU_ASSERT_EQUAL(strait_profile_load_shipped_for(&own, "no-such-codec", &err), 0);
    CU_ASSERT_PTR_NULL(own);
    strait_profile_free(p);
}

static void stated(void)
{
    struct strait_error err = {0};
    struct strait_profile *p = NULL;
    struct strait_profile_cost c;
    const struct strait_bound bound = {STRAIT_BOUND_RANGE, 1e-2};
    CU_ASSERT_EQUAL_FATAL(strait_profile_load(&p, "sz3-class", &err), 0);
    CU_ASSERT(p->stated);
    CU_ASSERT_EQUAL(find_published(&c, p, "sz", bound, "update", "", &err), 0);
    CU_ASSERT(c.ratio == 11.2 && c.encode_bytes_per_s == 180e6 && c.decode_bytes_per_s == 380e6);
    /* Where only the figure over all kinds is known, that one. */
    CU_ASSERT_EQUAL(find_published(&c, p, "sz", (struct strait_bound){STRAIT_BOUND_RANGE, 1e-6},
                                   "update", "", &err),
                    0);
    CU_ASSERT_EQUAL(c.ratio, 1.30);
    strait_profile_free(p);
    CU_ASSERT_EQUAL_FATAL(strait_profile_load(&p, "fl-runner-class", &err), 0);
    CU_ASSERT(p->stated);
    CU_ASSERT_EQUAL(find_published(&c, p, "sz", bound, "update", "", &err), 0);
    CU_ASSERT(c.ratio == 7.39 && c.encode_bytes_per_s == 50e6 && c.decode_bytes_per_s == 100e6);
    strait_profile_free(p);
}

/* Bound 0 asks for every value as it is: an entry of its own, since 0 has no logarithm to
 * interpolate in. */
static void bound_0(void)
{
    char path[] = "/tmp/strait-profile-XXXXXX.json";
    struct strait_error err = {0};
    struct strait_profile_cost c;
    struct strait_profile *p =
        load_entries(ENTRY("any", ", \"bound\": {\"abs\": 0}", "1.5") "," ENTRY(
                         "any", ", \"bound\": {\"abs\": 1e-2}",
                         "4") "," ENTRY("any", ", \"bound\": {\"abs\": 1e-4}", "2"),
                     &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    for (int saved = 0; saved < 2; saved++) {
        struct strait_bound bound = {STRAIT_BOUND_ABS, 0};
        CU_ASSERT_EQUAL_FATAL(find_published(&c, p, "zstd", bound, "grad", "", &err), 0);
        CU_ASSERT_EQUAL(c.ratio, 1.5);
        bound.value = 1e-3; /* half-way: 1 / (1/2 (1/2 + 1/4)) */
        CU_ASSERT_EQUAL_FATAL(find_published(&c, p, "zstd", bound, "grad", "", &err), 0);
        CU_ASSERT_DOUBLE_EQUAL(c.ratio, 8.0 / 3, 1e-12);
        bound.value = 1e-5; /* between 0 and the least that was measured nothing is known */
        CU_ASSERT_EQUAL(find_published(&c, p, "zstd", bound, "grad", "", NULL), -1);
        if (saved)
            break;
        const int fd = mkstemps(path, 5);
        CU_ASSERT_EQUAL_FATAL(strait_profile_save(p, path, &err), 0);
        strait_profile_free(p);
        CU_ASSERT_EQUAL_FATAL(strait_profile_load(&p, path, &err), 0);
        close(fd);
        unlink(path);
    }
    strait_profile_free(p);
}

/* topk at 1 % is a factor 2 from 2 % and 5 from 5 %; the published payload is a step further. */
static void near_settings(void)
{
#define TOPK(settings, speed)                                                                      \
    "{\"codec\": \"topk\", \"settings\": \"" settings                                              \
    "\", \"kind\": \"any\", \"ratio\": {\"aggregate\": 2}, \"encode\": {\"speed\": \"" speed       \
    "\"}, \"decode\": {\"speed\": \"1 GB/s\"}}"
    struct strait_error err = {0};
    struct strait_profile_cost c;
    struct strait_codec_spec spec;
    char used[STRAIT_SPEC_CHARS];
    struct strait_profile *p =
        load_entries(TOPK("ratio=0.05", "1 GB/s") "," TOPK("ratio=0.01", "2 GB/s") "," TOPK(
                         "ratio=0.02,payload=published", "3 GB/s"),
                     &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL_FATAL(strait_codec_spec_parse(&spec, "topk:ratio=0.02", &err), 0);
    CU_ASSERT_TRUE_FATAL(strait_profile_find_near(&c, used, p, &spec, "grad", "cnn"));
    CU_ASSERT_STRING_EQUAL(used, "topk"); /* 1 % is the default */
    CU_ASSERT_DOUBLE_EQUAL(c.encode_bytes_per_s, 2e9, 1);
    CU_ASSERT_EQUAL_FATAL(strait_codec_spec_parse(&spec, "topk:ratio=0.05,payload=published", &err),
                          0);
    CU_ASSERT_TRUE_FATAL(strait_profile_find_near(&c, used, p, &spec, "grad", "cnn"));
    CU_ASSERT_DOUBLE_EQUAL(c.encode_bytes_per_s, 3e9, 1); /* log 2.5 is less than the step */
    CU_ASSERT_EQUAL_FATAL(strait_codec_spec_parse(&spec, "dgc", &err), 0);
    CU_ASSERT_FALSE(strait_profile_find_near(&c, used, p, &spec, "grad", "cnn"));
    CU_ASSERT_EQUAL(strait_profile_find(&c, p, &spec, "grad", "cnn", &err), -1);
    CU_ASSERT_CONTAINS(err.text, "found none; measure it");
    err = (struct strait_error){0};
    CU_ASSERT_EQUAL_FATAL(strait_codec_spec_parse(&spec, "topk:ratio=0.03", &err), 0);
    CU_ASSERT_EQUAL(strait_profile_find(&c, p, &spec, "grad", "cnn", &err), -1);
    CU_ASSERT_CONTAINS(err.text, "found none; it has topk:ratio=0.05, topk, "
                                 "topk:ratio=0.02,payload=published; measure it");
    strait_profile_free(p);
}

/* What is computed from a profile before it is saved is computed from the file, too. */
static void rounded(void)
{
    struct strait_error err = {0};
    struct strait_profile *p = load_entries(two, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    p->entries[0].encode_bytes_per_s = 1e9 / 3; /* six digits of MB/s: 333.333 */
    p->entries[0].ratio = 28.0 / 3;             /* nine: 9.33333333 */
    p->copy_bytes_per_s = 2e9 / 3;
    CU_ASSERT_EQUAL_FATAL(strait_profile_round(p, &err), 0);
    CU_ASSERT_EQUAL(p->entries[0].encode_bytes_per_s, 333.333 * 1e6);
    CU_ASSERT_EQUAL(p->entries[0].ratio, 9.33333333);
    CU_ASSERT_EQUAL(p->copy_bytes_per_s, 666.667 * 1e6);
    strait_profile_free(p);
}

/* Of a model that has an entry for `none` that one counts, of others the profile's speeds. */
static void memory(void)
{
    struct strait_profile_entry entries[] = {
        {.codec = "sz", .model = "cnn", .encode_bytes_per_s = 1, .decode_bytes_per_s = 2},
        {.codec = "none", .model = "cnn", .encode_bytes_per_s = 3, .decode_bytes_per_s = 4},
        {.codec = "none", .model = "gpt", .encode_bytes_per_s = 5, .decode_bytes_per_s = 6}};
    const struct strait_profile p = {
        .add_bytes_per_s = 7, .copy_bytes_per_s = 8, .entries = entries, .n_entries = 3};
    static const struct {
        const char *model;
        double add, copy;
    } all[] = {{"cnn", 4, 3}, {"gpt", 6, 5}, {"resnet", 7, 8}, {"", 7, 8}};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        double add = 0, copy = 0;
        strait_profile_memory(&add, &copy, &p, all[i].model);
        CU_ASSERT_EQUAL(add, all[i].add);
        CU_ASSERT_EQUAL(copy, all[i].copy);
    }
}

/* A copy with one more byte is read as any file: it says the same as the table, and hashes so. */
static void check_table(const char *path)
{
    char copy[] = "/tmp/strait-profile-XXXXXX.json", hash[STRAIT_KEY_CHARS], read[STRAIT_KEY_CHARS];
    size_t len_bytes;
    char *bytes = folder_bytes("/", path, &len_bytes), *made = NULL;
    const int fd = mkstemps(copy, 5);
    struct strait_profile *p = NULL;
    CU_ASSERT_FATAL(bytes && fd >= 0);
    CU_ASSERT_EQUAL(write(fd, bytes, len_bytes), (ssize_t)len_bytes);
    const struct strait_profile_table *table = strait_profile_table_of_file(copy);
    CU_ASSERT_PTR_NOT_NULL_FATAL(table); /* the same bytes elsewhere */
    CU_ASSERT_EQUAL(write(fd, "\n", 1), 1);
    CU_ASSERT_PTR_NULL(strait_profile_table_of_file(copy));
    close(fd);
    CU_ASSERT_EQUAL_FATAL(strait_profile_load(&p, copy, NULL), 0);
    CU_ASSERT_PTR_EQUAL(strait_profile_table_of(p), table);
    json_t *json = strait_profile_json(p);
    char *text = json_dumps(json, JSON_COMPACT);
    CU_ASSERT_STRING_EQUAL(table->text, text);
    CU_ASSERT_STRING_EQUAL(table->hash, strait_hash_json(read, json));
    CU_ASSERT_STRING_EQUAL(strait_profile_hash(hash, p), read);
    CU_ASSERT_PTR_EQUAL(strait_profile_text(&made, p), table->text);
    CU_ASSERT_PTR_NULL(made);
    /* Of a changed profile nothing comes from the table. */
    p->entries[p->n_entries - 1].decode.p90 *= 2;
    CU_ASSERT_PTR_NULL(strait_profile_table_of(p));
    CU_ASSERT_STRING_NOT_EQUAL(strait_profile_hash(hash, p), read);
    CU_ASSERT_STRING_NOT_EQUAL(strait_profile_text(&made, p), table->text);
    CU_ASSERT_PTR_NOT_NULL(made);
    json_decref(json);
    strait_profile_free(p);
    unlink(copy);
    free(bytes);
    free(text);
    free(made);
}

static void tables(void)
{
    static const char folder[] = "codecs/profiles";
    char path[4096], root[3500];
    unsigned n = 0;
    DIR *d = opendir(strait_share_path(root, sizeof(root), folder));
    CU_ASSERT_PTR_NOT_NULL_FATAL(d);
    for (const struct dirent *e; (e = readdir(d));) {
        if (!strstr(e->d_name, ".json"))
            continue;
        snprintf(path, sizeof(path), "%s/%.255s", root, e->d_name);
        check_table(path);
        n++;
    }
    closedir(d);
    CU_ASSERT_EQUAL(n, 9);
    CU_ASSERT_PTR_NULL(strait_profile_table_of_file("no-such-file"));
}

static const struct strait_test tests[] = {
    {"memory is as fast as measured on the model, else as on any", memory},
    {"bound 0 is an entry of its own, is saved and loaded", bound_0},
    {"the nearest other settings of a codec are found, or all are named", near_settings},
    {"a rounded profile has the digits of its file", rounded},
    {"between two bounds bits and seconds a byte are linear in the logarithm", interpolation},
    {"beyond the measured bounds there is no answer, and the range is named", no_extrapolation},
    {"a kind may be that of partial sums of so many ranks", sums},
    {"the model's own entry comes first, then the kind's, then any", preference},
    {"a saved profile loads as the same, with the same hash", saved_and_loaded},
    {"malformed entries are refused where they are", refusals},
    {"the shipped profile covers the codecs, kinds and bounds of the experiments", shipped},
    {"every codec has costs in a profile that ships", every_codec},
    {"the stated profiles say what their sources say", stated},
    {"what the build read of the profiles that ship is what their files say", tables},
};
STRAIT_SUITE("codecs/profile/profile", tests);
