"""State dicts of models as bytes, for federated frameworks.

The bytes: magic "STRAITSD", u64 length of the head, little-endian; the head, JSON: one entry a
tensor, in order: name, dtype, shape, codec ("" as it is), bytes; then the tensors' bytes. Tensors of
float32 with more than 1024 values go through the codec, as in strait's own runs; all others are as
they are. With a reference (what the receiver has already) what is encoded is the difference."""
import json
import struct

import numpy as np

from .codec import Codec

MAGIC = b"STRAITSD"
MIN_ELEMS = 1025


def _array(value):
    return np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)


def _is_coded(x):
    return x.dtype == np.float32 and x.size >= MIN_ELEMS


def compress_state_dict(state, codec, reference=None, key=0):
    """bytes of a dict of names and tensors (numpy or torch).

    codec: a spec without memory, such as "sz:range=1e-3": what is sent is the whole state each time.
    reference: a dict with the same tensors, the receiver's own; their differences are sent.
    key: of random draws."""
    head, parts = [], []
    for name, value in state.items():
        x = np.asarray(_array(value), order="C")
        coded = _is_coded(x)
        if coded:
            change = x - _array(reference[name]) if reference is not None else x
            data = Codec(codec, x.shape).encode(change, key + len(head))
        else:
            data = x.tobytes()
        head.append({"name": name, "dtype": x.dtype.str, "shape": list(x.shape),
                     "codec": codec if coded else "", "bytes": len(data)})
        parts.append(data)
    text = json.dumps({"reference": reference is not None, "tensors": head}).encode()
    return b"".join([MAGIC, struct.pack("<Q", len(text)), text, *parts])


def decompress_state_dict(data, reference=None):
    """The dict of numpy arrays, in its order. reference: as when it was compressed.

    Raises ValueError where the bytes are no state dict, StraitError where a tensor's are damaged."""
    data = memoryview(data)
    if len(data) < 16 or bytes(data[:8]) != MAGIC:
        raise ValueError("expected a compressed state dict, found other bytes")
    (length,) = struct.unpack("<Q", data[8:16])
    try:
        head = json.loads(bytes(data[16:16 + length]))
        tensors = [(t["name"], np.dtype(t["dtype"]), tuple(t["shape"]), t["codec"], t["bytes"])
                   for t in head["tensors"]]
    except (ValueError, KeyError, TypeError) as e:
        raise ValueError(f"expected a compressed state dict, found a damaged head: {e}") from None
    if head["reference"] != (reference is not None):
        raise ValueError("expected " + ("the reference" if head["reference"] else "no reference")
                         + " that it was compressed against")
    out, at = {}, 16 + length
    if at + sum(t[4] for t in tensors) != len(data):
        raise ValueError("expected a compressed state dict, found one of another length")
    for name, dtype, shape, codec, n_bytes in tensors:
        part = data[at:at + n_bytes]
        at += n_bytes
        if codec:
            x = Codec(codec, shape).decode(part)
            out[name] = x + _array(reference[name]) if reference is not None else x
        else:
            out[name] = np.frombuffer(part, dtype).reshape(shape).copy()
    return out
