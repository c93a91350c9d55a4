#!/usr/bin/env python3
"""Weights, updates of 25 steps and gradients of three networks that nothing here was made with.

    python3 tests/foreign/unseen_tensors.py DIR

A ConvMixer on drawn squares, a GRU on running sums of skewed words, a graph network: 85 steps each,
matrices and kernels of more than 1024 values, as KIND.NETWORK.LAYER.npy. Needs PyTorch.
docs/codecs.md has what codecs make of them."""
import os
import sys

import numpy as np
import torch
from torch import nn

g = torch.Generator().manual_seed(5)


def conv_mixer():
    layers = [nn.Conv2d(3, 64, 4, stride=4), nn.GELU()]
    for _ in range(3):
        layers += [nn.Conv2d(64, 64, 5, padding=2, groups=64), nn.GELU(), nn.BatchNorm2d(64),
                   nn.Conv2d(64, 256, 1), nn.GELU(), nn.Conv2d(256, 64, 1), nn.BatchNorm2d(64)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(512, 96)
        self.g = nn.GRU(96, 160, batch_first=True)
        self.o = nn.Linear(160, 512)

    def forward(self, x):
        return self.o(self.g(self.e(x))[0]).transpose(1, 2)


class Graph(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(300, 256), nn.Linear(256, 256), nn.Linear(256, 40)

    def forward(self, x):
        return self.c(torch.relu(self.edges @ self.b(torch.relu(self.edges @ self.a(x)))))


def batch(name):
    if name == "conv":
        y = torch.randint(0, 10, (32,), generator=g)
        x = torch.randn(32, 3, 32, 32, generator=g) * 0.5
        for i, k in enumerate(y):
            row, column = (k * 3) % 24, (k * 2) % 24
            x[i, k % 3, row:row + 8, column:column + 8] += 2
        return x, y
    if name == "gru":
        x = (torch.rand(16, 40, generator=g) ** 4 * 512).long()
        return x, torch.cumsum(x, 1) % 512
    return nodes, classes


def save(folder, model, name, before):
    for layer, p in model.named_parameters():
        if p.dim() < 2 or p.numel() <= 1024:
            continue
        for kind, t in (("weights", p.detach()), ("updates", p.detach() - before[layer]),
                        ("gradients", p.grad)):
            np.save(f"{folder}/{kind}.{name}.{layer}.npy", t.contiguous().numpy())


torch.set_num_threads(1)
torch.manual_seed(4242)
nodes = torch.randn(600, 300, generator=g) * torch.exp(torch.randn(300, generator=g))
classes = (nodes[:, :40] + 0.3 * torch.randn(600, 40, generator=g)).argmax(1)
os.makedirs(sys.argv[1], exist_ok=True)
for name, model in (("conv", conv_mixer()), ("gru", Words()), ("graph", Graph())):
    if name == "graph":
        edges = (torch.rand(600, 600, generator=g) < 0.01).float()
        edges = edges + edges.T + torch.eye(600)
        model.edges = edges / edges.sum(1, keepdim=True)
    optimiser = (torch.optim.SGD(model.parameters(), 0.05, momentum=0.9) if name == "conv" else
                 torch.optim.AdamW(model.parameters(), 2e-3))
    for step in range(85):
        if step == 60:
            before = {k: p.detach().clone() for k, p in model.named_parameters()}
        x, y = batch(name)
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimiser.step()
    save(sys.argv[1], model, name, before)
