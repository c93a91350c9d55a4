#!/bin/sh
# One node of Slurm for one command: sh slurm_node.sh COMMAND...
#
# Daemons, key, ports and files are in namespaces and a folder of their own, and end with the
# command. Exit status: the command's; 77 where Slurm is not installed or does not come up, with the
# reason.
set -eu
if [ "${1:-}" != --inside ]; then
    PATH=$PATH:/usr/sbin:/sbin
    for program in munged slurmctld slurmd srun unshare ip; do
        command -v $program >/dev/null || { echo "no $program here" >&2; exit 77; }
    done
    unshare --net --pid --fork true 2>/dev/null || { echo "no namespaces here" >&2; exit 77; }
    export PATH
    exec unshare --net --uts --ipc --pid --mount --fork --kill-child --mount-proc \
        sh "$0" --inside "$@"
fi
shift
here=/mnt # of this mount namespace alone: it goes with it
mount -t tmpfs -o mode=755 tmpfs $here
mkdir "$here/spool" "$here/state" "$here/tmp"
hostname node
ip link set lo up
ip link add eth0 type veth peer name eth1 # a resolver ignores a machine that has lo alone
ip addr add 10.0.0.1/24 dev eth0
ip link set eth0 up
ip link set eth1 up
head -c 128 /dev/urandom >"$here/key"
chmod 400 "$here/key"
cat >"$here/slurm.conf" <<END
ClusterName=one
SlurmctldHost=node(10.0.0.1)
AuthInfo=socket=$here/munge.socket
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$here/state
SlurmdSpoolDir=$here/spool
TmpFS=$here/tmp
SlurmctldPidFile=$here/slurmctld.pid
SlurmdPidFile=$here/slurmd.pid
SlurmdParameters=config_overrides
NodeName=node NodeAddr=10.0.0.1 CPUs=8
PartitionName=all Nodes=node Default=YES State=UP
END
: >"$here/cgroup.conf"
export SLURM_CONF="$here/slurm.conf"
munged --foreground --force --socket="$here/munge.socket" --key-file="$here/key" \
    --pid-file="$here/munge.pid" --log-file="$here/munge.log" --seed-file="$here/seed" \
    >"$here/munged.out" 2>&1 &
until [ -S "$here/munge.socket" ] || ! kill -0 $! 2>/dev/null; do sleep 0.1; done
slurmctld -D >"$here/slurmctld.out" 2>&1 &
slurmd -D -N node >"$here/slurmd.out" 2>&1 &
tries=0
until timeout 5 sinfo -h -o %t 2>/dev/null | grep -q idle; do
    tries=$((tries + 1))
    if [ $tries -gt 100 ]; then
        echo "Slurm does not come up: $(tail -n 1 "$here/slurmctld.out")" >&2
        exit 77
    fi
    sleep 0.25
done
"$@"
