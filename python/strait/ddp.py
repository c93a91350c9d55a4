"""A communication hook for PyTorch's DistributedDataParallel."""
import concurrent.futures
import hashlib
import struct

import numpy as np
import torch
import torch.distributed as dist

from .codec import Codec, with_feedback

MIN_ELEMS = 1025


class DdpHook:
    """Gradients encoded by a codec, exchanged, decoded and averaged.

    model.register_comm_hook(None, strait.ddp_hook("topk:ratio=0.01"))

    Each rank sends its encoded bucket to all others (sizes, then an all-gather padded to the
    largest), decodes all of them in the order of ranks and averages, so that all ranks get the same
    bits. Tensors of more than 1024 values go through the codec, each with a memory of its own; the
    rest travels as float32. One thread codes and sends in the order of buckets while the backward
    pass goes on, over a group of processes of its own.
    bytes_sent: of encoded buckets so far, without sizes and padding.
    codec: "sz:range=1e-3", "topk:ratio=0.01", "powersgd:rank=4", ...; error_feedback: True or False;
    None: as the codec's source has it. All ranks have to make it at the same place."""

    def __init__(self, codec, error_feedback=None, seed=0):
        self.__name__ = self.__qualname__ = "strait_ddp_hook"  # PyTorch asks for them
        self.spec = with_feedback(codec, error_feedback)
        Codec(self.spec, (2048,))  # a wrong spec is told here, on every rank
        self.group = dist.new_group(backend="gloo")
        self.seed, self.n_calls, self.bytes_sent = seed, 0, 0
        self.codecs = {}
        self.thread = concurrent.futures.ThreadPoolExecutor(1)

    def __call__(self, state, bucket):
        done = torch.futures.Future()
        self.n_calls += 1
        self.thread.submit(self._work, done, bucket.buffer(), bucket.parameters(),
                           bucket.gradients(), self.n_calls)
        return done

    def _work(self, done, buffer, parameters, gradients, call):
        try:
            done.set_result(self._exchange(buffer, parameters, gradients, call))
        except BaseException as e:  # the training loop sees it where it waits
            done.set_exception(e)

    def _codec_of(self, parameter):
        if parameter.numel() < MIN_ELEMS:
            return None
        if parameter not in self.codecs:
            self.codecs[parameter] = Codec(self.spec, parameter.shape)
        return self.codecs[parameter]

    def _key(self, call, i):
        """Equal on all ranks: codecs that draw places need that, others lose nothing by it."""
        text = f"{self.seed} {call} {i}".encode()
        return struct.unpack("<Q", hashlib.sha256(text).digest()[:8])[0]

    def _encode(self, parameters, gradients, call):
        parts = []
        for i, (p, g) in enumerate(zip(parameters, gradients)):
            x = g.detach().to("cpu", torch.float32).numpy().reshape(tuple(p.shape))
            codec = self._codec_of(p)
            data = codec.encode(x, self._key(call, i)) if codec else x.tobytes()
            parts += [struct.pack("<Q", len(data)), data]
        return np.frombuffer(b"".join(parts), np.uint8)

    def _gather(self, mine):
        world = dist.get_world_size(self.group)
        sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(world)]
        dist.all_gather(sizes, torch.tensor([mine.size]), group=self.group)
        padded = torch.zeros(int(max(sizes)), dtype=torch.uint8)
        padded[:mine.size] = torch.from_numpy(mine.copy())
        all_padded = [torch.empty_like(padded) for _ in range(world)]
        dist.all_gather(all_padded, padded, group=self.group)
        return [t.numpy()[:int(n)] for t, n in zip(all_padded, sizes)]

    def _add(self, total, stream, parameters):
        """Add one rank's decoded bucket to total, in the order of the bucket's values."""
        at = into = 0
        for p in parameters:
            (n_bytes,) = struct.unpack("<Q", stream[at:at + 8].tobytes())
            data = stream[at + 8:at + 8 + n_bytes]
            codec = self._codec_of(p)
            x = codec.decode(data) if codec else np.frombuffer(data.tobytes(), np.float32)
            total[into:into + p.numel()] += x.reshape(-1)
            at += 8 + n_bytes
            into += p.numel()

    def _exchange(self, buffer, parameters, gradients, call):
        mine = self._encode(parameters, gradients, call)
        self.bytes_sent += mine.size
        total = np.zeros(buffer.numel(), np.float32)
        streams = self._gather(mine)
        for stream in streams:
            self._add(total, stream, parameters)
        mean = torch.from_numpy(total / np.float32(len(streams)))
        return mean.to(buffer.device, buffer.dtype)
