"""Trains the detector on random crops of generated sheets and writes the averaged weights."""

from __future__ import annotations

import argparse
import copy
import json
import math
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import List, Tuple

import numpy as np
import torch
from torch import nn

from detector.crops import CropSampler
from detector.loss import detection_loss, trace_loss
from detector.network import Detector
from generate import TRAINING_SEEDS, load
from sheets import Defect

EMA_EVERY = 5


class TracedDetector(nn.Module):
    """The detector and, for training only, one more layer that traces scratches at stride 8."""

    def __init__(self) -> None:
        super().__init__()
        self.detector = Detector()
        self.trace = nn.Conv2d(64, 1, 1)
        nn.init.constant_(self.trace.bias, -4.0)

    def forward(
        self, images: torch.Tensor
    ) -> Tuple[List[Tuple[torch.Tensor, torch.Tensor]], torch.Tensor]:
        maps, features = self.detector.traced(images)
        return maps, self.trace(features)


class Average:
    """Exponential moving average of a network's weights and statistics (decay ramps up)."""

    def __init__(self, network: nn.Module, decay: float):
        self.network = copy.deepcopy(network).eval()
        self.decay, self.updates = decay, 0
        self.mine = [v for v in self.network.state_dict().values() if v.dtype.is_floating_point]
        self.theirs = [v for v in network.state_dict().values() if v.dtype.is_floating_point]

    @torch.no_grad()
    def update(self) -> None:
        self.updates += 1
        keep = self.decay * (1.0 - math.exp(-self.updates / 60.0))
        for mine, theirs in zip(self.mine, self.theirs):
            mine.mul_(keep).add_(theirs, alpha=1.0 - keep)


def read_sheets(
    folder: Path, count: int, device: torch.device
) -> Tuple[torch.Tensor, List[List[Defect]]]:
    """All training sheets on the device: uint8 [count, H, W, 3], 25 MB each."""
    first, _ = load(folder, TRAINING_SEEDS[0])
    pixels = torch.empty((count, *first.shape), dtype=torch.uint8, device=device)

    def read(i: int) -> List[Defect]:
        image, defects = load(folder, TRAINING_SEEDS[i])
        pixels[i].copy_(torch.from_numpy(image))
        return defects

    with ThreadPoolExecutor(8) as pool:
        return pixels, list(pool.map(read, range(count)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where generate.py put the sheets")
    parser.add_argument("--weights", type=Path, required=True, help="state dict to write")
    parser.add_argument("--start", type=Path, help="state dict to go on from")
    parser.add_argument("--sheets", type=int, default=len(TRAINING_SEEDS))
    parser.add_argument("--iterations", type=int, default=6000)
    parser.add_argument("--seconds", type=float, default=1e9, help="end the schedule by then")
    parser.add_argument("--batch", type=int, default=24)
    parser.add_argument("--size", type=int, default=768)
    parser.add_argument("--rate", type=float, default=2.5e-3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(options.seed)
    begin = time.monotonic()
    pixels, defects = read_sheets(options.folder, options.sheets, device)
    print(f"{options.sheets} sheets read in {time.monotonic() - begin:.1f} s", flush=True)
    sampler = CropSampler(pixels, defects, options.size, options.seed)
    network = TracedDetector()
    if options.start:
        network.detector.load_state_dict(torch.load(options.start, map_location="cpu"))
    network.to(device).to(memory_format=torch.channels_last)
    average = Average(network.detector, 0.995)
    decayed = [p for p in network.parameters() if p.ndim > 1]
    plain = [p for p in network.parameters() if p.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.02}, {"params": plain, "weight_decay": 0.0}],
        lr=options.rate,
    )
    network.train()
    begin = time.monotonic()
    log = []
    sums = torch.zeros(3, device=device)
    step = 0
    while True:
        progress = max(step / options.iterations, (time.monotonic() - begin) / options.seconds)
        if progress >= 1.0:
            break
        rate = (
            options.rate
            * min(1.0, (step + 1) / 200)
            * (0.01 + 0.99 * 0.5 * (1.0 + math.cos(math.pi * progress)))
        )
        for group in optimizer.param_groups:
            group["lr"] = rate
        images, targets = sampler.batch(options.batch)
        with torch.autocast(device.type, torch.bfloat16):
            maps, traces = network(images)
        class_loss, box_loss = detection_loss(maps, targets)
        tracing = trace_loss(traces, targets)
        optimizer.zero_grad(set_to_none=True)
        (class_loss + box_loss + tracing).backward()
        nn.utils.clip_grad_norm_(network.parameters(), 10.0)
        optimizer.step()
        sums += torch.stack([class_loss.detach(), box_loss.detach(), tracing.detach()])
        step += 1
        if step % EMA_EVERY == 0:
            average.update()
        if step % 100 == 0:
            losses = (sums / 100).tolist()
            sums.zero_()
            log.append([step, round(time.monotonic() - begin, 1), *(round(v, 4) for v in losses)])
            print("step {} at {} s: class {} box {} trace {}".format(*log[-1]), flush=True)
    state = {k: v.cpu().contiguous() for k, v in average.network.state_dict().items()}
    assert all(np.isfinite(v.numpy()).all() for v in state.values())
    torch.save(state, options.weights)
    Path(f"{options.weights}.json").write_text(json.dumps({"steps": step, "log": log}))


if __name__ == "__main__":
    main()
