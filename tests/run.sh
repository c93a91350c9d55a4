#!/bin/sh
# Runs test programs: run.sh BUILD NAME... Those that keep real time run alone, after the others,
# which run two at a time. Ends with the plain line: N passed, N failed, N skipped.
set -u
build=$1
shift
logs=$build/tests/logs
mkdir -p "$logs"
rm -rf "$logs"/*.log "$logs"/*.status "$logs"/*.begun

alone="test_net test_transport test_emu test_conformance_emu test_agreement"
alone="$alone test_net_commands test_net_run test_net_foreign test_kernel_net test_uml test_net_uml"
alone="$alone test_virtual test_cli_emu test_cli_interrupt test_controls"
run_one() { # a program, its log, its exit status
    start=$(date +%s)
    timeout 400 "$build/tests/$1" >"$logs/$1.log" 2>&1
    echo $? >"$logs/$1.status"
    echo "$(($(date +%s) - start)) s" >"$logs/$1.time"
}
is_alone() { case " $alone " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }

# Two queues of their own, each takes the next one that nobody has begun.
queue() {
    for t in "$@"; do
        is_alone "$t" || ! mkdir "$logs/$t.begun" 2>/dev/null || run_one "$t"
    done
}
queue "$@" &
queue "$@" &
wait
for t in "$@"; do is_alone "$t" && run_one "$t"; done

passed=0 failed=0 skipped=0
for t in "$@"; do
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$logs/$t.log" | tail -n 1)
    status=$(cat "$logs/$t.status")
    printf '%-26s %-36s %s\n' "$t" "${line:-exit $status}" "$(cat "$logs/$t.time")"
    grep -E '^skipped:' "$logs/$t.log" >&2
    if [ -n "$line" ]; then
        passed=$((passed + $(echo "$line" | cut -d' ' -f1)))
        failed=$((failed + $(echo "$line" | cut -d' ' -f3)))
        skipped=$((skipped + $(echo "$line" | cut -d' ' -f5)))
    fi
    if [ "$status" != 0 ]; then
        case "$line" in *" 0 failed"* | "") failed=$((failed + 1)) ;; esac
        echo "--- $t (exit $status)"
        grep -A 6 -E '^not ok|ERROR|runtime error' "$logs/$t.log" || tail -n 20 "$logs/$t.log"
    fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
