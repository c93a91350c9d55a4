"""PyTorch's own all-reduce and data-parallel training over an emulated network, through Gloo.

Run by `make foreign`, one copy a client:  strait net run EXPERIMENT -- python3 ddp.py
Every check is against arithmetic: the sum of the ranks, the same parameters everywhere, and the
time that a ring all-reduce takes on links of this rate (2 (N - 1) / N of the bytes each way).
"""
import os
import socket
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

ELEMS = 2_500_000  # 10 MB
RATE_BITS_PER_S = float(os.environ.get("LINK_BITS_PER_S", "1e9")) * 1448 / 1538
REPEATS = 3


def all_reduce(rank, world):
    """Seconds of the quickest of a few, after one that makes the connections."""
    best = float("inf")
    for i in range(REPEATS + 1):
        x = torch.full((ELEMS,), float(rank + 1))
        dist.barrier()
        start = time.monotonic()
        dist.all_reduce(x)
        took = time.monotonic() - start
        expected = world * (world + 1) / 2
        if not bool((x == expected).all()):
            sys.exit(f"rank {rank}: expected every sum to be {expected}, found {x[:3].tolist()}")
        if i > 0:
            best = min(best, took)
    return best


def train(rank):
    """Loss before and after a few steps on data that differ by rank, and the parameters' sum."""
    torch.manual_seed(7)
    model = DistributedDataParallel(torch.nn.Sequential(
        torch.nn.Linear(64, 256), torch.nn.Tanh(), torch.nn.Linear(256, 1)))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.05)
    torch.manual_seed(100 + rank)
    data = torch.randn(256, 64)
    target = data[:, :1] * 0.5
    losses = []
    for _ in range(20):
        optimiser.zero_grad()
        loss = torch.nn.functional.mse_loss(model(data), target)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    total = torch.cat([p.detach().flatten() for p in model.parameters()]).double().sum()
    return losses[0], losses[-1], total


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    took = all_reduce(rank, world)
    least = 2 * (world - 1) / world * ELEMS * 4 * 8 / RATE_BITS_PER_S
    first, last, total = train(rank)
    totals = [torch.zeros_like(total) for _ in range(world)]
    dist.all_gather(totals, total)
    if any(t.item() != total.item() for t in totals):
        sys.exit(f"rank {rank}: expected the same parameters on every rank, found {totals}")
    if not last < first:
        sys.exit(f"rank {rank}: expected the loss to fall, found {first} and then {last}")
    if took < least:
        sys.exit(f"rank {rank}: {took:.4f} s is less than the links allow, {least:.4f} s")
    print(f"{socket.gethostname()}: all-reduce of 10 MB over {world} ranks in {took:.4f} s (links"
          f" alone {least:.4f} s); DDP loss {first:.4f} -> {last:.4f}", flush=True)


main()
