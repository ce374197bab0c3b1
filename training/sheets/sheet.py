"""One picture of a metal sheet and the defects on it, made from a number."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import List, Optional, Tuple

import numpy as np

from .classes import DENT, PIT, SCRATCH, STAIN
from .draw import Box, Mark, draw_dent, draw_pit, draw_scratch, draw_stain
from .noise import normal_field
from .texture import choose_surface, grain, light

WIDTH, HEIGHT = 3840, 2160
_BLOCK_ROWS = 120


@dataclass(frozen=True)
class Defect:
    """A drawn defect. `box` is [x1, y1, x2, y2] in pixels, the last two exclusive.

    `path` holds a scratch's points (x, y, half width), so that a crop of the picture can have a
    tight box of what is left of it.
    """

    class_id: int
    box: Box
    path: Optional[List[Tuple[float, float, float]]] = field(default=None, repr=False)


@dataclass(frozen=True)
class Sheet:
    """`pixels` is uint8 [height, width, 3], RGB."""

    seed: int
    pixels: np.ndarray
    defects: List[Defect]


def _counts(rng: Random) -> List[int]:
    """How many of each class: 1 in 25 sheets is clean, the others carry about nine defects."""
    if rng.random() < 0.04:
        return [0, 0, 0, 0]
    return [
        int(rng.random() * 5.0),
        int(rng.random() * 6.0),
        int(rng.random() * 4.0),
        int(rng.random() * 4.0),
    ]


def _apart(box: Box, others: List[Box], gap: int) -> bool:
    return all(
        box[0] - gap >= o[2] or o[0] - gap >= box[2] or box[1] - gap >= o[3] or o[1] - gap >= box[3]
        for o in others
    )


def _place(
    rng: Random, seed: int, contrast: float, light_angle: float, width: int, height: int
) -> List[Tuple[int, Mark]]:
    """Draws every defect clear of the others and of the picture's edge; no place, no defect."""
    placed: List[Tuple[int, Mark]] = []
    boxes: List[Box] = []
    number = 0
    for class_id, count in enumerate(_counts(rng)):
        for _ in range(count):
            for _attempt in range(12):
                number += 1
                x0, y0 = rng.random() * width, rng.random() * height
                own = seed * 1009 + number
                if class_id == SCRATCH:
                    mark = draw_scratch(rng, own, x0, y0, contrast)
                elif class_id == PIT:
                    mark = draw_pit(rng, own, x0, y0, contrast, light_angle)
                elif class_id == DENT:
                    mark = draw_dent(rng, own, x0, y0, contrast, light_angle)
                else:
                    assert class_id == STAIN
                    mark = draw_stain(rng, own, x0, y0, contrast)
                rows, columns = mark.delta.shape
                inside = (
                    mark.left >= 0
                    and mark.top >= 0
                    and mark.left + columns <= width
                    and mark.top + rows <= height
                )
                if inside and _apart(mark.box, boxes, 12):
                    placed.append((class_id, mark))
                    boxes.append(mark.box)
                    break
    return placed


def make_sheet(seed: int, width: int = WIDTH, height: int = HEIGHT) -> Sheet:
    """The sheet of this number: the same pixels and boxes on every machine.

    About a second on one core at 3840 x 2160, and 150 MB. A smaller size is another, smaller sheet
    (defects keep their size in pixels), not a shrunken one.
    """
    rng = Random(seed)
    surface = choose_surface(rng)
    shine = light(seed, rng, surface, height, width)
    placed = _place(rng, seed, surface.contrast, surface.light_angle, width, height)
    level = grain(seed, surface, height, width)
    level += np.float32(surface.base)
    tint = np.zeros((height, width), np.float32) if any(m.tinted for _, m in placed) else None
    for _, mark in placed:
        rows, columns = mark.delta.shape
        where = (slice(mark.top, mark.top + rows), slice(mark.left, mark.left + columns))
        level[where] += mark.delta
        if tint is not None and mark.tinted:
            tint[where] += np.abs(mark.delta) * np.float32(mark.tinted)
    level *= shine
    pixels = np.empty((height, width, 3), np.uint8)
    for top in range(0, height, _BLOCK_ROWS):
        rows = min(_BLOCK_ROWS, height - top)
        block = level[top : top + rows]
        sensor = normal_field(seed, 7, (rows, width), top)
        sensor *= np.float32(surface.sensor)
        block = block + sensor
        chroma = normal_field(seed, 8, (rows, width), top)
        chroma *= np.float32(0.4 * surface.sensor)
        if tint is not None:
            chroma += tint[top : top + rows]
        for channel, sign in ((0, 1.0), (1, 0.0), (2, -1.0)):
            plane = block * np.float32(surface.tint[channel])
            if sign:
                plane += chroma * np.float32(sign)
            plane += np.float32(0.5)
            np.clip(plane, np.float32(0), np.float32(255), out=plane)
            pixels[top : top + rows, :, channel] = plane
    defects = [Defect(class_id, mark.box, mark.path) for class_id, mark in placed]
    return Sheet(seed, pixels, defects)
