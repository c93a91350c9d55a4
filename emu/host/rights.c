#include "rights.h"
#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int drop_from_bounds(uint64_t keep)
{
    for (int cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
        if (!(keep >> cap & 1) && prctl(PR_CAPBSET_DROP, cap) != 0 && errno != EPERM)
            return -1; /* EPERM: an ordinary user, who has none to drop */
    return 0;
}

int strait_emu_rights_drop(uint64_t keep, bool no_new_privs, struct strait_error *err)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct set[2];
    if (no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0)
        return strait_error_system(err, "PR_SET_NO_NEW_PRIVS", "cannot give up rights");
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0UL, 0UL, 0UL); /* the sets below rule */
    if (drop_from_bounds(keep) != 0)
        return strait_error_system(err, "PR_CAPBSET_DROP", "cannot give up rights");
    if (syscall(SYS_capget, &head, set) != 0)
        return strait_error_system(err, "capget", "cannot give up rights");
    for (int i = 0; i < 2; i++) {
        const uint32_t kept = (uint32_t)(keep >> (32 * i));
        set[i].permitted &= kept;
        set[i].effective &= kept;
        set[i].inheritable = 0;
    }
    if (syscall(SYS_capset, &head, set) != 0)
        return strait_error_system(err, "capset", "cannot give up rights");
    return 0;
}
