"""Accuracy by round of a user's own training under codecs: the table that "curves" of an experiment
takes (docs/experiment.md). All clients train in this process, one after another."""
import pathlib
import time

import numpy as np
import torch

from .codec import Codec

MIN_ELEMS = 1025
HEADER = ("run,clients,seed,target,codec,par,ef,round,train_loss,test_loss,test_acc,bits_per_elem,"
          "rel_l2_err,local_s")


def _remembers(spec):
    """Whether what an encoding loses is sent with the next one: error feedback, as zeros show."""
    codec = Codec(spec, (64, 64))
    x = np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32)
    codec.decode(codec.encode(x, 1))
    return bool(codec.decode(codec.encode(np.zeros_like(x), 1)).any())


class _Sender:
    """A client's codecs, one a tensor; tensors of at most 1024 values travel as they are."""

    def __init__(self, spec):
        self.spec, self.codecs = spec, {}

    def received(self, name, x, key):
        """What arrives of a tensor, and in how many bytes."""
        if self.spec == "none" or x.size < MIN_ELEMS:
            return x, x.nbytes
        if name not in self.codecs:
            self.codecs[name] = Codec(self.spec, x.shape)
        data = self.codecs[name].encode(x, key)
        return self.codecs[name].decode(data), len(data)


class _Mean:
    """The mean of what clients sent, weighed; and how far it is from what they meant to send."""

    def __init__(self):
        self.sum, self.weight, self.n_bytes, self.lost, self.whole = {}, 0.0, 0, 0.0, 0.0

    def add(self, sender, tensors, weight, key):
        for i, (name, x) in enumerate(tensors.items()):
            y, n_bytes = sender.received(name, x, key + i)
            self.sum[name] = self.sum.get(name, 0.0) + weight * y.astype(np.float64)
            self.n_bytes += n_bytes
            self.lost += float(np.square(y - x, dtype=np.float64).sum())
            self.whole += float(np.square(x, dtype=np.float64).sum())
        self.weight += weight

    def tensors(self):
        return {n: (x / self.weight).astype(np.float32) for n, x in self.sum.items()}

    def error(self):
        return (self.lost / self.whole) ** 0.5 if self.whole > 0 else 0.0


class _Training:
    """One codec's run from the same weights, with the same draws."""

    def __init__(self, model, spec, clients, seed):
        self.model, self.seed = model, seed
        self.senders = [_Sender(spec) for _ in range(clients)]
        self.params = dict(model.named_parameters())
        self.local_s = []

    def values(self):
        return {n: p.detach().cpu().numpy().copy() for n, p in self.params.items()}

    def put(self, values):
        with torch.no_grad():
            for n, p in self.params.items():
                p.copy_(torch.from_numpy(values[n]))

    def timed(self, function, client, number):
        """Equal draws for equal client and round, whatever the codec."""
        torch.manual_seed(self.seed + 1000003 * number + 7919 * client)
        began = time.perf_counter()
        result = function(self.model, client, number)
        self.local_s.append(time.perf_counter() - began)
        loss, n_examples = result if isinstance(result, tuple) else (result, 1)
        return float(loss), n_examples

    def key(self, client, number):
        return (number * len(self.senders) + client) << 16

    def federated(self, train, number):
        """Buffers (a BatchNorm's statistics) are averaged as they are; they count in no byte."""
        mean, losses, rest = _Mean(), [], []
        begin, buffers = self.values(), {n: b.clone() for n, b in self.model.named_buffers()}
        for client, sender in enumerate(self.senders):
            self.put(begin)
            for n, b in self.model.named_buffers():
                b.copy_(buffers[n])
            loss, n_examples = self.timed(train, client, number)
            update = {n: x - begin[n] for n, x in self.values().items()}
            mean.add(sender, update, n_examples, self.key(client, number))
            losses.append(loss)
            rest.append({n: b.clone() for n, b in self.model.named_buffers()})
        self.put({n: begin[n] + x for n, x in mean.tensors().items()})
        for n, b in self.model.named_buffers():
            b.copy_(torch.stack([r[n] for r in rest]).double().mean(0).to(b.dtype))
        return mean, float(np.mean(losses))

    def data_parallel(self, gradient, optimizer, number):
        mean, losses = _Mean(), []
        for client, sender in enumerate(self.senders):
            self.model.zero_grad()
            loss, _ = self.timed(gradient, client, number)
            grads = {n: p.grad.detach().cpu().numpy().copy() for n, p in self.params.items()
                     if p.grad is not None}
            mean.add(sender, grads, 1, number << 16)  # as of ddp_hook: equal keys on all ranks
            losses.append(loss)
        for n, x in mean.tensors().items():
            self.params[n].grad = torch.from_numpy(x).to(self.params[n].device)
        optimizer.step()
        return mean, float(np.mean(losses))


