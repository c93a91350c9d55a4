#include "sim/child.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/kit/rig.h"
#include "tests/kit/suite.h"

static void dies(struct strait_rank *r)
{
    strait_rig_sleep_until(r, 1);
    if (r->me == 1) {
        fputs("rank 1 met a bug\nand a second line\n", stderr);
        kill(getpid(), SIGKILL);
    }
}

static void polls_for_ever(struct strait_rank *r)
{
    struct strait_message m;
    while (!r->backend->ops->recv(r, &m, 0, 0, 0))
        ;
}

static void waits_for_ever(struct strait_rank *r)
{
    struct strait_message m;
    r->backend->ops->recv(r, &m, 1 - r->me, 0, INFINITY);
}

static void leaves(struct strait_rank *r)
{
    (void)r;
    _exit(7);
}

static void counts(struct strait_rank *r)
{
    strait_rig_sleep_until(r, 0.5);
    (*(int *)r->run->context)++;
    strait_note(r, 1, *(int *)r->run->context);
}

/* 64 MiB a step, every page of it written, until there is an end to it. */
static void takes_all(struct strait_rank *r)
{
    enum { STEP_BYTES = 64 << 20, MAX_STEPS = 64 };
    for (int i = 0; i < MAX_STEPS && r->me == 1; i++) {
        char *more = malloc(STEP_BYTES);
        if (!more)
            return;
        memset(more, i, STEP_BYTES);
        r->run->context = more;
        usleep(50000);
    }
}

static void posts_for_ever(struct strait_rank *r)
{
    for (int i = 0; r->me == 0; i++) {
        struct strait_packet *p = strait_packet_new(0);
        r->backend->ops->send(r, 1, 0, i, p, false);
    }
}

static void posts_once(struct strait_rank *r)
{
    struct strait_packet *p = r->me == 0 ? strait_packet_new(0) : NULL;
    if (!p)
        return;
    p->payload_bytes = *(const size_t *)r->run->context;
    r->backend->ops->send(r, 1, 0, 0, p, false);
}

#ifndef __SANITIZE_ADDRESS__
static int deep(volatile int n)
{
    volatile char frame[1000];
    frame[n % 1000] = 1;
    return n > 10000000 ? 0 : deep(n + 1) + frame[n % 1000];
}

static void overflows(struct strait_rank *r)
{
    strait_note(r, 1, deep(0));
}
#endif

static const struct strait_backend *const both[] = {&strait_sim, &strait_fluid};

static struct strait_rig run(void (*rank_main)(struct strait_rank *), int i, double deadline_s)
{
    struct strait_rig rig;
    strait_rig_init(&rig, 2, strait_rig_link(1e9, 0.01), rank_main);
    rig.run.deadline_s = deadline_s;
    strait_rig_run(&rig, both[i]);
    return rig;
}

static void death(void)
{
    for (int i = 0; i < 2; i++) {
        struct strait_rig rig = run(dies, i, 0);
        CU_ASSERT_EQUAL(rig.rc, -1);
        CU_ASSERT_EQUAL(rig.err.code, STRAIT_ERR_BACKEND);
        CU_ASSERT_PTR_NOT_NULL(strstr(rig.err.text, "ended by signal 9"));
#ifndef __SANITIZE_ADDRESS__ /* there stderr stays the reader's */
        const char *said = strstr(rig.err.text, "rank 1 met a bug");
        CU_ASSERT_STRING_EQUAL(said ? said : rig.err.text, "rank 1 met a bug");
#endif
        CU_ASSERT_PTR_NULL(strchr(rig.err.text, '\n'));
        strait_rig_release(&rig);
    }
}

static void overflow(void)
{
#ifdef __SANITIZE_ADDRESS__
    strait_test_skip("the sanitizer has its own word for a stack that overflows");
#else
    struct strait_rig rig = run(overflows, 1, 0);
    CU_ASSERT_EQUAL(rig.rc, -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(rig.err.text, "ended by signal 11"));
    strait_rig_release(&rig);
#endif
}

static void no_result(void)
{
    struct strait_rig rig = run(leaves, 1, 0);
    CU_ASSERT_EQUAL(rig.rc, -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(rig.err.text, "status 7 and no result"));
    strait_rig_release(&rig);
}

static void endless(void)
{
    for (int i = 0; i < 2; i++) {
        struct strait_rig rig = run(polls_for_ever, i, 0.2);
        CU_ASSERT_EQUAL(rig.rc, -1);
        CU_ASSERT_EQUAL(rig.err.code, STRAIT_ERR_BACKEND);
        CU_ASSERT_PTR_NOT_NULL(strstr(rig.err.text, "within 0.2 s"));
        strait_rig_release(&rig);
    }
}

static void separate_memory(void)
{
    for (int i = 0; i < 2; i++) {
        struct strait_rig rig;
        int n = 40;
        strait_rig_init(&rig, 1, strait_rig_link(1e9, 0.01), counts);
        rig.run.context = &n;
        for (int again = 0; again < 3; again++) {
            strait_rig_run(&rig, both[i]);
            CU_ASSERT_EQUAL(rig.rc, 0);
            CU_ASSERT_EQUAL(strait_noted(&rig, 0, 1, 0), 41); /* what the child saw */
            CU_ASSERT_EQUAL(n, 40);
        }
        strait_rig_release(&rig);
    }
}

