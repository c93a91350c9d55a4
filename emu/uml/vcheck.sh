#!/bin/sh
# First process of the guest in which a kernel is tried (emu/guest_kernel.c, emu/uml/vkernel.sh): it
# says that it runs. In virtual time an hour of sleep must pass, and work be seen.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount=/dev/strait-mount # as in init.sh: where an ordinary user began this, mount itself has no rights
cp /bin/mount "$mount" || mount=/bin/mount
"$mount" -t proc proc /proc
case "$(cat /proc/cmdline)" in *time-travel=inf-cpu*)
    read -r before _ </proc/uptime
    sleep 3600
    read -r after _ </proc/uptime
    read -r host_cpu _ </proc/host_cpu
    echo "strait: host_cpu ${host_cpu:-0}"
    echo "strait: uptime ${before%.*} ${after%.*}"
    ;;
esac
echo "strait: boots"
echo o >/proc/sysrq-trigger
sleep 5
