"""Random square crops of the training sheets, with the boxes of what is left of each defect."""

from __future__ import annotations

from typing import List, Sequence, Tuple

import numpy as np
import torch
from torch import Tensor

from sheets.sheet import Defect

from .loss import Targets

_MOST = 24
_LEAST_VISIBLE = 0.4


def clip_defect(defect: Defect, left: int, top: int, size: int) -> Tuple[List[float], float]:
    """The part of a defect inside a crop: box in the crop's pixels, and the visible share."""
    x1, y1, x2, y2 = defect.box
    if defect.path is None:
        box = [max(x1 - left, 0), max(y1 - top, 0), min(x2 - left, size), min(y2 - top, size)]
        share = max(box[2] - box[0], 0) * max(box[3] - box[1], 0) / ((x2 - x1) * (y2 - y1))
        return [float(v) for v in box], share
    points = np.array(defect.path, np.float32)
    # The path's points lie about 12 px apart: halve that twice, so that the cut is near enough.
    for _ in range(2):
        middle = (points[1:] + points[:-1]) * 0.5
        points = np.insert(points, np.arange(1, len(points)), middle, axis=0)
    x, y, half = points[:, 0] - left, points[:, 1] - top, points[:, 2]
    seen = (x > 0) & (y > 0) & (x < size) & (y < size)
    if not seen.any():
        return [0.0, 0.0, 0.0, 0.0], 0.0
    box = [(x - half)[seen].min(), (y - half)[seen].min(), (x + half)[seen].max(), (y + half)[seen].max()]
    return [float(min(max(v, 0), size)) for v in box], float(seen.mean())


class CropSampler:
    """Draws batches from sheets held on the device as uint8 [N, H, W, 3].

    Three crops in four are taken around a defect of a class drawn at random, so that rare classes
    are seen as often as common ones; the others lie anywhere.
    """

    def __init__(self, pixels: Tensor, defects: Sequence[Sequence[Defect]], size: int, seed: int):
        self.pixels, self.defects, self.size = pixels, defects, size
        self.random = np.random.default_rng(seed)
        self.noise = torch.Generator(device=pixels.device).manual_seed(seed)
        self.by_class: List[List[Tuple[int, Defect]]] = [[], [], [], []]
        for number, found in enumerate(defects):
            for defect in found:
                self.by_class[defect.class_id].append((number, defect))
        self.by_class = [members for members in self.by_class if members]

    def _window(self) -> Tuple[int, int, int]:
        rows, columns = self.pixels.shape[1:3]
        rand = self.random
        if rand.random() < 0.75:
            members = self.by_class[rand.integers(len(self.by_class))]
            number, defect = members[rand.integers(len(members))]
            cx = (defect.box[0] + defect.box[2]) / 2 - self.size * rand.uniform(0.1, 0.9)
            cy = (defect.box[1] + defect.box[3]) / 2 - self.size * rand.uniform(0.1, 0.9)
        else:
            number = int(rand.integers(len(self.pixels)))
            cx, cy = rand.uniform(0, columns - self.size), rand.uniform(0, rows - self.size)
        left = int(min(max(cx, 0), columns - self.size))
        top = int(min(max(cy, 0), rows - self.size))
        return number, left, top

    def batch(self, count: int) -> Tuple[Tensor, Targets]:
        """float32 [count, 3, size, size] in 0..1, flipped, turned, relit; and its truth."""
        size, rand = self.size, self.random
        crops = []
        boxes = np.zeros((count, _MOST, 4), np.float32)
        classes = np.zeros((count, _MOST), np.int64)
        real = np.zeros((count, _MOST), bool)
        ignored = np.zeros((count, _MOST), bool)
        for i in range(count):
            number, left, top = self._window()
            crop = self.pixels[number, top : top + size, left : left + size].permute(2, 0, 1)
            flip_x, flip_y, turn = rand.random(3) < 0.5
            if flip_x:
                crop = crop.flip(2)
            if flip_y:
                crop = crop.flip(1)
            if turn:
                crop = crop.transpose(1, 2)
            crops.append(crop)
            row = 0
            for defect in self.defects[number]:
                (x1, y1, x2, y2), share = clip_defect(defect, left, top, size)
                if share <= 0.0 or row == _MOST:
                    continue
                if flip_x:
                    x1, x2 = size - x2, size - x1
                if flip_y:
                    y1, y2 = size - y2, size - y1
                if turn:
                    x1, y1, x2, y2 = y1, x1, y2, x2
                boxes[i, row] = x1, y1, x2, y2
                classes[i, row] = defect.class_id
                real[i, row] = share >= _LEAST_VISIBLE
                ignored[i, row] = not real[i, row]
                row += 1
        device = self.pixels.device
        images = torch.stack(crops).float().mul_(1.0 / 255.0)
        gain = torch.from_numpy(rand.uniform(0.75, 1.25, (count, 1, 1, 1)).astype(np.float32))
        tint = torch.from_numpy(rand.uniform(0.97, 1.03, (count, 3, 1, 1)).astype(np.float32))
        images = images.mul_((gain * tint).to(device))
        grit = torch.from_numpy((rand.random((count, 1, 1, 1)) ** 2 * 0.008).astype(np.float32)).to(device)
        images += grit * torch.randn(images.shape, generator=self.noise, device=device)
        images = images.clamp_(0.0, 1.0).contiguous(memory_format=torch.channels_last)
        arrays = (boxes, classes, real, ignored)
        return images, Targets(*(torch.from_numpy(a).to(device, non_blocking=True) for a in arrays))
