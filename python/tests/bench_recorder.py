"""What the recorder costs and how near a replay comes, for the network of examples/ddp/ddp.py:

    make library && cd python && PYTHONPATH=. STRAIT_LIBRARY=../build/libstrait.so.0.1.0 \\
        python3 tests/bench_recorder.py

Steps with and without the recorder take turns; medians. The replay is the experiment that takes the
recorded table as its model: one client, one local step."""
import pathlib
import statistics
import tempfile
import time

import torch

import strait

TURNS, STEPS = 10, 30


def run(batch, folder):
    torch.manual_seed(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(784, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512), torch.nn.ReLU(),
        torch.nn.Linear(512, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(batch, 784)
    y = x[:, :10].argmax(1)
    cpu, wall, replayed = ([], []), [], []

    def step(times, recorder=None):
        began, began_cpu = time.perf_counter(), time.process_time()
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if recorder:
            recorder.step(loss)
        times.append(time.process_time() - began_cpu)
        return time.perf_counter() - began

    for _ in range(TURNS):
        wall += [step(cpu[0]) for _ in range(STEPS)]
        with strait.record(model, optimizer, folder, batch=batch, sample_at=()) as recorder:
            for _ in range(STEPS):
                step(cpu[1], recorder)
        (row,) = strait.predict(experiment(folder), "fluid")
        replayed.append(row["path_s"]["compute"])
    alone, recorded = (statistics.median(c) for c in cpu)
    replay, measured = statistics.median(replayed), statistics.median(wall)
    print(f"batch {batch}: a step takes {1e3 * alone:.2f} ms of processor time, recorded "
          f"{1e3 * recorded:.2f} ms: {100 * (recorded / alone - 1):.1f} % more; measured "
          f"{1e3 * measured:.2f} ms, replayed {1e3 * replay:.2f} ms: "
          f"{100 * (replay / measured - 1):+.1f} %")


def experiment(folder):
    path = pathlib.Path(folder) / "replay.json"
    path.write_text(
        '{"schema": "strait-experiment/1", "title": "replayed", "model": "%s/layers.csv",'
        ' "strategy": {"name": "fedavg", "rounds": 1, "local_steps": 1}, "codec": "none",'
        ' "clients": 1, "network": {"client": {"rate": "1 Gbps"}, "server": {"rate": "1 Gbps"}}}' % folder)
    return str(path)


torch.set_num_threads(1)
with tempfile.TemporaryDirectory() as folder:
    for size in (64, 256, 1024):
        run(size, folder)
