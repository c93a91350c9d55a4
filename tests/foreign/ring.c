/* A token goes round an MPI ring: what each rank adds, and how long a lap takes. */
#include <mpi.h>
#include <stdio.h>

enum { N_LAPS = 20 };

int main(int argc, char **argv)
{
    int rank, size, len, token = 0;
    char host[MPI_MAX_PROCESSOR_NAME];
    double start_s = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(host, &len);
    for (int lap = 0; lap <= N_LAPS; lap++) { /* connections are made in lap 0 */
        if (lap == 1)
            start_s = MPI_Wtime();
        if (rank > 0)
            MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        token += rank;
        MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
        if (rank == 0)
            MPI_Recv(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    printf("rank %d on %s: token %d, lap %.6f s\n", rank, host, token,
           (MPI_Wtime() - start_s) / N_LAPS);
    MPI_Finalize();
    return 0;
}
