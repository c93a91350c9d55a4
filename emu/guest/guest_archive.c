#include "guest_archive.h"
#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/process.h"

enum { BLOCK_BYTES = 65536, LDD_BYTES = 65536, MAX_LINKS = 40 };
static const double LDD_LIMIT_S = 30;

static int failed_to_write(const struct strait_emu_archive *a, struct strait_error *err)
{
    errno = archive_errno(a->writer);
    return strait_error_system(err, a->path, "cannot be written");
}

int strait_emu_archive_init(struct strait_emu_archive *a, const char *path,
                            struct strait_error *err)
{
    *a = (struct strait_emu_archive){.path = path, .writer = archive_write_new()};
    if (!a->writer)
        return strait_error_memory(err, NULL);
    if (archive_write_set_format_cpio_newc(a->writer) != ARCHIVE_OK ||
        archive_write_set_bytes_in_last_block(a->writer, 1) != ARCHIVE_OK ||
        archive_write_open_filename(a->writer, path) != ARCHIVE_OK)
        return failed_to_write(a, err);
    return 0;
}

void strait_emu_archive_release(struct strait_emu_archive *a)
{
    if (a->writer)
        archive_write_free(a->writer);
    for (size_t i = 0; i < a->n_seen; i++)
        free(a->seen[i]);
    free(a->seen);
    *a = (struct strait_emu_archive){0};
}

static int put(struct strait_emu_archive *a, const void *bytes, size_t n_bytes,
               struct strait_error *err)
{
    return archive_write_data(a->writer, bytes, n_bytes) == (la_ssize_t)n_bytes
               ? 0
               : failed_to_write(a, err);
}

/* Names there are without the first slash. target: of a link, else NULL. */
static int put_head(struct strait_emu_archive *a, const char *path, unsigned mode, size_t n_bytes,
                    const char *target, struct strait_error *err)
{
    struct archive_entry *e = archive_entry_new();
    if (!e)
        return strait_error_memory(err, NULL);
    archive_entry_set_pathname(e, path + 1);
    archive_entry_set_mode(e, mode);
    archive_entry_set_size(e, (la_int64_t)n_bytes);
    archive_entry_set_mtime(e, 0, 0);
    archive_entry_set_ino64(e, (la_int64_t)a->n_seen);
    if (target)
        archive_entry_set_symlink(e, target);
    const int status = archive_write_header(a->writer, e);
    archive_entry_free(e);
    return status == ARCHIVE_OK ? 0 : failed_to_write(a, err);
}

/* Whether that name is new: then it is remembered. -1: no memory. */
static int remember(struct strait_emu_archive *a, const char *path, struct strait_error *err)
{
    for (size_t i = 0; i < a->n_seen; i++)
        if (strcmp(a->seen[i], path) == 0)
            return 0;
    if (a->n_seen == a->cap_seen) {
        const size_t cap = a->cap_seen ? 2 * a->cap_seen : 64;
        char **grown = realloc(a->seen, cap * sizeof(*grown));
        if (!grown)
            return strait_error_memory(err, NULL);
        a->seen = grown;
        a->cap_seen = cap;
    }
    if (!(a->seen[a->n_seen] = strdup(path)))
        return strait_error_memory(err, NULL);
    a->n_seen++;
    return 1;
}

static int put_file(struct strait_emu_archive *a, const char *path, const struct stat *st,
                    struct strait_error *err)
{
    char block[BLOCK_BYTES];
    if ((uint64_t)st->st_size > UINT32_MAX)
        return strait_refuse(err, path, "expected a file of less than 4 GiB for the guest");
    FILE *f = fopen(path, "re");
    if (!f)
        return strait_error_system(err, path, "cannot be read");
    size_t left = (size_t)st->st_size;
    int failed = put_head(a, path, S_IFREG | (st->st_mode & 0755), left, NULL, err);
    while (left > 0 && !failed) {
        const size_t wanted = left < sizeof(block) ? left : sizeof(block);
        const size_t n = fread(block, 1, wanted, f);
        failed = n == 0 ? strait_error_system(err, path, "cannot be read") : put(a, block, n, err);
        left -= n;
    }
    fclose(f);
    return failed;
}

int strait_emu_archive_add_link(struct strait_emu_archive *a, const char *path, const char *target,
                                struct strait_error *err)
{
    const int is_new = remember(a, path, err);
    if (is_new <= 0)
        return is_new;
    return put_head(a, path, S_IFLNK | 0777, 0, target, err);
}

static int add_name(struct strait_emu_archive *a, const char *path, int n_links,
                    struct strait_error *err);

