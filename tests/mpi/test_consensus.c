/* What processes say to each other between runs, over letter boxes in place of MPI: each rank is a
 * thread. */
#include "mpi/consensus.h"
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mpi/link.h"
#include "tests/kit/suite.h"

enum { N = 3, MAX_LETTERS = 64 };

struct letter {
    int src, dst, tag;
    size_t n_bytes;
    void *data; /* NULL: taken */
};

static struct {
    pthread_mutex_t lock;
    struct letter letters[MAX_LETTERS];
    size_t n;
    int fails; /* what is broken: 'i'send, 't'est, 'p'robe, ta'k'e; 's': nothing is ever sent */
} box = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct seat { /* a process as the calls know it */
    int me;
};

static int box_isend(void *of, struct strait_mpi_request *request, enum strait_mpi_way way,
                     const void *data, size_t n_bytes, int dst, int tag)
{
    if (box.fails == 'i' || way != STRAIT_MPI_LETTERS)
        return -1;
    pthread_mutex_lock(&box.lock);
    void *copy = box.n < MAX_LETTERS ? malloc(n_bytes + 1) : NULL;
    if (copy) {
        memcpy(copy, data, n_bytes);
        box.letters[box.n++] = (struct letter){((struct seat *)of)->me, dst, tag, n_bytes, copy};
    }
    pthread_mutex_unlock(&box.lock);
    request->handle = 1;
    return copy ? 0 : -1;
}

static int box_test(void *of, struct strait_mpi_request *request)
{
    (void)of, (void)request;
    return box.fails == 't' ? -1 : box.fails != 's';
}

static struct letter *find(const void *of, int src, int tag)
{
    for (size_t i = 0; i < box.n; i++)
        if (box.letters[i].data && box.letters[i].dst == ((const struct seat *)of)->me &&
            box.letters[i].src == src && box.letters[i].tag == tag)
            return &box.letters[i];
    return NULL;
}

static int box_probe(void *of, int *src, int *tag, size_t *n_bytes)
{
    pthread_mutex_lock(&box.lock);
    const struct letter *l = find(of, *src, *tag);
    *n_bytes = l ? l->n_bytes : 0;
    pthread_mutex_unlock(&box.lock);
    return box.fails == 'p' ? -1 : l != NULL;
}

static int box_take(void *of, void *data, size_t n_bytes, int src, int tag)
{
    pthread_mutex_lock(&box.lock);
    struct letter *l = find(of, src, tag);
    const bool fits = l && l->n_bytes == n_bytes;
    if (fits) {
        memcpy(data, l->data, n_bytes);
        free(l->data);
        l->data = NULL;
    }
    pthread_mutex_unlock(&box.lock);
    return fits && box.fails != 'k' ? 0 : -1;
}

static const struct strait_mpi_calls calls = {.version = STRAIT_MPI_CALLS_VERSION,
                                              .isend = box_isend,
                                              .test = box_test,
                                              .probe = box_probe,
                                              .take = box_take};

static struct seat seats[N] = {{0}, {1}, {2}};

static struct strait_mpi_world world(int me)
{
    return (struct strait_mpi_world){
        .calls = &calls, .mpi = &seats[me], .me = me, .n = N, .library = "Letters 1.0"};
}

static void empty_box(int fails)
{
    for (size_t i = 0; i < box.n; i++)
        free(box.letters[i].data);
    box.n = 0;
    box.fails = fails;
}

/* --- of one mind ----------------------------------------------------------------------------- */

struct mind {
    struct strait_mpi_world w;
    struct strait_mpi_hello hello;
    struct strait_error err;
    char machines[256];
    int rc;
};

static void *agree(void *of)
{
    struct mind *m = of;
    m->rc = strait_mpi_agree(&m->w, &m->hello, m->machines, sizeof(m->machines), &m->err);
    return NULL;
}

static void minds_init(struct mind minds[N])
{
    empty_box(0);
    for (int i = 0; i < N; i++)
        minds[i] = (struct mind){.w = world(i),
                                 .hello = {.program = "0123456789abcdef",
                                           .experiment = "e",
                                           .profile = "p",
                                           .file = "my.json"},
                                 .rc = 7};
}

static void agree_all(struct mind minds[N])
{
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, agree, &minds[i]), 0);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
}

