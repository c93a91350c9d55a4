/* Bounds tensor by tensor: the file, what is refused, and what a run does with them. */
#include "workloads/ask/tensor_bounds.h"
#include <unistd.h>
#include "tests/kit/strategy_world.h"

static char path[64]; /* of the running test */

static void own_file(void)
{
    snprintf(path, sizeof(path), "/tmp/strait-bounds-XXXXXX");
    const int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
}

static void write_file(const char *text)
{
    FILE *f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs(text, f);
    fclose(f);
}

static json_t *with_file(double bound)
{
    return json_pack("{s:{s:s, s:{s:f}, s:s}}", "/codec", "name", "sz", "bound", "range", bound,
                     "bounds", path);
}

/* What is saved is what is loaded; the rows that have none stay without. */
static void round_trip(void)
{
    own_file();
    struct strait_model *m;
    struct strait_error err = {0};
    enum strait_bound_kind kind;
    double *back, bounds[64];
    CU_ASSERT_EQUAL_FATAL(strait_model_load(&m, "cnn", &err), 0);
    CU_ASSERT_FATAL(m->n_rows <= 64);
    for (size_t i = 0; i < m->n_rows; i++)
        bounds[i] = i % 2 ? NAN : 1e-3 / (double)(i + 1);
    json_t *found = json_pack("{s:s}", "task", "none");
    CU_ASSERT_EQUAL(strait_tensor_bounds_save(path, bounds, STRAIT_BOUND_RMS, m, found, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_tensor_bounds_load(&back, &kind, path, m, "e", &err), 0);
    CU_ASSERT_EQUAL(kind, STRAIT_BOUND_RMS);
    for (size_t i = 0; i < m->n_rows; i++)
        CU_ASSERT(i % 2 ? isnan(back[i]) : back[i] == bounds[i]);
    free(back);
    json_decref(found);
    strait_model_free(m);
    unlink(path);
}

static void refuses(const char *file, const char *where, const char *text)
{
    struct strait_model *m;
    struct strait_error err = {0};
    enum strait_bound_kind kind;
    double *out;
    write_file(file);
    CU_ASSERT_EQUAL_FATAL(strait_model_load(&m, "cnn", &err), 0);
    CU_ASSERT_EQUAL(strait_tensor_bounds_load(&out, &kind, path, m, "e.json#/codec/bounds", &err),
                    -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.where, where));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, text));
    if (!strstr(err.where, where) || !strstr(err.text, text))
        fprintf(stderr, "%s: %s\n", err.where, err.text);
    strait_model_free(m);
}

#define FILE_OF(kind, tensors)                                                                     \
    "{\"schema\":\"strait-bounds/1\",\"kind\":\"" kind "\",\"tensors\":" tensors "}"

static void bad_files(void)
{
    own_file();
    refuses(FILE_OF("rms", "{\"nothing.weight\":0.1}"), "#/tensors/nothing.weight",
            "expected a tensor of model \"cnn\" such as ");
    refuses(FILE_OF("ratio", "{}"), "#/kind", "found \"ratio\"");
    refuses("{\"schema\":\"strait-bounds/2\",\"kind\":\"rms\",\"tensors\":{}}", "#/schema",
            "strait-bounds/1");
    refuses("{\"schema\":\"strait-bounds/1\",\"kind\":\"rms\",\"tensor\":{}}",
            "/tmp/strait-bounds-", "unknown key \"tensor\", did you mean \"tensors\"?");
    refuses("{\"schema\":\"strait-bounds/1\",\"kind\":\"rms\"}", "#/tensors",
            "expected an object, found nothing");
    refuses("not json", "e.json#/codec/bounds", "/tmp/strait-bounds-");
    struct strait_model *m;
    struct strait_error err = {0};
    char text[256], name[192];
    CU_ASSERT_EQUAL_FATAL(strait_model_load(&m, "cnn", &err), 0);
    static const char *const values[] = {"0", "-1", "\"1\"", "null"};
    for (size_t i = 0; i < 4; i++) {
        snprintf(text, sizeof(text), FILE_OF("abs", "{\"%s\":%s}"),
                 strait_tensor_name(name, &m->rows[0]), values[i]);
        refuses(text, name, "expected a bound above 0");
    }
    strait_model_free(m);
    unlink(path);
}

