/* When bytes that a connection delivers arrived. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "core/error.h"

struct strait_emu_arrival {
    int64_t empty_ns; /* when the connection was last found to have nothing to read */
    uint32_t n_gaps;  /* strait_emu_tcp_n_gaps when it was last looked at */
};

/** Read what is available without waiting, as recvmsg.
 *  Out:     at_ns     when the kernel received the last byte, by CLOCK_MONOTONIC; bytes behind a
 *                     gap have it too
 *           clock_ns  CLOCK_REALTIME minus CLOCK_MONOTONIC as last seen; 0: not yet
 *  In:      data      NULL: discard the bytes
 *           virtual_time  nobody is late, so bytes arrive when they are read */
ssize_t strait_emu_arrival_read(struct strait_emu_arrival *a, int64_t *at_ns, int64_t *clock_ns,
                                int fd, void *data, size_t len_bytes, bool virtual_time);
/** The moment at which all bytes up to those of the last read had arrived: at_ns, or now where
 *  they lay behind a gap until just now. */
int64_t strait_emu_arrival_complete_ns(struct strait_emu_arrival *a, int fd, int64_t at_ns,
                                       int64_t now_ns);
/** A stamp of CLOCK_REALTIME as a moment of CLOCK_MONOTONIC: now_ns if somebody has set the clock
 *  since it was last read, or if the stamp is from another clock. */
int64_t strait_emu_arrival_stamp_ns(int64_t *clock_ns, int64_t now_ns, int64_t real_ns,
                                    int64_t stamp_ns);
