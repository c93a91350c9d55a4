#include "arrival.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include "process/dilated_clock.h"
#include "gaps.h"

/* An older time stamp is from another clock. */
static const int64_t MAX_LATE_NS = 10000000000;
/* And a younger one needs no second look. */
static const int64_t LOOK_LATE_NS = 20000;
/* Two clocks are read one after the other, and one of them is slewed: what they drift apart between
 * two messages is less, and a clock that somebody sets moves by more. */
static const int64_t CLOCK_STEP_NS = 1000000;

int64_t strait_emu_arrival_stamp_ns(int64_t *clock_ns, int64_t now_ns, int64_t real_ns,
                                    int64_t stamp_ns)
{
    const int64_t before_ns = *clock_ns, late_ns = real_ns - stamp_ns;
    *clock_ns = real_ns - now_ns;
    if (before_ns != 0 && llabs(*clock_ns - before_ns) > CLOCK_STEP_NS)
        return now_ns;
    return late_ns < 0 || late_ns > MAX_LATE_NS ? now_ns : now_ns - late_ns;
}

static int64_t ns_of(const struct timespec *t)
{
    return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

/* However late this thread woke up: by the kernel's stamp, which is of CLOCK_REALTIME. */
static int64_t stamped_ns(int64_t *clock_ns, struct msghdr *h)
{
    const int64_t now = strait_proc_mono_ns();
    for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SO_TIMESTAMPNS)
            continue;
        struct timespec stamp, real;
        memcpy(&stamp, CMSG_DATA(c), sizeof(stamp));
        clock_gettime(CLOCK_REALTIME, &real);
        return strait_emu_arrival_stamp_ns(clock_ns, now, ns_of(&real), ns_of(&stamp));
    }
    return now;
}

ssize_t strait_emu_arrival_read(struct strait_emu_arrival *a, int64_t *at_ns, int64_t *clock_ns,
                                int fd, void *data, size_t len_bytes, bool virtual_time)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(struct timespec))];
    } control;
    struct iovec v = {data, len_bytes};
    struct msghdr h = {.msg_iov = &v,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof(control.bytes)};
    const int64_t before_ns = strait_proc_mono_ns();
    const ssize_t n = recvmsg(fd, &h, MSG_DONTWAIT | (data ? 0 : MSG_TRUNC));
    if (n > 0)
        *at_ns = virtual_time ? strait_proc_mono_ns() : stamped_ns(clock_ns, &h);
    else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        a->empty_ns = before_ns;
    return n;
}

/* Bytes lay behind a gap if they were received before the connection was found to have nothing to
 * read; or, where the gap opened after that, if segments came out of order since the last look. */
int64_t strait_emu_arrival_complete_ns(struct strait_emu_arrival *a, int fd, int64_t at_ns,
                                       int64_t now_ns)
{
    if (at_ns < a->empty_ns)
        return now_ns;
    const uint32_t before = a->n_gaps;
    if (now_ns - at_ns >= LOOK_LATE_NS && (a->n_gaps = strait_emu_tcp_n_gaps(fd)) != before)
        return now_ns;
    return at_ns;
}
