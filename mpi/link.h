/* The streams of one rank over MPI. Lanes post from any thread; the thread that opened the world
 * moves all bytes, in turns. A message is a letter with its frame, tagged with its channel, and its
 * payload apart, in parts. Messages of a stream are begun in their order, two at a time, and a
 * stream delivers in that order. The receiving side always drains. */
#pragma once
#include "process/local_rank.h"
#include "note.h"
#include "world.h"

struct strait_mpi_link; /* one rank's */

/** In:      rank  its run, me and clock are used; lock and inbox when messages come
 *           note  called for each note that comes
 *  Returns: 0, or -1 with *err */
int strait_mpi_link_new(struct strait_mpi_link **out, struct strait_mpi_world *world,
                        struct strait_proc_rank *rank,
                        void (*note)(void *of, const struct strait_mpi_note *note), void *of,
                        struct strait_error *err);
/** Send payloads in parts for which MPI does not ask before it sends them: a stream then takes what
 *  its bytes take, for an additional copy of them. Without: in parts that MPI can count. */
void strait_mpi_link_unasked(struct strait_mpi_link *l);
/** Queue a message, from any thread; as rank->post. */
int strait_mpi_link_post(struct strait_mpi_link *l, int dst, int channel, int tag,
                         struct strait_packet *packet, double posted_s, void *ticket,
                         struct strait_error *err);
/** Queue a note. */
int strait_mpi_link_note(struct strait_mpi_link *l, int dst, const struct strait_mpi_note *note,
                         struct strait_error *err);
/** One turn: begin what was posted, take what has come.
 *  Out:     moved  whether anything happened
 *  Returns: 0, or -1 with *err BACKEND */
int strait_mpi_link_turn(struct strait_mpi_link *l, bool *moved, struct strait_error *err);
/** Has everything posted left, and is nothing half received? */
bool strait_mpi_link_is_calm(struct strait_mpi_link *l);
struct strait_mpi_figures strait_mpi_link_figures(const struct strait_mpi_link *l);
/** When nothing is under way; after a failure never, since MPI may still write. NULL is fine. */
void strait_mpi_link_free(struct strait_mpi_link *l);
