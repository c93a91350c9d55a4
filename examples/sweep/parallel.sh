#!/bin/sh
# A sweep by GNU parallel: sh parallel.sh STRAIT OUT
# A part that fails is begun again, twice; --sshlogin takes other machines.
set -eu
strait=$1 out=$2
cd "$(dirname "$0")"
parallel --retries 3 "$strait" run points.json -j 1 --shard {}/4 --out "$out/part{}" ::: 1 2 3 4
"$strait" merge "$out"/part1 "$out"/part2 "$out"/part3 "$out"/part4 --out "$out/all"
