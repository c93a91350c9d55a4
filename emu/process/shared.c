#include "shared.h"

#include <sys/mman.h>

/* More sockets, ports and rings than this are too many for one machine. */
enum { MAX_CONNECTIONS = 20000 };
/* Measured: 1100 nodes were up in 2.3 s; a rank takes some MB and a dozen descriptors. */
enum { MAX_RANKS = 4096 };

static bool uses_stream(const struct strait_run *run, int src, int dst, int channel)
{
    if (src == dst)
        return false;
    return !run->uses_stream || run->uses_stream(run, src, dst, channel);
}

static size_t index_of(const struct strait_emu_shared *s, int src, int dst, int channel)
{
    return ((size_t)src * (size_t)s->n_ranks + (size_t)dst) * STRAIT_MAX_CHANNELS + (size_t)channel;
}

/* Streams of the run; counting ends behind `most`. */
static int count_streams(const struct strait_run *run, int most)
{
    int n = 0;
    for (int src = 0; src < run->n_ranks && n <= most; src++)
        for (int dst = 0; dst < run->n_ranks && n <= most; dst++)
            for (int c = 0; c < STRAIT_MAX_CHANNELS; c++)
                n += uses_stream(run, src, dst, c);
    return n;
}

static int most_streams(const struct strait_run *run)
{
    return MAX_CONNECTIONS / (run->network ? (int)strait_tcp_n_connections(&run->network->tcp) : 1);
}

int strait_emu_shared_check(const struct strait_run *run, struct strait_error *err)
{
    if (run->n_ranks > MAX_RANKS)
        return strait_error_set(err, STRAIT_ERR_HOST, "emu",
                                "expected at most %d ranks, each a process, found %d", MAX_RANKS,
                                run->n_ranks);
    if (count_streams(run, most_streams(run)) > most_streams(run))
        return strait_error_set(err, STRAIT_ERR_HOST, "emu",
                                "the run has more than %d streams of %d connections, expected at "
                                "most %d connections in all",
                                most_streams(run), MAX_CONNECTIONS / most_streams(run),
                                MAX_CONNECTIONS);
    return 0;
}

static size_t aligned(size_t n_bytes)
{
    return (n_bytes + 63) / 64 * 64;
}

static void fill(struct strait_emu_shared *s, const struct strait_run *run)
{
    int n = 0;
    for (int src = 0; src < run->n_ranks; src++)
        for (int dst = 0; dst < run->n_ranks; dst++)
            for (int c = 0; c < STRAIT_MAX_CHANNELS; c++) {
                const bool used = uses_stream(run, src, dst, c);
                s->index[index_of(s, src, dst, c)] = used ? n : -1;
                if (!used)
                    continue;
                s->streams[n].src = src;
                s->streams[n].dst = dst;
                s->streams[n++].channel = c;
            }
}

struct strait_emu_shared *strait_emu_shared_new(const struct strait_run *run, double dilation,
                                                unsigned n_compute, struct strait_error *err)
{
    if (strait_emu_shared_check(run, err) != 0)
        return NULL;
    const int n_streams = count_streams(run, most_streams(run));
    const size_t n = (size_t)run->n_ranks;
    const size_t head = aligned(sizeof(struct strait_emu_shared));
    const size_t ranks = aligned(n * sizeof(struct strait_emu_rank_shared));
    const size_t n_links = (size_t)strait_network_n_links(run->network);
    const size_t links = aligned(n_links * sizeof(struct strait_emu_link_report));
    const size_t index = aligned(n * n * STRAIT_MAX_CHANNELS * sizeof(int32_t));
    const size_t size =
        head + links + ranks + index + (size_t)n_streams * sizeof(struct strait_emu_stream);
    char *at =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
        strait_error_system(err, "mmap", "cannot share %zu bytes between the ranks", size);
        return NULL;
    }
    struct strait_emu_shared *s = (void *)at; /* zeroed by the kernel, as atomics may start */
    s->size_bytes = size;
    s->n_ranks = run->n_ranks;
    s->n_streams = n_streams;
    s->dilation = dilation;
    s->n_links = (int)n_links;
    s->links = (void *)(at + head);
    s->ranks = (void *)(at + head + links);
    s->index = (void *)(at + head + links + ranks);
    s->streams = (void *)(at + head + links + ranks + index);
    fill(s, run);
    if (sem_init(&s->compute, 1, n_compute) != 0) {
        strait_error_system(err, "sem_init", "cannot make a semaphore");
        munmap(at, size);
        return NULL;
    }
    return s;
}

void strait_emu_shared_free(struct strait_emu_shared *s)
{
    if (!s)
        return;
    sem_destroy(&s->compute);
    munmap(s, s->size_bytes);
}

struct strait_emu_stream *strait_emu_shared_stream(struct strait_emu_shared *s, int src, int dst,
                                                   int channel)
{
    const int32_t i = s->index[index_of(s, src, dst, channel)];
    return i < 0 ? NULL : &s->streams[i];
}
