#!/bin/sh
# The main job: the scaling curve by simulation, its pictures, and the same code emulated with the
# real codec on recorded tensors, held against its prediction. `make demo` runs it.
set -eu
strait=$1
out=results/demo
echo "== 1. predicted: GPT-2 small on a 1 Gbps WAN, 1 to 64 clients"
"$strait" run experiments/wan-scaling.json --on sim --out $out/wan-scaling
"$strait" plot $out/wan-scaling --out $out/wan-scaling.png >/dev/null
echo
echo "== 2. checked: a recorded model, 8 clients, real codec, real TCP over a shaped link"
if "$strait" check experiments/wan-check.json --on emu >/dev/null; then
    status=0
    "$strait" run experiments/wan-check.json --on both --out $out/wan-check || status=$?
    case $status in
    0) ;;
    1) echo "outside tolerance or INVALID on this machine: see the table above" >&2 ;;
    *) exit "$status" ;;
    esac
    "$strait" plot $out/wan-check --out $out/wan-check.png >/dev/null
else
    echo "this machine cannot emulate (strait doctor says why); the prediction alone:" >&2
    "$strait" run experiments/wan-check.json --on sim --out $out/wan-check
fi
echo
echo "pictures: $(ls $out/*.png $out/*.svg | tr '\n' ' ')"
