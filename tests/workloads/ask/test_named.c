/* Machines and networks that experiments name: what comes from where, and what is refused. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "workloads/ask/software.h"
#include "workloads/ask/named.h"
#include "workloads/train/collectives/collectives.h"
#include "tests/kit/harness.h"
#include "tests/kit/suite.h"

enum { PATH_CHARS = 64 };

static void write_file(char path[PATH_CHARS], const char *text)
{
    strcpy(path, "/tmp/strait-named-XXXXXX");
    const int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

#define MACHINE(machine, sources)                                                                  \
    "{\"schema\":\"strait-machine/1\",\"title\":\"m\",\"machine\":{" machine                       \
    "},\"sources\":{" sources "}}"
#define GOOD                                                                                       \
    MACHINE("\"add\":\"4 GB/s\",\"copy\":\"8 GB/s\",\"constants\":{\"inverse_base\":\"2 ms\","     \
            "\"piece\":\"1 KB\"}",                                                                 \
            "\"add\":\"a\",\"copy\":\"b\",\"inverse_base\":\"c\",\"piece\":\"d\"")

static const char experiment[] =
    "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":4,"
    "\"strategy\":{\"name\":\"%s\"%s},\"device\":{\"name\":\"%s\"%s},"
    "\"network\":{\"client\":{\"rate\":\"1 Gbps\",\"rtt\":\"1 ms\"}}}";

/* The point of the experiment with that strategy, on the machine of that file. */
static struct strait_experiment *read_on(const char *machine, const char *strategy,
                                         const char *more, const char *device,
                                         struct strait_error *err)
{
    char path[PATH_CHARS], text[1024];
    struct strait_experiment *e = NULL;
    write_file(path, machine);
    snprintf(text, sizeof(text), experiment, strategy, more, path, device);
    json_t *json = json_loads(text, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    if (strait_named_expand(json, "e.json", err) == 0 &&
        strait_named_expand(json, "e.json", err) == 0) /* twice is as good as once */
        strait_experiment_read(&e, "e.json", json, err);
    json_decref(json);
    unlink(path);
    return e;
}

static void machines(void)
{
    struct strait_error err = {0};
    struct strait_experiment *e = read_on(GOOD, "mpdkfac", "", "", &err);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_PTR_NOT_NULL_FATAL(e);
    CU_ASSERT_EQUAL(strait_experiment_param(e, "inverse_base"), 2e-3);
    CU_ASSERT_EQUAL(strait_experiment_param(e, "piece"), 1000);
    CU_ASSERT_EQUAL(strait_experiment_param(e, "inverse_growth"), 4.77e-4); /* its own default */
    CU_ASSERT_EQUAL(e->add_bytes_per_s, 4e9);
    CU_ASSERT_EQUAL(e->copy_bytes_per_s, 8e9);
    strait_experiment_free(e);
    /* what the strategy or the experiment says goes first; dkfac takes no pieces */
    e = read_on(GOOD, "dkfac", ",\"inverse_base\":\"5 ms\"",
                ",\"copy\":\"1 GB/s\",\"constants\":{\"factor_speed\":3}", &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(e);
    CU_ASSERT_EQUAL(strait_experiment_param(e, "inverse_base"), 5e-3);
    CU_ASSERT_EQUAL(strait_experiment_param(e, "factor_speed"), 3);
    CU_ASSERT_EQUAL(e->add_bytes_per_s, 4e9);
    CU_ASSERT_EQUAL(e->copy_bytes_per_s, 1e9);
    strait_experiment_free(e);
}

/* A ring adds and copies at the machine's speed; a server at the profile's. */
static void speeds(void)
{
    static const char ring[] =
        "{\"schema\":\"strait-experiment/1\",\"model\":\"cnn\",\"clients\":4,"
        "\"strategy\":{\"name\":\"bsp\",\"rounds\":1},"
        "\"network\":{\"client\":{\"rate\":\"1 Gbps\",\"rtt\":\"1 ms\"}}}";
    struct strait_outcome plain = strait_outcome_of(ring, json_object(), "default", &strait_fluid,
                                                    (struct strait_trial_options){0}),
                          fast = strait_outcome_of(ring,
                                                   json_pack("{s:{s:s, s:s}}", "/device", "add",
                                                             "1e6 GB/s", "copy", "1e6 GB/s"),
                                                   "default", &strait_fluid,
                                                   (struct strait_trial_options){0});
    /* n - 1 additions and n - 1 copies of a part are what it saves */
    const double part = 105866 / 4.0, saved_s = 3 * 4 * part *
                                                (1 / plain.point->add_bytes_per_s +
                                                 1 / plain.point->copy_bytes_per_s - 2e-15);
    CU_ASSERT_DOUBLE_EQUAL(plain.total_s - fast.total_s, saved_s, 1e-3 * saved_s);
    strait_outcome_free(&plain);
    strait_outcome_free(&fast);
}

static void refused(void)
{
    static const struct {
        const char *machine, *device, *part;
    } cases[] = {
        {"{\"schema\":\"strait-machine/2\",\"title\":\"m\",\"machine\":{},\"sources\":{}}", "",
         "expected schema \"strait-machine/1\", found \"strait-machine/2\""},
        {MACHINE("\"add\":\"4 GB/s\"", ""), "", "found none for add"},
        {MACHINE("\"constants\":{\"piece\":\"1 KB\"}", "\"piec\":\"a\""), "", "found none for"},
        {MACHINE("", "\"piece\":\"a\""), "", "found more"},
        {GOOD, ",\"constants\":{\"factr_speed\":1}", "did you mean \"factor_speed\""},
        {GOOD, ",\"constants\":{\"inverse_base\":1}", "expected a time"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strait_error err = {0};
        CU_ASSERT_PTR_NULL(read_on(cases[i].machine, "dkfac", "", cases[i].device, &err));
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].part));
        if (!strstr(err.text, cases[i].part))
            fprintf(stderr, "case %zu: %s: %s\n", i, err.where, err.text);
    }
    struct strait_error err = {0};
    json_t *json = json_pack("{s:s}", "network", "nowhere");
    CU_ASSERT_EQUAL(strait_named_expand(json, "e.json", &err), -1);
    CU_ASSERT_STRING_EQUAL(err.where, "e.json#/network");
    json_decref(json);
}

