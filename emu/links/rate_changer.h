/* Gives the kernel's links the rates of their schedules, each at its time: a process that sleeps
 * until the next change and then changes the queues of its link. */
#pragma once
#include "net_plan.h"
#include "qdisc.h"

/* A link whose rate changes. */
struct strait_emu_changing {
    const struct strait_link *link; /* its schedule */
    int namespace_fd, device;       /* of its shaper */
    const char *way;                /* "out", "in" */
    int node;
};

struct strait_emu_rate_changer; /* its process ends with the calling one, or when it is freed */

/** Start it; all links have the rates of time 0 by then.
 *  In:      plan     its start_ns, dilation, overhead
 *           links    n of them, copied
 *  Returns: 0, or -1 with *err; *out is NULL where n is 0 or the plan has no start */
int strait_emu_rate_changer_start(struct strait_emu_rate_changer **out,
                                  const struct strait_emu_net_plan *plan,
                                  const struct strait_emu_changing *links, size_t n,
                                  struct strait_error *err);
/** How late a change was at most, real seconds; 0 for NULL.
 *  Out:     failure  text of the first change that failed, or "" */
double strait_emu_rate_changer_late_s(const struct strait_emu_rate_changer *c,
                                      char failure[STRAIT_EMU_CHANGE_CHARS]);
/** The rates that link i was given last, up to now; so many that whoever read the queue before
 *  finds what he read among them.
 *  Returns: how many */
enum { STRAIT_EMU_RECENT = 4 };
size_t strait_emu_rate_changer_recent(double bits_per_s[STRAIT_EMU_RECENT],
                                      const struct strait_emu_rate_changer *c, size_t i);
void strait_emu_rate_changer_free(struct strait_emu_rate_changer *c);
