/* The memory of a run: a stream for each that is declared, and none that overlaps another. */
#include "emu/process/shared.h"
#include <stdlib.h>
#include <string.h>
#include "tests/kit/emu_world.h"
#include "tests/kit/suite.h"

static bool is_star(const struct strait_run *run, int src, int dst, int channel)
{
    (void)run;
    return (src == 0 || dst == 0) && (channel == 1 || channel == 3);
}

/* Three clients of a server, two channels each way: 12 streams. */
static void streams(void)
{
    struct world w;
    struct strait_error err = {0};
    world_init(&w, 4, 1e8, 0.01);
    w.run.uses_stream = is_star;
    struct strait_emu_shared *s = strait_emu_shared_new(&w.run, 3.5, 2, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_EQUAL(s->n_streams, 12);
    CU_ASSERT_EQUAL(s->n_ranks, 4);
    CU_ASSERT_EQUAL(s->n_links, 8);
    CU_ASSERT_EQUAL(s->dilation, 3.5);
    int n = 0, n_compute = 0;
    for (int src = 0; src < 4; src++)
        for (int dst = 0; dst < 4; dst++)
            for (int c = 0; c < STRAIT_MAX_CHANNELS; c++) {
                struct strait_emu_stream *stream = strait_emu_shared_stream(s, src, dst, c);
                const bool declared = src != dst && is_star(&w.run, src, dst, c);
                CU_ASSERT_EQUAL(stream != NULL, declared);
                if (!stream)
                    continue;
                n++;
                CU_ASSERT(stream->src == src && stream->dst == dst && stream->channel == c);
            }
    CU_ASSERT_EQUAL(n, 12);
    sem_getvalue(&s->compute, &n_compute);
    CU_ASSERT_EQUAL(n_compute, 2);
    /* each part to its last byte, and all others still what they were */
    memset(s->links, 1, 8 * sizeof(*s->links));
    memset(s->ranks, 2, 4 * sizeof(*s->ranks));
    for (int i = 0; i < 12; i++)
        memset(s->streams[i].ring, 3 + i, sizeof(s->streams[i].ring));
    CU_ASSERT_EQUAL(((unsigned char *)s->links)[8 * sizeof(*s->links) - 1], 1);
    CU_ASSERT_EQUAL(((unsigned char *)s->ranks)[0], 2);
    CU_ASSERT_EQUAL(((unsigned char *)s->ranks)[4 * sizeof(*s->ranks) - 1], 2);
    CU_ASSERT_EQUAL(s->index[1 * STRAIT_MAX_CHANNELS + 1], 0); /* from 0 to 1 on channel 1 */
    CU_ASSERT_EQUAL(s->index[0], -1);
    CU_ASSERT_EQUAL(s->index[15 * STRAIT_MAX_CHANNELS + STRAIT_MAX_CHANNELS - 1], -1);
    CU_ASSERT_EQUAL(s->streams[0].src, 0);
    CU_ASSERT_AT_LEAST(s->size_bytes, sizeof(*s) + 8 * sizeof(*s->links) + 4 * sizeof(*s->ranks) +
                                          12 * sizeof(*s->streams));
    CU_ASSERT_TRUE((char *)(s->streams + 12) <= (char *)s + s->size_bytes);
    strait_emu_shared_free(s);
    strait_emu_shared_free(NULL);
    world_release(&w);
}

/* Without a declaration every pair may talk on every channel. At most 20,000 connections: of five
 * ranks 20 x channels streams fit as long as each has no more than 20,000 / streams. */
static void limits(void)
{
    struct world w;
    struct strait_error err = {0};
    char text[160];
    world_init(&w, 5, 1e8, 0.01);
    const unsigned n_streams = 20 * STRAIT_MAX_CHANNELS, most = 20000 / n_streams;
    struct strait_emu_shared *s = strait_emu_shared_new(&w.run, 1, 1, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_EQUAL(s->n_streams, n_streams);
    strait_emu_shared_free(s);
    w.network->tcp.n_connections = most;
    s = strait_emu_shared_new(&w.run, 1, 1, &err);
    CU_ASSERT_PTR_NOT_NULL(s);
    strait_emu_shared_free(s);
    w.network->tcp.n_connections = 20000 / n_streams + 1;
    CU_ASSERT_PTR_NULL(strait_emu_shared_new(&w.run, 1, 1, &err));
    snprintf(text, sizeof(text),
             "the run has more than %d streams of %d connections, expected at most 20000 "
             "connections in all",
             (int)(20000 / (most + 1)), (int)(most + 1));
    CU_ASSERT_EQUAL(err.code, STRAIT_ERR_HOST);
    CU_ASSERT_STRING_EQUAL(err.text, text);
    world_release(&w);
}

static const struct strait_test tests[] = {
    {"each declared stream has a place of its own", streams},
    {"more connections than one machine can have are refused", limits},
};
STRAIT_SUITE("emu/process/shared", tests);
