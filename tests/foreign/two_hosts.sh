#!/bin/sh
# Two hosts, alpha and beta, for one command: sh two_hosts.sh ssh|slurm COMMAND...
#
# They are network namespaces with a link between them. COMMAND runs on alpha and finds in $LAUNCH
# what starts something on {host}: ssh, or srun on the two nodes of a Slurm. Daemons, keys, ports and
# files are in namespaces and a folder of their own, and end with the command. Exit status: the
# command's; 77 where a program is not installed or does not come up, with the reason.
set -eu
if [ "$1" != --inside ]; then
    PATH=$PATH:/usr/sbin:/sbin
    programs='unshare nsenter ip sshd ssh ssh-keygen'
    [ "$1" = ssh ] || programs='unshare nsenter ip munged slurmctld slurmd srun'
    for program in $programs; do
        command -v "$program" >/dev/null || { echo "no $program here" >&2; exit 77; }
    done
    unshare --net --pid --fork true 2>/dev/null || { echo "no namespaces here" >&2; exit 77; }
    export PATH
    exec unshare --net --uts --ipc --pid --mount --fork --kill-child --mount-proc \
        sh "$0" --inside "$@"
fi
by=$2
shift 2
here=/mnt # of this mount namespace alone: it goes with it
mount -t tmpfs -o mode=755 tmpfs $here
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/sshd /run/netns
printf '127.0.0.1 localhost\n192.0.2.1 alpha\n192.0.2.2 beta\n' >$here/hosts
mount --bind $here/hosts /etc/hosts
hostname alpha
ip netns add beta
ip link add eth1 type veth peer name eth1 netns beta
ip addr add 192.0.2.1/24 dev eth1
ip -n beta addr add 192.0.2.2/24 dev eth1
for host in '' '-n beta'; do
    ip $host link set lo up
    ip $host link set eth1 up
done
ip link add try type vxlan id 1 local 192.0.2.1 dstport 4789 2>$here/why && ip link del try || {
    echo "no VXLAN here: $(tail -n 1 $here/why)" >&2
    exit 77
}
# on HOST COMMAND...: a daemon there, under that host's name; its words are in HOST.log
on() {
    host=$1
    shift
    if [ "$host" = beta ]; then set -- nsenter --net=/run/netns/beta "$@"; fi
    unshare --uts sh -c 'hostname $0 && exec "$@"' "$host" "$@" >>"$here/$host.log" 2>&1 &
}
# wait_for COMMAND...: until it succeeds; if it never does, that is the reason
wait_for() {
    tries=0
    until timeout 5 "$@" >"$here/why" 2>&1; do
        tries=$((tries + 1))
        if [ $tries -gt 100 ]; then
            echo "$by does not come up: $(tail -qn 1 $here/why $here/*.log)" >&2
            exit 77
        fi
        sleep 0.2
    done
}

if [ "$by" = ssh ]; then
    ssh-keygen -q -t ed25519 -N '' -f $here/host
    ssh-keygen -q -t ed25519 -N '' -f $here/user
    cat >$here/sshd_config <<END
HostKey $here/host
AuthorizedKeysFile $here/user.pub
StrictModes no
UsePAM no
PermitRootLogin yes
PidFile none
END
    cat >$here/ssh_config <<END
Host alpha
    HostName 192.0.2.1
Host beta
    HostName 192.0.2.2
Host *
    IdentityFile $here/user
    IdentitiesOnly yes
    BatchMode yes
    LogLevel ERROR
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
END
    sshd=$(command -v sshd) # asks to be started by its whole path
    for host in alpha beta; do
        on $host "$sshd" -D -e -f $here/sshd_config
        wait_for ssh -F $here/ssh_config $host true
    done
    export LAUNCH="ssh -F $here/ssh_config {host}"
    exec "$@"
fi
mkdir $here/state $here/spool-alpha $here/spool-beta $here/tmp-alpha $here/tmp-beta # not shared
head -c 128 /dev/urandom >$here/key
chmod 400 $here/key
cat >$here/slurm.conf <<END
ClusterName=two
SlurmctldHost=alpha(192.0.2.1)
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
SlurmdSpoolDir=$here/spool-%n
TmpFS=$here/tmp-%n
SlurmctldPidFile=$here/slurmctld.pid
SlurmdPidFile=$here/slurmd-%n.pid
SlurmdParameters=config_overrides
NodeName=alpha NodeAddr=192.0.2.1 CPUs=8
NodeName=beta NodeAddr=192.0.2.2 CPUs=8
PartitionName=all Nodes=alpha,beta Default=YES State=UP
END
: >$here/cgroup.conf
export SLURM_CONF=$here/slurm.conf
on alpha munged --foreground --force --socket=$here/munge.socket --key-file=$here/key \
    --pid-file=$here/munge.pid --log-file=$here/munge.log --seed-file=$here/seed
wait_for test -S $here/munge.socket
on alpha slurmctld -D
on alpha slurmd -D -N alpha
on beta slurmd -D -N beta
wait_for sh -c 'test "$(sinfo -h -t idle -o %D)" = 2'
export LAUNCH='srun --overlap -N1 -n1 -w {host}'
exec salloc -Q -N 2 --exclusive "$@"
