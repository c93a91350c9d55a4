"""A trace of a small network's training steps on one CPU thread, in the form of PyTorch's Kineto
export: Debian's PyTorch is built without Kineto, so that the events of its profiler (names, times,
threads, sequence numbers, shapes) are written here with the field names of libkineto."""
import gzip
import json
import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

torch.manual_seed(1)
torch.set_num_threads(1)
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(),
                    nn.Linear(4 * 26 * 26, 16), nn.ReLU(), nn.Linear(16, 10))
optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(8, 1, 28, 28), torch.randint(0, 10, (8,))


def step(p):
    optimiser.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    optimiser.step()
    p.step()


with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as p:
    for _ in range(5):
        step(p)



def depth(e):
    return 0 if e.cpu_parent is None else 1 + depth(e.cpu_parent)


# libkineto numbers operations as they begin.
ops = sorted(p.profiler.function_events,
             key=lambda e: (e.time_range.start, -e.time_range.end, depth(e)))
events = []
for i, e in enumerate(ops):
    note = e.name.startswith(("ProfilerStep", "Optimizer"))
    args = {"External id": i + 1}
    if e.sequence_nr >= 0:
        args["Sequence number"] = e.sequence_nr
        args["Fwd thread id"] = e.fwd_thread or 0
    if e.input_shapes:
        args["Input Dims"] = e.input_shapes
    events.append({"ph": "X", "cat": "user_annotation" if note else "cpu_op", "name": e.name,
                   "pid": 1000, "tid": e.thread, "ts": e.time_range.start,
                   "dur": e.time_range.end - e.time_range.start, "args": args})
out = {"schemaVersion": 1, "record_shapes": 1, "traceEvents": events, "traceName": "kineto-cnn.json"}
with gzip.GzipFile(sys.argv[1], "wb", mtime=0) as f:
    f.write(json.dumps(out).encode())