/* Limits of 256 MiB and of 1000 messages. */
static void limits(void)
{
    for (int i = 0; i < 2; i++) {
        struct strait_rig rig;
        strait_rig_init(&rig, 2, strait_rig_link(1e9, 0.01), takes_all);
        rig.run.limit_bytes = 268435456;
        strait_rig_run(&rig, both[i]);
        CU_ASSERT_EQUAL(rig.rc, -1);
        CU_ASSERT_EQUAL(rig.err.code, STRAIT_ERR_NOMEM);
        CU_ASSERT_CONTAINS(rig.err.text, "memory ran out: it took more than 0.268 GB");
        strait_rig_release(&rig);
        strait_rig_init(&rig, 2, strait_rig_link(1e9, 0.01), posts_for_ever);
        rig.run.limit_messages = 1000;
        strait_rig_run(&rig, both[i]);
        CU_ASSERT_EQUAL(rig.rc, -1);
        CU_ASSERT_EQUAL(rig.err.code, STRAIT_ERR_HOST);
        CU_ASSERT_CONTAINS(rig.err.text, "expected at most 1000 messages of 2 ranks, found more");
        strait_rig_release(&rig);
    }
}

/* Where packets travel they are counted, 32 for a message: 34 segments go out here, or a little
 * less than 32 with the frame. */
static void limit_of_packets(void)
{
    for (int i = 0; i < 2; i++)
        for (int over = 0; over < 2; over++) {
            struct strait_rig rig;
            strait_rig_init(&rig, 2, strait_rig_link(1e9, 0.01), posts_once);
            rig.network->detail = STRAIT_DETAIL_PACKETS;
            rig.run.limit_messages = 1;
            rig.run.context = &(size_t){(over ? 34 : 31) * 1448};
            strait_rig_run(&rig, both[i]);
            CU_ASSERT_EQUAL(rig.rc, over ? -1 : 0);
            if (over)
                CU_ASSERT_CONTAINS(rig.err.text,
                                   "expected at most 32 packets of 2 ranks, found more");
            strait_rig_release(&rig);
        }
}

/* --- in process --------------------------------------------------------------------------- */

static int run_here(void (*rank_main)(struct strait_rank *), double deadline_s, char text[512])
{
    struct strait_rig rig;
    strait_rig_init(&rig, 2, strait_rig_link(1e9, 0.01), rank_main);
    rig.run.in_process = true;
    rig.run.deadline_s = deadline_s;
    rig.run.limit_messages = 1000;
    rig.run.ends_with_rank_0 = rank_main == counts;
    rig.run.context = &(int){40};
    strait_rig_run(&rig, &strait_fluid);
    snprintf(text, 512, "%s", rig.err.text);
    const int rc = rig.rc == 0 ? (int)strait_noted(&rig, 0, 1, 0) : rig.rc;
    strait_rig_release(&rig);
    return rc;
}

/* One after the other in this process: a failure leaves nothing that the next one meets. Rank 0
 * counts to 41, or rank 1 has before it; the run ends with it either way. */
static void here(void)
{
    char text[512];
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(run_here(counts, 0, text), 41);
        CU_ASSERT_EQUAL(run_here(posts_for_ever, 0, text), -1);
        CU_ASSERT_CONTAINS(text, "expected at most 1000 messages of 2 ranks, found more");
        CU_ASSERT_EQUAL(run_here(polls_for_ever, 0.01, text), -1);
        CU_ASSERT_CONTAINS(text, "within 0.01 s");
        CU_ASSERT_EQUAL(run_here(waits_for_ever, 0, text), -1);
        CU_ASSERT_CONTAINS(text, "rank 0 waits for ever for a message from rank 1 on channel 0");
    }
}

/* Of 40 and 192 bytes: 5.4 MB, more than two large pages. Nobody's words are another one's, and what
 * fills whole lines of 64 bytes begins at one, but where a sanitizer has each by itself. */
static void takes_many(struct strait_child *child)
{
    enum { N_THINGS = 60000, SMALL_WORDS = 5, LINE_WORDS = 24, LINE_BYTES = 64 };
    static uint64_t *things[N_THINGS];
    for (size_t i = 0; i < N_THINGS; i++) {
        const size_t n_words = i % 3 == 0 ? LINE_WORDS : SMALL_WORDS;
        things[i] = strait_child_alloc(child, 1, n_words * sizeof(uint64_t));
#ifndef __SANITIZE_ADDRESS__
        CU_ASSERT_FATAL(n_words == SMALL_WORDS || (uintptr_t)things[i] % LINE_BYTES == 0);
#endif
        for (size_t k = 0; k < n_words; k++) {
            CU_ASSERT_EQUAL_FATAL(things[i][k], 0);
            things[i][k] = i + 1;
        }
    }
    for (size_t i = 0; i < N_THINGS; i++)
        for (size_t k = 0; k < (i % 3 == 0 ? LINE_WORDS : SMALL_WORDS); k++)
            CU_ASSERT_EQUAL_FATAL(things[i][k], i + 1);
    strait_child_finish(child, json_object());
}

static void memory(void)
{
    struct strait_run run = {0};
    for (int i = 0; i < 2; i++) /* the second finds none of the first one's */
        CU_ASSERT_EQUAL(strait_child_run_here(&run, takes_many, NULL), 0);
}

static const struct strait_test tests[] = {
    {"in its caller's process a simulation ends or fails, and the next one is none the wiser",
     here},
    {"many small things of a simulation are zero, apart, and at lines of the caches", memory},
    {"a simulation that takes too much memory or too many messages is ended", limits},
    {"where packets travel, they are limited too", limit_of_packets},
    {"a simulation that dies is an error with its first words", death},
    {"a lane that overflows its stack hits the guard", overflow},
    {"a simulation that leaves without a result is an error", no_result},
    {"a simulation that never ends is ended", endless},
    {"a simulation changes nothing in its caller but logs and facts", separate_memory},
};
STRAIT_SUITE("sim/child", tests);
