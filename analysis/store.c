/* The results folder: append-only lines, each with its checksum, under a lock. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/hash.h"
#include "header_profile.h"
#include "store.h"

#define CHECK_START ",\"check\":\""
#define CHECK_END   "\"}"
enum {
    CHECK_DIGITS = 16,
    CHECK_CHARS = sizeof(CHECK_START) - 1 + CHECK_DIGITS + sizeof(CHECK_END) - 1,
    PATH_CHARS = 4096
};

struct strait_store {
    char *folder, *path;
    int fd; /* of the file, or -1 */
    bool for_writing, made_folder, written;
    off_t len_bytes;  /* up to the end of the last believed line */
    json_t *records;  /* array */
    json_t *by_key;   /* {"row <key>": index} */
    json_t *profiles; /* {hash: profile}, of the headers */
    json_t *header;   /* of the run under way: waits for the first row */
    const char *as;   /* what its profile says; NULL: that is inside */
    const json_t *last_header;
    size_t n_refused;
};

/* --- lines -------------------------------------------------------------------------------- */

/* Text of an object that is not empty; takes it. */
static char *take_line(char *text, size_t *len_bytes)
{
    if (!text)
        return NULL;
    const size_t len = strlen(text);
    char *line = malloc(len + CHECK_CHARS + 2);
    if (line) {
        memcpy(line, text, len - 1); /* without the brace that closes it */
        const int n =
            snprintf(line + len - 1, CHECK_CHARS + 3, CHECK_START "%016" PRIx64 CHECK_END "\n",
                     strait_checksum(text, len));
        *len_bytes = len - 1 + (size_t)n;
    }
    free(text);
    return line;
}

char *strait_store_line(const json_t *record, size_t *len_bytes)
{
    assert(json_is_object(record) && json_object_size(record) > 0);
    return take_line(json_dumps(record, JSON_COMPACT), len_bytes);
}

static json_t *read_line(bool *no_memory, const char *line, size_t len_bytes)
{
    json_error_t why = {.line = 0};
    *no_memory = false;
    if (len_bytes < CHECK_CHARS + 2)
        return NULL;
    const size_t len = len_bytes - CHECK_CHARS;
    const char *check = line + len;
    if (memcmp(check, CHECK_START, sizeof(CHECK_START) - 1) != 0 ||
        memcmp(check + sizeof(CHECK_START) - 1 + CHECK_DIGITS, CHECK_END, sizeof(CHECK_END) - 1) !=
            0)
        return NULL;
    char *text = malloc(len + 1);
    char found[CHECK_DIGITS + 1];
    if (!text) {
        *no_memory = true;
        return NULL;
    }
    memcpy(text, line, len);
    text[len] = '}';
    snprintf(found, sizeof(found), "%016" PRIx64, strait_checksum(text, len + 1));
    json_t *record = NULL;
    if (memcmp(check + sizeof(CHECK_START) - 1, found, CHECK_DIGITS) == 0)
        record = json_loadb(text, len + 1, JSON_REJECT_DUPLICATES, &why);
    *no_memory = !record && json_error_code(&why) == json_error_out_of_memory;
    free(text);
    if (!json_is_string(json_object_get(record, "record"))) {
        json_decref(record);
        return NULL;
    }
    return record;
}

json_t *strait_store_read_line(const char *line, size_t len_bytes)
{
    bool no_memory;
    return read_line(&no_memory, line, len_bytes);
}

/* --- what is there ------------------------------------------------------------------------ */

static const char *kind_of(const json_t *record)
{
    return json_string_value(json_object_get(record, "record"));
}

