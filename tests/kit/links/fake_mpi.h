/* Letter boxes in place of MPI, for ranks that take turns in one thread: what each call asks for is
 * a text, and nothing completes before the test lets it. */
#pragma once
#include <stdbool.h>
#include "mpi/note.h"
#include "mpi/world.h"

enum { FAKE_MPI_ITEMS = 8192 };

struct fake_mpi_item {
    enum strait_mpi_way way;
    int src, dst, tag;
    size_t n_bytes;
    void *data;    /* a copy; NULL of more than 1 MiB */
    double from_s; /* it is there, by strait_clock_s */
    bool taken;
};

struct fake_mpi {
    struct fake_mpi_item items[FAKE_MPI_ITEMS];
    size_t n;
    bool held;      /* what is sent stays under way */
    double step_s;  /* the set clock passes so far, or to what comes, when nothing is there */
    double delay_s; /* of what is sent from now on */
    /** Called for each note that is sent, NULL: nobody. */
    void (*heard)(int src, int dst, const struct strait_mpi_note *note);
    char
        asked[4096]; /* "L1>0#2:128 P1>0#2:5000 r0<1#2:5000 ": letter and payload sent, asked for */
};

extern struct fake_mpi fake_mpi;
extern const struct strait_mpi_calls fake_mpi_calls;

/** Forget everything. */
void fake_mpi_empty(void);
/** The process `me` of n. */
struct strait_mpi_world fake_mpi_world(int me, int n);
/** Send a note as src would. */
void fake_mpi_say(int src, int dst, const struct strait_mpi_note *note, double after_s);
/** What was asked since the last call. */
const char *fake_mpi_asked(void);
