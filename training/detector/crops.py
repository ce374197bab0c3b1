"""Random square crops of the training sheets, with the boxes of what is left of each defect."""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import torch
from torch import Tensor

from sheets.classes import CLASS_NAMES, SCRATCH
from sheets.sheet import Defect

from .loss import TRACE_STRIDE, Targets

_MOST = 24
_LEAST_VISIBLE = 0.4


class Outline(NamedTuple):
    """A defect as crops need it: `points` float32 [n, 2] along a scratch, a few pixels apart."""

    class_id: int
    box: Tuple[int, int, int, int]
    points: Optional[np.ndarray]
    half_width: float


def outline(defect: Defect) -> Outline:
    """The outline of a drawn defect."""
    if defect.path is None:
        return Outline(defect.class_id, defect.box, None, 0.0)
    knots = np.array(defect.path, np.float32)
    # The path's knots lie about 12 px apart.
    at = np.arange(0, len(knots) - 1 + 1e-6, 0.25)
    points = np.stack([np.interp(at, np.arange(len(knots)), knots[:, i]) for i in (0, 1)], axis=1)
    return Outline(defect.class_id, defect.box, points.astype(np.float32), float(knots[0, 2]))


def clip_outline(
    shape: Outline, left: int, top: int, size: int
) -> Tuple[List[float], float, Optional[np.ndarray]]:
    """The part inside a crop: box in the crop's pixels, visible share, and a scratch's points."""
    x1, y1, x2, y2 = shape.box
    if x1 >= left + size or y1 >= top + size or x2 <= left or y2 <= top:
        return [], 0.0, None
    if shape.points is None:
        box = [max(x1 - left, 0), max(y1 - top, 0), min(x2 - left, size), min(y2 - top, size)]
        share = (box[2] - box[0]) * (box[3] - box[1]) / ((x2 - x1) * (y2 - y1))
        return [float(v) for v in box], share, None
    points = shape.points - np.array([left, top], np.float32)
    points = points[((points >= 0) & (points < size)).all(axis=1)]
    if len(points) == 0:
        return [], 0.0, None
    low, high = points.min(axis=0) - shape.half_width, points.max(axis=0) + shape.half_width
    box = [float(min(max(v, 0), size)) for v in (*low, *high)]
    return box, len(points) / len(shape.points), points


class CropSampler:
    """Draws batches from sheets held on the device as uint8 [N, H, W, 3].

    Three crops in four are taken around a defect of a class drawn at random, scratches, the hardest,
    twice as often as each other class; the rest lie anywhere.
    """

    def __init__(self, pixels: Tensor, defects: Sequence[Sequence[Defect]], size: int, seed: int):
        self.pixels, self.size = pixels, size
        self.shapes = [[outline(defect) for defect in found] for found in defects]
        self.random = np.random.default_rng(seed)
        self.noise = torch.Generator(device=pixels.device).manual_seed(seed)
        self.by_class: List[List[Tuple[int, Outline]]] = [[] for _ in CLASS_NAMES]
        for number, found in enumerate(self.shapes):
            for shape in found:
                self.by_class[shape.class_id].append((number, shape))
        self.by_class = [m for m in (self.by_class[SCRATCH], *self.by_class) if m]

    def _window(self) -> Tuple[int, int, int]:
        rows, columns = self.pixels.shape[1:3]
        rand = self.random
        if rand.random() < 0.75:
            members = self.by_class[rand.integers(len(self.by_class))]
            number, shape = members[rand.integers(len(members))]
            cx = (shape.box[0] + shape.box[2]) / 2 - self.size * rand.uniform(0.1, 0.9)
            cy = (shape.box[1] + shape.box[3]) / 2 - self.size * rand.uniform(0.1, 0.9)
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
        traces = np.zeros((count, size // TRACE_STRIDE, size // TRACE_STRIDE), np.float32)
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
            for shape in self.shapes[number]:
                box, share, points = clip_outline(shape, left, top, size)
                if share <= 0.0 or row == _MOST:
                    continue
                x1, y1, x2, y2 = box
                if points is not None:
                    cell = (points * (1.0 / TRACE_STRIDE)).astype(np.int64)
                    cell = np.minimum(cell, size // TRACE_STRIDE - 1)
                    traces[i, cell[:, 1], cell[:, 0]] = 1.0
                if flip_x:
                    x1, x2 = size - x2, size - x1
                if flip_y:
                    y1, y2 = size - y2, size - y1
                if turn:
                    x1, y1, x2, y2 = y1, x1, y2, x2
                boxes[i, row] = x1, y1, x2, y2
                classes[i, row] = shape.class_id
                real[i, row] = share >= _LEAST_VISIBLE
                ignored[i, row] = not real[i, row]
                row += 1
            trace = traces[i]
            if flip_x:
                trace = trace[:, ::-1]
            if flip_y:
                trace = trace[::-1]
            traces[i] = trace.T.copy() if turn else trace.copy()
        device = self.pixels.device
        images = torch.stack(crops).float().mul_(1.0 / 255.0)
        gain = torch.from_numpy(rand.uniform(0.75, 1.25, (count, 1, 1, 1)).astype(np.float32))
        tint = torch.from_numpy(rand.uniform(0.97, 1.03, (count, 3, 1, 1)).astype(np.float32))
        images = images.mul_((gain * tint).to(device))
        grit = torch.from_numpy((rand.random((count, 1, 1, 1)) ** 2 * 0.008).astype(np.float32)).to(
            device
        )
        images += grit * torch.randn(images.shape, generator=self.noise, device=device)
        images = images.clamp_(0.0, 1.0).contiguous(memory_format=torch.channels_last)
        arrays = (boxes, classes, real, ignored, traces)
        return images, Targets(*(torch.from_numpy(a).to(device, non_blocking=True) for a in arrays))
