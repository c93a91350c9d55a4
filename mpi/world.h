/* The processes of a run on real machines, as an MPI launcher started them (mpirun, srun), and how
 * they talk outside of runs. One thread of a process, the one that opened it, uses it. */
#pragma once
#include <stdbool.h>
#include "calls.h"
#include "core/error.h"

struct strait_mpi_world {
    const struct strait_mpi_calls *calls;
    void *mpi;         /* the module's handle */
    void *module;      /* the loader's */
    int me, n;         /* this process, of how many */
    size_t part_bytes; /* of a payload, that are sent at once */
    unsigned n_runs;   /* that have ended */
    double talked_s;   /* when this process last told or heard something, by strait_clock_s */
    char library[STRAIT_MPI_TEXT_CHARS];
};

/* Tags of letters; below, those of streams (link.h). */
enum { STRAIT_MPI_TAG_TALK = 64, STRAIT_MPI_TAG_NOTE };

/** Path of this build's module, whether it exists or not. */
const char *strait_mpi_module_path(char *buf, size_t cap);
/** Can the module be loaded? Starts no MPI.
 *  Returns: 0, or -1 with *err HOST: there is none, or its libraries are missing */
int strait_mpi_module_check(struct strait_error *err);
/** Join the other processes. Waits for all of them.
 *  Returns: 0, or -1 with *err HOST: no module, or no launcher started this process */
int strait_mpi_world_open(struct strait_mpi_world **out, struct strait_error *err);
/** Leave them, when nothing is under way. NULL is fine. */
void strait_mpi_world_free(struct strait_mpi_world *w);
/** End all processes of all machines, this one too. */
void strait_mpi_world_abort(struct strait_mpi_world *w, int status) __attribute__((noreturn));

/** Send bytes to one that listens; returns when they may be changed.
 *  Returns: 0, or -1 with *err BACKEND after deadline_s seconds */
int strait_mpi_tell(struct strait_mpi_world *w, int dst, const void *data, size_t n_bytes,
                    double deadline_s, struct strait_error *err);
/** The next bytes that src tells; free(*data). As strait_mpi_tell; deadline_s INFINITY: none. */
int strait_mpi_listen(struct strait_mpi_world *w, int src, void **data, size_t *n_bytes,
                      double deadline_s, struct strait_error *err);
/** Make the run that rank 0 begins now fail: this process cannot take part. */
void strait_mpi_world_refuse(struct strait_mpi_world *w, const struct strait_error *why);
/** The rank as which a launcher started this process, known before MPI is loaded; 0 without a
 *  launcher. */
int strait_mpi_launched_as(void);
enum { STRAIT_MPI_HOST_CHARS = 96 };
/** Where this process runs: its host's name, and in an emulated network that several hosts share
 *  "client1 on alpha". Returns host */
const char *strait_mpi_world_host(char host[STRAIT_MPI_HOST_CHARS]);
/** A call of MPI failed. Returns: -1, with *err BACKEND */
int strait_mpi_broken(struct strait_error *err);
