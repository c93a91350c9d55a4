/* Work in a process of its own: what it answers, how it ends, and what is then said. */
#include "codecs/foreign/isolate.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "core/clock.h"
#include "tests/kit/suite.h"

enum { PAGE_BYTES = 4096, BURN_NS = 5000000 };

static int n_calls; /* of this process, since a test began */

/* The first byte says what to do; numbers are left in the output. */
static bool work(const void *context, struct strait_isolated_job *job, const unsigned char *in,
                 unsigned char *out)
{
    int number = ++n_calls;
    struct stat null, info;
    DIR *dir;
    switch (in[0]) {
    case 'r': /* reversed */
        for (size_t i = 0; i < job->in_bytes; i++)
            out[i] = in[job->in_bytes - 1 - i];
        job->out_bytes = job->in_bytes;
        return true;
    case 'f':
        job->out_bytes = 1;
        return false;
    case 'o': /* more than there is room for */
        job->out_bytes++;
        return true;
    case 'e':
        exit(0);
    case 'x':
        _exit(7);
    case 's':
        raise(SIGSEGV);
        return true;
    case 'w':
        ((unsigned char *)(size_t)in)[0] = 'r';
        return true;
    case 'k': /* what an earlier call left kills it */
        if (number > 1)
            raise(SIGABRT);
        break;
    case 'l':
        for (;;)
            pause();
    case 'm': { /* 512 MiB, and 64 bytes for each of the job's: 3 GiB are more */
        void *volatile much = malloc((size_t)3 << 30), *volatile some = malloc((size_t)1 << 28);
        number = (much != NULL) + 2 * (some != NULL);
        free(much);
        free(some);
        break;
    }
    case 'b':
        for (const int64_t from = strait_cpu_process_ns();
             strait_cpu_process_ns() - from < BURN_NS;)
            continue;
        break;
    case 'p':
        number = getpgid(0) == getpid() ? getpid() : -1;
        break;
    case 'd': /* descriptors, but for the listing's; the first three are no files */
        number = -1;
        dir = opendir("/proc/self/fd");
        for (const struct dirent *e; dir && (e = readdir(dir));)
            number += e->d_name[0] != '.';
        if (dir)
            closedir(dir);
        stat("/dev/null", &null);
        for (int fd = 0; fd < 3; fd++)
            number += fstat(fd, &info) != 0 || info.st_rdev != null.st_rdev ? 100 : 0;
        break;
    case 'c':
        number = *(const int *)context;
        break;
    default:
        break;
    }
    memcpy(out, &number, sizeof(number));
    job->out_bytes = sizeof(number);
    return true;
}

static const int the_context = 42;

static struct strait_isolate isolate(bool here)
{
    n_calls = 0;
    return (struct strait_isolate){
        .work = work, .context = &the_context, .library = "libx.so", .here = here, .limit_s = 60};
}

/* What the work answers to a word; -1 with *err where the process did not. */
static int ask(struct strait_isolate *i, const char *word, int *number, struct strait_error *err)
{
    struct strait_isolated_job job = {.in_bytes = strlen(word), .out_bytes = 16};
    if (strait_isolate_room(i, job.in_bytes, job.out_bytes, err) != 0)
        return -1;
    memcpy(i->in, word, job.in_bytes);
    const int status = strait_isolate_call(i, &job, err);
    if (status == 0 && job.good && job.out_bytes == sizeof(*number))
        memcpy(number, i->out, sizeof(*number));
    return status != 0 ? -1 : (int)job.good;
}

