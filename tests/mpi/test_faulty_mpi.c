/* A run over letter boxes in place of MPI, each rank a thread, in which one call fails: the n-th of
 * its kind that does something. The rank that made it says so. And a run whose ranks have two
 * clocks. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "mpi/link.h"
#include "process/dilated_clock.h"
#include "tests/kit/rig.h"
#include "tests/kit/suite.h"

enum { N = 2, MAX_ITEMS = 4096, MAX_CALLS = 100, HANG_S = 60 };
/* The other machine's clock is this much ahead. */
/* A letter takes so long to far ranks. */
static const int64_t DELAY_NS = 1000000;
static const int64_t AHEAD_NS = 5000000000000, NEAR_NS = 600000000000;

struct item {
    enum strait_mpi_way way;
    int src, dst, tag;
    size_t n_bytes;
    void *data;
    bool taken;
    int64_t from_ns; /* it is there */
};

struct pending { /* a payload that was asked for */
    void *data;
    size_t n_bytes;
    int src, dst, tag;
};

static struct {
    pthread_mutex_t lock;
    struct item items[MAX_ITEMS];
    size_t n, n_calls;
    int kind, who; /* whose call of this kind fails, 'i'send, i'r'ecv, 't'est, 'p'robe, ta'k'e */
    size_t nth;
    bool has_failed, is_over, two_clocks, is_far;
    bool has_told[N];   /* the other that it failed */
    int64_t started_ns; /* time 0 as the other machine was told */
} box = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int seats[N] = {0, 1};

/* One that would have done something. Below the lock. */
static bool fails(const void *of, int kind)
{
    if (box.is_over)
        return true;
    if (kind != box.kind || *(const int *)of != box.who || box.has_failed ||
        box.n_calls++ < box.nth)
        return false;
    return box.has_failed = true;
}

/* As a machine with another clock says it, and hears it. */
static void translate(struct strait_mpi_note *n)
{
    if (n->word == STRAIT_MPI_READY) {
        n->clock_id ^= 1;
    } else if (n->word == STRAIT_MPI_PONG) {
        n->time_ns += AHEAD_NS;
    } else if (n->word == STRAIT_MPI_START) {
        box.started_ns = n->time_ns;
        n->time_ns -= AHEAD_NS;
    }
}

static int box_isend(void *of, struct strait_mpi_request *request, enum strait_mpi_way way,
                     const void *data, size_t n_bytes, int dst, int tag)
{
    const bool is_note = way == STRAIT_MPI_LETTERS && tag == STRAIT_MPI_TAG_NOTE;
    pthread_mutex_lock(&box.lock);
    const bool failed = fails(of, 'i') || box.n == MAX_ITEMS;
    if (!failed) {
        void *copy = malloc(n_bytes + 1);
        if (n_bytes > 0)
            memcpy(copy, data, n_bytes);
        if (is_note && box.two_clocks)
            translate(copy);
        box.items[box.n++] = (struct item){
            way,     *(int *)of, dst,   tag,
            n_bytes, copy,       false, strait_proc_mono_ns() + (box.is_far ? DELAY_NS : 0)};
        /* its last word, for which it would wait a second */
        const bool is_last =
            is_note && ((const struct strait_mpi_note *)data)->word == STRAIT_MPI_FAILED;
        box.is_over |= is_last;
        box.has_told[*(int *)of] |= is_last;
    }
    pthread_mutex_unlock(&box.lock);
    request->handle = 1;
    return failed ? -1 : 0;
}

static int box_irecv(void *of, struct strait_mpi_request *request, enum strait_mpi_way way,
                     void *data, size_t n_bytes, int src, int tag)
{
    struct pending *p = malloc(sizeof(*p));
    *p = (struct pending){data, n_bytes, src, *(int *)of, tag};
    request->handle = (uintptr_t)p;
    pthread_mutex_lock(&box.lock);
    const bool failed = fails(of, 'r') || way != STRAIT_MPI_PAYLOADS;
    pthread_mutex_unlock(&box.lock);
    return failed ? -1 : 0;
}

static struct item *find(enum strait_mpi_way way, int src, int dst, int tag)
{
    const int64_t now_ns = strait_proc_mono_ns();
    for (size_t i = 0; i < box.n; i++) {
        struct item *it = &box.items[i];
        if (!it->taken && it->from_ns <= now_ns && it->way == way && it->dst == dst &&
            (src < 0 || it->src == src) && (tag < 0 || it->tag == tag))
            return it;
    }
    return NULL;
}

