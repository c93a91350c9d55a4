#!/bin/sh
# make foreign: run.sh STRAIT PYTHON. PyTorch over an emulated network: two and four ranks, without
# delay and with 25 ms between clients.
set -eu
strait=$1 python=$2
here=$(dirname "$0")
"$python" -c 'import torch' 2>/dev/null || {
    echo "strait: foreign: $python has no torch (apt install python3-torch, or set FOREIGN_PYTHON)" >&2
    exit 3
}
for setting in "2 0" "4 0" "4 12.5"; do
    n=${setting% *} rtt=${setting#* }
    echo "$n ranks, 1 Gbps, a round trip of $rtt ms at each client's port"
    "$strait" net run "$here/net.json" --set "/clients=$n" \
        --set "/network/client/rtt=\"$rtt ms\"" -- "$python" "$here/ddp.py"
done
