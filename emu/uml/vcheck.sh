#!/bin/sh
# First process of the guest that emu/uml/vkernel.sh boots to try it: an hour of sleep must pass.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
read -r before _ </proc/uptime
sleep 3600
read -r after _ </proc/uptime
read -r host_cpu _ </proc/host_cpu
echo "strait: host_cpu ${host_cpu:-0}"
echo "strait: uptime ${before%.*} ${after%.*}"
echo o >/proc/sysrq-trigger
sleep 5