static int box_test(void *of, struct strait_mpi_request *request)
{
    struct pending *p = request->handle == 1 ? NULL : (struct pending *)request->handle;
    int done = 1;
    pthread_mutex_lock(&box.lock);
    struct item *it = p ? find(STRAIT_MPI_PAYLOADS, p->src, p->dst, p->tag) : NULL;
    if (p && !it)
        done = box.is_over ? -1 : 0;
    else if (fails(of, 't') || (it && it->n_bytes != p->n_bytes))
        done = -1;
    if (done == 1 && it && it->n_bytes > 0)
        memcpy(p->data, it->data, it->n_bytes);
    if (done == 1 && it)
        it->taken = true;
    pthread_mutex_unlock(&box.lock);
    if (p && done == 1)
        free(p);
    return done;
}

static int box_probe(void *of, int *src, int *tag, size_t *n_bytes)
{
    int found = 0;
    pthread_mutex_lock(&box.lock);
    const struct item *it = find(STRAIT_MPI_LETTERS, *src, *(int *)of, *tag);
    if (it) {
        found = fails(of, 'p') ? -1 : 1;
        *src = it->src, *tag = it->tag, *n_bytes = it->n_bytes;
    } else if (box.is_over) {
        found = -1;
    }
    pthread_mutex_unlock(&box.lock);
    return found;
}

static int box_take(void *of, void *data, size_t n_bytes, int src, int tag)
{
    pthread_mutex_lock(&box.lock);
    struct item *it = find(STRAIT_MPI_LETTERS, src, *(int *)of, tag);
    const bool fits = it && it->n_bytes == n_bytes && !fails(of, 'k');
    if (fits && n_bytes > 0)
        memcpy(data, it->data, n_bytes);
    if (fits)
        it->taken = true;
    pthread_mutex_unlock(&box.lock);
    return fits ? 0 : -1;
}

static const struct strait_mpi_calls calls = {.version = STRAIT_MPI_CALLS_VERSION,
                                              .isend = box_isend,
                                              .irecv = box_irecv,
                                              .test = box_test,
                                              .probe = box_probe,
                                              .take = box_take};

/* --- a run ----------------------------------------------------------------------------------- */

/* Two messages there, one of them with values, whose arrival is waited for; one back. */
static void program(struct strait_rank *r)
{
    const struct strait_rank_ops *ops = r->backend->ops;
    if (r->me == 1) {
        struct strait_packet *p = strait_packet_new(5000);
        if (!p)
            abort();
        for (size_t i = 0; i < 5000; i++)
            ((unsigned char *)p->data)[i] = (unsigned char)(i % 251);
        ops->wait(r, ops->send(r, 0, 2, 7, p, true), NULL);
        strait_rig_send(r, 0, 2, 8, 3000);
        strait_note(r, 1, (double)strait_rig_recv(r, 0, 1).tag);
        return;
    }
    struct strait_message m = {0};
    ops->recv(r, &m, 1, 2, INFINITY);
    double sum = m.tag;
    for (size_t i = 0; i < m.packet->payload_bytes; i++)
        sum += ((const unsigned char *)m.packet->data)[i];
    strait_packet_drop(m.packet);
    strait_note(r, 0, sum);
    strait_note(r, 0, (double)strait_rig_recv(r, 1, 2).tag);
    strait_rig_send(r, 1, 1, 9, 100);
}

static bool uses_stream(const struct strait_run *run, int src, int dst, int channel)
{
    (void)run;
    return (src == 1 && dst == 0 && channel == 2) || (src == 0 && dst == 1 && channel == 1);
}

/* Of several parts, of more than may be under way at a time, of one byte, of none. */
static const size_t payload_bytes[] = {100000, 40 * 32768, 1, 0};
enum { N_PAYLOADS = sizeof(payload_bytes) / sizeof(*payload_bytes) };
enum { N_PARTS_NEAR = 3, N_PARTS_FAR = 4 + 40 + 1 };

static unsigned char value(size_t payload, size_t i)
{
    return (unsigned char)((i + 7 * payload) % 253);
}

/* One way, one behind the other. Notes how many values are right. */
static void stream(struct strait_rank *r)
{
    const struct strait_rank_ops *ops = r->backend->ops;
    for (size_t k = 0; k < N_PAYLOADS; k++) {
        struct strait_message m = {0};
        if (r->me == 1) {
            struct strait_packet *p = strait_packet_new(payload_bytes[k]);
            if (!p)
                abort();
            for (size_t i = 0; i < payload_bytes[k]; i++)
                ((unsigned char *)p->data)[i] = value(k, i);
            ops->send(r, 0, 2, (int)k, p, false);
            continue;
        }
        ops->recv(r, &m, 1, 2, INFINITY);
        size_t n_right = 0;
        for (size_t i = 0; i < m.packet->payload_bytes; i++)
            n_right += ((const unsigned char *)m.packet->data)[i] == value((size_t)m.tag, i);
        strait_packet_drop(m.packet);
        strait_note(r, 0, (double)n_right);
    }
}

