/* What a profile lacks for an experiment, counted without measuring it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analysis/measured/calibration.h"
#include "tests/kit/data.h"
#include "tests/kit/suite.h"

#define SZ(bound) "/codec={\"name\":\"sz\",\"bound\":{\"range\":" bound "}}"

static size_t n_missing(struct strait_profile *p, const char *const *settings, size_t n)
{
    struct strait_error err = {0};
    struct strait_sweep *sweep;
    size_t missing = 999;
    CU_ASSERT_EQUAL_FATAL(
        strait_sweep_load(&sweep, DATA("experiments/wan-check.json"), settings, n, &err), 0);
    const size_t n_before = p->n_entries;
    CU_ASSERT_EQUAL(strait_calibrate_missing(p, &missing, sweep, NULL, &err), 0);
    CU_ASSERT_EQUAL(p->n_entries, n_before); /* counted alone */
    strait_sweep_free(sweep);
    return missing;
}
#define MISSING(p, ...)                                                                            \
    n_missing(p, (const char *const[]){__VA_ARGS__},                                               \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

#define MEMORY                                                                                     \
    {                                                                                              \
        .codec = "none", .kind = "any", .model = "cnn", .bound = { STRAIT_BOUND_NONE, 0 }          \
    }

/* Each way of each point asks for its codec, a lossless one beside a lossy one, and memory. */
static void ways(void)
{
    struct strait_profile_entry known[] = {MEMORY};
    struct strait_profile none = {0}, memory = {.entries = known, .n_entries = 1};
    /* up none and sz, down none: 1 + 1 and 3 + 1 */
    CU_ASSERT_EQUAL(MISSING(&none, "/model=cnn"), 6);
    CU_ASSERT_EQUAL(MISSING(&memory, "/model=cnn"), 2);
    CU_ASSERT_EQUAL(MISSING(&memory, "/model=cnn", "/codec=none"), 0);
    CU_ASSERT_EQUAL(MISSING(&memory, "/model=cnn", "/codec=zstd"), 1); /* takes every tensor */
    CU_ASSERT_EQUAL(MISSING(&memory, "/model=cnn", "/codec=zstd", "/download_codec=same"), 2);
    CU_ASSERT_EQUAL(MISSING(&memory, "/model=cnn", SZ("1e-3"), "/download_codec=same"), 4);
    CU_ASSERT_EQUAL(MISSING(&none, "/model=cnn", SZ("1e-3"), "/download_codec=same"), 6);
}

/* Two ways of six entries are there, which differ from those that are asked for in one thing. */
static void entries(void)
{
    struct strait_profile_entry all[] = {
        {.codec = "sz", .kind = "update", .model = "cnn", .bound = {STRAIT_BOUND_RANGE, 1e-3}},
        {.codec = "zstd", .kind = "any", .model = "cnn", .bound = {STRAIT_BOUND_NONE, 0}},
        MEMORY};
    struct strait_profile p = {.entries = all, .n_entries = 3};
    CU_ASSERT_EQUAL(MISSING(&p, "/model=cnn", SZ("1e-3")), 0);
    CU_ASSERT_EQUAL(MISSING(&p, "/model=cnn", SZ("1e-2")), 1);
    CU_ASSERT_EQUAL(MISSING(&p, "/model=resnet", SZ("1e-3")), 4); /* memory both ways */
    CU_ASSERT_EQUAL(MISSING(&p, "/model=cnn", "/codec={\"name\":\"sz\",\"bound\":{\"abs\":1e-3}}"),
                    1);
    CU_ASSERT_EQUAL(MISSING(&p, "/model=cnn",
                            "/codec={\"name\":\"sz\",\"bound\":{\"range\":1e-3},\"directions\":2}"),
                    1);
    CU_ASSERT_EQUAL(MISSING(&p, "/model=cnn", "/codec=u8bit"), 1);
    strcpy(all[0].kind, "grad");
    CU_ASSERT_EQUAL(MISSING(&p, "/model=cnn", SZ("1e-3")), 1);
    strcpy(all[1].kind, "grad");
    CU_ASSERT_EQUAL(MISSING(&p, "/model=cnn", SZ("1e-3")), 2);
}

/* A strategy that sends partial sums asks for those of its codec and number of ranks too, but for
 * a codec with error feedback. */
static void sums(void)
{
    const char *const bsp = "/strategy={\"name\":\"bsp\"}";
    struct strait_profile_entry all[] = {
        {.codec = "sz", .kind = "grad sum 4", .model = "cnn", .bound = {STRAIT_BOUND_RANGE, 1e-3}},
        MEMORY};
    struct strait_profile p = {.entries = all, .n_entries = 2};
    CU_ASSERT_EQUAL(MISSING(&p, "/model=cnn", bsp, SZ("1e-3"), "/clients=8"), 3);
    CU_ASSERT_EQUAL(MISSING(&p, "/model=cnn", bsp, SZ("1e-3"), "/clients=2"), 3);
    CU_ASSERT_EQUAL(MISSING(&p, "/model=cnn", bsp, SZ("1e-3"), "/clients=4"), 2);
    CU_ASSERT_EQUAL(MISSING(&p, "/model=cnn", bsp, SZ("1e-2"), "/clients=4"), 3);
    CU_ASSERT_EQUAL(MISSING(&p, "/model=cnn", bsp, "/codec=none", "/clients=8"), 0);
    CU_ASSERT_EQUAL(MISSING(&p, "/model=cnn", bsp, "/codec=randomk", "/clients=8"), 2);
}

/* Bounds that a schedule may ask for: the first, the last, and between them at most half a decade
 * apart. A factor of 10 makes three of them, of 11 four, of 100 five, of 2 two; each of them and
 * its lossless companion is missing, and those of the experiment itself. */
static void bounds(void)
{
    static const struct {
        const char *strategy;
        size_t n;
    } all[] = {{"/strategy={\"name\":\"adaptive\",\"policy\":\"schedule\",\"decay\":0.8,"
                "\"limit\":10}",
                3},
               {"/strategy={\"name\":\"adaptive\",\"policy\":\"schedule\",\"decay\":0.8,"
                "\"limit\":11}",
                4},
               {"/strategy={\"name\":\"adaptive\",\"policy\":\"schedule\",\"decay\":0.8,"
                "\"limit\":100}",
                5},
               {"/strategy={\"name\":\"adaptive\",\"policy\":\"schedule\",\"decay\":1.25,"
                "\"limit\":2}",
                2},
               {"/strategy={\"name\":\"adaptive\",\"policy\":\"fixed\"}", 1}};
    struct strait_profile_entry known[] = {MEMORY};
    struct strait_profile p = {.entries = known, .n_entries = 1};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        strait_test_context("%s", all[i].strategy);
        CU_ASSERT_EQUAL(MISSING(&p, "/model=cnn", all[i].strategy, SZ("1e-2")), 2 + 2 * all[i].n);
        /* both ways */
        CU_ASSERT_EQUAL(
            MISSING(&p, "/model=cnn", all[i].strategy, SZ("1e-2"), "/download_codec=same"),
            4 + 4 * all[i].n);
    }
}