/* The link, and what it leads to: by other links too. */
static int add_link(struct strait_emu_archive *a, const char *path, int n_links,
                    struct strait_error *err)
{
    char target[PATH_MAX], folder[2 * PATH_MAX], real[PATH_MAX], next[2 * PATH_MAX + 2];
    char path_there[3 * PATH_MAX + 4];
    const ssize_t n = readlink(path, target, sizeof(target) - 1);
    if (n < 0 || n_links > MAX_LINKS)
        return strait_error_system(err, path, "cannot be followed");
    target[n] = '\0';
    if (strait_emu_archive_add_link(a, path, target, err) != 0)
        return -1;
    snprintf(next, sizeof(next), "%.*s/%s", target[0] == '/' ? 0 : (int)(strrchr(path, '/') - path),
             path, target);
    char *slash = strrchr(next, '/');
    snprintf(folder, sizeof(folder), "%.*s/", (int)(slash - next), next);
    if (!realpath(folder, real))
        return strait_error_system(err, path, "leads nowhere");
    memmove(next, slash, strlen(slash) + 1);
    snprintf(path_there, sizeof(path_there), "%s%s", strcmp(real, "/") == 0 ? "" : real, next);
    return add_name(a, path_there, n_links + 1, err);
}

/* One name, whose folders are there. */
static int add_one(struct strait_emu_archive *a, const char *path, int n_links,
                   struct strait_error *err)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return strait_error_system(err, path, "cannot be read");
    if (S_ISLNK(st.st_mode))
        return add_link(a, path, n_links, err);
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return strait_refuse(err, path, "expected a file or a folder");
    const int is_new = remember(a, path, err);
    if (is_new <= 0)
        return is_new;
    return S_ISDIR(st.st_mode) ? put_head(a, path, S_IFDIR | 0755, 0, NULL, err)
                               : put_file(a, path, &st, err);
}

static int add_name(struct strait_emu_archive *a, const char *path, int n_links,
                    struct strait_error *err)
{
    char prefix[PATH_MAX];
    for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        snprintf(prefix, sizeof(prefix), "%.*s", (int)(at - path), path);
        if (add_one(a, prefix, n_links, err) != 0)
            return -1;
    }
    return add_one(a, path, n_links, err);
}

int strait_emu_archive_add(struct strait_emu_archive *a, const char *path, struct strait_error *err)
{
    return add_name(a, path, 0, err);
}

static int is_shown(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

int strait_emu_archive_add_folder(struct strait_emu_archive *a, const char *path, int depth,
                                  struct strait_error *err)
{
    struct dirent **entries = NULL;
    if (strait_emu_archive_add(a, path, err) != 0)
        return -1;
    const int n = scandir(path, &entries, is_shown, alphasort);
    int failed = n < 0 ? strait_error_system(err, path, "cannot be read") : 0;
    for (int i = 0; i < n; i++) {
        char inner[PATH_MAX];
        struct stat st;
        snprintf(inner, sizeof(inner), "%s/%s", path, entries[i]->d_name);
        if (!failed && stat(inner, &st) == 0) {
            if (S_ISREG(st.st_mode))
                failed = strait_emu_archive_add(a, inner, err);
            else if (S_ISDIR(st.st_mode) && depth > 1)
                failed = strait_emu_archive_add_folder(a, inner, depth - 1, err);
        }
        free(entries[i]);
    }
    free(entries);
    return failed;
}

/* Lines are "name => /path (address)" or "/path (address)". */
int strait_emu_archive_add_program(struct strait_emu_archive *a, const char *path,
                                   struct strait_error *err)
{
    const char *const argv[] = {"ldd", path, NULL};
    char *out = calloc(1, LDD_BYTES), *rest = NULL;
    if (!out)
        return strait_error_memory(err, NULL);
    int failed = strait_emu_archive_add(a, path, err);
    if (!failed && strait_process_run(out, LDD_BYTES, argv, NULL, LDD_LIMIT_S, err) != 0)
        failed = -1;
    for (char *line = strtok_r(out, "\n", &rest); line && !failed;
         line = strtok_r(NULL, "\n", &rest)) {
        const char *arrow = strstr(line, "=> ");
        char *at = strchr(arrow ? arrow : line, '/');
        if (arrow && strstr(arrow, "not found"))
            failed = strait_error_set(err, STRAIT_ERR_HOST, path, "a library is missing: %.200s",
                                      line + strspn(line, " \t"));
        if (!at || failed)
            continue;
        at[strcspn(at, " ")] = '\0';
        failed = strait_emu_archive_add(a, at, err);
    }
    free(out);
    return failed;
}

int strait_emu_archive_finish(struct strait_emu_archive *a, struct strait_error *err)
{
    return archive_write_close(a->writer) == ARCHIVE_OK ? 0 : failed_to_write(a, err);
}
