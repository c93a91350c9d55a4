#include "gaps.h"
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

uint32_t strait_emu_tcp_n_gaps(int fd)
{
    struct tcp_info info;
    socklen_t len = sizeof(info);
    const size_t needed =
        offsetof(struct tcp_info, tcpi_rcv_ooopack) + sizeof(info.tcpi_rcv_ooopack);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0 || len < needed)
        return 0;
    return info.tcpi_rcv_ooopack;
}
