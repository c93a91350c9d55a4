#include "child.h"
#include "core/clock.h"
#include "core/host.h"
#include "core/io.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdint.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Wall-clock limit of a simulation if the run sets none: a program that polls without advancing
 * time would never end. */
#define OWN_DEADLINE_S 3600.0
/* Between two looks at a simulation in progress. */
#define SHOW_S 0.5

/* Of free memory, what one simulation may take; where several run, what must be left of that; and
 * how often it is looked at. */
#define MEMORY_SHARE 0.8
#define MIN_SHARE    0.05
enum { LOOK_MS = 100 };

/* Stacks that stay mapped between simulations in one process. */
#ifdef __SANITIZE_ADDRESS__
enum { KEPT_STACKS = 64 };
#else
enum { KEPT_STACKS = 1024 };
#endif
/* Memory is taken in chunks for many small things, each of which would need a header; each chunk is
 * twice as large as the one before. What is larger than a part of them lies by itself. The largest
 * ones are large pages: events touch a simulation's memory here and there, and where it is many
 * pages, finding each takes longer than reading it. */
enum { FIRST_CHUNK_BYTES = 1 << 12, LARGE_BYTES = 1 << 21, CHUNK_PARTS = 8, WORD_BYTES = 8 };
/* What fills whole lines of the caches begins at one. */
enum { LINE_BYTES = 64 };

struct strait_child_block { /* memory, or a call to be made at the end */
    struct strait_child_block *next;
    void (*fn)(void *arg);
    void *arg;
    bool is_large; /* a mapping of LARGE_BYTES */
    max_align_t memory[];
};

struct header {   /* of the anonymous file; logs and the report follow */
    int complete; /* 0: the child died first */
    struct strait_error err;
};

static void leave(struct strait_child *child, const struct header *header)
    __attribute__((noreturn));
static void leave(struct strait_child *child, const struct header *header)
{
    const ssize_t n = pwrite(child->fd, header, sizeof(*header), 0);
    _exit(n == (ssize_t)sizeof(*header) ? 0 : 1);
}

/* End a simulation in process, from whatever stack. */
static void leave_here(struct strait_child *child) __attribute__((noreturn));
static void leave_here(struct strait_child *child)
{
    child->has_ended = true;
    if (child->coroutines->running)
        strait_coroutine_abandon(child->coroutines); /* the loop looks, and leaves */
    longjmp(child->out, 1);
}

void strait_child_fail(struct strait_child *child, const struct strait_error *err)
{
    if (child->fd < 0) {
        child->err = *err;
        leave_here(child);
    }
    leave(child, &(struct header){.complete = 1, .err = *err});
}

void strait_child_no_memory(struct strait_child *child)
{
    struct strait_error err = {0};
    strait_error_memory(&err, "simulation");
    strait_child_fail(child, &err);
}

static struct strait_child_block *new_block(struct strait_child *child, size_t n_bytes)
{
    struct strait_child_block *b =
        n_bytes < SIZE_MAX - sizeof(*b) ? calloc(1, sizeof(*b) + n_bytes) : NULL;
    if (!b)
        strait_child_no_memory(child);
    return b;
}

/* How far it is to where `align` divides the address. */
static size_t skipped(const void *at, size_t align)
{
    return (size_t) - (uintptr_t)at % align;
}

/* From a line's beginning on, but where a sanitizer is to see the block's. */
static void *take_block(struct strait_child *child, size_t n_bytes)
{
#ifdef __SANITIZE_ADDRESS__
    enum { LINE = 1 };
#else
    enum { LINE = LINE_BYTES };
#endif
    struct strait_child_block *b = new_block(child, n_bytes + LINE - 1);
    b->next = child->blocks;
    child->blocks = b;
    return (char *)b->memory + skipped(b->memory, LINE);
}