static void answers(void)
{
    for (int here = 0; here < 2; here++) {
        struct strait_isolate i = isolate(here);
        struct strait_error err = {0};
        struct strait_isolated_job job = {.in_bytes = 4, .out_bytes = 4};
        int number = 0;
        strait_test_context("here %d", here);
        CU_ASSERT_EQUAL_FATAL(strait_isolate_room(&i, 4, 4, &err), 0);
        memcpy(i.in, "rabc", 4);
        CU_ASSERT_EQUAL(strait_isolate_call(&i, &job, &err), 0);
        CU_ASSERT_TRUE(job.good);
        CU_ASSERT_EQUAL(job.out_bytes, 4);
        CU_ASSERT_EQUAL(memcmp(i.out, "cbar", 4), 0);
        CU_ASSERT_EQUAL(ask(&i, "f", &number, &err), 0);
        CU_ASSERT_EQUAL(ask(&i, "o", &number, &err), 0);
        CU_ASSERT_EQUAL(ask(&i, "c", &number, &err), 1);
        CU_ASSERT_EQUAL(number, 42);
        CU_ASSERT_EQUAL(i.pid == 0, here);
        CU_ASSERT_EQUAL(i.n_served, here ? 0 : 4);
        CU_ASSERT_STRING_EQUAL(err.text, "");
        strait_isolate_release(&i);
        CU_ASSERT_EQUAL(i.pid, 0);
        CU_ASSERT_PTR_NULL(i.memory);
    }
}

/* What is good is told apart from what is not by the room alone: to the last byte. */
static void last_byte(void)
{
    struct strait_isolate i = isolate(false);
    struct strait_error err = {0};
    struct strait_isolated_job job = {.in_bytes = 4, .out_bytes = 3};
    CU_ASSERT_EQUAL_FATAL(strait_isolate_room(&i, 4, 4, &err), 0);
    memcpy(i.in, "rabc", 4);
    CU_ASSERT_EQUAL(strait_isolate_call(&i, &job, &err), 0);
    CU_ASSERT_FALSE(job.good);
    CU_ASSERT_EQUAL(job.out_bytes, 0);
    strait_isolate_release(&i);
}