/* Settings reach into what a name stands for, and a name may be set. */
static void networks(void)
{
    struct strait_error err = {0};
    struct strait_sweep *s;
    const char *const settings[] = {"/network/node/rate=7 Gbps", "/clients=8",
                                    "/strategy={\"name\":\"bsp\"}"},
                      *const named[] = {"/network=hkbu-100gbib", "/clients=8",
                                        "/strategy={\"name\":\"bsp\"}"};
    CU_ASSERT_EQUAL_FATAL(strait_sweep_load(&s, "ddl-benchmarks", settings, 3, &err), 0);
    json_t *point = strait_sweep_point(s, 0, NULL, &err);
    const json_t *node = json_object_get(json_object_get(point, "network"), "node");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(node, "rate")), "7 Gbps");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(node, "rtt")), "30 us");
    json_decref(point);
    strait_sweep_free(s);
    CU_ASSERT_EQUAL_FATAL(strait_sweep_load(&s, "ddl-benchmarks", named, 3, &err), 0);
    point = strait_sweep_point(s, 0, NULL, &err);
    node = json_object_get(json_object_get(point, "network"), "node");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(node, "rate")), "100 Gbps");
    json_decref(point);
    strait_sweep_free(s);
}

/* The value at a path of keys in point i of an experiment with these settings; asserts success. */
static json_t *value_of(const char *file, size_t i, const char *const *settings, size_t n_settings,
                        const char *const *keys)
{
    struct strait_error err = {0};
    struct strait_sweep *s;
    if (strait_sweep_load(&s, file, settings, n_settings, &err) != 0) {
        fprintf(stderr, "%s: %s\n", err.where, err.text);
        CU_FAIL_FATAL("settings");
    }
    json_t *point = strait_sweep_point(s, i, NULL, &err), *at = point;
    for (; *keys; keys++)
        at = json_object_get(at, *keys);
    json_incref(at);
    json_decref(point);
    strait_sweep_free(s);
    return at;
}

