/* Whole files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/io.h"
#include "files.h"

enum { PATH_CHARS = 4096, PIECE_BYTES = 1 << 20 };

/* --- reading ------------------------------------------------------------------------------ */

static int open_input(const char *path, struct stat *info, struct strait_error *err)
{
    const int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == EACCES || errno == ENOTDIR))
        return strait_refuse(err, path, "expected a file: %s", strerror(errno));
    if (fd < 0 || fstat(fd, info) != 0) {
        strait_error_system(err, path, "cannot open");
        if (fd >= 0)
            close(fd);
        return -1;
    }
    if (S_ISDIR(info->st_mode)) {
        close(fd);
        return strait_refuse(err, path, "expected a file, found a folder");
    }
    return fd;
}

int strait_file_read(unsigned char **bytes, size_t *len_bytes, const char *path,
                     struct strait_error *err)
{
    struct stat info;
    const int fd = open_input(path, &info, err);
    if (fd < 0)
        return -1;
    /* One byte more than the file has: the read that finds the end needs no more room. */
    size_t cap = S_ISREG(info.st_mode) ? (size_t)info.st_size + 1 : PIECE_BYTES, n = 0;
    unsigned char *all = malloc(cap);
    ssize_t got = 1;
    while (all && got > 0) {
        if (n == cap) {
            unsigned char *more = realloc(all, cap += cap / 2);
            if (!more)
                free(all);
            all = more;
            continue;
        }
        got = TEMP_FAILURE_RETRY(read(fd, all + n, cap - n));
        n += got > 0 ? (size_t)got : 0;
    }
    if (!all)
        strait_error_memory(err, path);
    else if (got < 0)
        strait_error_system(err, path, "cannot read");
    close(fd);
    if (!all || got < 0) {
        free(all);
        return -1;
    }
    *bytes = all;
    *len_bytes = n;
    return 0;
}

int strait_tensor_read(struct strait_array_form *form, float **x, size_t *n_changed,
                       const char *path, struct strait_error *err)
{
    unsigned char *bytes;
    size_t len_bytes, at_bytes;
    if (strait_file_read(&bytes, &len_bytes, path, err) != 0)
        return -1;
    if (strait_array_form_read(form, &at_bytes, bytes, len_bytes, path, err) != 0) {
        free(bytes);
        return -1;
    }
    if (strait_array_value_bytes(form) >= sizeof(float)) { /* large enough to convert in place */
        *x = (float *)(void *)bytes;
        *n_changed = strait_array_values(*x, form, bytes + at_bytes);
        return 0;
    }
    float *values = malloc(form->n_elems * sizeof(*values) + 1);
    if (!values) {
        free(bytes);
        return strait_error_memory(err, path);
    }
    *n_changed = strait_array_values(values, form, bytes + at_bytes);
    *x = values;
    free(bytes);
    return 0;
}

/* --- writing ------------------------------------------------------------------------------ */

static int refuse_existing(const char *path, struct strait_error *err)
{
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return strait_refuse(err, path, "expected a name that is free, found a folder");
    return strait_refuse(err, path,
                         "expected a name that is free, found a file (--force replaces it)");
}

/* Can a file be made there? Before minutes are spent on what is in it. */
static int check_folder(const char *path, struct strait_error *err)
{
    char folder[PATH_CHARS];
    const char *slash = strrchr(path, '/');
    const size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    snprintf(folder, sizeof(folder), "%.*s", n > 0 ? (int)n : 1, n > 0 ? path : ".");
    return access(folder, W_OK | X_OK) == 0 ? 0
                                            : strait_error_path(err, path, "cannot write there");
}

int strait_file_check_new(const char *path, bool force, struct strait_error *err)
{
    struct stat info;
    if (strcmp(path, "-") == 0 || (stat(path, &info) == 0 && !S_ISREG(info.st_mode) &&
                                   !S_ISDIR(info.st_mode))) /* a device, a pipe */
        return 0;
    const bool is_there = lstat(path, &info) == 0;
    if (is_there && (!force || S_ISDIR(info.st_mode)))
        return refuse_existing(path, err);
    return check_folder(path, err);
}

static bool write_both(int fd, const void *head, size_t head_bytes, const void *body,
                       size_t body_bytes)
{
    return strait_io_write(fd, head, head_bytes, STRAIT_IO_HERE) &&
           strait_io_write(fd, body, body_bytes, STRAIT_IO_HERE);
}

/* Standard output, a device or a pipe: cannot be renamed. */
static int write_through(const char *path, const void *head, size_t head_bytes, const void *body,
                         size_t body_bytes, struct strait_error *err)
{
    const bool standard = strcmp(path, "-") == 0;
    const int fd = standard ? dup(STDOUT_FILENO) : open(path, O_WRONLY | O_CLOEXEC);
    const bool good = fd >= 0 && write_both(fd, head, head_bytes, body, body_bytes);
    if (!good)
        strait_error_system(err, standard ? "standard output" : path, "cannot write");
    if (fd >= 0)
        close(fd);
    return good ? 0 : -1;
}

/* Give the finished file its name. Where the file system cannot refuse to replace, what was
 * checked before has to do. */
static int publish(const char *temporary, const char *path, bool force)
{
    if (!force && renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
        return 0;
    if (!force && errno != EINVAL && errno != ENOSYS)
        return -1;
    return rename(temporary, path);
}

int strait_file_write(const char *path, bool force, const void *head, size_t head_bytes,
                      const void *body, size_t body_bytes, struct strait_error *err)
{
    char temporary[PATH_CHARS];
    struct stat info;
    if (strcmp(path, "-") == 0 || (stat(path, &info) == 0 && !S_ISREG(info.st_mode)))
        return write_through(path, head, head_bytes, body, body_bytes, err);
    const int n = snprintf(temporary, sizeof(temporary), "%s.part-%ld", path, (long)getpid());
    if (n < 0 || (size_t)n >= sizeof(temporary))
        return strait_refuse(err, path, "expected a shorter name");
    const int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return strait_error_path(err, path, "cannot write there");
    bool good = write_both(fd, head, head_bytes, body, body_bytes) && fsync(fd) == 0;
    good = close(fd) == 0 && good;
    if (good && publish(temporary, path, force) != 0) {
        good = false;
        if (errno == EEXIST)
            refuse_existing(path, err);
    }
    if (good)
        return 0;
    strait_error_system(err, path, "cannot write"); /* if nothing else was recorded */
    unlink(temporary);
    return -1;
}
