/* Whatever system call fails, a library says so once and goes on; and interrupted and short reads
 * and writes alter nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "analysis/store.h"
#include "campaign/backends.h"
#include "campaign/worker_pool.h"
#include "cli/kit/files.h"
#include "codecs/profile/profile.h"
#include "core/process.h"
#include "emu/guest/guest_archive.h"
#include "emu/guest/guest_dir.h"
#include "emu/links/userns.h"
#include "emu/programs/net_registry.h"
#include "tests/kit/data.h"
#include "tests/kit/failing/faulty.h"
#include "tests/kit/folder.h"
#include "tests/kit/suite.h"
#include "traces/curves.h"
#include "traces/tensors.h"
#include "workloads/rank/trial.h"

static char folder[64], file[128];

static void set_up(void)
{
    strcpy(folder, "/tmp/strait-faulty-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(file, sizeof(file), "%s/file", folder);
}

/* --- files ---------------------------------------------------------------------------------- */

static int write_and_read(void *arg, struct strait_error *err)
{
    unsigned char *bytes = NULL;
    size_t n = 0;
    (void)arg;
    if (strait_file_write(file, true, "head", 4, "and body", 8, err) != 0)
        return -1;
    if (strait_file_read(&bytes, &n, file, err) != 0)
        return -1;
    CU_ASSERT_EQUAL(n, 12);
    CU_ASSERT_EQUAL(memcmp(bytes, "headand body", 12), 0);
    free(bytes);
    return 0;
}

/* A file is never left half, and no draft of it at all. */
static void files(void)
{
    struct strait_error err = {0};
    char path[256];
    set_up();
    CU_ASSERT(strait_faulty_each(write_and_read, NULL, 1) > 6);
    strait_halting_begin();
    CU_ASSERT_EQUAL(write_and_read(NULL, &err), 0);
    strait_halting_end();
    unlink(file);
    snprintf(path, sizeof(path), "%s.part-%ld", file, (long)getpid());
    CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
    folder_remove(folder);
}

static int use_store(void *arg, struct strait_error *err)
{
    struct strait_store *s = NULL;
    json_t *header = json_pack("{s:s, s:s}", "record", "header", "schema", STRAIT_RESULTS_SCHEMA),
           *record = json_pack("{s:s, s:s}", "record", "row", "key", "k");
    (void)arg;
    const int failed = strait_store_open(&s, folder, true, err) != 0 ||
                       strait_store_begin(s, header, err) != 0 ||
                       strait_store_add(s, record, err) != 0;
    strait_store_free(s);
    json_decref(header);
    json_decref(record);
    return failed ? -1 : 0;
}

static int load_all(void *arg, struct strait_error *err)
{
    struct strait_tensors *t = NULL;
    struct strait_curves *c = NULL;
    struct strait_profile *p = NULL;
    struct strait_model *m = NULL;
    const int failed = strait_tensors_load(&t, NULL, err) != 0 ||
                       strait_curves_load(&c, NULL, err) != 0 ||
                       strait_profile_load(&p, "default", err) != 0 ||
                       strait_model_load(&m, DATA("tests/data/kfac.csv"), err) != 0 ||
                       strait_profile_save(p, arg, err) != 0;
    strait_tensors_free(t);
    strait_curves_free(c);
    strait_profile_free(p);
    strait_model_free(m);
    return failed ? -1 : 0;
}

static void stores(void)
{
    set_up();
    CU_ASSERT(strait_faulty_each(use_store, NULL, 1) > 4);
    CU_ASSERT(strait_faulty_each(load_all, file, 3) > 6);
    folder_remove(folder);
}

static int write_archive(void *arg, struct strait_error *err)
{
    struct strait_emu_archive a;
    (void)arg;
    if (strait_emu_archive_init(&a, file, err) != 0)
        return -1;
    const int failed = strait_emu_archive_add(&a, "/bin/sh", err) != 0 ||
                       strait_emu_archive_add_program(&a, "/usr/bin/env", err) != 0 ||
                       strait_emu_archive_finish(&a, err) != 0;
    strait_emu_archive_release(&a);
    return failed ? -1 : 0;
}

static int write_job(void *arg, struct strait_error *err)
{
    static const char *const argv[] = {"/bin/true", NULL}, *const env[] = {"A=1", NULL},
                             *const none[] = {NULL};
    const struct strait_emu_uml_plan plan = {
        .argv = argv, .folder = "/", .job = folder, .read = argv, .write = none, .setenv = env};
    (void)arg;
    return strait_emu_guest_dir_write_plan(&plan, err);
}

static void guests(void)
{
    set_up();
    CU_ASSERT(strait_faulty_each(write_job, NULL, 1) > 2);
    CU_ASSERT(strait_faulty_each(write_archive, NULL, 1) > 4);
    folder_remove(folder);
}

/* --- processes ------------------------------------------------------------------------------ */

enum { LONG_BYTES = 3000 };

