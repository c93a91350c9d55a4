"""Records a model's trace in a user's training loop.

    with strait.record(model, optimizer, "my-trace") as recorder:
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            recorder.step(loss)

writes my-trace/layers.csv, a layer table for `"model": "my-trace/layers.csv"` (docs/layer-table.md),
my-trace/iters.csv, the totals of the iterations, and my-trace/tensors/, parameters and gradients of
the steps of sample_at behind a manifest.json, as strait's own recordings have them.

Times are those between calls: hooks note when a module begins and ends, when its output's gradient
arrives and when each parameter's gradient is ready. They are there in every fourth iteration; the
totals are those of the others, which they cannot lengthen, and hold all that the loop does from one
step() to the next: the forward total what comes before the backward pass (the loader, zero_grad),
the optimiser's all behind it. On CUDA times are events of the current stream, read after a
synchronisation at the end of a step."""
import functools
import json
import pathlib
import time

import numpy as np
import torch

HEADER = ("fwd_index,layer,param,type,shape,bytes,fwd_us_p50,fwd_us_p90,bwd_us_p50,bwd_us_p90,"
          "ready_us_p50,ready_us_p90,ready_order")
LOOK_EVERY = 4  # iterations


class _Clock:
    """Marks of moments, and the microseconds between two of them."""

    def __init__(self, device):
        self.is_cuda = device.type == "cuda"
        self.mark = self._event if self.is_cuda else time.perf_counter

    def _event(self):
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def synchronise(self):
        if self.is_cuda:
            torch.cuda.synchronize()

    def us(self, a, b):
        return 1e3 * a.elapsed_time(b) if self.is_cuda else 1e6 * (b - a)


class _Layer:
    """A module with parameters of its own."""

    def __init__(self, name, module):
        self.name, self.type = name or "model", type(module).__name__
        self.params = [(n, p) for n, p in module.named_parameters(recurse=False)
                       if p.requires_grad]
        self.fwd_us, self.bwd_us = [], []
        self.ready_us = {(self, n): [] for n, _ in self.params}  # by what hooks call them
        self.order = None  # of its first call


