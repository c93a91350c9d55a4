"""Write a trace of 500 MB of every format (or of those that are named) and let strait read it: its
resident memory must stay below 300 MB, and more than 100 MB/s of content be read a second of its
user time. The printed lines are those of docs/benchmark.md."""
import gzip
import json
import os
import random
import struct
import subprocess
import sys

BYTES = 500_000_000
strait, folder = sys.argv[1], sys.argv[2]
chance = random.Random(1)


def fill(f, pieces):
    """Write pieces until there are enough bytes; how many there are."""
    written = 0
    for piece in pieces:
        f.write(piece)
        written += len(piece)
        if written >= BYTES:
            break
    return written


def kineto():
    events = json.load(gzip.open("tests/data/kineto-cnn.json.gz"))["traceEvents"]
    span_us = max(e["ts"] + e["dur"] for e in events) + 1000
    numbers = max(e["args"].get("Sequence number", 0) for e in events) + 1
    yield b'{"schemaVersion": 1, "traceEvents": [\n'
    copies = 0
    while True:
        text = ""
        for e in events:
            args = dict(e["args"])
            args["External id"] += copies * (len(events) + 1)
            if "Sequence number" in args:
                args["Sequence number"] += copies * numbers
            args["Call stack"] = "torch/nn/modules/module.py(1194): _call_impl;train.py(7): step"
            text += json.dumps(dict(e, ts=e["ts"] + copies * span_us, args=args)) + ",\n"
        copies += 1
        yield text.encode()


def write_kineto(name, opened=open):
    with opened(name, "wb") as f:
        n = fill(f, kineto())
        f.write(b'{"ph": "i", "name": "end", "ts": 0}]}\n')
    return n


def write_kineto_gzip(name):
    return write_kineto(name, lambda path, mode: gzip.open(path, mode, compresslevel=1))


def varint(x):
    out = bytearray()
    while x > 127:
        out.append(x & 127 | 128)
        x >>= 7
    return bytes(out) + bytes([x])


def field(number, wire, value):
    return varint(number << 3 | wire) + (varint(value) if wire == 0 else varint(len(value)) + value)


def attribute(name, number, value):
    return field(10, 2, field(1, 2, name) + field(number, 0, value))


def chakra_nodes(number):
    """Computing, then an all-reduce, each after the node before it."""
    deps = field(5, 2, varint(number - 1)) if number > 1 else b""
    for is_comm in (0, 1):
        node = field(1, 0, number + is_comm)
        if is_comm:
            node += field(2, 2, b"all_reduce_%d" % number) + field(3, 0, 7)
            node += field(5, 2, varint(number)) + attribute(b"is_cpu_op", 27, 0)
            node += attribute(b"comm_type", 9, 0) + attribute(b"comm_size", 9, 1 << 20)
        else:
            node += field(2, 2, b"aten::addmm_%d" % number) + field(3, 0, 4) + deps
            node += field(7, 0, 100 + number % 900) + attribute(b"is_cpu_op", 27, 0)
            node += attribute(b"num_ops", 9, 1 << 30) + attribute(b"tensor_size", 13, 1 << 20)
        yield varint(len(node)) + node


def chakra(n):
    yield b"\x07\n\x050.0.4"
    for number in range(1, n, 2):
        yield b"".join(chakra_nodes(number))


