#!/bin/sh
# Fuzzes every decoder for so many seconds each, two at a time: run.sh PROGRAM STRAIT SECONDS.
# A crash leaves its input in the folder that is named.
set -u
program=$1 strait=$2 seconds=$3
folder=$(mktemp -d)
names=$("$strait" codec list --json | sed -n 's/^{"name":"\([a-z0-9]*\)".*"available":true.*/\1/p') || exit 1
failed=0 n=0
one() { # a codec
    mkdir -p "$folder/$1"
    (cd "$folder/$1" && STRAIT_FUZZ_CODEC=$1 exec "$program" -max_total_time="$seconds" -seed=1 \
        -max_len=4096 -rss_limit_mb=2048 -timeout=20 -print_final_stats=1) >"$folder/$1.log" 2>&1
    echo $? >"$folder/$1.status"
}
for name in $names; do
    one "$name" &
    n=$((n + 1))
    [ $((n % 2)) = 0 ] && wait
done
wait
for name in $names; do
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/$name.log")
    if [ "$(cat "$folder/$name.status")" = 0 ]; then
        echo "fuzz: $name: $runs inputs, no defect"
    else
        failed=1
        echo "fuzz: $name: failed, inputs in $folder/$name"
        grep -A 12 -E 'ERROR|runtime error|SUMMARY' "$folder/$name.log" | head -n 30
    fi
done
[ "$n" -gt 0 ] && [ $failed = 0 ] && rm -rf "$folder"
exit $failed
