"""What the recorder costs, and how near a replay comes to iterations that it has not seen:

    make library && cd python && PYTHONPATH=. STRAIT_LIBRARY=../build/libstrait.so.0.1.0 \\
        python3 tests/bench_recorder.py [wall]

Three networks, each with a loader. Blocks of iterations with and without the recorder take turns;
medians. The replay is an experiment with the recorded table as its model: one client, one step.
Times are processor time, the recorder's too, so that other work on this machine does not count;
`wall` takes the clock on the wall, for a machine that has nothing else to do."""
import pathlib
import statistics
import sys
import tempfile
import time

import torch
from torch import nn

import strait

TURNS, STEPS = 6, 26
clock = time.perf_counter if sys.argv[1:] == ["wall"] else time.process_time
time.perf_counter = clock  # the recorder's


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(256, 64)
        layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(64, 256)

    def forward(self, x):
        return self.head(self.encoder(self.embedding(x))[:, -1])


def images(n):
    return torch.randn(n, 784), torch.randint(0, 10, (n,))


def words(n):
    return torch.randint(0, 256, (n, 32)), torch.randint(0, 256, (n,))


MODELS = {
    "MLP": (lambda: nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                                  nn.Linear(512, 10)), images, 128, torch.optim.SGD),
    "CNN": (lambda: nn.Sequential(nn.Unflatten(1, (1, 28, 28)), nn.Conv2d(1, 8, 5), nn.ReLU(),
                                  nn.MaxPool2d(2), nn.Conv2d(8, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
                                  nn.Flatten(), nn.Linear(256, 10)), images, 32, torch.optim.SGD),
    "transformer": (Transformer, words, 16, torch.optim.Adam)}


def experiment(folder):
    path = pathlib.Path(folder) / "replay.json"
    path.write_text(
        '{"schema": "strait-experiment/1", "title": "replayed", "model": "%s/layers.csv",'
        ' "strategy": {"name": "fedavg", "rounds": 1, "local_steps": 1}, "codec": "none",'
        ' "clients": 1, "network": {"client": {"rate": "1 Gbps"}, "server": {"rate": "1 Gbps"}}}' % folder)
    return str(path)


def judge(name, folder):
    torch.manual_seed(1)
    make, data, batch, optimiser_type = MODELS[name]
    model = make()
    optimizer = optimiser_type(model.parameters(), lr=0.01)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*data(batch * STEPS)),
                                         batch_size=batch, shuffle=True)

    def block(recorder=None):
        """The time of each iteration, of the loader too, and with the recorder its own."""
        times, began = [], clock()
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            if recorder:
                recorder.step(loss)
            ended = clock()
            times.append(ended - began)
            began = ended
        return times[5:]

    def middle(times):
        return statistics.mean(sorted(times)[2:-2])

    plain, costs, misses = [], [], []
    block()
    for _ in range(TURNS):
        before = block()
        with strait.record(model, optimizer, folder, batch=batch, sample_at=()) as recorder:
            recorded = block(recorder)
        (row,) = strait.predict(experiment(folder), "fluid")
        replayed = row["path_s"]["compute"]
        before_and_behind = before + block()
        alone = statistics.median(before_and_behind)
        costs.append(middle(recorded) / middle(before_and_behind) - 1)
        plain.append(alone)
        misses.append(replayed / alone - 1)
    print(f"{name}, batch {batch}: {1e3 * statistics.median(plain):.2f} ms an iteration, replayed "
          f"{100 * statistics.median(misses):+.1f} % ({100 * min(misses):+.1f} to "
          f"{100 * max(misses):+.1f}), the recorder costs {100 * statistics.median(costs):+.1f} %",
          flush=True)


torch.set_num_threads(1)
with tempfile.TemporaryDirectory() as folder:
    for name in MODELS:
        judge(name, folder)