def curves(folder, model, codecs, *, evaluate, clients, rounds, train=None, gradient=None,
           optimizer=None, local_steps=None, every=1, seed=1, name=None):
    """Train the model under each codec and write folder/curves.csv; the model keeps its weights.

    codecs: ["none", "sz:range=1e-2", "topk:ratio=0.01", ...].
    evaluate(model): the accuracy (0 to 1) on held-out data, or (accuracy, loss).
    train(model, client, round): federated averaging; trains the model on this client's data and
    returns the mean loss, or (loss, examples) where clients are weighed. The change is coded.
    local_steps: how many steps that are, for experiments to check.
    gradient(model, rank, step), optimizer(parameters): data-parallel training, as under
    strait.ddp_hook: runs loss.backward() on this rank's batch and returns the loss. The gradient is
    coded, a round is a step. Give either train or gradient and optimizer.
    every: rounds between evaluations; those between repeat the last one."""
    if (train is None) == (gradient is None) or (gradient is None) != (optimizer is None):
        raise ValueError("expected either train, or gradient and optimizer")
    params = dict(model.named_parameters())
    if not params or any(p.dtype != torch.float32 for p in params.values()):
        raise ValueError("expected a model with parameters of float32")
    folder = pathlib.Path(folder)
    remembers = {spec: spec != "none" and _remembers(spec) for spec in codecs}  # wrong ones: here
    n_elems = sum(p.numel() for p in params.values())
    start = {n: x.clone() for n, x in model.state_dict().items()}
    target = "update" if train else "grad"
    lines = [f"# model: {name or folder.name}", f"# parameters: {n_elems}",
             f"# strategy: {'fedavg' if train else 'ddp'}"]
    lines += [f"# local_steps: {local_steps}"] if local_steps else []
    lines.append(HEADER)
    try:
        for spec in codecs:
            model.load_state_dict(start)
            run = _Training(model, spec, clients, seed)
            stepper = optimizer(model.parameters()) if optimizer else None
            accuracy, test_loss = 0.0, 0.0
            for number in range(rounds):
                mean, loss = (run.federated(train, number) if train
                              else run.data_parallel(gradient, stepper, number))
                if (number + 1) % every == 0 or number in (0, rounds - 1):
                    torch.manual_seed(seed)
                    score = evaluate(model)
                    accuracy, test_loss = (map(float, score) if isinstance(score, tuple)
                                           else (float(score), loss))
                bits = 8 * mean.n_bytes / clients / n_elems
                lines.append(
                    f"{spec.replace(',', ';')},{clients},{seed},{target},"
                    f"{spec.replace(',', ';')},0,{int(remembers[spec])},{number + 1},{loss:.6g},"
                    f"{test_loss:.6g},{accuracy:.6g},{bits:.6g},{mean.error():.4e},"
                    f"{np.mean(run.local_s[-clients:]):.6f}")
    finally:
        model.load_state_dict(start)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "curves.csv").write_text("\n".join(lines) + "\n")
    return folder / "curves.csv"