struct part {
    struct strait_mpi_world world;
    struct strait_rig rig;
};

static void *take_part(void *of)
{
    struct part *p = of;
    strait_rig_run(&p->rig, &strait_mpi);
    pthread_mutex_lock(&box.lock);
    box.is_over |= p->rig.rc != 0;
    pthread_mutex_unlock(&box.lock);
    return NULL;
}

static void run(struct part parts[N], void (*of_a_rank)(struct strait_rank *r))
{
    pthread_t threads[N];
    for (int i = 0; i < N; i++) {
        strait_rig_init(&parts[i].rig, N, strait_rig_link(1e9, 0), of_a_rank);
        parts[i].rig.run.uses_stream = uses_stream;
        parts[i].rig.run.real_payload = true;
        parts[i].world = (struct strait_mpi_world){.calls = &calls,
                                                   .mpi = &seats[i],
                                                   .me = i,
                                                   .n = N,
                                                   .part_bytes = 32768,
                                                   .library = "Letters 1.0"};
        parts[i].rig.run.world = &parts[i].world;
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, take_part, &parts[i]), 0);
    }
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
}

/* 19 * (0 + ... + 250) + (0 + ... + 230), and the tag */
static const double expected_sum = 19 * 250 * 251 / 2.0 + 230 * 231 / 2.0 + 7;

static bool is_whole(const struct part parts[N])
{
    return parts[0].rig.rc == 0 && parts[1].rig.rc == 0 &&
           strait_noted(&parts[0].rig, 0, 0, 0) == expected_sum &&
           strait_noted(&parts[0].rig, 0, 0, 1) == 8 && strait_noted(&parts[0].rig, 1, 1, 0) == 9;
}

/* In a process of its own, since lanes of a run that failed go on. 0: nothing failed, and all is
 * there; 1: the rank said it; else what is wrong. */
static int outcome(int kind, int who, size_t nth)
{
    static struct part parts[N];
    box.kind = kind;
    box.who = who;
    box.nth = nth;
    alarm(HANG_S);
    run(parts, program);
    if (!box.has_failed)
        return is_whole(parts) ? 0 : 2;
    if (parts[who].rig.rc != -1)
        return 3;
    if (!box.has_told[who])
        return 5;
    return strcmp(parts[who].rig.err.text, "MPI reports an error") == 0 ? 1 : 4;
}

static void empty(void)
{
    for (size_t i = 0; i < box.n; i++)
        free(box.items[i].data);
    box.n = 0;
    box.two_clocks = box.is_far = false;
}

static pid_t begin(int kind, int who, size_t nth)
{
    fflush(stdout);
    const pid_t pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid == 0)
        _exit(outcome(kind, who, nth));
    return pid;
}

static void each_call(void)
{
    static const char kinds[] = "irtpk";
    for (int who = 0; who < N; who++)
        for (const char *k = kinds; *k; k++) {
            int status = 0;
            size_t n = 0;
            do {
                strait_test_context("rank %d, call %zu of '%c'", who, n, *k);
                CU_ASSERT_FATAL(waitpid(begin(*k, who, n), &status, 0) > 0);
                CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
            } while (WIFEXITED(status) && WEXITSTATUS(status) == 1 && ++n < MAX_CALLS);
            CU_ASSERT_AT_LEAST(n, *k == 'r' && who == 1 ? 1 : 2);
        }
}

/* Rank 0 finds out how far the other clock is ahead, and says by that clock when time 0 is. */
static void clocks(void)
{
    static struct part parts[N];
    box.two_clocks = true;
    run(parts, program);
    CU_ASSERT_STRING_EQUAL(parts[0].rig.err.text, "");
    CU_ASSERT(is_whole(parts));
    const int64_t since_ns = strait_proc_mono_ns() - (box.started_ns - AHEAD_NS);
    CU_ASSERT(since_ns > 0 && since_ns < NEAR_NS);
    for (int i = 0; i < N; i++)
        strait_rig_release(&parts[i].rig);
    empty();
}

/* A part is small enough for MPI not to ask before it sends it, where asking takes time: where
 * rank 0 found the others far. It measures that by the clock, by which a busy machine may make near
 * ranks far, never far ones near. */