/* Zeroed, and a large page where the kernel has one; NULL: memory ran out. */
static struct strait_child_block *map_large(void)
{
    char *all = mmap(NULL, 2 * LARGE_BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
        return NULL;
    char *block = all + skipped(all, LARGE_BYTES);
    const size_t before = (size_t)(block - all);
    if (before > 0)
        munmap(all, before);
    munmap(block + LARGE_BYTES, LARGE_BYTES - before);
    madvise(block, LARGE_BYTES, MADV_HUGEPAGE);
    return (struct strait_child_block *)(void *)block;
}

static void take_large(struct strait_child *child)
{
    struct strait_child_block *b = map_large();
    if (!b)
        strait_child_no_memory(child);
    b->is_large = true;
    b->next = child->blocks;
    child->blocks = b;
    child->room = (char *)b + 2 * LINE_BYTES;
    child->room_bytes = LARGE_BYTES - 2 * LINE_BYTES;
}

static void take_chunk(struct strait_child *child)
{
    if (child->chunk_bytes == 0)
        child->chunk_bytes = FIRST_CHUNK_BYTES;
    if (child->chunk_bytes == LARGE_BYTES) {
        take_large(child);
        return;
    }
    child->room = take_block(child, child->chunk_bytes);
    child->room_bytes = child->chunk_bytes;
    child->chunk_bytes *= 2;
}

void *strait_child_alloc(struct strait_child *child, size_t n, size_t size)
{
    /* What has a stricter alignment has a size that is a multiple of it. */
    const size_t align = size % LINE_BYTES == 0              ? (size_t)LINE_BYTES
                         : size % _Alignof(max_align_t) == 0 ? _Alignof(max_align_t)
                                                             : (size_t)WORD_BYTES;
    size_t n_bytes;
    if (__builtin_mul_overflow(n, size, &n_bytes) ||
        __builtin_add_overflow(n_bytes, align - 1, &n_bytes) || n_bytes > SIZE_MAX / 2)
        strait_child_no_memory(child);
    n_bytes -= n_bytes % align;
#ifdef __SANITIZE_ADDRESS__
    return take_block(child, n_bytes); /* so that it sees where each ends */
#endif
    if (n_bytes > FIRST_CHUNK_BYTES / CHUNK_PARTS && n_bytes > child->chunk_bytes / CHUNK_PARTS)
        return take_block(child, n_bytes);
    const size_t skip = skipped(child->room, align);
    if (skip + n_bytes > child->room_bytes) {
        take_chunk(child);
    } else {
        child->room += skip;
        child->room_bytes -= skip;
    }
    void *memory = child->room;
    child->room += n_bytes;
    child->room_bytes -= n_bytes;
    return memory;
}

void strait_child_defer(struct strait_child *child, void (*fn)(void *arg), void *arg)
{
    struct strait_child_block *b = new_block(child, 0);
    *b = (struct strait_child_block){.next = child->cleanups, .fn = fn, .arg = arg};
    child->cleanups = b;
}

static int write_text(const char *text, size_t len_bytes, void *fd)
{
    return strait_io_write(*(int *)fd, text, len_bytes, STRAIT_IO_HERE) ? 0 : -1;
}

void strait_child_finish(struct strait_child *child, json_t *report)
{
    struct header header = {.complete = 1};
    for (int i = 0; i < child->run->n_ranks; i++)
        if (child->run->logs[i].no_memory)
            strait_child_no_memory(child);
    if (child->fd < 0) {
        if (child->run->facts && json_object_update(child->run->facts->report, report) != 0)
            strait_child_no_memory(child);
        json_decref(report);
        leave_here(child);
    }
    lseek(child->fd, sizeof(header), SEEK_SET);
    for (int i = 0; i < child->run->n_ranks && header.err.code == STRAIT_OK; i++)
        strait_log_write(child->fd, &child->run->logs[i], &header.err);
    if (header.err.code == STRAIT_OK &&
        json_dump_callback(report, write_text, &child->fd, JSON_COMPACT) != 0)
        strait_error_system(&header.err, "simulation", "cannot write the report");
    leave(child, &header);
}

/* How far the child is, to whoever watches. */
static void show(const struct strait_run *run, double real_s)
{
    const struct strait_live_score *score = run->score;
    const struct strait_live live = {.now_s = atomic_load(&score->rounds_s),
                                     .dilation = NAN,
                                     .n_rounds = atomic_load(&score->n_rounds),
                                     .rounds_s = atomic_load(&score->rounds_s),
                                     .read_at_s = NAN,
                                     .has_score = !isnan(atomic_load(&score->loss)),
                                     .loss = atomic_load(&score->loss),
                                     .accuracy = atomic_load(&score->accuracy),
                                     .real_s = real_s};
    run->watch(run, &live);
}

static struct strait_child_limits limits_of(const struct strait_run *run)
{
    const double wall_s = run->deadline_s > 0 ? run->deadline_s : OWN_DEADLINE_S;
    return (struct strait_child_limits){
        .end_s = strait_clock_s() + wall_s,
        .wall_s = wall_s,
        .bytes = run->limit_bytes > 0 ? run->limit_bytes : MEMORY_SHARE * strait_host_free_bytes()};
}

/* Whether it has gone beyond a limit; the text says which. */
static bool is_beyond(const struct strait_child_limits *l, pid_t pid, struct strait_error *err)
{
    if (strait_clock_s() >= l->end_s) {
        strait_error_set(err, STRAIT_ERR_BACKEND, "simulation",
                         "expected an end within %g s, found none", l->wall_s);
        return true;
    }
    const double held_bytes = strait_host_resident_bytes(pid),
                 free_bytes = strait_host_free_bytes();
    if (free_bytes < held_bytes && free_bytes < MIN_SHARE * l->bytes) {
        strait_error_set(err, STRAIT_ERR_NOMEM, "simulation",
                         "memory ran out: it took %.3g GB and %.3g GB are left here",
                         held_bytes / 1e9, free_bytes / 1e9);
        return true;
    }
    if (!(held_bytes > l->bytes))
        return false;
    strait_error_set(err, STRAIT_ERR_NOMEM, "simulation",
                     "memory ran out: it took more than %.3g GB, which is what it may have here",
                     l->bytes / 1e9);
    return true;
}

/* Reap the child, killing it first if it exceeds a limit. -1 with *err: it did. */
static int await(const struct strait_run *run, int *status, pid_t pid, struct strait_error *err)
{
    const struct strait_child_limits limits = limits_of(run);
    const double start_s = strait_clock_s();
    const bool is_watched = run->watch && run->score;
    double shown_s = start_s;
    const int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    bool beyond = false;
    while (pidfd >= 0 && !beyond) {
        struct pollfd p = {.fd = pidfd, .events = POLLIN};
        const int n = poll(&p, 1, LOOK_MS);
        if (n > 0 || (n < 0 && errno != EINTR))
            break;
        beyond = is_beyond(&limits, pid, err);
        if (is_watched && strait_clock_s() - shown_s >= SHOW_S) {
            shown_s = strait_clock_s();
            show(run, shown_s - start_s);
        }
    }
    if (is_watched)
        run->watch(run, NULL);
    if (pidfd >= 0)
        close(pidfd);
    if (beyond)
        kill(pid, SIGKILL);
    TEMP_FAILURE_RETRY(waitpid(pid, status, 0));
    return beyond ? -1 : 0;
}

static int read_report(int fd, struct strait_facts *facts, struct strait_error *err)
{
    json_t *report = json_loadfd(fd, 0, NULL);
    if (!report || (facts && json_object_update(facts->report, report) != 0)) {
        json_decref(report);
        return strait_error_set(err, STRAIT_ERR_BACKEND, "simulation", "its report is no JSON");
    }
    json_decref(report);
    return 0;
}

/* First line of the child's stderr: a failed assertion or SimGrid's last message. */
static const char *first_line(char *line, size_t cap, int fd)
{
    const ssize_t n = pread(fd, line, cap - 1, 0);
    line[n > 0 ? n : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return line;
}

static int collect(struct strait_run *run, int fd, int stderr_fd, int status,
                   struct strait_error *err)
{
    struct header header = {0};
    char line[256];
    const ssize_t n = pread(fd, &header, sizeof(header), 0);
    if (n != (ssize_t)sizeof(header) || !header.complete) {
        first_line(line, sizeof(line), stderr_fd);
        if (WIFSIGNALED(status))
            return strait_error_set(err, STRAIT_ERR_BACKEND, "simulation",
                                    "ended by signal %d (%s)%s%s", WTERMSIG(status),
                                    strsignal(WTERMSIG(status)), *line ? ": " : "", line);
        return strait_error_set(err, STRAIT_ERR_BACKEND, "simulation",
                                "ended with status %d and no result%s%s", WEXITSTATUS(status),
                                *line ? ": " : "", line);
    }
    if (header.err.code != STRAIT_OK) {
        if (err && err->code == STRAIT_OK)
            *err = header.err;
        return -1;
    }
    lseek(fd, sizeof(header), SEEK_SET);
    for (int i = 0; i < run->n_ranks; i++)
        if (strait_log_read(fd, &run->logs[i], err) != 0)
            return -1;
    return read_report(fd, run->facts, err);
}

static void be_child(struct strait_child *child, int stderr_fd, pid_t parent,
                     void (*simulate)(struct strait_child *)) __attribute__((noreturn));
static void be_child(struct strait_child *child, int stderr_fd, pid_t parent,
                     void (*simulate)(struct strait_child *))
{
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    __fpurge(stdout); /* SimGrid flushes it: what the caller has not written yet is the caller's */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(1);
#ifdef __SANITIZE_ADDRESS__
    (void)stderr_fd; /* not captured: a sanitizer's report should reach the terminal */
#else
    dup2(stderr_fd, STDERR_FILENO);
#endif
    simulate(child);
    struct strait_error err = {0};
    strait_error_set(&err, STRAIT_ERR_BACKEND, "simulation", "it stopped before its end");
    strait_child_fail(child, &err);
}

/* --- in process --------------------------------------------------------------------------- */

void strait_child_look_closely(struct strait_child *child)
{
    if (child->fd >= 0)
        return;
    if (child->has_ended)
        leave_here(child);
    if (child->limits.end_s == 0)
        child->limits = limits_of(child->run);
    struct strait_error err = {0};
    if (is_beyond(&child->limits, getpid(), &err))
        strait_child_fail(child, &err);
}

static void clean_up(struct strait_child *child)
{
    for (struct strait_child_block *b = child->cleanups, *next; b; b = next) {
        next = b->next;
        b->fn(b->arg);
        free(b);
    }
    for (struct strait_child_block *b = child->blocks, *next; b; b = next) {
        next = b->next;
        if (b->is_large)
            munmap(b, LARGE_BYTES);
        else
            free(b);
    }
    strait_coroutines_release(child->coroutines, KEPT_STACKS);
}

int strait_child_run_here(struct strait_run *run, void (*simulate)(struct strait_child *),
                          struct strait_error *err)
{
    static _Thread_local struct strait_coroutines kept;
    struct strait_child child = {.fd = -1, .run = run, .coroutines = &kept};
    if (setjmp(child.out) == 0) {
        simulate(&child);
        strait_error_set(&child.err, STRAIT_ERR_BACKEND, "simulation", "it stopped before its end");
    }
    clean_up(&child);
    run->is_over = false;
    if (child.err.code == STRAIT_OK)
        return 0;
    if (err && err->code == STRAIT_OK)
        *err = child.err;
    return -1;
}

/* ------------------------------------------------------------------------------------------ */

int strait_child_run(struct strait_run *run, void (*simulate)(struct strait_child *),
                     struct strait_error *err)
{
    int rc = -1, status = 0;
    struct strait_coroutines coroutines = {0};
    struct strait_child child = {.fd = memfd_create("strait-simulation", MFD_CLOEXEC),
                                 .run = run,
                                 .coroutines = &coroutines};
    const int stderr_fd = memfd_create("strait-stderr", MFD_CLOEXEC);
    if (child.fd < 0 || stderr_fd < 0) {
        strait_error_system(err, "simulation", "cannot make an anonymous file");
        goto out;
    }
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) {
        strait_error_system(err, "simulation", "cannot start a process");
        goto out;
    }
    if (pid == 0)
        be_child(&child, stderr_fd, parent, simulate);
    rc = await(run, &status, pid, err);
    if (rc == 0)
        rc = collect(run, child.fd, stderr_fd, status, err);
out:
    if (child.fd >= 0)
        close(child.fd);
    if (stderr_fd >= 0)
        close(stderr_fd);
    return rc;
}
