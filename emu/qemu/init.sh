#!/bin/sh
# The first process in QEMU, see emu/guest/qemu.c: all files came with the kernel, what came of it goes out
# over the second serial port. The kernel's command line gives JOB, as in emu/uml/init.sh.
tools=/run/strait/bin
/bin/busybox mkdir -p "$tools" /proc /sys /dev /tmp /var/tmp
/bin/busybox --install -s "$tools"
export PATH=/usr/sbin:/usr/bin:/sbin:/bin:$tools LC_ALL=C
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm && mount -t tmpfs tmpfs /dev/shm
here=${0%/*}
for module in sch_netem sch_tbf veth tun tcp_bbr; do
    insmod "$here/../../qguest/$module.ko" || echo "no module $module"
done
# shellcheck source=/dev/null
. "$here/../uml/work.sh"
port=/dev/ttyS1
stty -F "$port" 115200 raw
# No name has a blank: emu/guest/guest_dir.c sees to that.
# shellcheck disable=SC2046
tar -c -C / $(cd / && for f in "$JOB/status" "$JOB/stdout" "$JOB/stderr" $(cat "$JOB/write"); do
    echo "${f#/}"; done) >"$port"
reboot -f
