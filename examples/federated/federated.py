"""Federated averaging between processes, with models compressed both ways, in the manner of
Flower's clients (get_parameters, fit), without the framework:

    python3 federated.py server 2 &
    python3 federated.py client 0 &
    python3 federated.py client 1

In a network of strait, where RANK, WORLD_SIZE and MASTER_ADDR say who is who:

    strait net run wan.json --ranks all -- python3 federated.py

Alone, it writes the trace that a prediction takes, and in its folder "updates" what a client sends:
python3 federated.py record FOLDER. A profile of codecs then gets the times that they take from
Python: python3 federated.py charge PROFILE.

Down goes the difference to the model that the clients decoded last, up the difference to what they
got: both ends keep the decoded values, so that errors do not add up."""
import json
import os
import pathlib
import socket
import struct
import sys
import time

import numpy as np
import torch

import strait

CODEC, N_ROUNDS = "sz:range=1e-2", 5
ADDRESS = (os.environ.get("MASTER_ADDR", "127.0.0.1"), 8479)


def network():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(784, 128), torch.nn.ReLU(),
                               torch.nn.Linear(128, 10))


def without_delay(peer):
    """Short words are not to wait for acknowledgements of what went before."""
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return peer


def send(peer, data):
    peer.sendall(struct.pack("<Q", len(data)) + data)


def receive(peer):
    def take(n):
        parts = bytearray()
        while len(parts) < n:
            more = peer.recv(n - len(parts))
            if not more:
                raise ConnectionError("the other end has gone")
            parts += more
        return bytes(parts)

    return take(*struct.unpack("<Q", take(8)))


class Client:
    """What a framework's client has to have."""

    def __init__(self, number):
        self.model = network()
        self.generator = torch.Generator().manual_seed(100 + number)
        rule = torch.randn(784, 10, generator=torch.Generator().manual_seed(5))
        self.x = torch.randn(512, 784, generator=self.generator)
        self.y = (self.x @ rule).argmax(1)

    def get_parameters(self):
        return {k: v.detach().numpy().copy() for k, v in self.model.state_dict().items()}

    def fit(self, parameters):
        """The parameters after an epoch, how many examples, the mean loss."""
        self.model.load_state_dict({k: torch.from_numpy(v) for k, v in parameters.items()})
        losses = self.epoch(torch.optim.SGD(self.model.parameters(), lr=0.1), lambda loss: None)
        return self.get_parameters(), 512, float(np.mean(losses))

    def epoch(self, optimizer, after):
        losses = []
        for batch in torch.randperm(512, generator=self.generator).split(32):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(self.model(self.x[batch]), self.y[batch])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            after(loss)
        return losses


def nothing(model):
    return {k: np.zeros_like(v) for k, v in model.items()}


def warm_up():
    """The first epoch and the first codec of a process take longer than all others."""
    client = Client(0)
    before = client.get_parameters()
    after = client.fit(before)[0]
    strait.decompress_state_dict(strait.compress_state_dict(after, CODEC, reference=before),
                                 reference=before)


def serve(n_clients):
    warm_up()
    model = {k: v.numpy() for k, v in network().state_dict().items()}
    known = nothing(model)  # what clients have decoded
    with socket.create_server(ADDRESS) as listener:
        peers = [without_delay(listener.accept()[0]) for _ in range(n_clients)]
    for number in range(N_ROUNDS):
        began = time.perf_counter()
        down = strait.compress_state_dict(model, CODEC, reference=known)
        known = strait.decompress_state_dict(down, reference=known)
        for peer in peers:
            send(peer, down)
        total, n_examples, losses, n_bytes = None, 0, [], len(down) * n_clients
        for peer in peers:
            up, (n, loss) = receive(peer), struct.unpack("<Qd", receive(peer))
            local = strait.decompress_state_dict(up, reference=known)
            part = {k: n * v.astype(np.float64) for k, v in local.items()}
            total = part if total is None else {k: total[k] + part[k] for k in part}
            n_examples += n
            n_bytes += len(up)
            losses.append(loss)
        model = {k: (v / n_examples).astype(np.float32) for k, v in total.items()}
        raw = 2 * n_clients * sum(v.nbytes for v in model.values())
        print(f"round {number}: loss {np.mean(losses):.4f}, {n_bytes / 1e3:.0f} KB of "
              f"{raw / 1e3:.0f}, {1e3 * (time.perf_counter() - began):.1f} ms", flush=True)
    for peer in peers:
        peer.close()


def take_part(number):
    warm_up()
    client = Client(number)
    known = nothing(client.get_parameters())
    with connect() as peer:
        for _ in range(N_ROUNDS):
            known = strait.decompress_state_dict(receive(peer), reference=known)
            after, n, loss = client.fit(known)
            send(peer, strait.compress_state_dict(after, CODEC, reference=known))
            send(peer, struct.pack("<Qd", n, loss))
        peer.recv(1)  # the server ends first: to end takes processors that its last round needs


def connect():
    while True:  # the server may not listen yet
        try:
            return without_delay(socket.create_connection(ADDRESS))
        except ConnectionRefusedError:
            time.sleep(0.1)


def record(folder):
    client = Client(0)
    optimizer = torch.optim.SGD(client.model.parameters(), lr=0.1)
    with strait.record(client.model, optimizer, folder, batch=32) as recorder:
        time.sleep(4 - time.time() % 4)  # with others that record, who share this machine
        for _ in range(40):
            client.epoch(optimizer, recorder.step)
    updates = pathlib.Path(folder) / "updates"
    updates.mkdir()
    client = Client(0)  # as new as in the job: later updates take fewer bytes
    for number in range(N_ROUNDS):
        before = client.get_parameters()
        for name, after in client.fit(before)[0].items():
            (after - before[name]).tofile(updates / f"{name}.{number}.f32")


def charge(path):
    """Let the profile's fixed times hold what Python does around the codec, a tensor."""
    client = Client(0)
    before = client.get_parameters()
    after = client.fit(before)[0]
    data = strait.compress_state_dict(after, CODEC, reference=before)
    calls = {"encode": lambda: strait.compress_state_dict(after, CODEC, reference=before),
             "decode": lambda: strait.decompress_state_dict(data, reference=before)}
    profile = json.loads(pathlib.Path(path).read_text())
    sizes = [v.nbytes for v in after.values() if v.size > 1024]
    for way, call in calls.items():
        times = []
        for _ in range(15):
            began = time.process_time()
            call()
            times.append(time.process_time() - began)
        for entry in profile["entries"]:
            if entry["codec"] == "sz":
                codec_s = sum(sizes) / (1e6 * float(entry[way]["speed"].split()[0]))
                fixed_us = 1e6 * (np.median(times) - codec_s) / len(sizes)
                entry[way]["fixed"] = f"{max(fixed_us, 0):.1f} us"
    pathlib.Path(path).write_text(json.dumps(profile, indent=1))


def main(who, what):
    torch.set_num_threads(1)
    if who == "record":
        record(what)
    elif who == "charge":
        charge(what)
    elif who == "server":
        serve(int(what))
    elif who == "client":
        take_part(int(what))
    else:
        sys.exit("usage: federated.py [server N_CLIENTS | client NUMBER | record FOLDER | "
                 "charge PROFILE]")


rank = os.environ.get("RANK")
if len(sys.argv) == 3:
    main(*sys.argv[1:])
elif len(sys.argv) == 1 and rank == "0":
    main("server", int(os.environ["WORLD_SIZE"]) - 1)
elif len(sys.argv) == 1 and rank:
    main("client", rank)
else:
    main("", "")