/* Each end is named; the next call has a process again. */
static void ends(void)
{
    static const struct {
        const char *word, *says;
    } cases[] = {{"e", "libx.so called exit"},
                 {"x", "libx.so ended its process, status 7"},
                 {"s", "libx.so was ended by SIGSEGV"},
                 {"w", "libx.so was ended by SIGSEGV"}};
    struct strait_isolate i = isolate(false);
    int number = 0;
    for (size_t k = 0; k < sizeof(cases) / sizeof(*cases); k++) {
        struct strait_error err = {0}, none = {0};
        CU_ASSERT_EQUAL(ask(&i, cases[k].word, &number, &err), -1);
        CU_ASSERT_STRING_EQUAL(err.text, cases[k].says);
        CU_ASSERT_STRING_EQUAL(err.where, "libx.so");
        CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
        CU_ASSERT_EQUAL(ask(&i, "n", &number, &none), 1);
        CU_ASSERT_EQUAL(number, 1); /* the first call of a new one */
    }
    i.limit_s = 0.05;
    struct strait_error err = {0};
    CU_ASSERT_EQUAL(ask(&i, "l", &number, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "libx.so took longer than 0.050017 s"); /* 17 bytes */
    CU_ASSERT_EQUAL(i.pid, 0);
    strait_isolate_release(&i);
}

/* A process serves call after call; one that an earlier call spoilt is replaced without a word. */
static void served(void)
{
    struct strait_isolate i = isolate(false);
    struct strait_error err = {0};
    int first = 0, second = 0, number = 0;
    CU_ASSERT_EQUAL(ask(&i, "p", &first, &err), 1);
    CU_ASSERT_EQUAL(ask(&i, "p", &second, &err), 1);
    CU_ASSERT(first > 0 && first == second && first == i.pid);
    CU_ASSERT_EQUAL(ask(&i, "n", &number, &err), 1);
    CU_ASSERT_EQUAL(number, 3);
    CU_ASSERT_EQUAL(ask(&i, "k", &number, &err), 1); /* the second try is another's first */
    CU_ASSERT_EQUAL(number, 1);
    CU_ASSERT_EQUAL(ask(&i, "p", &second, &err), 1);
    CU_ASSERT_NOT_EQUAL(first, second);
    CU_ASSERT_EQUAL(ask(&i, "d", &number, &err), 1);
    CU_ASSERT_EQUAL(number, 5); /* three that are /dev/null, the socket and the memory */
    CU_ASSERT_EQUAL(ask(&i, "m", &number, &err), 1);
    CU_ASSERT_EQUAL(number, 2);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    strait_isolate_release(&i);
    CU_ASSERT_EQUAL(kill(second, 0), -1);
}

/* Processor time of the work is the caller's, where it does not run here. */
static void processor_time(void)
{
    struct strait_isolate i = isolate(false);
    struct strait_error err = {0};
    int number;
    const double before_s = strait_isolated_cpu_s();
    CU_ASSERT_EQUAL(ask(&i, "b", &number, &err), 1);
    const double after_s = strait_isolated_cpu_s();
    CU_ASSERT(after_s - before_s >= 1e-9 * BURN_NS);
    CU_ASSERT(after_s - before_s <= 60); /* the limit */
    strait_isolate_release(&i);
    i = isolate(true);
    CU_ASSERT_EQUAL(ask(&i, "b", &number, &err), 1);
    CU_ASSERT_EQUAL(strait_isolated_cpu_s(), after_s);
    strait_isolate_release(&i);
}

/* Whole pages, one byte more than was asked for; what has room stays where it is. */
static void rooms(void)
{
    struct strait_isolate i = isolate(false);
    struct strait_error err = {0};
    int number = 0;
    if (sysconf(_SC_PAGESIZE) != PAGE_BYTES) {
        strait_test_skip("pages of another size");
        return;
    }
    CU_ASSERT_EQUAL(strait_isolate_room(&i, PAGE_BYTES - 1, PAGE_BYTES, &err), 0);
    CU_ASSERT_EQUAL(i.in_cap_bytes, PAGE_BYTES);
    CU_ASSERT_EQUAL(i.out_cap_bytes, 2 * PAGE_BYTES);
    CU_ASSERT_PTR_EQUAL(i.out, i.in + PAGE_BYTES);
    i.in[PAGE_BYTES - 1] = 1;
    CU_ASSERT_EQUAL(strait_isolate_room(&i, PAGE_BYTES - 1, 2 * PAGE_BYTES - 1, &err), 0);
    CU_ASSERT_EQUAL(i.out_cap_bytes, 2 * PAGE_BYTES);
    CU_ASSERT_EQUAL(ask(&i, "n", &number, &err), 1);
    CU_ASSERT_EQUAL(strait_isolate_room(&i, PAGE_BYTES, 1, &err), 0);
    CU_ASSERT_EQUAL(i.in_cap_bytes, 2 * PAGE_BYTES);
    CU_ASSERT_EQUAL(i.out_cap_bytes, 2 * PAGE_BYTES); /* as it was */
    CU_ASSERT_EQUAL(strait_isolate_room(&i, 1, 2 * PAGE_BYTES, &err), 0);
    CU_ASSERT_EQUAL(i.in_cap_bytes, 2 * PAGE_BYTES);
    CU_ASSERT_EQUAL(i.out_cap_bytes, 3 * PAGE_BYTES);
    CU_ASSERT_EQUAL(ask(&i, "n", &number, &err), 1); /* the process follows */
    CU_ASSERT_EQUAL(number, 2);
    CU_ASSERT_EQUAL(strait_isolate_room(&i, SIZE_MAX / 4, 1, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_NOMEM);
    strait_isolate_release(&i);
}

/* A process that was forked meanwhile has one of its own, and leaves ours alone. */
static void forked(void)
{
    struct strait_isolate i = isolate(false);
    struct strait_error err = {0};
    int number = 0, status = -1;
    CU_ASSERT_EQUAL(ask(&i, "n", &number, &err), 1);
    const pid_t before = i.pid, child = fork();
    if (child == 0) {
        const int good = ask(&i, "n", &number, &err) == 1 && number == 1 && i.pid != before;
        strait_isolate_release(&i);
        _exit(good ? 0 : 1);
    }
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(status, 0);
    CU_ASSERT_EQUAL(ask(&i, "n", &number, &err), 1);
    CU_ASSERT_EQUAL(number, 2);
    CU_ASSERT_EQUAL(i.pid, before);
    strait_isolate_release(&i);
}

static const struct strait_test tests[] = {
    {"work answers, in a process or here", answers},
    {"what does not fit is not good", last_byte},
    {"a process that ends is named by its end, and replaced", ends},
    {"a process serves call after call, with nothing of ours", served},
    {"the work's processor time is the caller's", processor_time},
    {"room has whole pages and stays", rooms},
    {"a fork has a process of its own", forked},
};
STRAIT_SUITE_WITH("codecs/foreign/isolate", tests, .release = true);
