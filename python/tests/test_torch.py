"""With PyTorch: data-parallel training through the hook, and the recorder."""
import csv
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import numpy as np
import torch

import strait

WORKER = """
import sys, torch, torch.distributed as dist, strait
from torch.nn.parallel import DistributedDataParallel
rank, world, port, spec = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world)
torch.manual_seed(7)
model = DistributedDataParallel(torch.nn.Sequential(
    torch.nn.Linear(64, 256), torch.nn.Tanh(), torch.nn.Linear(256, 32), torch.nn.Linear(32, 1)),
    bucket_cap_mb=0.03)
hook = None
if spec != "-":
    hook = strait.ddp_hook(spec)
    model.register_comm_hook(None, hook)
optimiser = torch.optim.SGD(model.parameters(), lr=0.05)
torch.manual_seed(100 + rank)
data = torch.randn(256, 64)
target = data[:, :4].sum(1, keepdim=True) * 0.5
for step in range(60):
    optimiser.zero_grad()
    loss = torch.nn.functional.mse_loss(model(data), target)
    loss.backward()
    optimiser.step()
total = torch.cat([p.detach().flatten() for p in model.parameters()]).double().sum()
print(repr(loss.item()), repr(total.item()), hook.bytes_sent if hook else 0)
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def train(spec, world=3):
    port = str(free_port())
    workers = [subprocess.Popen([sys.executable, "-c", WORKER, str(r), str(world), port, spec],
                                stdout=subprocess.PIPE, text=True) for r in range(world)]
    out = [w.communicate(timeout=600)[0].split() for w in workers]
    assert all(w.returncode == 0 for w in workers)
    return [(float(a), float(b), int(c)) for a, b, c in out]


class Hook(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plain = train("-")

    def loss_of(self, spec):
        result = train(spec)
        self.assertEqual(len({r[1] for r in result}), 1, "ranks hold different parameters")
        return np.mean([r[0] for r in result]), result[0][2]

    def test_uncompressed_is_ddp(self):
        """zstd is lossless; sums in another order than Gloo's differ in last digits."""
        loss, _ = self.loss_of("zstd")
        plain = np.mean([r[0] for r in self.plain])
        self.assertAlmostEqual(loss / plain, 1, places=3)

    def test_compressed_reaches_the_loss(self):
        plain = np.mean([r[0] for r in self.plain])
        n_elems = 64 * 256 + 256 * 32  # through the codec; 321 others as they are
        for spec, most_bytes in (("sz:range=1e-2", n_elems), ("topk:ratio=0.1", 0.9 * n_elems),
                                 ("powersgd:rank=4", 0.5 * n_elems)):
            with self.subTest(spec):
                loss, n_bytes = self.loss_of(spec)
                self.assertLess(loss, 1.1 * plain + 0.01)
                self.assertLess(n_bytes, 60 * (most_bytes + 4 * 321 + 100))


