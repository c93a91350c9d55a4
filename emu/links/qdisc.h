/* What the kernel's shapers are told for one direction of a link, and what they say of themselves:
 * netem (delay, jitter, loss) with a tbf (rate, queue) inside, or either alone. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "net.h"

struct strait_emu_shaper {
    bool has_netem, has_tbf;
    int64_t delay_ns, jitter_ns;
    uint32_t loss; /* of 2^32 - 1 */
    uint64_t rate_bytes_per_s;
    uint32_t burst_bytes, limit_bytes;
};

/** The shaper of a link: real time, whole bytes.
 *  A packet of tbf weighs its IP packet and 14 bytes for every segment, but an overhead would count
 *  once for a super-packet: so the rate and the queue are scaled by 1514 / (1514 + overhead).
 *  In:      late_s  real time by which tbf may be woken too late and still keep the rate
 */
void strait_emu_shaper_of(struct strait_emu_shaper *out, const struct strait_link *link,
                          double overhead_bytes, double dilation, double late_s);
/** The same for this machine: 1.5 ms; 5 ms in User-Mode Linux, whose host may take its processor.
 */
double strait_emu_shaper_late_s(void);
/** How much earlier than by its rate alone a message may pass an idle shaper, in real seconds. */
double strait_emu_shaper_credit_s(const struct strait_emu_shaper *s);
/** Is `found` what `wanted` asks for, to the kernel's own resolution? If not, text says what is
 *  not: "tbf rate 100 bytes/s, asked for 200". */
bool strait_emu_shaper_same(char *text, size_t cap, const struct strait_emu_shaper *wanted,
                            const struct strait_emu_shaper *found);

/** Put a shaper on a device of the socket's namespace; one without netem and tbf puts nothing.
 *  Returns: 0, or -1 with *err: HOST where this kernel lacks the one or the other
 */
int strait_emu_shaper_add(int fd, int index, const struct strait_emu_shaper *s,
                          struct strait_error *err);

struct strait_emu_shaper_reading {
    struct strait_emu_shaper shaper; /* as the kernel has it */
    uint64_t n_segments, bytes;      /* that left the last of the two */
    uint64_t netem_drops, tbf_drops; /* packets; netem's contain tbf's */
    uint64_t backlog_bytes;          /* in them now */
    uint64_t settings; /* a hash of every queue on the device, of any kind, with all its options */
};

/** Read the shapers of devices first_index .. first_index + n - 1 in the socket's namespace. */
int strait_emu_shaper_read(struct strait_emu_shaper_reading *out, int n, int first_index, int fd,
                           struct strait_error *err);