def write_chakra(name, opened=open):
    ranks = 4
    written = 0
    for rank in range(ranks):
        with opened(name.replace(".0.", f".{rank}."), "wb") as f:
            written += fill(f, chakra(6_040_000 // ranks))
    return written


def write_chakra_gzip(name):
    return write_chakra(name, lambda path, mode: gzip.open(path, mode, compresslevel=1))


def write_chakra_json(name):
    written = 0
    for rank in range(4):
        with open(name.replace(".0.", f".{rank}."), "wb") as f:
            f.write(b'{"workload_graph": [\n')
            for i in range(450_000):
                node = {"Id": 2 * i, "Name": f"aten::addmm_{i}", "NodeType": 4, "is_cpu_op": False,
                        "runtime": 100 + i % 900, "num_ops": 1 << 30, "tensor_size": 1 << 20,
                        "data_deps": [2 * i - 1] if i else [], "ctrlDeps": []}
                comm = {"Id": 2 * i + 1, "Name": f"all_reduce_{i}", "NodeType": 7,
                        "is_cpu_op": False, "comm_type": 0, "comm_size": 1 << 20,
                        "data_deps": [2 * i], "ctrlDeps": []}
                f.write((json.dumps(node) + ",\n" + json.dumps(comm)).encode())
                f.write(b"]}\n" if i == 449_999 else b",\n")
            written += f.tell()
    return written


def write_pytorch_et(name):
    def nodes():
        yield b'{"schema": "1.1.0-chakra.0.0.4", "pid": 1, "nodes": [\n'
        for i in range(10**9):
            number = 6 * i + 10
            text = ""
            for k, (op, shapes) in enumerate((("aten::addmm", [[64], [32, 128], [128, 64]]),
                                              ("aten::relu", [[32, 64]]))):
                text += json.dumps({
                    "id": number + k, "name": op, "ctrl_deps": 2,
                    "inputs": {"values": [[number, 0, 0, 4096, 4, "cuda:0"]] * len(shapes),
                               "shapes": shapes, "types": ["Tensor(float)"] * len(shapes)},
                    "outputs": {"values": [[number + 1, 0, 0, 4096, 4, "cuda:0"]],
                                "shapes": [[32, 64]], "types": ["Tensor(float)"]},
                    "attrs": [{"name": "rf_id", "type": "uint64", "value": number + k},
                              {"name": "fw_parent", "type": "uint64", "value": 0},
                              {"name": "seq_id", "type": "int64", "value": 2 * i + k},
                              {"name": "scope", "type": "uint64", "value": 0},
                              {"name": "tid", "type": "uint64", "value": 1},
                              {"name": "fw_tid", "type": "uint64", "value": 0},
                              {"name": "op_schema", "type": "string", "value": ""}]}) + ",\n"
            yield text.encode()
    with open(name, "wb") as f:
        n = fill(f, nodes())
        f.write(b'{"id": 1, "name": "end", "ctrl_deps": 1, "inputs": {"values": [], "shapes": [], '
                b'"types": []}, "outputs": {"values": [], "shapes": [], "types": []}, "attrs": []}'
                b"]}\n")
    return n


def write_astra(name):
    """A hundred thousand layers at most send gradients: one of a hundred here."""
    text = "".join(f"layer{i} -1 {chance.randrange(10**6)} NONE 0 {chance.randrange(10**6)} "
                   f"ALLREDUCE 4096 {chance.randrange(10**6)} {'NONE' if i % 100 else 'ALLREDUCE'} "
                   f"{0 if i % 100 else 4000000} 50\n" for i in range(50_000)).encode()
    n = BYTES // len(text) + 1
    with open(name, "wb") as f:
        f.write(b"DATA\n%d\n" % (n * 50_000))
        return fill(f, (text for _ in range(n)))


RANKS = 16


def write_goal(name):
    """A ring: computing, a message on, one from before."""
    with open(name, "wb") as f:
        f.write(b"num_ranks %d\n" % RANKS)
        for rank in range(RANKS):
            f.write(b"rank %d {\n" % rank)
            to, source = (rank + 1) % RANKS, (rank - 1) % RANKS
            for i in range(1, BYTES // RANKS // 50, 3):
                f.write(f"l{i}: calc {chance.randrange(10**6)}\n"
                        f"l{i + 1}: send 1000000b to {to} tag {i % 7}\n"
                        f"l{i + 2}: recv 1000000b from {source} tag {i % 7}\n"
                        f"l{i + 1} requires l{i}\n".encode())
                if i > 1:
                    f.write(b"l%d requires l%d\n" % (i, i - 1))
            f.write(b"}\n")
        return f.tell()


def write_goal_binary(name):
    nodes = BYTES // RANKS // 43 // 3 * 3
    size = 8 + 4 + 39 * nodes + 4 * (nodes - 1)
    head = 6 + 16 * RANKS
    with open(name, "wb") as f:
        f.write(struct.pack("<QIBB", 4223, RANKS, 0, 0))
        for rank in range(RANKS):
            f.write(struct.pack("<QQ", head + rank * size, head + (rank + 1) * size))
        for rank in range(RANKS):
            f.write(struct.pack("<III", nodes, 1, 0))
            for i in range(nodes):
                kind = (3, 1, 2)[i % 3]
                peer = (rank + (1 if kind == 1 else -1)) % RANKS if kind != 3 else 0
                f.write(struct.pack("<IBIQIBBQQ", i, kind, peer, 1000 + i // 3 % 999, i // 3 % 7, 0, 0,
                                    int(i + 1 < nodes), 0))
            f.write(b"".join(struct.pack("<I", i) for i in range(1, nodes)))
        return f.tell()


def write_ti(name):
    """The same ring, all ranks in turn, and an all-reduce."""
    def lines():
        yield "".join(f"{rank} init\n" for rank in range(RANKS)).encode()
        while True:
            text = ""
            for rank in range(RANKS):
                to, source, tag = (rank + 1) % RANKS, (rank - 1) % RANKS, chance.randrange(9)
                text += (f"{rank} compute {chance.randrange(10**9)}\n"
                         f"{rank} isend {to} 7 1000000\n{rank} recv {source} 7 1000000\n"
                         f"{rank} wait {rank} {to} 7\n{rank} allreduce 4000 0\n")
            yield text.encode()
    with open(name, "wb") as f:
        return fill(f, lines())


def write_ti_exported(name):
    """As strait trace export writes: a tag for each message, a rank after the other."""
    per_rank = BYTES // RANKS // 78
    with open(name, "wb") as f:
        for rank in range(RANKS):
            to, source = (rank + 1) % RANKS, (rank - 1) % RANKS
            f.write(b"%d init\n" % rank)
            for i in range(per_rank):
                f.write(f"{rank} compute {chance.randrange(10**9)}\n"
                        f"{rank} isend {to} {3 * i} 1000000\n"
                        f"{rank} irecv {source} {3 * i} 1000000\n"
                        f"{rank} wait {source} {rank} {3 * i}\n".encode())
            f.write(b"%d waitall\n%d finalize\n" % (rank, rank))
        return f.tell()


def write_mgwfbp(name):
    times = str([round(chance.uniform(1e-4, 1e-2), 7) for _ in range(161)])
    sizes = str([chance.randrange(64, 10**6) for _ in range(161)])
    line = ("2019-05-06 13:00:00,000 [dist_trainer.py:60] INFO {}\n")
    text = (line.format("layerwise backward times: " + times) +
            line.format("layerwise backward sizes: " + sizes) +
            line.format("[20][40] average forward (0.064) and backward (0.125) time: 0.18")).encode()
    with open(name, "wb") as f:
        return fill(f, (text for _ in range(10**9)))


def write_horovod(name):
    tensors = 161

    def events():
        text = "[\n"
        for i in range(1, tensors + 1):
            text += json.dumps({"name": "process_name", "ph": "M", "pid": i,
                                "args": {"name": f"allreduce.layer{i}.weight"}}) + ",\n"
        yield text.encode()
        for k in range(10**9):
            text = ""
            for i in range(tensors, 0, -1):
                at = 200_000 * k + 500 * (tensors - i)
                for name, start, end in (("NEGOTIATE_ALLREDUCE", at, at + 80),
                                         ("ALLREDUCE", at + 90, at + 900)):
                    text += json.dumps({"ph": "B", "name": name, "ts": start, "pid": i}) + ",\n"
                    ended = {"ph": "E", "ts": end, "pid": i}
                    if name == "ALLREDUCE":
                        ended["args"] = {"dtype": "float32", "shape": "[64, 128]"}
                    text += json.dumps(ended) + ",\n"
            yield text.encode()
    with open(name, "wb") as f:
        return fill(f, events())


def write_fedscale_devices(name):
    with open(name, "wb") as f:
        f.write(b"client_id,computation,communication\n")
        for i in range(1_000_000): # as many as are read
            f.write(f"{i},{chance.uniform(10, 1000)},{chance.uniform(100, 1e5)}\n".encode())
        return f.tell()


def write_fedscale_availability(name):
    def lines():
        yield b"client_id,duration,active,inactive\n"
        for i in range(10**9):
            times = sorted(chance.randrange(172800) for _ in range(40))
            yield (f"{i},172800,{';'.join(map(str, times[::2]))},"
                   f"{';'.join(map(str, times[1::2]))}\n".encode())
    with open(name, "wb") as f:
        return fill(f, lines())


TRACES = {
    "kineto": ("json", write_kineto),
    "kineto, gzip": ("json.gz", write_kineto_gzip),
    "pytorch-et": ("json", write_pytorch_et),
    "chakra": ("0.et", write_chakra),
    "chakra, gzip": ("0.et", write_chakra_gzip),
    "chakra-json": ("0.json", write_chakra_json),
    "astra": ("txt", write_astra),
    "goal": ("goal", write_goal),
    "goal-binary": ("bin", write_goal_binary),
    "ti": ("ti", write_ti),
    "ti, exported": ("ti", write_ti_exported),
    "mgwfbp": ("log", write_mgwfbp),
    "horovod": ("json", write_horovod),
    "fedscale, devices": ("csv", write_fedscale_devices),
    "fedscale, availability": ("csv", write_fedscale_availability),
}


def read(path):
    """User seconds and resident MB of a process that reads it; execution traces here have no
    gradients, of which no table can be made."""
    verb = "show" if "pytorch-et" in path else "import"
    with open(os.devnull, "wb") as nothing:
        child = subprocess.Popen([strait, "trace", verb, path], stdout=nothing, stderr=nothing)
        _, status, used = os.wait4(child.pid, 0)
    return status, used.ru_utime, used.ru_maxrss / 1e3


def main():
    missed = 0
    print("| format | MB | user s | MB/s | MB resident |\n|---|---|---|---|---|")
    for name in sys.argv[3:] or TRACES:
        end, write = TRACES[name]
        path = os.path.join(folder, "large-" + name.replace(", ", "-") + "." + end)
        mb = write(path) / 1e6
        status, user_s, resident_mb = read(path)
        for i in range(4):
            other = path.replace(".0.", f".{i}.")
            if os.path.exists(other):
                os.unlink(other)
        assert status == 0, f"strait could not read {name}"
        missed += resident_mb >= 300 or (mb / user_s <= 100 and mb > 100)
        print(f"| {name} | {mb:.0f} | {user_s:.1f} | {mb / user_s:.0f} | {resident_mb:.0f} |",
              flush=True)
    sys.exit(missed)


if __name__ == "__main__":
    main()
