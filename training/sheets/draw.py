"""The four defects, each drawn on a float32 image of grey levels and given its tight box.

A box [x1, y1, x2, y2] is in pixels, x2 and y2 exclusive, and encloses the pixels the drawing
changed visibly: by a fifth of its peak or more (a tenth for dents, whose shading fades out).
"""

from __future__ import annotations

import math
from random import Random
from typing import List, NamedTuple, Optional, Tuple

import numpy as np

from .noise import smooth_field

Box = Tuple[int, int, int, int]


class Mark(NamedTuple):
    """One drawn defect: where it is changed, by how many grey levels, and what it tints."""

    left: int
    top: int
    delta: np.ndarray
    tinted: float
    box: Box
    path: Optional[List[Tuple[float, float, float]]]


def _tight(weight: np.ndarray, least: float, left: int, top: int) -> Optional[Box]:
    seen = np.abs(weight) >= least
    columns = np.flatnonzero(seen.any(axis=0))
    rows = np.flatnonzero(seen.any(axis=1))
    if columns.size == 0:
        return None
    return (
        left + int(columns[0]),
        top + int(rows[0]),
        left + int(columns[-1]) + 1,
        top + int(rows[-1]) + 1,
    )


def _grid(left: int, top: int, right: int, bottom: int) -> Tuple[np.ndarray, np.ndarray]:
    y = np.arange(top, bottom, dtype=np.float32)[:, None] + np.float32(0.5)
    x = np.arange(left, right, dtype=np.float32)[None, :] + np.float32(0.5)
    return x, y


def draw_scratch(rng: Random, seed: int, x0: float, y0: float, contrast: float) -> Mark:
    """A shallow curve, 2-4 px wide and 90-480 px long, that fades in and out along its length."""
    del seed
    length = 90.0 + 390.0 * rng.random() ** 1.3
    width = 2.0 + 2.0 * rng.random()
    # 14-76 degrees from the axes: the sheet's grain runs along one of them.
    angle = math.radians(14.0 + 62.0 * rng.random() + 90.0 * int(rng.random() * 4.0))
    bow = length * (0.24 * rng.random() - 0.12)
    cosine, sine = round(math.cos(angle), 9), round(math.sin(angle), 9)
    strength = contrast * (1.5 + 1.1 * rng.random())
    if rng.random() < 0.45:
        strength = -strength
    flank = -0.5 * strength if rng.random() < 0.5 else 0.0
    pieces = max(8, int(length / 12.0))
    path = []
    level = 0.8
    for i in range(pieces + 1):
        t = i / pieces - 0.5
        along, aside = t * length, bow * (1.0 - 4.0 * t * t)
        level = min(1.0, max(0.6, level + 0.3 * (rng.random() - 0.5)))
        fade = min(1.0, 0.45 + 6.0 * (0.5 - abs(t)))
        path.append(
            (x0 + cosine * along - sine * aside, y0 + sine * along + cosine * aside, level * fade)
        )
    pad = 7
    left = int(min(p[0] for p in path)) - pad
    top = int(min(p[1] for p in path)) - pad
    right = int(max(p[0] for p in path)) + pad + 1
    bottom = int(max(p[1] for p in path)) + pad + 1
    core = np.zeros((bottom - top, right - left), np.float32)
    edge = np.zeros_like(core)
    for (ax, ay, al), (bx, by, bl) in zip(path, path[1:]):
        x1, x2 = int(min(ax, bx)) - pad + 1, int(max(ax, bx)) + pad
        y1, y2 = int(min(ay, by)) - pad + 1, int(max(ay, by)) + pad
        x, y = _grid(x1, y1, x2, y2)
        dx, dy = bx - ax, by - ay
        scale = 1.0 / (dx * dx + dy * dy)
        u = (x - np.float32(ax)) * np.float32(dx * scale) + (y - np.float32(ay)) * np.float32(dy * scale)
        u = np.clip(u, np.float32(0.0), np.float32(1.0))
        ex = x - np.float32(ax) - u * np.float32(dx)
        ey = y - np.float32(ay) - u * np.float32(dy)
        weight = np.float32(al) + u * np.float32(bl - al)
        where = (slice(y1 - top, y2 - top), slice(x1 - left, x2 - left))
        for target, shift in ((core, 0.0), (edge, width * 0.5 + 0.9)):
            # The flank is the ridge pushed up on one side: the same curve, moved along the normal.
            sx = ex + np.float32(sine * shift)
            sy = ey - np.float32(cosine * shift)
            distance = np.sqrt(sx * sx + sy * sy)
            half = width * 0.5 if target is core else 0.9
            cover = np.clip(np.float32(half + 0.5) - distance, np.float32(0.0), np.float32(1.0))
            target[where] = np.maximum(target[where], cover * weight)
    box = _tight(core, 0.2, left, top)
    assert box is not None
    delta = core * np.float32(strength)
    if flank:
        delta += edge * np.float32(flank) * (np.float32(1.0) - core)
    reach = [(px, py, width * 0.5 + 0.5) for px, py, _ in path]
    return Mark(left, top, delta, 0.0, box, reach)