#define STRING_OF(experiment, settings, ...)                                                       \
    value_of(experiment, 0, settings, sizeof(settings) / sizeof(*(settings)),                      \
             (const char *const[]){__VA_ARGS__, NULL})

/* What is named is set before what is inside of it, in whatever order they are given. */
static void settings_inside(void)
{
    const char *const network[] = {"/network/node/rate=7 Gbps", "/clients=8",
                                   "/network=hkbu-100gbib", "/strategy/rounds=3", "/strategy=bsp"},
                      *const codec[] = {"/codec/bound={\"range\":1e-2}", "/codec=sz",
                                        "/download_codec/cutoff=5", "/download_codec=zstd"},
                      *const device[] = {"/device/speed=2", "/device=rtx2080ti"};
    json_t *found = STRING_OF("ddl-benchmarks", network, "network", "node", "rate");
    CU_ASSERT_STRING_EQUAL(json_string_value(found), "7 Gbps");
    json_decref(found);
    found = STRING_OF("ddl-benchmarks", network, "network", "node", "rtt"); /* of the named one */
    CU_ASSERT_STRING_EQUAL(json_string_value(found), "9.5 us");
    json_decref(found);
    found = STRING_OF("ddl-benchmarks", network, "strategy");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(found, "rounds")), 3);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(found, "name")), "bsp");
    json_decref(found);
    found = STRING_OF("wan-check", codec, "codec", "bound", "range");
    CU_ASSERT_EQUAL(json_number_value(found), 1e-2);
    json_decref(found);
    found = STRING_OF("wan-check", codec, "download_codec");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(found, "name")), "zstd");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(found, "cutoff")), 5);
    json_decref(found);
    found = STRING_OF("wan-check", device, "device", "name");
    CU_ASSERT_STRING_EQUAL(json_string_value(found), "rtx2080ti");
    json_decref(found);
}

/* A setting inside of what an axis puts there is in each of its values, not lost under them. */
static void settings_inside_an_axis(void)
{
    static const char *const settings[] = {"/codec/cutoff=5"};
    struct strait_error err = {0};
    struct strait_sweep *s;
    CU_ASSERT_EQUAL_FATAL(strait_sweep_load(&s, "wan-check", settings, 1, &err), 0);
    CU_ASSERT(s->n_points >= 2); /* /codec is an axis: "none" and sz */
    for (size_t i = 0; i < s->n_points; i++) {
        json_t *labels, *point = strait_sweep_point(s, i, &labels, &err);
        const json_t *codec = json_object_get(point, "codec");
        CU_ASSERT_EQUAL(json_integer_value(json_object_get(codec, "cutoff")), 5);
        CU_ASSERT(json_equal(codec, json_object_get(labels, "/codec")));
        json_decref(point);
        json_decref(labels);
    }
    strait_sweep_free(s);
}

#define NETWORK(constants, sources)                                                                \
    "{\"schema\":\"strait-network/1\",\"title\":\"n\",\"source\":\"s\",\"network\":{\"client\":"   \
    "{\"rate\":\"1 Gbps\"},\"constants\":{" constants "}},\"sources\":{" sources "}}"

/* The launch of wfbp there; NAN with *err. */
static double launch_on(const char *network, const char *strategy, struct strait_error *err)
{
    char path[PATH_CHARS];
    struct strait_experiment *e = NULL;
    double launch_s = NAN;
    write_file(path, network);
    json_t *json =
        json_pack("{s:s, s:s, s:i, s:{s:s}, s:{s:{s:s}}, s:s}", "schema", "strait-experiment/1",
                  "model", "cnn", "clients", 2, "strategy", "name", "wfbp", "device", "constants",
                  "launch", "7 ms", "network", path);
    if (strategy)
        json_object_set_new(json_object_get(json, "strategy"), "launch", json_string(strategy));
    if (strait_named_expand(json, "e.json", err) == 0 &&
        strait_experiment_read(&e, "e.json", json, err) == 0)
        launch_s = strait_experiment_param(e, "launch");
    strait_experiment_free(e);
    json_decref(json);
    unlink(path);
    return launch_s;
}

