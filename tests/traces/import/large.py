"""Write a Kineto trace of 500 MB, tests/data/kineto-cnn.json.gz over and over, and let strait read it:
its resident memory must stay below 300 MB; the speed is that of its processor time."""
import gzip
import json
import os
import resource
import subprocess
import sys

BYTES = 500_000_000
strait, path = sys.argv[1], sys.argv[2]
events = json.load(gzip.open("tests/data/kineto-cnn.json.gz"))["traceEvents"]
span_us = max(e["ts"] + e["dur"] for e in events) + 1000
numbers = max(e["args"].get("Sequence number", 0) for e in events) + 1
written, copies = 0, 0
with open(path, "w") as f:
    f.write('{"schemaVersion": 1, "traceEvents": [\n')
    while written < BYTES:
        for e in events:
            args = dict(e["args"])
            args["External id"] += copies * (len(events) + 1)
            if "Sequence number" in args:
                args["Sequence number"] += copies * numbers
            args["Call stack"] = "torch/nn/modules/module.py(1194): _call_impl;train.py(7): step"
            text = json.dumps(dict(e, ts=e["ts"] + copies * span_us, args=args))
            f.write(text + ",\n")
            written += len(text) + 2
        copies += 1
    f.write('{"ph": "i", "name": "end", "ts": 0}]}\n')
said = subprocess.run([strait, "trace", "show", path, "--json"], check=True, capture_output=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
os.unlink(path)
facts = json.loads(said.stdout)["facts"]
cpu_s = used.ru_utime + used.ru_stime
print(f"{written / 1e6:.0f} MB, {facts['events']} events, {facts['iterations']} iterations: "
      f"{cpu_s:.2f} s of processor time, {written / 1e6 / cpu_s:.0f} MB/s, "
      f"{used.ru_maxrss / 1e3:.0f} MB resident")
assert facts["iterations"] == 5 * copies, facts
sys.exit(used.ru_maxrss > 300_000)