def draw_pit(rng: Random, seed: int, x0: float, y0: float, contrast: float, light_angle: float) -> Mark:
    """A round hole, 12-34 px across: dark inside, a bright crescent on the rim facing the light."""
    radius = 6.0 + 11.0 * rng.random() ** 1.4
    squash = 0.75 + 0.25 * rng.random()
    strength = contrast * (1.7 + 1.6 * rng.random())
    rim = 0.25 + 0.55 * rng.random()
    pad = int(radius) + 3
    left, top = int(x0) - pad, int(y0) - pad
    x, y = _grid(left, top, left + 2 * pad + 1, top + 2 * pad + 1)
    dx, dy = (x - np.float32(x0)), (y - np.float32(y0)) / np.float32(squash)
    ragged = smooth_field(seed, 11, (2 * pad + 1, 2 * pad + 1), 5)
    distance = np.sqrt(dx * dx + dy * dy) + ragged * np.float32(0.06 * radius)
    inside = np.clip(
        (np.float32(radius) - distance) * np.float32(0.5) + np.float32(0.5),
        np.float32(0),
        np.float32(1),
    )
    cosine, sine = round(math.cos(light_angle), 9), round(math.sin(light_angle), 9)
    facing = (dx * np.float32(cosine) + dy * np.float32(sine)) * np.float32(1.0 / radius)
    shade = np.clip(facing - np.float32(0.35), np.float32(0), np.float32(1)) * np.float32(2.2 * rim)
    delta = inside * (shade - np.float32(1.0)) * np.float32(strength)
    box = _tight(inside, 0.2, left, top)
    assert box is not None
    return Mark(left, top, delta, 0.0, box, None)


def draw_dent(rng: Random, seed: int, x0: float, y0: float, contrast: float, light_angle: float) -> Mark:
    """A smooth dip, 80-260 px across: bright on one side, dark on the other, no edge."""
    del seed
    major = 40.0 + 90.0 * rng.random()
    minor = major * (0.6 + 0.4 * rng.random())
    turn = math.pi * rng.random()
    strength = contrast * (0.95 + 0.95 * rng.random())
    pad = int(major) + 2
    left, top = int(x0) - pad, int(y0) - pad
    x, y = _grid(left, top, left + 2 * pad + 1, top + 2 * pad + 1)
    dx, dy = x - np.float32(x0), y - np.float32(y0)
    cosine, sine = round(math.cos(turn), 9), round(math.sin(turn), 9)
    u = (dx * np.float32(cosine) + dy * np.float32(sine)) * np.float32(1.0 / major)
    v = (dy * np.float32(cosine) - dx * np.float32(sine)) * np.float32(1.0 / minor)
    inside = np.clip(np.float32(1.0) - u * u - v * v, np.float32(0), np.float32(1))
    # Depth (1 - u^2 - v^2)^2: its slope towards the light is what the eye sees.
    lx, ly = round(math.cos(light_angle), 9), round(math.sin(light_angle), 9)
    slope_u = np.float32(lx * cosine + ly * sine) * u
    slope_v = np.float32((ly * cosine - lx * sine) * major / minor) * v
    shading = (slope_u + slope_v) * inside
    shading *= np.float32(1.0 / 0.385)
    delta = shading * np.float32(strength) - inside * inside * np.float32(0.15 * strength)
    box = _tight(inside, 0.1, left, top)
    assert box is not None
    return Mark(left, top, delta, 0.0, box, None)


def draw_stain(rng: Random, seed: int, x0: float, y0: float, contrast: float) -> Mark:
    """A ragged film of oil or oxide, 90-340 px across: darker or lighter, and slightly coloured."""
    radius = 50.0 + 110.0 * rng.random()
    squash = 0.6 + 0.4 * rng.random()
    strength = contrast * (0.75 + 0.8 * rng.random())
    if rng.random() < 0.7:
        strength = -strength
    ring = 0.6 * rng.random()
    tinted = (0.25 + 0.5 * rng.random()) * (1.0 if rng.random() < 0.7 else -1.0)
    pad = int(radius * 1.5) + 4
    left, top = int(x0) - pad, int(y0) - pad
    shape = (2 * pad + 1, 2 * pad + 1)
    x, y = _grid(left, top, left + shape[1], top + shape[0])
    dx = (x - np.float32(x0)) * np.float32(1.0 / radius)
    dy = (y - np.float32(y0)) * np.float32(1.0 / (radius * squash))
    ragged = smooth_field(seed, 12, shape, max(8, int(radius * 0.45))) * np.float32(0.16)
    ragged += smooth_field(seed, 13, shape, max(4, int(radius * 0.12))) * np.float32(0.05)
    depth = np.float32(1.0) - np.sqrt(dx * dx + dy * dy) + ragged
    # The film is cut off before the frame of its window, so that no straight edge can show.
    frame = np.float32(1.45) - np.maximum(np.abs(dx), np.abs(dy * np.float32(squash)))
    depth = np.minimum(depth, frame)
    film = np.clip(depth * np.float32(radius / 14.0), np.float32(0), np.float32(1))
    edge = np.clip(
        np.float32(1.0) - np.abs(depth) * np.float32(radius / 12.0), np.float32(0), np.float32(1)
    )
    cloud = np.float32(1.0) + smooth_field(seed, 14, shape, 21) * np.float32(0.15)
    delta = (film * cloud + edge * np.float32(ring)) * np.float32(strength)
    box = _tight(film, 0.2, left, top)
    assert box is not None
    return Mark(left, top, delta, tinted, box, None)
