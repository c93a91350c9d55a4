"""Codecs on numpy arrays, what they cost, and predictions of experiments."""
import ctypes
import json
import math

import numpy as np

from . import _library


def with_feedback(spec, error_feedback):
    """The spec with error feedback on or off; None: as the codec's source has it."""
    if error_feedback is None:
        return spec
    return f"{spec}{',' if ':' in spec else ':'}error_feedback={'yes' if error_feedback else 'no'}"


class Codec:
    """A codec for float32 tensors of one shape, of one sender.

    spec: as on the command line: "sz:range=1e-3", "topk:ratio=0.01" (`strait list codecs`).
    shape: of the tensor; its first dimension gives the rows of a matrix.
    What a sender remembers between rounds (error feedback, momentum) lives here: one Codec a tensor
    and rank, and one thread at a time encodes with it. Decoding changes nothing.
    Raises StraitError: "input" for a wrong spec, "host" where the codec is not available."""

    def __init__(self, spec, shape):
        self._codec = ctypes.c_void_p()
        self.spec = spec
        self.shape = (shape,) if isinstance(shape, int) else tuple(int(n) for n in shape)
        self.n_elems = math.prod(self.shape)
        n_rows = self.shape[0] if len(self.shape) > 1 and self.n_elems else 0
        _library.call("strait_tensor_codec_new", ctypes.byref(self._codec), spec.encode(),
                      self.n_elems, n_rows)
        self._out = np.empty(_library.raw("strait_tensor_codec_max_bytes", self._codec), np.uint8)

    def __del__(self):
        if getattr(self, "_codec", None):
            _library.raw("strait_tensor_codec_free", self._codec)

    def encode(self, x, key=0):
        """bytes of an array of this shape. key: equal keys draw equal random numbers (0 to
        2^64 - 1), without effect on deterministic codecs."""
        x = np.ascontiguousarray(x, np.float32)
        if x.shape != self.shape:
            raise ValueError(f"expected a tensor of shape {self.shape}, found {x.shape}")
        n = ctypes.c_size_t()
        _library.call("strait_tensor_codec_encode", self._codec, self._out.ctypes.data,
                      self._out.size, ctypes.byref(n), x.ctypes.data, key)
        return self._out[:n.value].tobytes()

    def decode(self, data):
        """float32 array of this shape. Any bytes are safe: StraitError "input" where they are no
        stream of this codec and size."""
        data = np.frombuffer(data, np.uint8)
        y = np.empty(self.shape, np.float32)
        _library.call("strait_tensor_codec_decode", self._codec, y.ctypes.data, data.ctypes.data,
                      data.size)
        return y

    def reset(self):
        """Forget what is remembered between rounds."""
        _library.call("strait_tensor_codec_reset", self._codec)


def cost(spec, n_elems, kind="grad", profile=None):
    """What a profile says of one tensor: .ratio, .encode_s, .decode_s. kind: "param", "update" or
    "grad"; profile: a shipped one or a file, None: "default"."""
    out = _library.TensorCost()
    _library.call("strait_tensor_cost", ctypes.byref(out), profile.encode() if profile else None,
                  spec.encode(), kind.encode(), n_elems)
    return out


def predict(experiment, backend="sim", settings=(), profile=None):
    """The rows (dicts) of an experiment, as `strait run --json` gives them. settings:
    ["/clients=8", "/network/client/rate=100 Mbps"]."""
    rows = ctypes.c_void_p()
    texts = (ctypes.c_char_p * (len(settings) + 1))(*[s.encode() for s in settings], None)
    _library.call("strait_predict", ctypes.byref(rows), experiment.encode(), backend.encode(),
                  profile.encode() if profile else None, texts)
    try:
        return json.loads(ctypes.string_at(rows))
    finally:
        _library.raw("strait_rows_free", rows)