/* All have the same verdict. */
static void expect(struct mind minds[N], enum strait_error_code code, const char *text)
{
    for (int i = 0; i < N; i++) {
        strait_test_context("rank %d", i);
        CU_ASSERT_EQUAL(minds[i].rc, -1);
        CU_ASSERT_EQUAL(minds[i].err.code, code);
        CU_ASSERT_STRING_EQUAL(minds[i].err.text, text);
    }
}

static void same(void)
{
    struct mind minds[N];
    char host[STRAIT_MPI_HOST_CHARS], text[256];
    minds_init(minds);
    agree_all(minds);
    for (int i = 0; i < N; i++) {
        CU_ASSERT_EQUAL(minds[i].rc, 0);
        CU_ASSERT_EQUAL(minds[i].err.code, STRAIT_OK);
    }
    snprintf(text, sizeof(text), "%s 3, Letters 1.0", strait_mpi_world_host(host));
    CU_ASSERT_STRING_EQUAL(minds[0].machines, text);
}

static void others(void)
{
    struct mind minds[N];
    char host[STRAIT_MPI_HOST_CHARS], text[512];
    strait_mpi_world_host(host);
    minds_init(minds);
    minds[1].hello.program = "fedcba9876543210";
    minds[2].hello.experiment = "f"; /* the lowest rank's difference is the one that is told */
    agree_all(minds);
    snprintf(text, sizeof(text),
             "expected the same program on all machines, found " STRAIT_VERSION
             " (01234567) as rank 0 on %s and " STRAIT_VERSION " (fedcba98) as rank 1 on %s",
             host, host);
    expect(minds, STRAIT_ERR_INPUT, text);

    minds_init(minds);
    minds[2].hello.experiment = "f";
    minds[2].hello.file = "other.json";
    agree_all(minds);
    snprintf(text, sizeof(text),
             "expected the same experiment on all machines, found my.json as rank 0 and another, "
             "other.json, as rank 2 on %s",
             host);
    expect(minds, STRAIT_ERR_INPUT, text);

    minds_init(minds);
    minds[1].hello.profile = "q";
    agree_all(minds);
    snprintf(text, sizeof(text),
             "expected the same profile on all machines, found another as rank 1 on %s", host);
    expect(minds, STRAIT_ERR_INPUT, text);
}

/* What a process could not do is told to all: its own code, with its place; rank 0's as it is. */
static void unable(void)
{
    struct mind minds[N];
    char host[STRAIT_MPI_HOST_CHARS], text[256];
    minds_init(minds);
    strait_error_set(&minds[1].err, STRAIT_ERR_HOST, "tun", "expected a device");
    strait_error_set(&minds[2].err, STRAIT_ERR_SYSTEM, NULL, "no disk");
    agree_all(minds);
    snprintf(text, sizeof(text), "rank 1 on %s: tun: expected a device",
             strait_mpi_world_host(host));
    expect(minds, STRAIT_ERR_HOST, text);

    minds_init(minds);
    strait_error_set(&minds[2].err, STRAIT_ERR_SYSTEM, NULL, "no disk");
    agree_all(minds);
    snprintf(text, sizeof(text), "rank 2 on %s: no disk", host);
    expect(minds, STRAIT_ERR_SYSTEM, text);

    minds_init(minds);
    strait_error_set(&minds[0].err, STRAIT_ERR_INPUT, "my.json", "expected a schema");
    strait_error_set(&minds[1].err, STRAIT_ERR_INPUT, "my.json", "expected another");
    agree_all(minds);
    expect(minds, STRAIT_ERR_INPUT, "expected a schema");
    CU_ASSERT_STRING_EQUAL(minds[2].err.where, "my.json");
}

/* --- what comes next ------------------------------------------------------------------------- */

