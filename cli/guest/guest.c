/* The same command in guests: same folders, same arguments, their rows in the same results folder.
 * In virtual time each emulated row has a guest of its own: memory that a large run gave back lies
 * scattered there, and the next one may find too many pieces. */
#include "guest.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/shipped.h"
#include "emu/guest/qemu.h"
#include "guest_files.h"
#include "guest_job.h"
#include "learn/data/fashion.h"
#include "campaign/host_header.h"

enum { PATH_CHARS = STRAIT_GUEST_PATH_CHARS };
/* For a row, beside what the emulation itself allows it. */
static const double ROW_LIMIT_S = 3700, BOOT_LIMIT_S = 120;

static bool is_qemu(const struct strait_session *r)
{
    return strcmp(r->launcher, "qemu") == 0;
}

/* Where data sets lie, if that is named: /usr, which has them otherwise, is there in a guest. */
static bool has_data_folder(char path[PATH_CHARS])
{
    const char *named = getenv(STRAIT_DATA_VARIABLE);
    return named && *named && realpath(named, path);
}

/* What the guest must be given to read. */
static void add_read(struct strait_guest_texts *t, const struct strait_session *r, const char *self,
                     const char *here, int argc, char **argv)
{
    const struct strait_guest_files files = {.read = t, .has_none = is_qemu(r)};
    for (int i = 0; i < argc; i++)
        strait_guest_see_argument(&files, argv[i]);
    strait_guest_see_json(&files, r->sweep->base);
    strait_guest_see_json(&files, r->sweep->vary);
    if (files.has_none)
        return;
    char share[PATH_CHARS];
    strait_guest_add_folder(t, strait_share_path(share, sizeof(share), ""));
    strait_guest_add_folder(t, self);
    strait_guest_add_folder(t, here);
    if (has_data_folder(share))
        strait_guest_add_folder(t, share);
}

/* The arguments for the guest: as they are, but launched in place there. Its kernel has netem, so
 * that "auto" takes the kernel's links, and the relay's where only these do. */
static void make_arguments(struct strait_guest_texts *t, const char *self, int argc, char **argv)
{
    static const char *const not_there[] = {"--launcher", NULL};
    strait_guest_texts_add(t, self);
    strait_guest_add_arguments(t, argc, argv, not_there);
}

/* Not the ranks': what is under way in TCP, a window for each at most, in buffers that take a third
 * more. */
static double other_bytes(const struct strait_trial *p)
{
    const double model_bytes = 4.0 * (double)p->experiment->model->n_elems;
    const struct strait_tcp *tcp = &p->run.network->tcp;
    const double window_bytes =
        fmin(strait_tcp_n_connections(tcp) * tcp->window_bytes, model_bytes);
    return 4.0 / 3 * window_bytes * p->run.n_ranks;
}

/* The largest point's need. What cannot be run is the guest's to say, which may do what the host
 * cannot. */
static int need_of(double *memory_bytes, const struct strait_session *r, bool virtual_time,
                   struct strait_error *err)
{
    struct strait_profile *profile = NULL;
    const bool real = !is_qemu(r); /* there sizes alone */
    /* there each run looks for its own profile, or measures one */
    const struct strait_trial_options options = {
        .real_payload = real, .measured_cost = real, .guess = true};
    int failed = strait_profile_load(&profile, r->profile_name ? r->profile_name : "default", err);
    *memory_bytes = strait_emu_uml_memory_bytes(virtual_time, 0, 0, 0);
    for (size_t i = 0; i < r->sweep->n_points && !failed; i++) {
        struct strait_error ignored = {0};
        struct strait_experiment *e = NULL;
        struct strait_trial *p = NULL;
        json_t *labels = NULL, *resolved = strait_sweep_point(r->sweep, i, &labels, err);
        failed = !resolved || strait_experiment_read(&e, r->sweep->file, resolved, err) != 0 ||
                 strait_trial_new(&p, e, profile, &options, err) != 0;
        if (!failed) {
            if (real)
                strait_trial_measure_need(p, &ignored);
            *memory_bytes =
                fmax(*memory_bytes, strait_emu_uml_memory_bytes(virtual_time, p->run.n_ranks,
                                                                p->run.allocated_bytes,
                                                                virtual_time ? other_bytes(p) : 0));
        }
        strait_trial_free(p);
        strait_experiment_free(e);
        json_decref(labels);
        json_decref(resolved);
    }
    strait_profile_free(profile);
    return failed ? -1 : 0;
}

/* results/x and a folder in it, with the second's absolute path in job. */
static int make_folders(char job[PATH_CHARS], const char *out, const char *name,
                        struct strait_error *err)
{
    char path[PATH_CHARS];
    snprintf(path, sizeof(path), "%s/%s", out, name);
    for (char *at = path + 1; *at; at++)
        if (*at == '/') {
            *at = '\0';
            if (mkdir(path, 0777) != 0 && errno != EEXIST)
                return strait_error_path(err, path, "cannot be made");
            *at = '/';
        }
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return strait_error_path(err, path, "cannot be made");
    return realpath(path, job) ? 0 : strait_error_system(err, path, "cannot be found");
}

