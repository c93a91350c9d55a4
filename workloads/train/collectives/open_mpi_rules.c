/* Which algorithm Open MPI takes: its fixed rules (open-mpi/ompi v4.1.4,
 * coll_tuned_decision_fixed.c), for operations that commute. A row holds for fewer ranks than its
 * first number and fewer bytes than its second, 0 being any; the first that holds counts. Bytes are
 * those of the call's whole tensor, of an all-gather a rank's mean.
 *
 * Rows of algorithms that are the same here are one: of two ranks "two_proc" is a ring, a chain of
 * the rules' fan-out is their pipeline, a segmented ring without segments is a ring. Some stand for
 * what is not modelled: of 128 ranks and more small all-reduces are a reduction and a broadcast; of
 * 256 to 1023 ranks broadcasts of 16 to 32 KiB split their binary tree; reduce-scatters of a few
 * bytes are a reduction and a scatter, from 32 ranks on a butterfly. */
#include "open_mpi.h"

struct rule {
    int below_n;
    size_t below_bytes;
    enum strait_open_mpi_way way;
};

static const struct rule all_reduce[] = {
    {4, 8, STRAIT_MPI_RING},
    {4, 4096, STRAIT_MPI_DOUBLING},
    {4, 8192, STRAIT_MPI_RING},
    {4, 16384, STRAIT_MPI_DOUBLING},
    {4, 262144, STRAIT_MPI_RING},
    {4, 0, STRAIT_MPI_RABENSEIFNER},
    {8, 16, STRAIT_MPI_RING},
    {8, 8192, STRAIT_MPI_DOUBLING},
    {8, 0, STRAIT_MPI_RABENSEIFNER},
    {16, 8192, STRAIT_MPI_DOUBLING},
    {16, 0, STRAIT_MPI_RABENSEIFNER},
    {32, 64, STRAIT_MPI_RING},
    {32, 4096, STRAIT_MPI_DOUBLING},
    {32, 0, STRAIT_MPI_RABENSEIFNER},
    {64, 128, STRAIT_MPI_RING},
    {64, 0, STRAIT_MPI_RABENSEIFNER},
    {256, 262144, STRAIT_MPI_DOUBLING},
    {256, 0, STRAIT_MPI_RABENSEIFNER},
    {512, 4096, STRAIT_MPI_DOUBLING},
    {512, 0, STRAIT_MPI_RABENSEIFNER},
    {2048, 16384, STRAIT_MPI_DOUBLING},
    {2048, 0, STRAIT_MPI_RABENSEIFNER},
    {4096, 2048, STRAIT_MPI_DOUBLING},
    {4096, 4096, STRAIT_MPI_RING},
    {4096, 16384, STRAIT_MPI_DOUBLING},
    {4096, 0, STRAIT_MPI_RABENSEIFNER},
    {0, 2048, STRAIT_MPI_DOUBLING},
    {0, 16384, STRAIT_MPI_RING},
    {0, 32768, STRAIT_MPI_DOUBLING},
    {0, 0, STRAIT_MPI_RABENSEIFNER},
};

static const struct rule broadcast[] = {
    {4, 32, STRAIT_MPI_CHAIN},         {4, 256, STRAIT_MPI_BINARY},
    {4, 512, STRAIT_MPI_CHAIN},        {4, 1024, STRAIT_MPI_KNOMIAL},
    {4, 32768, STRAIT_MPI_LINEAR},     {4, 131072, STRAIT_MPI_BINARY},
    {4, 262144, STRAIT_MPI_CHAIN},     {4, 524288, STRAIT_MPI_LINEAR},
    {4, 1048576, STRAIT_MPI_BINOMIAL}, {4, 0, STRAIT_MPI_BINARY},
    {8, 64, STRAIT_MPI_BINARY},        {8, 128, STRAIT_MPI_BINOMIAL},
    {8, 2048, STRAIT_MPI_BINARY},      {8, 8192, STRAIT_MPI_BINOMIAL},
    {8, 1048576, STRAIT_MPI_LINEAR},   {8, 0, STRAIT_MPI_CHAIN},
    {16, 8, STRAIT_MPI_KNOMIAL},       {16, 64, STRAIT_MPI_BINARY},
    {16, 4096, STRAIT_MPI_KNOMIAL},    {16, 16384, STRAIT_MPI_BINARY},
    {16, 32768, STRAIT_MPI_BINOMIAL},  {16, 0, STRAIT_MPI_LINEAR},
    {32, 4096, STRAIT_MPI_KNOMIAL},    {32, 1048576, STRAIT_MPI_BINOMIAL},
    {32, 0, STRAIT_MPI_SCATTER},       {64, 2048, STRAIT_MPI_BINOMIAL},
    {128, 0, STRAIT_MPI_KNOMIAL},      {256, 2, STRAIT_MPI_BINOMIAL},
    {256, 16384, STRAIT_MPI_BINARY},   {256, 32768, STRAIT_MPI_LINEAR},
    {256, 65536, STRAIT_MPI_BINARY},   {256, 0, STRAIT_MPI_KNOMIAL},
    {1024, 16384, STRAIT_MPI_KNOMIAL}, {1024, 32768, STRAIT_MPI_BINARY},
    {1024, 0, STRAIT_MPI_KNOMIAL},     {2048, 524288, STRAIT_MPI_KNOMIAL},
    {2048, 0, STRAIT_MPI_SCATTER},     {4096, 262144, STRAIT_MPI_KNOMIAL},
    {4096, 0, STRAIT_MPI_SCATTER},     {0, 8192, STRAIT_MPI_KNOMIAL},
    {0, 16384, STRAIT_MPI_BINARY},     {0, 262144, STRAIT_MPI_KNOMIAL},
    {0, 0, STRAIT_MPI_SCATTER},
};