static void next(void)
{
    struct strait_mpi_world zero = world(0), two = world(2);
    struct strait_error err = {0};
    json_t *point = json_pack("{s:i, s:f}", "n", 3, "x", 0.1), *got = NULL;
    empty_box(0);
    CU_ASSERT_EQUAL(strait_mpi_announce(&zero, point, &err), 0);
    CU_ASSERT_EQUAL(strait_mpi_announce(&zero, NULL, &err), 0);
    CU_ASSERT_EQUAL(box.n, 4); /* two letters to each of the two others */
    CU_ASSERT_EQUAL(strait_mpi_next(&two, &got, &err), 0);
    CU_ASSERT_EQUAL(json_equal(point, got), 1);
    json_decref(got);
    CU_ASSERT_EQUAL(strait_mpi_next(&two, &got, &err), 0);
    CU_ASSERT_PTR_NULL(got);
    CU_ASSERT_EQUAL(err.code, STRAIT_OK);
    json_decref(point);
    CU_ASSERT_EQUAL(strait_mpi_tell(&zero, 2, "{", 1, 9, &err), 0);
    CU_ASSERT_EQUAL(strait_mpi_next(&two, &got, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "rank 0 says what nobody understands");
}

/* --- letters --------------------------------------------------------------------------------- */

static void tell_fails(int fails, size_t n_bytes, const char *text)
{
    struct strait_mpi_world zero = world(0);
    struct strait_error err = {0};
    empty_box(fails);
    CU_ASSERT_EQUAL(strait_mpi_tell(&zero, 1, "abc", n_bytes, 0, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_STRING_EQUAL(err.text, text);
}

static void listen_fails(int fails, bool is_there, const char *text)
{
    struct strait_mpi_world zero = world(0), one = world(1);
    struct strait_error err = {0};
    void *data = NULL;
    size_t n = 0;
    empty_box(0);
    if (is_there)
        CU_ASSERT_EQUAL(strait_mpi_tell(&zero, 1, "abc", 3, 9, &err), 0);
    box.fails = fails;
    CU_ASSERT_EQUAL(strait_mpi_listen(&one, 0, &data, &n, 0, &err), -1);
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_BACKEND);
    CU_ASSERT_STRING_EQUAL(err.text, text);
    free(data);
}

static void letters(void)
{
    struct strait_mpi_world zero = world(0), one = world(1);
    struct strait_error err = {0};
    void *data = NULL;
    size_t n = 0;
    empty_box(0);
    CU_ASSERT_EQUAL(strait_mpi_tell(&zero, 1, "ab\0c", 4, 0, &err), 0);
    CU_ASSERT_EQUAL(strait_mpi_tell(&zero, 1, "second", 6, INFINITY, &err), 0);
    CU_ASSERT_EQUAL_FATAL(strait_mpi_listen(&one, 0, &data, &n, 0, &err), 0);
    CU_ASSERT_EQUAL(n, 4);
    CU_ASSERT_EQUAL(memcmp(data, "ab\0c", 5), 0); /* with a NUL behind its end */
    free(data);
    CU_ASSERT_EQUAL_FATAL(strait_mpi_listen(&one, 0, &data, &n, INFINITY, &err), 0);
    CU_ASSERT_STRING_EQUAL(data, "second");
    free(data);
    tell_fails('i', 3, "MPI reports an error");
    tell_fails('t', 3, "MPI reports an error");
    tell_fails('s', 3, "rank 1 does not listen to rank 0 for 0 s");
    tell_fails(0, (size_t)INT_MAX / 2 + 1,
               "rank 0 has 1073741824 bytes for rank 1, more than fit into a letter");
    listen_fails('p', true, "MPI reports an error");
    listen_fails('k', true, "MPI reports an error");
    listen_fails(0, false, "rank 0 has not been heard for 0 s");
}

static void refusal(void)
{
    struct strait_mpi_world one = world(1);
    struct strait_error why = {0};
    empty_box(0);
    strait_error_set(&why, STRAIT_ERR_HOST, "x", "expected more memory");
    strait_mpi_world_refuse(&one, &why);
    CU_ASSERT_EQUAL_FATAL(box.n, 1);
    const struct strait_mpi_note *note = box.letters[0].data;
    CU_ASSERT_EQUAL(box.letters[0].dst, 0);
    CU_ASSERT_EQUAL(box.letters[0].tag, STRAIT_MPI_TAG_NOTE);
    CU_ASSERT_EQUAL_FATAL(box.letters[0].n_bytes, sizeof(*note));
    CU_ASSERT_EQUAL(note->word, STRAIT_MPI_FAILED);
    CU_ASSERT_EQUAL(note->from, 1);
    CU_ASSERT_EQUAL(note->error.code, STRAIT_ERR_HOST);
    CU_ASSERT_STRING_EQUAL(note->error.text, "expected more memory");
    empty_box(0);
}

static const struct strait_test tests[] = {
    {"processes of one mind are counted by host", same},
    {"another program, experiment or profile is told to all, of the lowest rank", others},
    {"what a process could not do is told to all", unable},
    {"rank 0 announces points, and their end", next},
    {"letters arrive whole and in order, or say why not", letters},
    {"who cannot take part says so to rank 0", refusal},
};
STRAIT_SUITE("mpi/consensus", tests);