/* Remember a record; one with a key takes the place of an older one with the same key. */
static int remember(struct strait_store *s, json_t *record, struct strait_error *err)
{
    const char *key = json_string_value(json_object_get(record, "key"));
    char id[128];
    if (key) {
        snprintf(id, sizeof(id), "%s %s", kind_of(record), key);
        const json_t *at = json_object_get(s->by_key, id);
        if (at) {
            if (json_array_set(s->records, (size_t)json_integer_value(at), record) == 0)
                return 0;
            goto nomem;
        }
        if (json_object_set_new(s->by_key, id,
                                json_integer((json_int_t)json_array_size(s->records))) != 0)
            goto nomem;
    }
    const bool is_header = strcmp(kind_of(record), "header") == 0;
    if (json_array_append(s->records, record) != 0 ||
        (is_header && strait_header_profile_restore(record, s->profiles) != 0))
        goto nomem;
    if (is_header)
        s->last_header = record;
    return 0;
nomem:
    return strait_error_memory(err, s->path);
}

static int check_schema(const struct strait_store *s, const json_t *record, size_t line,
                        struct strait_error *err)
{
    if (strcmp(kind_of(record), "header") != 0)
        return 0;
    const char *schema = json_string_value(json_object_get(record, "schema"));
    if (schema && strcmp(schema, STRAIT_RESULTS_SCHEMA) == 0)
        return 0;
    char where[PATH_CHARS + 32];
    snprintf(where, sizeof(where), "%s:%zu", s->path, line);
    return strait_refuse(err, where, "expected the schema \"%s\", found \"%s\"",
                         STRAIT_RESULTS_SCHEMA, schema ? schema : "none");
}

/* Read every line; len_bytes ends up behind the last one that is to be believed. */
static int read_lines(struct strait_store *s, struct strait_error *err)
{
    struct stat info;
    FILE *file = fopen(s->path, "re");
    if (!file)
        return strait_refuse(err, s->path, "expected the results of a run: %s", strerror(errno));
    if (fstat(fileno(file), &info) != 0 || !S_ISREG(info.st_mode)) {
        fclose(file);
        return strait_refuse(err, s->path, "expected a regular file");
    }
    char *line = NULL;
    size_t cap = 0, n_lines = 0;
    off_t at = 0;
    ssize_t len;
    int status = 0;
    while (status == 0 && (len = getline(&line, &cap, file)) > 0) {
        at += len;
        n_lines++;
        const bool whole = line[len - 1] == '\n';
        bool no_memory = false;
        json_t *record = whole ? read_line(&no_memory, line, (size_t)len - 1) : NULL;
        if (no_memory) { /* a line that could not be read is none that may be cut off */
            status = strait_error_memory(err, s->path);
        } else if (record) {
            status = check_schema(s, record, n_lines, err);
            if (status == 0)
                status = remember(s, record, err);
            json_decref(record);
            s->len_bytes = at;
        } else {
            s->n_refused++;
        }
    }
    if (status == 0 && !feof(file)) /* ferror does not tell of getline's memory */
        status = strait_error_system(err, s->path, "cannot read");
    free(line);
    fclose(file);
    return status;
}

/* --- opening and closing ------------------------------------------------------------------ */

static int make_folders(struct strait_store *s, struct strait_error *err)
{
    char path[PATH_CHARS];
    snprintf(path, sizeof(path), "%s", s->folder);
    for (char *p = path + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return strait_error_path(err, path, "cannot make the folder");
        *p = '/';
    }
    if (mkdir(path, 0777) == 0)
        s->made_folder = true;
    else if (errno != EEXIST)
        return strait_error_path(err, path, "cannot make the folder");
    return 0;
}