/* What the strategy says goes before what the network says, and that before the machine. */
static void network_constants(void)
{
    struct strait_error err = {0};
    const char *const good = NETWORK("\"launch\":\"3 ms\"", "\"launch\":\"a\"");
    CU_ASSERT_EQUAL(launch_on(NETWORK("", ""), NULL, &err), 7e-3);
    CU_ASSERT_EQUAL(launch_on(good, NULL, &err), 3e-3);
    CU_ASSERT_EQUAL(launch_on(good, "1 ms", &err), 1e-3);
    CU_ASSERT(isnan(launch_on(NETWORK("\"launch\":\"3 ms\"", ""), NULL, &err)));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "found none for launch"));
    err = (struct strait_error){0};
    CU_ASSERT(isnan(launch_on(NETWORK("\"lunch\":1", "\"lunch\":\"a\""), NULL, &err)));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "did you mean \"launch\""));
}

#define SOFTWARE(constants, sources)                                                               \
    "{\"schema\":\"strait-software/1\",\"title\":\"s\",\"software\":{\"constants\":{" constants    \
    "}},\"sources\":{" sources "}}"
#define OF_CNN                                                                                     \
    "\"launch\":{\"source\":\"s\",\"model\":\"cnn\",\"device\":\"d\",\"figures\":2,\"error\":\"1 " \
    "ms\","                                                                                        \
    "\"reach\":\"all\"}"

/* wfbp with the constants of that file, and a network and a machine that have none, or "launch". */
static struct strait_experiment *with_software(const char *software, const char *network,
                                               const char *machine, struct strait_error *err)
{
    char path[PATH_CHARS];
    struct strait_experiment *e = NULL;
    write_file(path, software);
    json_t *json = json_pack("{s:s, s:s, s:i, s:s, s:{s:{s:s}}, s:s}", "schema",
                             "strait-experiment/1", "model", "cnn", "clients", 2, "strategy",
                             "wfbp", "network", "client", "rate", "1 Gbps", "software", path);
    if (network)
        json_object_set_new(json_object_get(json, "network"), "constants",
                            json_pack("{s:s}", "launch", network));
    json_object_set_new(json, "device", json_pack("{s:s}", "name", "rtx2080ti"));
    if (machine)
        json_object_set_new(json_object_get(json, "device"), "constants",
                            json_pack("{s:s}", "launch", machine));
    if (strait_named_expand(json, "e.json", err) == 0 &&
        strait_named_expand(json, "e.json", err) == 0) /* twice is the same as once */
        strait_experiment_read(&e, "e.json", json, err);
    json_decref(json);
    unlink(path);
    return e;
}

/* After the network's constants and before the machine's; what is used is told with where it was
 * estimated, here on another device. */