/* A file of another kind than the codec's bound, or none. */
static void bad_choices(void)
{
    own_file();
    struct strait_model *m;
    struct strait_codec_choice c = {.bounds_file = path};
    struct strait_error err = {0};
    CU_ASSERT_EQUAL_FATAL(strait_model_load(&m, "cnn", &err), 0);
    write_file(FILE_OF("rms", "{}"));
    c.spec.bound.kind = STRAIT_BOUND_RANGE;
    CU_ASSERT_EQUAL(strait_codec_choice_bounds(&c, m, "e.json#/codec", &err), -1);
    CU_ASSERT_STRING_EQUAL(err.where, "e.json#/codec/bounds");
    CU_ASSERT_STRING_EQUAL(err.text,
                           "expected bounds of the codec's kind \"range\", found \"rms\"");
    strait_codec_choice_release(&c);
    err = (struct strait_error){0};
    c.bounds_file = "/tmp/strait-no-such-bounds.json";
    CU_ASSERT_EQUAL(strait_codec_choice_bounds(&c, m, "e.json#/codec", &err), -1);
    CU_ASSERT_STRING_EQUAL(err.where, "e.json#/codec/bounds");
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "no-such-bounds.json"));
    strait_model_free(m);
    unlink(path);
}

/* The largest matrix at 0.1, all others at 1e-3 of the range: sizes are the profile's at these, and
 * real tensors keep them, tensor by tensor. */
static void in_a_run(void)
{
    own_file();
    struct strait_model *m;
    struct strait_error err = {0};
    char text[512], name[192];
    size_t largest = 0;
    CU_ASSERT_EQUAL_FATAL(strait_model_load(&m, "cnn", &err), 0);
    for (size_t i = 0; i < m->n_rows; i++)
        largest = m->rows[i].n_elems > m->rows[largest].n_elems ? i : largest;
    snprintf(text, sizeof(text), FILE_OF("range", "{\"%s\":0.1}"),
             strait_tensor_name(name, &m->rows[largest]));
    write_file(text);
    static const char strategy[] = "{\"name\":\"fedavg\",\"rounds\":1,\"local_steps\":1}";
    struct strait_outcome o = star_run(strategy, 1, with_file(1e-3), &strait_fluid, false);
    double bytes = 0;
    for (size_t i = 0; i < m->n_rows; i++) {
        struct strait_codec_spec spec = o.experiment->up.spec;
        struct strait_profile_cost lossy, lossless;
        spec.bound.value = i == largest ? 0.1 : 1e-3;
        CU_ASSERT_EQUAL(strait_profile_find(&lossy, o.profile, &spec, "update", m->name, &err), 0);
        CU_ASSERT_EQUAL(strait_profile_find(&lossless, o.profile, &o.experiment->up.lossless, "any",
                                            m->name, &err),
                        0);
        const bool is_lossy = m->rows[i].n_dims > 1 && m->rows[i].n_elems > 1024;
        bytes += 4.0 * (double)m->rows[i].n_elems / (is_lossy ? lossy.ratio : lossless.ratio);
    }
    bytes = ceil(bytes + (double)m->n_rows * 8);
    CU_ASSERT_EQUAL((double)o.payload_bytes, bytes + 4.0 * CNN_ELEMS);
    strait_outcome_free(&o);

    o = star_run(strategy, 1, with_file(1e-3), &strait_fluid, true);
    const double over = o.point->logs[1].error_over_bound;
    CU_ASSERT(over > 0.9 && over <= 1);
    const uint64_t mixed_bytes = o.payload_bytes;
    strait_outcome_free(&o);
    o = star_run(strategy, 1,
                 json_pack("{s:{s:s, s:{s:f}}}", "/codec", "name", "sz", "bound", "range", 1e-3),
                 &strait_fluid, true);
    CU_ASSERT(mixed_bytes < o.payload_bytes);
    strait_outcome_free(&o);
    strait_model_free(m);
    unlink(path);
}

static const struct strait_test tests[] = {
    {"what is saved is what is loaded", round_trip},
    {"bad files are refused by tensor", bad_files},
    {"bounds of another kind than the codec's are refused", bad_choices},
    {"each tensor is priced and coded at its own bound", in_a_run},
};
STRAIT_SUITE("workloads/ask/tensor_bounds", tests);
