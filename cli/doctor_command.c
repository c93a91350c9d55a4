/* strait doctor: what this machine can do, by trying it, and what to install. */
#include <cblas.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "analysis/row.h"
#include "analysis/table.h"
#include "core/host.h"
#include "core/process.h"
#include "learn/data/fashion.h"
#include "mpi/world.h"
#include "serve/server.h"
#include "cli/kit/command.h"
#include "campaign/host_header.h"
#include "cli/kit/options.h"
#include "cli/kit/probe.h"

enum { TEXT_CHARS = 512 };

/* The first line of a program's version output. */
static bool ask_version(char *buf, size_t cap, const char *const argv[])
{
    struct strait_error why = {0};
    const int code = strait_process_run(buf, cap, argv, NULL, 10, &why);
    buf[strcspn(buf, "\n")] = '\0';
    if (code == 0)
        return true;
    snprintf(buf, cap, "%.400s", why.text);
    return false;
}

static void check_programs(json_t *out)
{
    static const char *const gnuplot[] = {"gnuplot", "--version", NULL};
    char text[TEXT_CHARS];
    const bool plots = ask_version(text, sizeof(text), gnuplot);
    strait_probe_put(out, "gnuplot", plots, text,
                     "apt install gnuplot-nox (for strait plot); strait report needs nothing");
}

/* Real machines: the module that mpicc compiled, and what starts its processes. */
static void check_mpi(json_t *out)
{
    static const char *const mpirun[] = {"mpirun", "--version", NULL};
    char text[TEXT_CHARS];
    struct strait_error why = {0};
    bool works = strait_mpi_module_check(&why) == 0;
    if (works)
        works = ask_version(text, sizeof(text), mpirun);
    else
        snprintf(text, sizeof(text), "%.400s", why.text);
    strait_probe_put(out, "mpi", works, text,
                     "apt install libopenmpi-dev openmpi-bin, then make (for strait rank)");
}

/* Data and libraries that some commands need and others do without. */
static void check_extras(json_t *out)
{
    char text[TEXT_CHARS], hint[TEXT_CHARS];
    struct strait_error why = {0};
    const bool serves = strait_server_check(&why) == 0;
    strait_probe_put(out, "pages", serves, serves ? "libmicrohttpd" : why.text,
                     "apt install libmicrohttpd12 (for strait serve); strait report needs nothing");
    struct strait_images images = {0};
    struct strait_error missing = {0};
    const bool trains = strait_fashion_read(&images, 1, 1, &missing) == 0;
    strait_images_release(&images);
    const char *better = strait_blas_better_core();
    char *kernels = openblas_get_corename();
    snprintf(hint, sizeof(hint), "export OPENBLAS_CORETYPE=%s (\"training\" is quicker then)",
             better ? better : kernels);
    snprintf(text, sizeof(text), "kernels for %s%s", kernels,
             better ? ", since it does not know this processor" : "");
    strait_probe_put(out, "OpenBLAS", !better, text, hint);
    strait_probe_put(out, "data", trains, trains ? "Fashion-MNIST" : missing.text,
                     "apt install " STRAIT_FASHION_PACKAGE
                     " (for \"training\" on it); the task quadratic needs none");
}

static const char small_experiment[] =
    "{\"schema\": \"strait-experiment/1\", \"model\": \"cnn\", \"clients\": 1,"
    " \"strategy\": {\"name\": \"fedavg\", \"rounds\": 1},"
    " \"network\": {\"client\": {\"rate\": \"1 Gbps\", \"rtt\": \"1 ms\"},"
    " \"server\": {\"rate\": \"1 Gbps\"}}}";

