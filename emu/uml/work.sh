# What the first process of any guest does when its files and modules are there: JOB/argv, run on a
# kernel that is the same in all of them.
# HyStart has thresholds in real time, which dilation would break; off in either guest, so that they
# are the same machine. Who asks for it in virtual time gets it (emu/judge/prepare.c).
echo 0 >/sys/module/tcp_cubic/parameters/hystart
# Packets between a veth's two ends: the default of 1000 overflows after every pause of the host's.
echo 100000 >/proc/sys/net/core/netdev_max_backlog
# All connections together may hold half of the memory, in pages: with the default of a tenth, 64
# clients that each had 4 MB under way were throttled.
pages=$(awk '/MemTotal/ {print int($2 / 8)}' /proc/meminfo)
echo "$pages $pages $pages" >/proc/sys/net/ipv4/tcp_mem
# Whatever then is killed, the run is over; and where it was a thread of real-time priority, the guest
# would never end.
echo 1 >/proc/sys/vm/panic_on_oom

ulimit -n 65536
# In virtual time only the host knows what work takes.
grep -q time-travel=inf-cpu /proc/cmdline && [ -r /proc/host_cpu ] && export STRAIT_HOST_CPU=/proc/host_cpu
# shellcheck disable=SC2016
xargs -0 -a "$JOB/argv" sh -c 'job=$1; cd "$2" && shift 2 &&
    "$@" </dev/null >"$job/stdout" 2>"$job/stderr"; echo $? >"$job/status"' sh "$JOB"