/* A file gives tensors bounds of their own; of these a policy takes the multiples that it takes of
 * the experiment's 1e-2. Entries as above: the decades between the ends, doubled, and one. */
static void bounds_of_tensors(void)
{
    static const char schedule[] = "/strategy={\"name\":\"adaptive\",\"policy\":\"schedule\","
                                   "\"decay\":0.8,\"limit\":10}";
    static const struct {
        const char *tensors, *set;
        size_t n;
    } all[] = {{"\"fc1.weight\": 1e-4", "/model=cnn", 5}, /* 1e-4 to 1e-2 */
               {"\"fc1.weight\": 1e-4, \"fc2.weight\": 1", "/model=cnn", 9},
               {"\"fc1.weight\": 1e-2", "/model=cnn", 1},
               {"\"fc1.weight\": 1e-4", schedule, 7}, /* to 1e-1 */
               {"\"fc1.weight\": 1e-1", schedule, 5}, /* 1e-2 to 1 */
               {"\"fc1.weight\": 2e-2", schedule, 4}};
    struct strait_profile_entry known[] = {MEMORY};
    struct strait_profile p = {.entries = known, .n_entries = 1};
    char file[] = "/tmp/strait-bounds-XXXXXX", codec[128];
    const int fd = mkstemp(file);
    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    snprintf(codec, sizeof(codec),
             "/codec={\"name\":\"sz\",\"bound\":{\"range\":1e-2},\"bounds\":\"%s\"}", file);
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        FILE *f = fopen(file, "w");
        CU_ASSERT_PTR_NOT_NULL_FATAL(f);
        fprintf(f, "{\"schema\": \"strait-bounds/1\", \"kind\": \"range\", \"tensors\": {%s}}",
                all[i].tensors);
        fclose(f);
        strait_test_context("%s %s", all[i].tensors, all[i].set);
        CU_ASSERT_EQUAL(MISSING(&p, "/model=cnn", all[i].set, codec), 2 + 2 * all[i].n);
    }
    unlink(file);
}

static const struct strait_test tests[] = {
    {"each way of each point asks for its codec, a lossless one and memory", ways},
    {"an entry is another one by codec, settings, bound, kind and model", entries},
    {"partial sums are asked for by number of ranks, but not with error feedback", sums},
    {"so are the bounds that a policy may take, half a decade apart", bounds},
    {"and those that a file gives to single tensors", bounds_of_tensors},
};
STRAIT_SUITE("analysis/measured/calibration_missing", tests);
