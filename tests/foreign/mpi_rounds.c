/* Rounds of a pause and a collective of MPI, as strategies of strait have them: what each takes.
 *
 *   mpicc -O2 -o mpi_rounds mpi_rounds.c
 *   strait net run FILE --ranks first -- mpirun ... ./mpi_rounds allgatherv 1000000 50 9
 *
 * allreduce   of so many bytes (bsp)
 * allgatherv  of so many bytes from each rank (grace, exchange allgather)
 * bcast       of so many bytes from each rank in turn (grace, exchange broadcast)
 * scatter     a reduce-scatter of so many bytes, and an all-gather of its parts (dear) */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, size, *counts, *starts;
static float *mine, *all, *part;

static void cut(int n)
{
    for (int i = 0; i < size; i++) {
        starts[i] = (int)((long)n * i / size);
        counts[i] = (int)((long)n * (i + 1) / size) - starts[i];
    }
}

static void call(const char *what, int n)
{
    if (strcmp(what, "allreduce") == 0) {
        MPI_Allreduce(mine, all, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    } else if (strcmp(what, "allgatherv") == 0) {
        for (int i = 0; i < size; i++) {
            counts[i] = n;
            starts[i] = n * i;
        }
        MPI_Allgatherv(mine, n, MPI_FLOAT, all, counts, starts, MPI_FLOAT, MPI_COMM_WORLD);
    } else if (strcmp(what, "bcast") == 0) {
        for (int root = 0; root < size; root++)
            MPI_Bcast(root == rank ? mine : all, n, MPI_FLOAT, root, MPI_COMM_WORLD);
    } else {
        cut(n);
        MPI_Reduce_scatter(mine, part, counts, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allgatherv(part, counts[rank], MPI_FLOAT, all, counts, starts, MPI_FLOAT,
                       MPI_COMM_WORLD);
    }
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 5)
        MPI_Abort(MPI_COMM_WORLD, 2);
    const int n = atoi(argv[2]) / 4, n_rounds = atoi(argv[4]);
    const double pause_s = atof(argv[3]) / 1e3;
    const struct timespec pause = {.tv_sec = (time_t)pause_s,
                                   .tv_nsec = (long)(1e9 * (pause_s - (double)(time_t)pause_s))};
    counts = calloc((size_t)size, sizeof(int));
    starts = calloc((size_t)size, sizeof(int));
    mine = calloc((size_t)n + 1, sizeof(float));
    part = calloc((size_t)n + 1, sizeof(float));
    all = calloc((size_t)n * (size_t)size + 1, sizeof(float));
    double *took_s = calloc((size_t)n_rounds, sizeof(double));
    for (int i = 0; i < n_rounds; i++) {
        nanosleep(&pause, NULL);
        const double start_s = MPI_Wtime();
        call(argv[1], n);
        took_s[i] = MPI_Wtime() - start_s;
    }
    if (rank == 0) {
        printf("%s", argv[1]);
        for (int i = 0; i < n_rounds; i++)
            printf(" %.4f", took_s[i]);
        qsort(took_s + 2, (size_t)n_rounds - 2, sizeof(double), compare);
        printf("  median from the third on %.4f s\n", took_s[2 + (n_rounds - 2) / 2]);
    }
    MPI_Finalize();
    return 0;
}