/* The file may have been removed by its last writer between our open and our lock. */
static int lock_file(struct strait_store *s, struct strait_error *err)
{
    for (;;) {
        struct stat opened, there;
        s->fd = open(s->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (s->fd < 0)
            return strait_error_path(err, s->path, "cannot open for writing");
        if (flock(s->fd, LOCK_EX | LOCK_NB) != 0) {
            if (errno == EWOULDBLOCK)
                return strait_error_set(err, STRAIT_ERR_BACKEND, s->path,
                                        "another run writes its results there");
            return strait_error_system(err, s->path, "cannot lock");
        }
        if (fstat(s->fd, &opened) != 0)
            return strait_error_system(err, s->path, "cannot look at the file");
        if (stat(s->path, &there) == 0 && there.st_ino == opened.st_ino)
            return 0;
        close(s->fd);
    }
}

/* A killed run's last line: never believed, and not in the way of the next one. */
static int cut_tail(struct strait_store *s, struct strait_error *err)
{
    struct stat info;
    if (fstat(s->fd, &info) != 0)
        return strait_error_system(err, s->path, "cannot look at the file");
    if (info.st_size > s->len_bytes && ftruncate(s->fd, s->len_bytes) != 0)
        return strait_error_system(err, s->path, "cannot cut off a half-written line");
    return 0;
}

static int open_all(struct strait_store *s, const char *folder, struct strait_error *err)
{
    s->folder = strdup(folder);
    s->records = json_array();
    s->by_key = json_object();
    s->profiles = json_object();
    if (!s->folder || !s->records || !s->by_key || !s->profiles ||
        asprintf(&s->path, "%s/%s", folder, STRAIT_RESULTS_FILE) < 0) {
        s->path = NULL;
        return strait_error_memory(err, folder);
    }
    if (strlen(s->path) >= PATH_CHARS || !*folder)
        return strait_refuse(err, "results",
                             "expected the path of a folder, of fewer than %d letters", PATH_CHARS);
    if (!s->for_writing)
        return read_lines(s, err);
    if (make_folders(s, err) != 0 || lock_file(s, err) != 0 || read_lines(s, err) != 0)
        return -1;
    return cut_tail(s, err);
}

int strait_store_open(struct strait_store **out, const char *folder, bool for_writing,
                      struct strait_error *err)
{
    struct strait_store *s = calloc(1, sizeof(*s));
    *out = NULL;
    if (!s)
        return strait_error_memory(err, folder);
    s->fd = -1;
    s->for_writing = for_writing;
    if (open_all(s, folder, err) != 0) {
        strait_store_free(s);
        return -1;
    }
    *out = s;
    return 0;
}

void strait_store_free(struct strait_store *s)
{
    if (!s)
        return;
    struct stat info;
    if (s->path && s->fd >= 0 && fstat(s->fd, &info) == 0 && info.st_size == 0) {
        unlink(s->path); /* an empty file says nothing; we hold its lock */
        if (s->made_folder)
            rmdir(s->folder);
    }
    if (s->fd >= 0)
        close(s->fd);
    json_decref(s->records);
    json_decref(s->by_key);
    json_decref(s->profiles);
    json_decref(s->header);
    free(s->folder);
    free(s->path);
    free(s);
}

void strait_store_leave(struct strait_store *s)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

/* --- writing ------------------------------------------------------------------------------ */

/* One write and one sync; a file that could not grow is as long as before. */
static int append_bytes(struct strait_store *s, const char *data, size_t len_bytes,
                        struct strait_error *err)
{
    const ssize_t n = TEMP_FAILURE_RETRY(write(s->fd, data, len_bytes));
    if (n >= 0 && (size_t)n < len_bytes)
        errno = ENOSPC; /* a file takes all or says why, and a short write does not say it */
    if (n < 0 || (size_t)n < len_bytes || fdatasync(s->fd) != 0) {
        const int saved_errno = errno;
        const int cut = ftruncate(s->fd, s->len_bytes); /* if it fails, the checksum still tells */
        errno = saved_errno;
        return strait_error_system(err, s->path, "cannot write a row%s",
                                   cut != 0 ? ", nor cut off what was written of it" : "");
    }
    s->len_bytes += (off_t)len_bytes;
    s->written = true;
    return 0;
}

int strait_store_begin(struct strait_store *s, const json_t *header, struct strait_error *err)
{
    assert(s->for_writing && strcmp(kind_of(header), "header") == 0);
    json_decref(s->header);
    s->header = json_deep_copy(header);
    s->as = NULL;
    return s->header ? 0 : strait_error_memory(err, s->path);
}

void strait_store_profile(struct strait_store *s, const char *as)
{
    s->as = as;
}

/* The header is in the file: later ones need not say its profile again. */
static int remember_header(struct strait_store *s, struct strait_error *err)
{
    if (!s->header)
        return 0;
    if (s->as && strait_header_profile_note(s->profiles, s->header) != 0)
        return strait_error_memory(err, s->path);
    const int status = remember(s, s->header, err);
    json_decref(s->header);
    s->header = NULL;
    return status;
}

int strait_store_add(struct strait_store *s, const json_t *record, struct strait_error *err)
{
    assert(s->for_writing && kind_of(record));
    size_t head_bytes = 0, row_bytes = 0;
    char *head = s->header ? take_line(strait_header_profile_dump(s->header, s->profiles, s->as),
                                       &head_bytes)
                           : NULL;
    char *row = strait_store_line(record, &row_bytes);
    json_t *kept = json_deep_copy(record);
    char *both = row ? malloc(head_bytes + row_bytes) : NULL;
    int status = -1;
    if (!row || !kept || !both || (s->header && !head)) {
        strait_error_memory(err, s->path);
        goto out;
    }
    if (head)
        memcpy(both, head, head_bytes);
    memcpy(both + head_bytes, row, row_bytes);
    if (append_bytes(s, both, head_bytes + row_bytes, err) != 0)
        goto out;
    if (remember_header(s, err) == 0)
        status = remember(s, kept, err);
out:
    json_decref(kept);
    free(head);
    free(row);
    free(both);
    return status;
}

/* --- reading ------------------------------------------------------------------------------ */

static json_t *find_any(const struct strait_store *s, const char *record, const char *key)
{
    char id[128];
    snprintf(id, sizeof(id), "%s %s", record, key);
    const json_t *at = json_object_get(s->by_key, id);
    return at ? json_array_get(s->records, (size_t)json_integer_value(at)) : NULL;
}

const json_t *strait_store_find(const struct strait_store *s, const char *record, const char *key)
{
    const json_t *found = find_any(s, record, key);
    return json_is_false(json_object_get(found, "valid")) ? NULL : found;
}

const json_t *strait_store_records(const struct strait_store *s)
{
    return s->records;
}

/* The rows that a run announced, each with what that run asked for. */
static void add_rows(json_t *rows, const struct strait_store *s, const json_t *header,
                     const json_t *run)
{
    const json_t *set = json_object_get(json_object_get(header, "experiment"), "set"), *found;
    json_t *key;
    size_t k;
    json_array_foreach (json_object_get(run, "keys"), k, key) {
        if (!json_is_string(key) || !(found = find_any(s, "row", json_string_value(key))))
            continue;
        json_t *row = json_copy((json_t *)(uintptr_t)found);
        json_t *labels = json_object_get(json_object_get(run, "labels"), json_string_value(key));
        if (labels)
            json_object_set(row, "labels", labels);
        if (json_object_size(set) > 0)
            json_object_set(row, "set", (json_t *)(uintptr_t)set);
        json_object_set(row, "sweep", json_object_get(header, "sweep"));
        json_array_append_new(rows, row);
    }
}

json_t *strait_store_rows(const struct strait_store *s)
{
    json_t *rows = json_array(), *seen = json_object(), *run;
    char id[128];
    size_t i;
    for (size_t r = json_array_size(s->records); r > 0; r--) { /* the latest first */
        const json_t *header = json_array_get(s->records, r - 1);
        json_array_foreach (json_object_get(header, "runs"), i, run) {
            const char *backend = json_string_value(json_object_get(run, "backend"));
            const char *control = json_string_value(json_object_get(run, "control"));
            snprintf(id, sizeof(id), "%s %s", backend ? backend : "", control ? control : "");
            if (json_object_get(seen, id))
                continue;
            json_object_set_new(seen, id, json_true());
            add_rows(rows, s, header, run);
        }
    }
    json_decref(seen);
    return rows;
}

const json_t *strait_store_header(const struct strait_store *s)
{
    return s->last_header;
}

size_t strait_store_n_refused(const struct strait_store *s)
{
    return s->n_refused;
}

bool strait_store_written(const struct strait_store *s)
{
    return s->written;
}

const char *strait_store_path(const struct strait_store *s)
{
    return s->path;
}
