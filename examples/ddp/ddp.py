"""Data-parallel training with compressed gradients, on this machine or over an emulated network:

    strait net run wan.json -- python3 ddp.py sz:range=1e-2

Each client is a rank of PyTorch's; `strait net run` sets RANK, WORLD_SIZE and the address. Without a
codec the gradients travel as they are. Prints, per rank, the mean time of an iteration and the loss.
Alone, it writes the trace that a prediction takes: python3 ddp.py --record FOLDER. With --share
ranks compute all at once and exchange nothing; rank 0 prints how fast that is beside one alone."""
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import strait

N_STEPS = 30


def network():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    return torch.nn.Sequential(
        torch.nn.Linear(784, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512), torch.nn.ReLU(),
        torch.nn.Linear(512, 10))


def optimizer_of(model):
    return torch.optim.SGD(model.parameters(), lr=0.1)


def steps(model, optimizer, rank, after):
    """Train; after(step, loss) is called behind each step."""
    torch.manual_seed(100 + rank)  # each rank has data of its own
    x = torch.randn(64, 784)
    y = x[:, :10].argmax(1)
    for step in range(N_STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        after(step, loss)


def record(folder):
    model = network()
    optimizer = optimizer_of(model)
    with strait.record(model, optimizer, folder, batch=64, sample_at=(5, 15, 25)) as recorder:
        steps(model, optimizer, 0, lambda step, loss: recorder.step(loss))


def train():
    dist.init_process_group("gloo")
    model = DistributedDataParallel(network())
    if len(sys.argv) > 1:
        model.register_comm_hook(None, strait.ddp_hook(sys.argv[1]))
    began = ended = 0

    def after(step, loss):
        nonlocal began, ended
        if step == 4:  # connections and memory are there
            dist.barrier()
            began = time.perf_counter()
        elif step == N_STEPS - 1:
            ended = time.perf_counter()
            print(f"rank {dist.get_rank()}: {1e3 * (ended - began) / (N_STEPS - 5):.1f} ms an "
                  f"iteration, loss {loss.item():.4f}")

    steps(model, optimizer_of(model), dist.get_rank(), after)


def share():
    """Ranks of one machine share its processors; those of machines of their own would not."""
    dist.init_process_group("gloo")
    model = network()
    optimizer = optimizer_of(model)

    def run_s():
        began = time.perf_counter()
        for _ in range(4):
            steps(model, optimizer, dist.get_rank(), lambda step, loss: None)
        return time.perf_counter() - began

    run_s()
    dist.barrier()
    alone_s = run_s() if dist.get_rank() == 0 else None
    dist.barrier()
    ours_s = torch.tensor([run_s()])
    dist.all_reduce(ours_s, op=dist.ReduceOp.MAX)
    if dist.get_rank() == 0:
        print(f"speed {alone_s / ours_s.item():.3f}")


if sys.argv[1:2] == ["--record"]:
    record(sys.argv[2])
elif sys.argv[1:2] == ["--share"]:
    share()
else:
    train()
