"""Data-parallel training with compressed gradients, on this machine or over an emulated network:

    strait net run wan.json -- python3 ddp.py sz:range=1e-2

Each client is a rank of PyTorch's; `strait net run` sets RANK, WORLD_SIZE and the address. Without a
codec the gradients travel as they are. Prints, per rank, the mean time of an iteration and the loss.
"""
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import strait

N_STEPS = 30


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = DistributedDataParallel(torch.nn.Sequential(
        torch.nn.Linear(784, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512), torch.nn.ReLU(),
        torch.nn.Linear(512, 10)))
    if len(sys.argv) > 1:
        model.register_comm_hook(None, strait.ddp_hook(sys.argv[1]))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(100 + dist.get_rank())  # each rank has data of its own
    x = torch.randn(64, 784)
    y = x[:, :10].argmax(1)
    for step in range(N_STEPS):
        if step == 5:  # connections and memory are there
            dist.barrier()
            begin = time.perf_counter()
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    took = (time.perf_counter() - begin) / (N_STEPS - 5)
    print(f"rank {dist.get_rank()}: {1e3 * took:.1f} ms an iteration, loss {loss.item():.4f}")


main()
