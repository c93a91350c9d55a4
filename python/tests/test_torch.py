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


class Curves(unittest.TestCase):
    """A linear rule of 64 values in 5 classes, learned by four clients with data of their own."""

    def setUp(self):
        torch.manual_seed(0)
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name) / "rule"
        self.model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.BatchNorm1d(128),
                                         torch.nn.ReLU(), torch.nn.Linear(128, 5))
        rule = torch.randn(64, 5)
        self.x = [torch.randn(128, 64) for _ in range(5)]
        self.y = [(x @ rule).argmax(1) for x in self.x]

    def tearDown(self):
        self.folder.cleanup()

    def gradient(self, model, client, number):
        batch = torch.randint(0, 128, (32,))
        loss = torch.nn.functional.cross_entropy(model(self.x[client][batch]), self.y[client][batch])
        loss.backward()
        return loss.item()

    def train(self, model, client, number):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        losses = []
        for _ in range(4):
            optimizer.zero_grad()
            losses.append(self.gradient(model, client, number))
            optimizer.step()
        return np.mean(losses), 128

    def evaluate(self, model):
        model.eval()
        with torch.no_grad():
            right = (model(self.x[4]).argmax(1) == self.y[4]).float().mean().item()
        model.train()
        return right

    def curves(self, codecs, **options):
        strait.curves(self.path, self.model, codecs, evaluate=self.evaluate, clients=4, rounds=12,
                      **options)
        text = (self.path / "curves.csv").read_text()
        runs = {}
        for row in csv.DictReader([l for l in text.splitlines() if l[0] != "#"]):
            runs.setdefault(row["run"], []).append({k: row[k] for k in row if k != "local_s"})
        return runs

    def record(self):
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        with strait.record(self.model, optimizer, self.path, batch=32) as recorder:
            for _ in range(12):
                optimizer.zero_grad()
                self.gradient(self.model, 0, 0)
                optimizer.step()
                recorder.step()

    def rows(self, strategy, **keys):
        experiment = self.path / "e.json"
        experiment.write_text(json.dumps({
            "schema": "strait-experiment/1", "title": "mine", "clients": 4,
            "model": str(self.path / "layers.csv"), "curves": str(self.path / "curves.csv"),
            "strategy": strategy, "network": {"client": {"rate": "2 Mbps"},
                                              "server": {"rate": "100 Mbps"}}, **keys}))
        return strait.predict(str(experiment), "fluid")

    def test_federated(self):
        codecs = ["none", "zstd", "sz:range=1e-2", "topk:ratio=0.05,error_feedback=no", "topk"]
        before = {n: x.clone() for n, x in self.model.state_dict().items()}
        runs = self.curves(codecs, train=self.train, local_steps=4)
        for n, x in self.model.state_dict().items():
            self.assertTrue(torch.equal(x, before[n]), "the model has other weights")
        self.assertEqual(list(runs), [c.replace(",", ";") for c in codecs])
        last = {c: runs[c.replace(",", ";")][-1] for c in codecs}
        score = {c: float(r["test_acc"]) for c, r in last.items()}
        self.assertGreater(score["none"], float(runs["none"][0]["test_acc"]) + 0.1)
        scores = [[r["test_acc"] for r in runs[c]] for c in ("none", "zstd")]
        self.assertEqual(*scores)  # lossless: the same draws, the same bits
        self.assertAlmostEqual(score["sz:range=1e-2"], score["none"], delta=0.03)
        self.assertEqual([last[c]["ef"] for c in codecs], ["0", "0", "0", "0", "1"])
        # 64 x 128 values are coded, 128 + 128 + 128 + 5 x 128 + 5 are not
        bits = float(last["topk:ratio=0.05,error_feedback=no"]["bits_per_elem"])
        self.assertGreater(bits, 32 * 1029 / 9221)
        self.assertLess(bits, (32 * 1029 + 0.05 * 64 * 8192) / 9221 + 0.1)
        self.record()
        target = (float(runs["none"][0]["test_acc"]) + score["none"]) / 2
        plain, coded = self.rows({"name": "fedavg", "rounds": 12, "local_steps": 4},
                                 until={"accuracy": target},
                                 vary={"/codec": ["none", "sz:range=1e-2"]})
        for row, codec in ((plain, "none"), (coded, "sz:range=1e-2")):
            training = row["training"]
            self.assertEqual(training["accuracy"], [float(r["test_acc"]) for r in runs[codec]])
            first = next(i for i, r in enumerate(runs[codec]) if float(r["test_acc"]) >= target)
            self.assertEqual(training["reached"]["round"], first)
            self.assertAlmostEqual(training["reached"]["time_s"],
                                   sum(row["rounds_s"][:first + 1]), places=9)
        with self.assertRaisesRegex(strait.StraitError, "expected curves of 2 local steps"):
            self.rows({"name": "fedavg", "local_steps": 2})

    def test_data_parallel(self):
        """Without a codec four ranks' steps are those of one with all four batches."""
        runs = self.curves(["none", "powersgd:rank=2"], gradient=self.gradient, every=4,
                           optimizer=lambda p: torch.optim.Adam(p, lr=0.01))
        scores = [float(r["test_acc"]) for r in runs["none"]]
        self.assertEqual(len(set(scores[3:7])), 1)  # between evaluations
        optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
        for number in range(12):
            self.model.zero_grad()
            for client in range(4):
                torch.manual_seed(1 + 1000003 * number + 7919 * client)
                self.gradient(self.model, client, number)
            for p in self.model.parameters():
                p.grad /= 4
            optimizer.step()
        self.assertAlmostEqual(self.evaluate(self.model), scores[-1], delta=0.02)
        self.record()
        (row,) = self.rows({"name": "ddp", "rounds": 12})
        self.assertEqual(row["training"]["accuracy"], scores)

    def test_errors(self):
        with self.assertRaisesRegex(ValueError, "expected either train"):
            self.curves(["none"])
        with self.assertRaises(strait.StraitError):
            self.curves(["none", "topk:rati=1"], train=self.train)
        self.assertFalse((self.path / "curves.csv").exists())


if __name__ == "__main__":
    unittest.main()