class Recorder:
    """Use as a context manager; step(loss) ends an iteration.

    model: a torch.nn.Module with float32 parameters; optimizer: its step is timed.
    folder: made; what stands there is replaced.
    warm_up: iterations that do not count. sample_at: iterations (from 0) whose tensors are kept.
    batch, name, source: lines of the layer table."""

    def __init__(self, model, optimizer, folder, *, warm_up=5, sample_at=(10,), batch=None,
                 name=None, source=None):
        self.model, self.optimizer = model, optimizer
        self.folder = pathlib.Path(folder)
        self.warm_up, self.sample_at = warm_up, set(sample_at)
        self.batch, self.name = batch, name or self.folder.name
        self.source = source or f"recorded with PyTorch {torch.__version__}"
        first = next(model.parameters(), None)
        if first is None or any(p.dtype != torch.float32 for p in model.parameters()):
            raise ValueError("expected a model with parameters of float32")
        self.device, self.clock = first.device, _Clock(first.device)
        self.layers = {m: _Layer(n, m) for n, m in model.named_modules()}
        self.layers = {m: l for m, l in self.layers.items() if l.params}
        self.n_steps, self.iters, self.manifest, self.handles = 0, [], [], []
        self._begin_step()

    def _begin_step(self):
        self.calls, self.stack = [], []  # (layer, begin, end, marks inside); open calls
        self.arrived = {}  # layer: when its output's gradient came
        self.ready = {}    # (layer, parameter's name): when its gradient was computed
        self.marks, self.ran = {}, set()

    # --- hooks --------------------------------------------------------------------------------

    def _look_into_layers(self):
        for module, layer in self.layers.items():
            self.handles += [
                module.register_forward_pre_hook(functools.partial(self._enter, layer)),
                module.register_forward_hook(functools.partial(self._leave, layer))]
            self.handles += [p.register_hook(functools.partial(self._note_ready, (layer, n)))
                             for n, p in layer.params]

    def _look_away(self):
        for handle in self.handles:
            handle.remove()
        self.handles = []

    def __enter__(self):
        self.forward = self.model.register_forward_pre_hook(
            lambda module, inputs: self.ran.add("forward"))
        self._backward, self._step = torch.Tensor.backward, self.optimizer.step
        recorder = self

        @functools.wraps(self._backward)
        def backward(tensor, *args, **kwargs):
            recorder.ran.add("backward")
            recorder.marks["backward"] = recorder.clock.mark()
            recorder._backward(tensor, *args, **kwargs)
            recorder.marks["backward_end"] = recorder.clock.mark()

        @functools.wraps(self._step)
        def step(*args, **kwargs):
            recorder.ran.add("step")
            return recorder._step(*args, **kwargs)

        torch.Tensor.backward, self.optimizer.step = backward, step
        self.marks["begin"] = self.clock.mark()
        return self

    def __exit__(self, kind, value, traceback):
        torch.Tensor.backward = self._backward
        self.optimizer.step = self._step
        self.forward.remove()
        self._look_away()
        if kind is None:
            self.write()

    def _enter(self, layer, module, inputs):
        if layer.order is None:
            layer.order = sum(l.order is not None for l in self.layers.values())
        self.stack.append([layer, self.clock.mark(), []])

    def _leave(self, layer, module, inputs, output):
        layer, begin, inside = self.stack.pop()
        end = self.clock.mark()
        self.calls.append((layer, begin, end, inside))
        if self.stack:
            self.stack[-1][2].append((begin, end))
        if isinstance(output, torch.Tensor) and output.requires_grad:
            output.register_hook(functools.partial(self._note_arrived, layer))

    def _note_arrived(self, layer, gradient):
        self.arrived.setdefault(layer, self.clock.mark())

    def _note_ready(self, key, gradient):
        self.ready[key] = self.clock.mark()

    # --- steps --------------------------------------------------------------------------------

    def step(self, loss=None):
        """End an iteration: forward, backward and the optimiser's step have run once."""
        self.marks["end"] = self.clock.mark()
        for part in ("forward", "backward", "step"):
            if part not in self.ran:
                raise RuntimeError(f"expected the model's {part} in this iteration, found none")
        self.clock.synchronise()
        if self.n_steps in self.sample_at:
            self._sample(None if loss is None else float(loss))
        if self.n_steps >= self.warm_up:
            self._take_layers() if self.handles else self._take_totals()
        self.n_steps += 1
        self._begin_step()
        self._look_away()
        if self.n_steps % LOOK_EVERY == 0:
            self._look_into_layers()
        self.marks["begin"] = self.clock.mark()

    def _take_totals(self):
        at = [self.marks[m] for m in ("begin", "backward", "backward_end", "end")]
        self.iters.append([self.clock.us(a, b) for a, b in zip(at, at[1:])])

    def _take_layers(self):
        us, marks, ready = self.clock.us, self.marks, self.ready
        us_to = functools.partial(us, marks["backward"])
        own = dict.fromkeys(self.layers.values(), 0.0)
        for layer, begin, end, inside in self.calls:
            own[layer] += us(begin, end)
            for a, b in inside:
                own[layer] -= us(a, b)
        for layer, fwd_us in own.items():
            layer.fwd_us.append(fwd_us)
            begin, bwd_us = self.arrived.get(layer), 0.0
            for key, all_us in layer.ready_us.items():
                at = ready.get(key)
                if at is not None and begin is not None:
                    bwd_us = max(bwd_us, us(begin, at))
                all_us.append(us_to(marks["backward_end"] if at is None else at))
            layer.bwd_us.append(bwd_us)

    def _sample(self, loss):
        folder = self.folder / "tensors"
        folder.mkdir(parents=True, exist_ok=True)
        for layer in self.layers.values():
            for name, p in layer.params:
                for kind, tensor in (("param", p), ("grad", p.grad)):
                    if tensor is None:
                        continue
                    x = tensor.detach().to("cpu").numpy().astype("<f4")
                    file = f"{self.name}.{layer.name}.{name}.{kind}.s{self.n_steps}.f32"
                    x.tofile(folder / file)
                    entry = {"file": file, "model": self.name, "layer": f"{layer.name}.{name}",
                             "kind": kind, "step": self.n_steps, "shape": list(x.shape),
                             "dtype": "f32le", "n": int(x.size), "min": float(x.min()),
                             "max": float(x.max()),
                             "rms": float(np.sqrt(np.mean(x.astype(np.float64) ** 2))),
                             "zeros": int((x == 0).sum())}
                    self.manifest.append(entry if loss is None else {**entry, "loss": loss})

    # --- files --------------------------------------------------------------------------------

    def _rows(self):
        """Layers in the order of their first call; those never called behind their neighbour."""
        at = -1
        for layer in self.layers.values():
            at = layer.order if layer.order is not None else at
            layer.place = (at, layer.order is None)
        for layer in sorted(self.layers.values(), key=lambda l: l.place):
            for name, p in layer.params:
                yield layer, name, p

    def write(self):
        """Write what was recorded; called at the end of the context."""
        if self.n_steps < self.warm_up + LOOK_EVERY:
            raise RuntimeError(f"expected at least {self.warm_up + LOOK_EVERY} iterations, found "
                               f"{self.n_steps}: nothing is written")
        self.folder.mkdir(parents=True, exist_ok=True)
        rows = list(self._rows())
        median = {(l, n): np.percentile(l.ready_us[l, n], 50) for l, n, _ in rows}
        order = {k: i for i, k in enumerate(sorted(median, key=median.get))}

        def two(values):
            return "{:.1f},{:.1f}".format(*np.percentile(values, [50, 90]))

        device = torch.cuda.get_device_name() if self.clock.is_cuda else \
            f"{torch.get_num_threads()} threads"
        lines = [f"# name: {self.name}", f"# source: {self.source}",
                 f"# timing: medians of {len(self.iters)} iterations, PyTorch {torch.__version__}",
                 f"# device: {'accelerator, ' if self.clock.is_cuda else 'cpu, '}{device}",
                 "# iters: iters.csv"]
        lines += [f"# batch: {self.batch}"] if self.batch else []
        lines.append(HEADER)
        for i, (layer, name, p) in enumerate(rows):
            shape = "x".join(map(str, p.shape)) or "1"
            lines.append(",".join([str(i), layer.name, name, layer.type, shape,
                                   str(4 * p.numel()), two(layer.fwd_us), two(layer.bwd_us),
                                   two(layer.ready_us[layer, name]), str(order[layer, name])]))
        (self.folder / "layers.csv").write_text("\n".join(lines) + "\n")
        totals = ["iter,fwd_us,bwd_us,opt_us"]
        totals += [f"{i},{f:.1f},{b:.1f},{o:.1f}" for i, (f, b, o) in enumerate(self.iters)]
        (self.folder / "iters.csv").write_text("\n".join(totals) + "\n")
        if self.manifest:
            manifest = {"format": "raw float32 little-endian, C order", "tensors": self.manifest}
            (self.folder / "tensors" / "manifest.json").write_text(json.dumps(manifest, indent=1))