static void software_constants(void)
{
    struct strait_error err = {0};
    struct strait_experiment *e =
        with_software(SOFTWARE("\"launch\":\"3 ms\"", OF_CNN), NULL, "7 ms", &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(e);
    CU_ASSERT_EQUAL(strait_experiment_param(e, "launch"), 3e-3);
    json_t *used = strait_software_used(e);
    const json_t *launch = json_object_get(used, "launch");
    CU_ASSERT_EQUAL(json_object_size(used), 1);
    CU_ASSERT_EQUAL(json_real_value(json_object_get(launch, "value")), 3e-3);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(launch, "figures")), 2);
    static const struct {
        const char *said;
        double off; /* NAN: not a figure of that unit */
    } errors[] = {{"1 ms", 1e-3},
                  {"0.1 ms: why", 1e-4},
                  {"0.2 s, the spread", 0.2},
                  {"a factor of 2: why", NAN},
                  {"0.1", NAN},
                  {"not known", NAN},
                  {"", NAN}};
    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
        json_object_set_new((json_t *)launch, "error", json_string(errors[i].said));
        const double off = strait_software_error(e, "launch", launch);
        strait_test_context("%s", errors[i].said);
        CU_ASSERT(isnan(errors[i].off) ? isnan(off) : fabs(off - errors[i].off) < 1e-15);
    }
    CU_ASSERT(isnan(strait_software_error(e, "no such", launch)));
    CU_ASSERT(json_is_false(json_object_get(launch, "own")));
    json_object_set_new((json_t *)launch, "error", json_string("0.1 ms"));
    json_object_set_new((json_t *)launch, "elsewhere", json_string("2 ms: another model"));
    CU_ASSERT_DOUBLE_EQUAL(strait_software_error(e, "launch", launch), 2e-3, 1e-15);
    json_object_set_new((json_t *)launch, "own", json_true());
    CU_ASSERT_DOUBLE_EQUAL(strait_software_error(e, "launch", launch), 1e-4, 1e-15);
    json_decref(used);
    strait_experiment_free(e);
    e = with_software(SOFTWARE("\"launch\":\"3 ms\"", OF_CNN), "5 ms", NULL, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(e);
    CU_ASSERT_EQUAL(strait_experiment_param(e, "launch"), 5e-3);
    used = strait_software_used(e); /* the network's is used */
    CU_ASSERT_EQUAL(json_object_size(used), 0);
    json_decref(used);
    strait_experiment_free(e);
    CU_ASSERT_PTR_NULL(with_software(SOFTWARE("\"launch\":\"3 ms\"", ""), NULL, NULL, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "found none for launch"));
    err = (struct strait_error){0};
    CU_ASSERT_PTR_NULL(with_software(
        SOFTWARE("\"launch\":\"3 ms\"", "\"launch\":{\"source\":\"s\"}"), NULL, NULL, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.where, "/sources/launch"));
}

/* What a library's code says is no estimate; a strategy without the parameter goes without it. */
static void named_collective(void)
{
    struct strait_error err = {0};
    static const char *const strategies[] = {"bsp", "wfbp"};
    for (int i = 0; i < 2; i++) {
        struct strait_experiment *e = NULL;
        json_t *json =
            json_pack("{s:s, s:s, s:i, s:s, s:{s:{s:s}}, s:s}", "schema", "strait-experiment/1",
                      "model", "cnn", "clients", 2, "strategy", strategies[i], "network", "client",
                      "rate", "1 Gbps", "software", "gloo");
        CU_ASSERT_EQUAL(strait_named_expand(json, "e.json", &err), 0);
        CU_ASSERT_EQUAL_FATAL(strait_experiment_read(&e, "e.json", json, &err), 0);
        if (i == 0)
            CU_ASSERT_EQUAL(strait_experiment_param(e, "collective"), STRAIT_AR_GLOO);
        json_t *used = strait_software_used(e);
        CU_ASSERT_EQUAL(json_object_size(used), 0);
        json_decref(used);
        json_decref(json);
        strait_experiment_free(e);
    }
}

/* What a constant is where it costs nothing has its unit. */
static void free_constants(void)
{
    json_t *time = strait_software_free("negotiate"), *speed = strait_software_free("transport"),
           *share = strait_software_free("contention");
    CU_ASSERT_STRING_EQUAL(json_string_value(time), "0 s");
    CU_ASSERT_STRING_EQUAL(json_string_value(speed), "1000000 GB/s");
    CU_ASSERT(json_is_integer(share) && json_integer_value(share) == 0);
    json_decref(time);
    json_decref(speed);
    json_decref(share);
}

static const struct strait_test tests[] = {
    {"a strategy takes from its machine what it does not say itself", machines},
    {"a ring adds and copies at the machine's speed", speeds},
    {"constants without a source, unknown ones and names of nothing are refused", refused},
    {"a network's constants go before the machine's, and need sources", network_constants},
    {"settings reach into a named network and replace it", networks},
    {"a setting inside of another is applied after it, in any order", settings_inside},
    {"a setting inside of an axis is in each of its values", settings_inside_an_axis},
    {"constants of software stand between a network's and a machine's", software_constants},
    {"software names a library's collective, for strategies that choose one", named_collective},
    {"a constant that costs nothing has its unit", free_constants},
};
STRAIT_SUITE("workloads/ask/named", tests);