/* cat gives back what it was given. */
static int run_cat(void *arg, struct strait_error *err)
{
    static const char *const argv[] = {"cat", NULL};
    static char in[LONG_BYTES + 1], out[LONG_BYTES + 100];
    (void)arg;
    memset(in, 'x', LONG_BYTES);
    const int status = strait_process_run(out, sizeof(out), argv, in, 60, err);
    if (status == 0)
        CU_ASSERT_EQUAL(strlen(out), LONG_BYTES);
    return status == 0 ? 0 : -1;
}

static void programs(void)
{
    struct strait_error err = {0};
    CU_ASSERT(strait_faulty_each(run_cat, NULL, 1) > 4);
    strait_halting_begin();
    CU_ASSERT_EQUAL(run_cat(NULL, &err), 0);
    strait_halting_end();
}

static json_t *square(size_t i, void *context, struct strait_error *err)
{
    (void)context, (void)err;
    return json_integer((json_int_t)(i * i));
}

static int add_up(size_t i, const json_t *result, void *context, struct strait_error *err)
{
    (void)i, (void)err;
    *(json_int_t *)context += json_integer_value(result);
    return 0;
}

/* 0 + 1 + 4 + 9 + 16 = 30 */
static int run_pool(void *arg, struct strait_error *err)
{
    json_int_t sum = 0;
    (void)arg;
    const int status = strait_pool_run(5, 2, square, add_up, &sum, NULL, err);
    if (status == 0)
        CU_ASSERT_EQUAL(sum, 30);
    return status;
}

static void pools(void)
{
    struct strait_error err = {0};
    CU_ASSERT(strait_faulty_each(run_pool, NULL, 1) > 4);
    strait_halting_begin();
    CU_ASSERT_EQUAL(run_pool(NULL, &err), 0);
    strait_halting_end();
}

struct point {
    struct strait_experiment *e;
    struct strait_profile *profile;
    const struct strait_backend *backend;
};

static int run_trial(void *arg, struct strait_error *err)
{
    const struct point *at = arg;
    const struct strait_trial_options sized = {.every_round = true};
    struct strait_trial *p = NULL;
    const int failed = strait_trial_new(&p, at->e, at->profile, &sized, err) != 0 ||
                       strait_trial_run(p, at->backend, err) != 0;
    strait_trial_free(p);
    return failed ? -1 : 0;
}

static void trials(void)
{
    struct point at = {.backend = &strait_sim};
    struct strait_error err = {0};
    json_t *text = json_pack("{s:s, s:s, s:i, s:{s:s, s:i}, s:s, s:{s:{s:s}, s:{s:s}}}", "schema",
                             "strait-experiment/1", "model", "cnn", "clients", 2, "strategy",
                             "name", "fedavg", "rounds", 2, "codec", "none", "network", "client",
                             "rate", "100 Mbps", "server", "rate", "1 Gbps");
    CU_ASSERT_EQUAL_FATAL(strait_experiment_read(&at.e, "x.json", text, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_profile_load(&at.profile, "default", &err), 0);
    CU_ASSERT(strait_faulty_each(run_trial, &at, 1) > 2);
    at.backend = &strait_fluid;
    CU_ASSERT(strait_faulty_each(run_trial, &at, 1) > 2);
    strait_halting_begin();
    CU_ASSERT_EQUAL(run_trial(&at, &err), 0);
    strait_halting_end();
    strait_profile_free(at.profile);
    strait_experiment_free(at.e);
    json_decref(text);
}

/* What this machine can do is asked in children; where one cannot even be asked, that is no. */
static int probe(void *arg, struct strait_error *err)
{
    struct strait_emu_ability can;
    (void)arg;
    return strait_emu_net_probe(&can, NULL, err);
}

static int use_registry(void *arg, struct strait_error *err)
{
    struct strait_emu_registry place;
    (void)arg;
    if (strait_emu_registry_init(&place, "n", err) != 0)
        return -1;
    const int lock = strait_emu_registry_lock(&place, err);
    if (lock < 0)
        return -1;
    close(lock);
    json_t *names = strait_emu_registry_names(err);
    json_decref(names);
    return names ? 0 : -1;
}

static void hosts(void)
{
    set_up();
    setenv("STRAIT_NET_FOLDER", folder, 1);
    CU_ASSERT(strait_faulty_each(use_registry, NULL, 1) > 1);
    unsetenv("STRAIT_NET_FOLDER");
    CU_ASSERT(strait_faulty_each(probe, NULL, 1) > 4);
    folder_remove(folder);
}

static const struct strait_test tests[] = {
    {"what a machine can do, and which networks are up", hosts},
    {"files are whole or not there", files},
    {"folders of results, tensors and profiles", stores},
    {"archives and jobs of guests", guests},
    {"programs that are run", programs},
    {"workers of a pool", pools},
    {"simulations in a process of their own", trials},
};
STRAIT_SUITE("faulty_calls", tests);
