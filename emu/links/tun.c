#include "tun.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <net/if.h>
#include "segment.h"

static int refused(int fd, const char *path, const char *what, struct strait_error *err)
{
    const int saved = errno;
    if (fd >= 0)
        close(fd);
    return strait_error_set(err, STRAIT_ERR_HOST, path, "cannot %s: %s", what, strerror(saved));
}

int strait_emu_tun_open(int *index, const char *path, const char *name, struct strait_error *err)
{
    const int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return refused(fd, path, "open the TUN node", err);
    struct ifreq req = {.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR};
    strncpy(req.ifr_name, name, sizeof(req.ifr_name) - 1);
    const int header_bytes = STRAIT_EMU_VNET_BYTES;
    const unsigned long offload = TUN_F_CSUM | TUN_F_TSO4;
    const char *const failed =
        ioctl(fd, TUNSETIFF, &req) != 0                     ? "make a TUN device"
        : ioctl(fd, TUNSETVNETHDRSZ, &header_bytes) != 0    ? "set the TUN header size"
        : ioctl(fd, TUNSETOFFLOAD, offload) != 0            ? "switch on TUN segmentation offload"
        : (*index = (int)if_nametoindex(req.ifr_name)) == 0 ? "find the TUN device"
                                                            : NULL;
    if (failed)
        return refused(fd, path, failed, err);
    return fd;
}
