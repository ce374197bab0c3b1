"""What the network costs: parameters and arithmetic at a given input size."""

from __future__ import annotations

from typing import Tuple

import torch
from torch import nn


def count_cost(network: nn.Module, height: int, width: int) -> Tuple[int, float]:
    """(parameters, FLOP): a multiply-add of a convolution counts as two, everything else as none."""
    total = 0

    def hook(layer: nn.Conv2d, _inputs: object, output: torch.Tensor) -> None:
        nonlocal total
        per_output = layer.weight.shape[1] * layer.weight.shape[2] * layer.weight.shape[3]
        total += 2 * per_output * output.numel()

    hooks = [m.register_forward_hook(hook) for m in network.modules() if isinstance(m, nn.Conv2d)]
    with torch.no_grad():
        network.eval()(torch.zeros(1, 3, height, width))
    for handle in hooks:
        handle.remove()
    return sum(p.numel() for p in network.parameters()), float(total)