class Block(torch.nn.Module):
    """What models have: layers that are changed in place, called twice, or not called at all."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 8, 5)
        self.relu = torch.nn.ReLU(inplace=True)
        self.norm = torch.nn.GroupNorm(2, 8)
        self.head = torch.nn.Linear(8 * 24 * 24, 16)
        self.shared = torch.nn.Linear(16, 16)
        self.attention = torch.nn.MultiheadAttention(16, 2, batch_first=True)
        self.out = torch.nn.Linear(16, 10)

    def forward(self, x):
        x = self.head(self.norm(self.relu(self.conv(x))).flatten(1))
        x = self.relu(self.shared(torch.tanh(self.shared(x))))[:, None]
        return self.out(self.attention(x, x, x)[0][:, 0])


def loop(model, optimizer, n, recorder=None):
    x, y = torch.randn(32, 1, 28, 28), torch.randint(0, 10, (32,))
    for _ in range(n):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if recorder:
            recorder.step(loss)


class Recording(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)
        self.folder = tempfile.TemporaryDirectory()
        self.model = Block()
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.path = pathlib.Path(self.folder.name) / "my-block"

    def tearDown(self):
        self.folder.cleanup()

    def record(self, n=12, **options):
        with strait.record(self.model, self.optimizer, self.path, **options) as recorder:
            loop(self.model, self.optimizer, n, recorder)

    def rows(self):
        lines = [l for l in (self.path / "layers.csv").read_text().splitlines() if l[0] != "#"]
        return list(csv.DictReader(lines))

    def test_table(self):
        self.record(batch=32)
        rows = self.rows()
        named = dict(self.model.named_parameters())
        self.assertEqual({f"{r['layer']}.{r['param']}" for r in rows}, set(named))
        for r in rows:
            p = named[f"{r['layer']}.{r['param']}"]
            self.assertEqual(r["shape"], "x".join(map(str, p.shape)))
            self.assertEqual(int(r["bytes"]), 4 * p.numel())
        self.assertEqual(sorted(int(r["ready_order"]) for r in rows), list(range(len(rows))))
        layers = list(dict.fromkeys(r["layer"] for r in rows))
        self.assertEqual(layers, ["conv", "norm", "head", "shared", "attention",
                                  "attention.out_proj", "out"])  # of the forward pass
        first = {r["layer"]: int(r["ready_order"]) for r in rows}
        self.assertLess(first["out"], first["head"])  # and back
        self.assertLess(first["head"], first["conv"])
        # iterations 5 to 11 without 8, in which layers were looked into
        self.assertEqual(len((self.path / "iters.csv").read_text().splitlines()), 1 + 6)

    def test_nothing_stays(self):
        backward, step = torch.Tensor.backward, self.optimizer.step
        self.record()
        self.assertIs(torch.Tensor.backward, backward)
        self.assertEqual(self.optimizer.step, step)
        self.assertFalse(any(m._forward_hooks or m._forward_pre_hooks
                             for m in self.model.modules()))

    def test_samples(self):
        self.record(sample_at=(6, 8))
        manifest = json.loads((self.path / "tensors" / "manifest.json").read_text())
        entries = manifest["tensors"]
        self.assertEqual(len(entries), 2 * 2 * len(list(self.model.parameters())))
        for e in entries:
            x = np.fromfile(self.path / "tensors" / e["file"], "<f4")
            self.assertEqual((x.size, float(x.min())), (e["n"], e["min"]))

    def test_replayed_as_a_model(self):
        """The step that the table tells is the measured one: medians of the three parts."""
        self.record()
        totals = np.loadtxt(self.path / "iters.csv", delimiter=",", skiprows=1)[:, 1:]
        experiment = self.path / "e.json"
        experiment.write_text(
            '{"schema": "strait-experiment/1", "title": "replayed", "model": "%s",'
            ' "strategy": {"name": "fedavg", "rounds": 1, "local_steps": 1}, "codec": "none",'
            ' "clients": 1, "network": {"client": {"rate": "1 Gbps"},'
            ' "server": {"rate": "1 Gbps"}}}' % (self.path / "layers.csv"))
        (row,) = strait.predict(str(experiment), "fluid")
        self.assertAlmostEqual(row["path_s"]["compute"],
                               1e-6 * np.median(totals, axis=0).sum(), delta=1e-4)

    def test_totals_hold_all_that_an_iteration_does(self):
        """On a clock that moves only where this loop says: a loader takes 5 ms, the backward pass 2,
        what is behind it 3; what lies behind step() is the recorder's or nobody's."""
        now = [0.0]
        with unittest.mock.patch("time.perf_counter", lambda: now[0]):
            with strait.record(self.model, self.optimizer, self.path) as recorder:
                for x, y in [(torch.randn(4, 1, 28, 28), torch.randint(0, 10, (4,)))] * 12:
                    now[0] += 0.005
                    self.optimizer.zero_grad()
                    loss = torch.nn.functional.cross_entropy(self.model(x), y)
                    loss.register_hook(lambda g: now.__setitem__(0, now[0] + 0.002))
                    loss.backward()
                    now[0] += 0.001
                    self.optimizer.step()
                    now[0] += 0.002
                    recorder.step(loss)
        totals = np.loadtxt(self.path / "iters.csv", delimiter=",", skiprows=1)[:, 1:]
        np.testing.assert_allclose(totals, [[5000, 2000, 3000]] * 6, atol=0.1)

    def test_errors(self):
        with self.assertRaisesRegex(RuntimeError, "expected at least 9 iterations"):
            self.record(n=3)
        with self.assertRaisesRegex(RuntimeError, "expected the model's forward"):
            with strait.record(self.model, self.optimizer, self.path) as recorder:
                recorder.step()
        with self.assertRaisesRegex(ValueError, "float32"):
            strait.record(Block().double(), self.optimizer, self.path)


if __name__ == "__main__":
    unittest.main()