/* Run a small point on the real backend: tests the library, its constants and the forked child. */
static bool check_backend(json_t *out, const struct strait_backend *backend)
{
    char text[TEXT_CHARS] = "";
    struct strait_error why = {0};
    struct strait_experiment *e = NULL;
    struct strait_profile *profile = NULL;
    struct strait_trial *p = NULL;
    const struct strait_trial_options options = {.real_payload = false};
    json_t *json = json_loads(small_experiment, 0, NULL);
    const bool works = strait_experiment_read(&e, "doctor", json, &why) == 0 &&
                       strait_profile_load(&profile, "default", &why) == 0 &&
                       strait_trial_new(&p, e, profile, &options, &why) == 0 &&
                       strait_trial_run(p, backend, &why) == 0;
    if (!works)
        snprintf(text, sizeof(text), "%s", why.text);
    else if (backend == &strait_sim) {
        json_t *versions = strait_versions_json(NULL);
        snprintf(text, sizeof(text), "a round simulated with SimGrid %s",
                 json_string_value(json_object_get(versions, "simgrid")));
        json_decref(versions);
    } else {
        snprintf(text, sizeof(text), "a round simulated");
    }
    strait_probe_put(out, backend->name, works, text,
                     "apt install libsimgrid-dev, then build again");
    strait_trial_free(p);
    strait_profile_free(profile);
    strait_experiment_free(e);
    json_decref(json);
    return works;
}

/* How emulation works here: "" in place or in a user namespace, " with --launcher vuml"; NULL: not
 * at all. */
static const char *check_emulation(json_t *out)
{
    struct strait_probe found = {.launcher = NULL};
    struct strait_error why = {0};
    if (strait_probe_emulation(&found, out, true, &why) != 0)
        strait_probe_put(out, "emulation", false, why.text, "");
    if (found.launcher && found.realisation)
        return "";
    if (!found.guest)
        return NULL;
    return strcmp(found.guest, "vuml") == 0 ? " with --launcher vuml" : " with --launcher uml";
}

static void check_machine(json_t *out)
{
    char text[TEXT_CHARS], total[STRAIT_NUMBER_CHARS], available[STRAIT_NUMBER_CHARS];
    const double total_bytes = strait_host_memory_bytes("MemTotal"),
                 available_bytes = strait_host_memory_bytes("MemAvailable");
    struct timespec resolution;
    snprintf(text, sizeof(text), "%d", strait_host_processors());
    strait_probe_put(out, "processors", strait_host_processors() >= 2, text,
                     "with one processor emulation needs more dilation");
    snprintf(text, sizeof(text), "%s, %s available", strait_bytes_text(total, total_bytes),
             strait_bytes_text(available, available_bytes));
    strait_probe_put(out, "memory", available_bytes > 1e9, text, "some experiments need more");
    clock_getres(CLOCK_MONOTONIC, &resolution);
    snprintf(text, sizeof(text), "monotonic, steps of %ld ns", resolution.tv_nsec);
    strait_probe_put(out, "clock", resolution.tv_sec == 0 && resolution.tv_nsec <= 1000, text,
                     "a kernel with high-resolution timers");
}

int strait_command_doctor(int argc, char **argv)
{
    bool json = false;
    const struct strait_option options[] = {
        {"json", 0, STRAIT_OPTION_FLAG, &json, NULL, "JSON Lines on standard output"},
        STRAIT_WIDE_OPTION};
    const struct strait_usage usage = {
        "doctor", "", "Try what simulation, emulation and pictures need, and name what is missing.",
        STRAIT_OPTIONS(options),
        "Exit status 0 when sim and one way of emulating work, else 3. Guests are booted.\n"};
    const char *none[1];
    int status;
    if (!strait_command_begin(&status, &usage, argc, argv, none, 0, NULL))
        return status;
    json_t *out = json_array();
    const bool sim = check_backend(out, &strait_sim);
    check_backend(out, &strait_fluid);
    const char *emu = check_emulation(out);
    check_programs(out);
    check_mpi(out);
    check_extras(out);
    check_machine(out);
    strait_probe_print(out, json);
    if (!json)
        printf("\nsimulation %s, emulation %s%s\n", sim ? "works" : "does not work",
               emu ? "works" : "does not work", emu ? emu : "");
    json_decref(out);
    return sim && emu ? 0 : 3;
}