static void in_parts(bool is_far)
{
    static struct part parts[N];
    size_t n = 0, n_hellos[N] = {0}, n_starts = 0, n_words[STRAIT_MPI_FAILED + 1] = {0};
    bool found_far = false;
    box.is_far = is_far;
    run(parts, stream);
    CU_ASSERT_STRING_EQUAL(parts[0].rig.err.text, "");
    for (int k = 0; k < N_PAYLOADS; k++)
        CU_ASSERT_EQUAL(strait_noted(&parts[0].rig, 0, 0, k), (double)payload_bytes[k]);
    for (size_t i = 0; i < box.n; i++) {
        const struct item *it = &box.items[i];
        n += it->way == STRAIT_MPI_PAYLOADS;
        CU_ASSERT(it->way == STRAIT_MPI_LETTERS || !is_far || it->n_bytes <= 32768);
        if (it->way != STRAIT_MPI_LETTERS || it->tag != STRAIT_MPI_TAG_NOTE)
            continue;
        const struct strait_mpi_note *note = it->data;
        n_hellos[it->src] += note->word == STRAIT_MPI_HELLO;
        n_words[note->word]++;
        CU_ASSERT_EQUAL(it->src == 0,
                        note->word == STRAIT_MPI_PING || note->word == STRAIT_MPI_LOOK ||
                            note->word == STRAIT_MPI_START || note->word == STRAIT_MPI_END ||
                            (note->word == STRAIT_MPI_HELLO && it->dst == 1));
        if (note->word == STRAIT_MPI_START) {
            found_far = note->unasked;
            n_starts++;
        }
    }
    CU_ASSERT_EQUAL(n_starts, N - 1);
    CU_ASSERT_EQUAL(n_words[STRAIT_MPI_HERE],
                    1); /* each is said once, and each question answered */
    CU_ASSERT_EQUAL(n_words[STRAIT_MPI_READY], 1);
    CU_ASSERT_EQUAL(n_words[STRAIT_MPI_END], 1);
    CU_ASSERT_EQUAL(n_words[STRAIT_MPI_STOP] + n_words[STRAIT_MPI_FAILED], 0);
    CU_ASSERT_AT_LEAST(n_words[STRAIT_MPI_PING], 24);
    CU_ASSERT_EQUAL(n_words[STRAIT_MPI_PONG], n_words[STRAIT_MPI_PING]);
    CU_ASSERT_AT_LEAST(n_words[STRAIT_MPI_LOOK], 1);
    CU_ASSERT_EQUAL(n_words[STRAIT_MPI_STATUS], n_words[STRAIT_MPI_LOOK]);
    CU_ASSERT(found_far || !is_far);
    CU_ASSERT_EQUAL(n, found_far ? N_PARTS_FAR : N_PARTS_NEAR);
    for (int i = 0; i < N; i++) {
        CU_ASSERT_EQUAL(n_hellos[i], 1); /* to whom it has a stream */
        strait_rig_release(&parts[i].rig);
    }
    empty();
    if (found_far && !is_far)
        strait_test_skip("this machine is too busy for ranks to be near");
}

static void near(void)
{
    in_parts(false);
}

static void far(void)
{
    in_parts(true);
}

/* What is refused before any call. */
static void refused(void)
{
    struct strait_mpi_world world = {.calls = &calls, .mpi = &seats[0], .n = N + 1};
    struct strait_rig rig;
    strait_rig_init(&rig, N, strait_rig_link(1e9, 0), program);
    strait_rig_run(&rig, &strait_mpi);
    CU_ASSERT_EQUAL(rig.rc, -1);
    CU_ASSERT_EQUAL(rig.err.code, STRAIT_ERR_HOST);
    CU_ASSERT_STRING_EQUAL(rig.err.text, "expected the processes of mpirun or srun: strait rank");
    rig.run.world = &world;
    strait_rig_run(&rig, &strait_mpi);
    CU_ASSERT_EQUAL(rig.err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(rig.err.text,
                           "expected 2 processes, one for each rank (mpirun -n 2), found 3");
    world.n = N;
    rig.run.control = "no-queue";
    strait_rig_run(&rig, &strait_mpi);
    CU_ASSERT_EQUAL(rig.err.code, STRAIT_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(rig.err.text,
                           "expected no negative control on real machines, found \"no-queue\"");
    CU_ASSERT_EQUAL(box.n, 0);
    strait_rig_release(&rig);
}

static const struct strait_test tests[] = {
    {"a run without its processes, or with a negative control, is refused", refused},
    {"time 0 is told by the clock of the machine that hears it", clocks},
    {"payloads travel whole to ranks that are near", near},
    {"payloads travel to far ranks in parts of which MPI does not ask", far},
    {"a call of MPI that fails is said by the rank that made it", each_call},
};
STRAIT_SUITE("mpi/faulty_mpi", tests);