/* Guest after guest until one has dealt with the last row. What they print on stdout is complete in
 * the last one. Returns: the worst exit status, or -1 with *err. */
static int run_guests(const struct strait_session *r, const struct strait_emu_uml_plan *plan,
                      const char *step, struct strait_error *err)
{
    int status, worst = 0;
    size_t begun, next = 0;
    remove(step);
    do {
        begun = next;
        status = is_qemu(r) ? strait_emu_qemu_run(plan, err) : strait_emu_uml_run(plan, err);
        if (status >= 0)
            strait_guest_show(plan->job, STRAIT_EMU_UML_ERR, stderr);
        worst = status > worst ? status : worst;
        next = strait_resume_next(step);
    } while ((status == 0 || status == 1) && next > begun); /* else the last, or it failed */
    if (status < 0)
        return -1;
    strait_guest_show(plan->job, STRAIT_EMU_UML_OUT, stdout);
    return worst;
}

bool strait_guest_is_one(const char *launcher)
{
    static const char *const guests[] = {"uml", "vuml", "qemu"};
    for (size_t i = 0; launcher && i < sizeof(guests) / sizeof(guests[0]); i++)
        if (strcmp(launcher, guests[i]) == 0)
            return true;
    return false;
}

int strait_guest_run(struct strait_session *r, const char *experiment, int argc, char **argv,
                     struct strait_error *err)
{
    char processor[PATH_CHARS], step[PATH_CHARS + 8], part[2 * PATH_CHARS];
    char self[PATH_CHARS], here[PATH_CHARS], job[PATH_CHARS], out[PATH_CHARS];
    char shipped[PATH_CHARS], share[PATH_CHARS + 32];
    struct strait_guest_texts arguments = {0}, read = {0};
    double memory_bytes;
    const bool virtual_time = strcmp(r->launcher, "vuml") == 0;
    if ((is_qemu(r) ? strait_emu_qemu_check(err) : strait_emu_uml_check(virtual_time, err)) != 0 ||
        strait_session_load(r, experiment, err) != 0 ||
        need_of(&memory_bytes, r, virtual_time, err) != 0 ||
        make_folders(job, r->out, is_qemu(r) ? "qemu" : "uml", err) != 0 ||
        strait_guest_find_self(self, here, err) != 0)
        return -1;
    snprintf(out, sizeof(out), "%s", job);
    snprintf(step, sizeof(step), "%s/step", job);
    snprintf(part, sizeof(part), STRAIT_STEP_FILE "=%s", step);
    json_t *machine = strait_host_json();
    if (!machine)
        return strait_error_set(err, STRAIT_ERR_SYSTEM, "/proc/cpuinfo", "cannot be read");
    snprintf(processor, sizeof(processor), STRAIT_HOST_CPU_NAME "=%s",
             json_string_value(json_object_get(machine, "cpu")));
    json_decref(machine);
    *strrchr(out, '/') = '\0';
    make_arguments(&arguments, self, argc, argv);
    add_read(&read, r, self, here, argc, argv);
    const char *const write[] = {out, NULL};
    snprintf(share, sizeof(share), STRAIT_SHARE_VARIABLE "=%s",
             strait_share_path(shipped, sizeof(shipped), ""));
    char folder[PATH_CHARS], data[PATH_CHARS + 32];
    const char *env[5] = {share, processor}, *const shared[] = {share, NULL};
    size_t n_env = 2;
    if (virtual_time)
        env[n_env++] = part;
    if (has_data_folder(folder)) {
        snprintf(data, sizeof(data), STRAIT_DATA_VARIABLE "=%s", folder);
        env[n_env++] = data;
    }
    const size_t n_rows = r->sweep->n_points * (size_t)r->n_repeats;
    const struct strait_emu_uml_plan plan = {
        .virtual_time = virtual_time,
        .argv = strait_guest_texts_items(&arguments),
        .folder = here,
        .job = job,
        .read = strait_guest_texts_items(&read),
        .write = write,
        .setenv =
            is_qemu(r) ? shared : env, /* there the host's processor has no part in anything */
        .memory_bytes = memory_bytes,
        .limit_s =
            BOOT_LIMIT_S + ROW_LIMIT_S * (double)((virtual_time ? 1 : n_rows) * (size_t)r->n_tries),
    };
    fprintf(stderr, "%s%s with %.0f MB of memory%s; what it says comes at its end, %s in %s\n",
            is_qemu(r) ? "QEMU" : "User-Mode Linux", virtual_time ? " in virtual time" : "",
            memory_bytes / 1e6, is_qemu(r) ? " beside its files" : "",
            is_qemu(r) ? "and then is" : "until then it is", job);
    const int status = arguments.is_short || read.is_short ? strait_error_memory(err, NULL)
                                                           : run_guests(r, &plan, step, err);
    strait_guest_texts_release(&arguments);
    strait_guest_texts_release(&read);
    return status;
}
