/* What a TCP connection knows of gaps in what it received. In a file of its own: the C library's
 * <netinet/tcp.h>, which the others need, has an older struct tcp_info. */
#pragma once
#include <stdint.h>

/** Segments of the connection so far that came before an earlier one, which was lost or overtaken;
 *  0 where the kernel does not tell (before Linux 5.4). */
uint32_t strait_emu_tcp_n_gaps(int fd);
