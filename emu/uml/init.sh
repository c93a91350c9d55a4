#!/bin/sh
# The first process in User-Mode Linux, see emu/guest/uml.c. The host's tree is the root, read-only; the
# kernel's command line gives JOB, a folder of the host that may be written:
#   JOB/argv    the folder to run it in, then what to run: each ended by a NUL
#   JOB/read    folders and files that must be seen although they lie below a folder that is
#               covered, one a line
#   JOB/write   folders that may be written beside JOB, one a line
#   JOB/stdout, JOB/stderr, JOB/status   what came of it; no status: it did not get that far
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
read_only=$(cat "$JOB/read")
writable=$(cat "$JOB/write")
files=""
for name in $read_only; do [ -d "$name" ] || files="$files $name"; done
# Where an ordinary user began this, the host's root is nobody here, and so would be a program that
# bears its rights: a copy does not.
mount=/dev/strait-mount
cp /bin/mount "$mount" || mount=/bin/mount
"$mount" -t proc proc /proc
"$mount" -t sysfs sysfs /sys
for covered in /run /tmp /var/tmp /dev/shm; do
    mkdir -p "$covered" && "$mount" -t tmpfs tmpfs "$covered"
done
share() { # ro or rw, a folder of the host, where it is seen
    mkdir -p "$3" && "$mount" -t hostfs -o "$1,$2" none "$3" || echo "cannot share $2"
}
# No name has a blank: emu/guest/uml.c sees to that.
for name in $read_only; do
    case " $files " in
    *" $name "*) # hostfs mounts folders only
        folder=/run/strait/files$(dirname "$name")
        [ -d "$folder" ] || share ro "$(dirname "$name")" "$folder"
        mkdir -p "$(dirname "$name")" && ln -sf "$folder/$(basename "$name")" "$name"
        ;;
    *) share ro "$name" "$name" ;;
    esac
done
for folder in $writable "$JOB"; do share rw "$folder" "$folder"; done

# Debian's kernel has modules, the one in virtual time needs none.
if [ -n "${MODULES:-}" ]; then
    modules=/run/strait/lib/modules
    mkdir -p "$modules" && ln -s "/usr/lib/uml/modules/$(uname -r)" "$modules/$(uname -r)"
    for module in sch_netem sch_tbf veth tun tcp_bbr; do
        modprobe -d /run/strait "$module" || echo "no module $module"
    done
fi
# What interrupts leave to be done (the links, TCP) goes before processes, as on a machine with a
# processor to spare; else it waits for its turn among all ranks.
chrt -f -p 50 "$(pgrep -x ksoftirqd/0)" || echo "no priority for ksoftirqd"
# shellcheck source=/dev/null
. "${0%/*}/work.sh"
sync
# No other way out is on every machine; without it the kernel panics, and ends all the same.
echo o >/proc/sysrq-trigger
sleep 5
