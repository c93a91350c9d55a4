"""torch_check.py EXPORT: networks and optimisers of learn/ against PyTorch and numpy.

EXPORT is build/tests/learn_export. Gradients are PyTorch's in double precision from the same
weights and batch, optimisers torch.optim in single precision from the same gradients, LAMB its
formula in numpy. Every tensor's difference, by its length, must be at most 1e-5 of it.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
import torch.nn.functional as F

TOLERANCE = 1e-5
STEPS = 5


class Export:
    """What learn_export wrote for one setting."""

    def __init__(self, program, training):
        self.training = training
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([program, folder, json.dumps(training)], check=True)
            read = lambda name, kind: np.fromfile(os.path.join(folder, name), dtype=kind)
            self.params = []
            with open(os.path.join(folder, "params.txt")) as f:
                for line in f:
                    layer, param, kind, *shape = line.split()
                    self.params.append((layer + "." + param, kind, [int(s) for s in shape]))
            self.weights = [read(f"weights{i}.f32", "<f4") for i in range(STEPS + 1)]
            self.gradients = [read(f"gradient{i}.f32", "<f4") for i in range(STEPS)]
            self.loss = float(open(os.path.join(folder, "loss.txt")).readline())
            n = training["batch"]
            if training["task"] == "char-transformer":
                self.words = torch.from_numpy(read("words.u8", "u1").reshape(n, -1).astype("i8"))
            else:
                self.images = torch.from_numpy(read("images.f32", "<f4").reshape(n, 1, 28, 28))
                self.labels = torch.from_numpy(read("labels.u8", "u1").astype("i8"))

    def tensors(self, flat):
        """The flattened model as {name: array}, in its order."""
        out, at = {}, 0
        for name, _, shape in self.params:
            n = int(np.prod(shape))
            out[name] = flat[at:at + n].reshape(shape)
            at += n
        assert at == len(flat)
        return out


# --- networks: each takes {name: tensor} and gives the mean cross entropy --------------------


def dense(w, layer, x):
    return F.linear(x, w[layer + ".weight"], w[layer + ".bias"])


def mlp(e, w):
    x = e.images.double().flatten(1)
    layers = [name[:-len(".weight")] for name in w if name.endswith(".weight")]
    for layer in layers[:-1]:
        x = F.relu(dense(w, layer, x))
    return F.cross_entropy(dense(w, layers[-1], x), e.labels)


def cnn(e, w):
    x = e.images.double()
    for layer in "conv1", "conv2":
        x = F.conv2d(x, w[layer + ".weight"], w[layer + ".bias"], padding=1)
        x = F.max_pool2d(F.relu(x), 2)
    x = F.relu(dense(w, "fc1", x.flatten(1)))
    return F.cross_entropy(dense(w, "fc2", x), e.labels)


def resnet(e, w):
    def unit(name, x, stride=1):
        kernel = w[name + ".weight"]
        x = F.conv2d(x, kernel, stride=stride, padding=kernel.shape[-1] // 2)
        return F.group_norm(x, 8, w[name + ".norm.weight"], w[name + ".norm.bias"])

    x = F.relu(unit("stem", e.images.double()))
    for stage in range(3):
        for block in range(2):
            name = f"stages.{stage}.{block}."
            stride = 2 if stage > 0 and block == 0 else 1
            y = unit(name + "conv2", F.relu(unit(name + "conv1", x, stride)))
            if name + "shortcut.weight" in w:
                x = unit(name + "shortcut", x, stride)
            x = F.relu(x + y)
    return F.cross_entropy(dense(w, "fc", x.mean((2, 3))), e.labels)


def transformer(e, w):
    t = {"layers": 4, "heads": 4, **e.training}
    inputs, targets = e.words[:, :-1], e.words[:, 1:]
    n, context = inputs.shape
    d = w["tok.weight"].shape[1]
    norm = lambda name, x: F.layer_norm(x, (d,), w[name + ".weight"], w[name + ".bias"])
    future = torch.ones(context, context, dtype=torch.bool).triu(1)
    x = w["tok.weight"][inputs] + w["pos.weight"]
    for i in range(t["layers"]):
        b = f"blocks.{i}."
        q, k, v = (y.view(n, context, t["heads"], -1).transpose(1, 2)
                   for y in dense(w, b + "qkv", norm(b + "ln1", x)).chunk(3, -1))
        scores = (q @ k.transpose(-1, -2) / q.shape[-1]**0.5).masked_fill(future, -np.inf)
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(n, context, d)
        x = x + dense(w, b + "proj", mixed)
        hidden = F.gelu(dense(w, b + "fc", norm(b + "ln2", x)), approximate="tanh")
        x = x + dense(w, b + "out", hidden)
    head = w.get("head.weight", w["tok.weight"])
    logits = norm("ln_f", x) @ head.T
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


# --- checks ----------------------------------------------------------------------------------

worst_of_all = 0


def report(what, pairs):
    """pairs: of each tensor its name, what we found, what is expected."""
    global worst_of_all
    apart = {name: np.linalg.norm(np.float64(a) - b) / np.linalg.norm(np.float64(b))
             for name, a, b in pairs}
    name = max(apart, key=apart.get)
    worst_of_all = max(worst_of_all, apart[name])
    verdict = "ok  " if apart[name] <= TOLERANCE else "FAIL"
    print(f"{verdict} {what:80} {apart[name]:.1e} ({name})")


def report_moves(what, e, weights):
    """How far five steps have moved every tensor: ours against these weights."""
    first, ours = e.tensors(np.float64(e.weights[0])), e.tensors(np.float64(e.weights[STEPS]))
    report(what, [(name, ours[name] - x, weights[name] - x) for name, x in first.items()])


def check_network(program, network, training):
    e = Export(program, {"batch": 16, **training})
    w = {name: torch.from_numpy(x.astype("f8")).requires_grad_()
         for name, x in e.tensors(e.weights[0]).items()}
    loss = network(e, w)
    loss.backward()
    options = ", ".join(f"{k} {v}" for k, v in training.items() if k != "task")
    report(f"{training['task']} {options}",
           [("loss", np.array([e.loss]), np.array([loss.item()]))] +
           [(name, g, w[name].grad.numpy()) for name, g in e.tensors(e.gradients[0]).items()])


def check_optimiser(program, training, make):
    e = Export(program, {"task": "fashion-mlp", "width": 16, "batch": 16, **training})
    w = torch.from_numpy(e.weights[0].copy()).requires_grad_()
    step = make(w)
    for i in range(STEPS):
        w.grad = torch.from_numpy(e.gradients[i].copy())
        step()
    report_moves(", ".join(f"{k} {v}" for k, v in training.items()), e,
                 e.tensors(w.detach().numpy()))


def check_lamb(program, training):
    e = Export(program, {"task": "fashion-mlp", "width": 16, "batch": 16, "optimiser": "lamb",
                         **training})
    t = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-6, "weight_decay": 0.01,
         **training}
    w = e.tensors(np.float64(e.weights[0]))
    m = {name: 0.0 for name in w}
    v = {name: 0.0 for name in w}
    for i in range(STEPS):
        for name, g in e.tensors(np.float64(e.gradients[i])).items():
            m[name] = t["beta1"] * m[name] + (1 - t["beta1"]) * g
            v[name] = t["beta2"] * v[name] + (1 - t["beta2"]) * g * g
            direction = (m[name] / (1 - t["beta1"]**(i + 1)) /
                         (np.sqrt(v[name] / (1 - t["beta2"]**(i + 1))) + t["epsilon"]) +
                         t["weight_decay"] * w[name])
            trust = np.linalg.norm(w[name]) / np.linalg.norm(direction)
            w[name] = w[name] - t["lr"] * trust * direction
    options = ", ".join(f"{k} {x}" for k, x in training.items())
    report_moves(f"optimiser lamb (numpy) {options}", e, w)


def main(program):
    for training in {}, {"width": 64, "hidden": 4}:
        check_network(program, mlp, {"task": "fashion-mlp", **training})
    check_network(program, cnn, {"task": "fashion-cnn"})
    check_network(program, resnet, {"task": "fashion-resnet"})
    for training in {}, {"layers": 2, "width": 48, "heads": 3, "context": 33, "untied": 1}:
        check_network(program, transformer, {"task": "char-transformer", "batch": 4, **training})
    optim = torch.optim
    for training, make in [
        ({"optimiser": "sgd", "lr": 0.05, "momentum": 0},
         lambda w: optim.SGD([w], 0.05)),
        ({"optimiser": "sgd", "lr": 0.05, "momentum": 0.9, "weight_decay": 1e-3},
         lambda w: optim.SGD([w], 0.05, momentum=0.9, weight_decay=1e-3)),
        ({"optimiser": "sgd", "lr": 0.05, "momentum": 0.9, "nesterov": True},
         lambda w: optim.SGD([w], 0.05, momentum=0.9, nesterov=True)),
        ({"optimiser": "adam", "lr": 0.001, "weight_decay": 0.01},
         lambda w: optim.Adam([w], 0.001, weight_decay=0.01)),
        ({"optimiser": "adamw", "lr": 0.001, "beta1": 0.8, "beta2": 0.95, "weight_decay": 0.1},
         lambda w: optim.AdamW([w], 0.001, betas=(0.8, 0.95), weight_decay=0.1)),
    ]:
        check_optimiser(program, training, lambda w, make=make: make(w).step)
    # LAMB moves a weight by lr of itself: with less, single precision would lose 1e-5 of that.
    for training in {"lr": 0.05}, {"lr": 0.01, "weight_decay": 0.1}:
        check_lamb(program, training)
    return 0 if worst_of_all <= TOLERANCE else 1


sys.exit(main(sys.argv[1]))