static const struct rule all_gather[] = {
    {3, 0, STRAIT_MPI_RING},
    {8, 256, STRAIT_MPI_DEFAULT},
    {8, 4096, STRAIT_MPI_NEIGHBOURS},
    {8, 8192, STRAIT_MPI_RING},
    {8, 16384, STRAIT_MPI_NEIGHBOURS},
    {8, 262144, STRAIT_MPI_BRUCK},
    {8, 0, STRAIT_MPI_NEIGHBOURS},
    {16, 1024, STRAIT_MPI_DEFAULT},
    {16, 0, STRAIT_MPI_BRUCK},
    {32, 128, STRAIT_MPI_DEFAULT},
    {32, 262144, STRAIT_MPI_BRUCK},
    {32, 0, STRAIT_MPI_RING},
    {64, 256, STRAIT_MPI_DEFAULT},
    {64, 8192, STRAIT_MPI_BRUCK},
    {64, 0, STRAIT_MPI_RING},
    {128, 256, STRAIT_MPI_DEFAULT},
    {128, 4096, STRAIT_MPI_BRUCK},
    {128, 0, STRAIT_MPI_RING},
    {256, 1024, STRAIT_MPI_BRUCK},
    {256, 65536, STRAIT_MPI_NEIGHBOURS},
    {256, 0, STRAIT_MPI_RING},
    {512, 1024, STRAIT_MPI_BRUCK},
    {512, 0, STRAIT_MPI_RING},
    {1024, 512, STRAIT_MPI_BRUCK},
    {1024, 1024, STRAIT_MPI_DEFAULT},
    {1024, 4096, STRAIT_MPI_BRUCK},
    {1024, 1048576, STRAIT_MPI_NEIGHBOURS},
    {1024, 0, STRAIT_MPI_RING},
    {0, 4096, STRAIT_MPI_BRUCK},
    {0, 0, STRAIT_MPI_NEIGHBOURS},
};

static const struct rule reduce_scatter[] = {
    {4, 65536, STRAIT_MPI_RING}, {4, 131072, STRAIT_MPI_HALVING},
    {4, 0, STRAIT_MPI_RING},     {32, 262144, STRAIT_MPI_HALVING},
    {32, 0, STRAIT_MPI_RING},    {64, 524288, STRAIT_MPI_HALVING},
    {64, 0, STRAIT_MPI_RING},    {128, 256, STRAIT_MPI_HALVING},
    {0, 0, STRAIT_MPI_HALVING},
};

enum strait_open_mpi_way strait_open_mpi_way(enum strait_open_mpi_call call, int n, size_t n_bytes)
{
    static const struct rule *const rules[] = {[STRAIT_MPI_ALLREDUCE] = all_reduce,
                                               [STRAIT_MPI_BCAST] = broadcast,
                                               [STRAIT_MPI_ALLGATHERV] = all_gather,
                                               [STRAIT_MPI_REDUCE_SCATTER] = reduce_scatter};
    const struct rule *rule = rules[call];
    while ((rule->below_n > 0 && n >= rule->below_n) ||
           (rule->below_bytes > 0 && n_bytes >= rule->below_bytes))
        rule++;
    return rule->way;
}
