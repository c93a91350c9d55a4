/* The calls of MPI that strait needs, as a table that a module of its own fills: strait-mpi.so,
 * compiled by the mpicc of the machine (mpi/module/module.c). So strait itself needs no MPI to be
 * built or started, and any MPI will do. All calls come from the thread that called open. */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { STRAIT_MPI_CALLS_VERSION = 3, STRAIT_MPI_TEXT_CHARS = 256 };
/* What travels apart: letters (frames and notes, found by probe) and payloads (asked for). */
enum strait_mpi_way { STRAIT_MPI_LETTERS, STRAIT_MPI_PAYLOADS };

struct strait_mpi_request {
    uintptr_t handle; /* of MPI */
};

struct strait_mpi_calls {
    unsigned version; /* STRAIT_MPI_CALLS_VERSION of its compilation */
    /** Initialise MPI, for one thread that communicates.
     *  In:      module  what dlopen gave
     *  Out:     me, n    this process and how many there are
     *           part_bytes  so many are sent at once; of more MPI may ask whether they may come
     *           library  what MPI says of itself, one line
     *  Returns: the handle for all other calls, or NULL with the reason in library */
    void *(*open)(void *module, int *me, int *n, size_t *part_bytes,
                  char library[STRAIT_MPI_TEXT_CHARS]);
    void (*close)(void *of); /* when nothing is under way any more */
    void (*abort)(void *of, int status);
    /* 0, or -1 where MPI reports an error. n_bytes: less than 2 GiB. */
    int (*isend)(void *of, struct strait_mpi_request *request, enum strait_mpi_way way,
                 const void *data, size_t n_bytes, int dst, int tag);
    int (*irecv)(void *of, struct strait_mpi_request *request, enum strait_mpi_way way, void *data,
                 size_t n_bytes, int src, int tag);
    /* 1: complete, and the request is gone; 0: not yet; -1: an error. */
    int (*test)(void *of, struct strait_mpi_request *request);
    /* 1: a letter is there, of n_bytes; 0: none; -1: an error. *src and *tag choose, -1: any; they
     * become the letter's. */
    int (*probe)(void *of, int *src, int *tag, size_t *n_bytes);
    /* Take the letter that probe found. */
    int (*take)(void *of, void *data, size_t n_bytes, int src, int tag);
    /* Sum n floats over all processes, in place; all call it. */
    int (*all_reduce)(void *of, float *x, int n);
};

/* The one symbol of the module, a function without arguments that returns its table. */
#define STRAIT_MPI_SYMBOL "strait_mpi_module"
typedef const struct strait_mpi_calls *(*strait_mpi_module_fn)(void);
