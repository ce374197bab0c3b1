"""What a sheet without defects looks like: grain of rolling or brushing, and the light on it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from typing import Tuple

import numpy as np

from .noise import normal_field, smooth_field, stretch_columns, stretch_rows


@dataclass(frozen=True)
class Surface:
    """The random choices of one sheet. Strengths are in grey levels (0-255) at unit light."""

    vertical: bool
    slope: float
    bend: float
    base: float
    fine: float
    streak: float
    rolling: float
    rough: float
    sensor: float
    tint: Tuple[float, float, float]
    light_angle: float

    @property
    def contrast(self) -> float:
        """Standard deviation of the whole texture, which defect strengths are multiples of."""
        parts = (self.fine, self.streak, self.rolling, self.rough, self.sensor)
        return math.sqrt(sum(part * part for part in parts))


def choose_surface(rng: Random) -> Surface:
    """Draws a sheet's finish, from coarse brushed steel to smooth cold-rolled aluminium."""

    def between(low: float, high: float) -> float:
        return low + (high - low) * rng.random()

    warm = between(-0.03, 0.03)
    return Surface(
        vertical=rng.random() < 0.4,
        slope=between(-0.04, 0.04),
        bend=between(-12.0, 12.0),
        base=between(95.0, 165.0),
        fine=between(1.5, 5.0),
        streak=between(1.0, 4.0),
        rolling=between(0.4, 2.0),
        rough=between(0.8, 3.0),
        sensor=between(1.2, 3.0),
        tint=(1.0 + warm, 1.0 + between(-0.01, 0.01), 1.0 - warm),
        light_angle=between(0.0, 2.0 * math.pi),
    )


def _layer(seed: int, stream: int, rows: int, columns: int, length: int) -> np.ndarray:
    """Streaks of about `length` px along the columns, unit variance at the knots."""
    grid = normal_field(seed, stream, (rows, -(-columns // length) + 1))
    return stretch_columns(grid, length, columns)


def grain(seed: int, surface: Surface, height: int, width: int) -> np.ndarray:
    """float32 [height, width] of grey levels around 0: streaks along the rolling direction."""
    along, across = (height, width) if surface.vertical else (width, height)
    # Room for the tilt and the bend: the streaks are shifted across by up to this many rows.
    room = math.ceil(abs(surface.slope) * along + abs(surface.bend)) + 2
    rows = across + 2 * room
    field = _layer(seed, 1, rows, along, 24)
    field *= np.float32(surface.fine * 1.5)
    streak = _layer(seed, 2, rows, along, 160)
    streak *= np.float32(surface.streak * 1.5)
    field += streak
    # Neighbouring lines are alike: without this the fractional shift below would show as bands.
    smooth = field[1:-1] * np.float32(0.5)
    smooth += field[:-2] * np.float32(0.25)
    smooth += field[2:] * np.float32(0.25)
    rolling = stretch_rows(
        stretch_columns(
            normal_field(seed, 3, (-(-smooth.shape[0] // 7) + 1, -(-along // 960) + 1)), 960, along
        ),
        7,
        smooth.shape[0],
    )
    rolling *= np.float32(surface.rolling * 1.3)
    smooth += rolling
    out = np.empty((across, along), np.float32)
    for left in range(0, along, 8):
        position = left / along - 0.5
        shift = surface.slope * position * along + surface.bend * (4.0 * position * position)
        whole = math.floor(shift)
        part = np.float32(shift - whole)
        top = room - 1 + whole
        block = smooth[top : top + across + 1, left : left + 8]
        out[:, left : left + 8] = block[:-1] * (np.float32(1.0) - part) + block[1:] * part
    rough = smooth_field(seed, 4, (across, along), 3)
    rough *= np.float32(surface.rough * 1.5)
    out += rough
    return np.ascontiguousarray(out.T) if surface.vertical else out


def light(seed: int, rng: Random, surface: Surface, height: int, width: int) -> np.ndarray:
    """float32 [height, width] of factors around 1: gradient, vignette, hotspots, blotches."""
    spacing = 16
    shape = (-(-height // spacing) + 1, -(-width // spacing) + 1)
    y = (np.arange(shape[0], dtype=np.float64) * spacing / height - 0.5)[:, None]
    x = (np.arange(shape[1], dtype=np.float64) * spacing / width - 0.5)[None, :]
    gain = 0.05 + 0.3 * rng.random()
    cosine = round(math.cos(surface.light_angle), 9)
    sine = round(math.sin(surface.light_angle), 9)
    field = 1.0 + gain * (cosine * x + sine * y) - (0.1 + 0.5 * rng.random()) * (x * x + y * y)
    for _ in range(int(rng.random() * 3.0)):
        size = 0.12 + 0.3 * rng.random()
        peak = 0.05 + 0.25 * rng.random()
        dx = (x - (rng.random() - 0.5)) * (width / height) / size
        dy = (y - (rng.random() - 0.5)) / size
        field += peak / (1.0 + dx * dx + dy * dy) ** 2
    blotch = 0.004 + 0.014 * rng.random()
    for stream, knots, share in ((5, 28, 1.0), (6, 60, 1.0), (9, 13, 0.6)):
        field += (share * blotch) * smooth_field(seed, stream, shape, knots).astype(np.float64)
    return stretch_rows(stretch_columns(field.astype(np.float32), spacing, width), spacing, height)
