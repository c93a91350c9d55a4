#include "guest_dir.h"
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_CHARS = 4096 };

bool strait_emu_guest_dir_program(char *path, size_t cap, const char *name)
{
    const char *at = getenv("PATH");
    while (at && *at) {
        const int n = (int)strcspn(at, ":");
        snprintf(path, cap, "%.*s/%s", n, at, name);
        if (access(path, X_OK) == 0)
            return true;
        at += n + (at[n] == ':');
    }
    return false;
}

int strait_emu_guest_dir_write(const char *job, const char *name, const char *bytes, size_t n_bytes,
                               struct strait_error *err)
{
    char path[PATH_CHARS];
    snprintf(path, sizeof(path), "%s/%s", job, name);
    FILE *f = fopen(path, "we");
    const bool written = f && fwrite(bytes, 1, n_bytes, f) == n_bytes;
    if (!f || fclose(f) != 0 || !written)
        return strait_error_system(err, path, "cannot be written");
    return 0;
}

/* Texts one after another, each with its end. */
struct list {
    char *bytes;
    size_t n_bytes;
    FILE *file;
};

static int begin_list(struct list *l, struct strait_error *err)
{
    *l = (struct list){0};
    l->file = open_memstream(&l->bytes, &l->n_bytes);
    return l->file ? 0 : strait_error_system(err, NULL, "no memory for a list");
}

static int end_list(struct list *l, const char *job, const char *name, struct strait_error *err)
{
    const int failed = fclose(l->file) != 0
                           ? strait_error_system(err, NULL, "no memory for a list")
                           : strait_emu_guest_dir_write(job, name, l->bytes, l->n_bytes, err);
    free(l->bytes);
    return failed;
}

int strait_emu_guest_dir_check_folder(const char *folder, struct strait_error *err)
{
    return folder[0] == '/' && strpbrk(folder, " \t\n\",'\\") == NULL
               ? 0
               : strait_refuse(err, folder,
                               "expected the absolute path of a folder without blanks, quotes and "
                               "commas for a guest");
}

static int write_folders(const struct strait_emu_uml_plan *plan, const char *name,
                         const char *const *folders, struct strait_error *err)
{
    struct list l;
    if (begin_list(&l, err) != 0)
        return -1;
    int failed = 0;
    for (size_t i = 0; folders && folders[i] && !failed; i++) {
        failed = strait_emu_guest_dir_check_folder(folders[i], err);
        fprintf(l.file, "%s\n", folders[i]);
    }
    return end_list(&l, plan->job, name, err) != 0 ? -1 : failed;
}

static int write_command(const struct strait_emu_uml_plan *plan, struct strait_error *err)
{
    struct list l;
    if (begin_list(&l, err) != 0)
        return -1;
    fprintf(l.file, "%s%c", plan->folder, 0);
    if (plan->setenv)
        fprintf(l.file, "env%c", 0);
    for (size_t i = 0; plan->setenv && plan->setenv[i]; i++)
        fprintf(l.file, "%s%c", plan->setenv[i], 0);
    for (size_t i = 0; plan->argv[i]; i++)
        fprintf(l.file, "%s%c", plan->argv[i], 0);
    return end_list(&l, plan->job, "argv", err);
}

int strait_emu_guest_dir_write_plan(const struct strait_emu_uml_plan *plan,
                                    struct strait_error *err)
{
    static const char *const old[] = {"status", STRAIT_EMU_UML_OUT, STRAIT_EMU_UML_ERR,
                                      STRAIT_EMU_UML_CONSOLE};
    if (strait_emu_guest_dir_check_folder(plan->job, err) != 0)
        return -1;
    for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++) {
        char path[PATH_CHARS];
        snprintf(path, sizeof(path), "%s/%s", plan->job, old[i]);
        unlink(path);
    }
    return write_command(plan, err) != 0 || write_folders(plan, "read", plan->read, err) != 0 ||
                   write_folders(plan, "write", plan->write, err) != 0
               ? -1
               : 0;
}

/* emu/uml/work.sh lets a guest's kernel end of that. */
static bool ran_out_of_memory(const char *job)
{
    char path[PATH_CHARS], line[512];
    bool found = false;
    snprintf(path, sizeof(path), "%s/" STRAIT_EMU_UML_CONSOLE, job);
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof(line), f))
        found = strstr(line, "Out of memory") != NULL;
    if (f)
        fclose(f);
    return found;
}

int strait_emu_guest_dir_status(const struct strait_emu_uml_plan *plan, double memory_bytes,
                                const char *guest, struct strait_error *err)
{
    char path[PATH_CHARS];
    int status = -1;
    snprintf(path, sizeof(path), "%s/status", plan->job);
    FILE *f = fopen(path, "re");
    const bool there = f && fscanf(f, "%d", &status) == 1;
    if (f)
        fclose(f);
    if (there)
        return status;
    if (ran_out_of_memory(plan->job))
        return strait_error_set(err, STRAIT_ERR_NOMEM, guest,
                                "its memory of %.3g GB ran out; see "
                                "%s/" STRAIT_EMU_UML_CONSOLE,
                                memory_bytes / 1e9, plan->job);
    return strait_error_set(err, STRAIT_ERR_BACKEND, NULL,
                            "%s ended before the program in it did; see "
                            "%s/" STRAIT_EMU_UML_CONSOLE,
                            guest, plan->job);
}
