"""Random fields that are the same on every machine.

NumPy's own generators may change their streams between versions, and its vectorised sin, exp and
log differ in the last bit from one processor to the next. So every field here is an integer hash of
the pixel's index, made into a number by exact steps; scalars come from `random.Random.random()`,
whose sequence Python guarantees. Interpolation uses only + and *, which IEEE 754 fixes.
"""

from __future__ import annotations

from typing import Tuple

import numpy as np

_GOLDEN = 0x9E3779B1
_MASK = 0xFFFFFFFF


def _mix(x: np.ndarray) -> None:
    """Scrambles uint32 values in place, a bijection: Chris Wellons' lowbias32 (hash-prospector, 2018)."""
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x7FEB352D)
    x ^= x >> np.uint32(15)
    x *= np.uint32(0x846CA68B)
    x ^= x >> np.uint32(16)


def _key(seed: int, stream: int) -> int:
    """One 32-bit key for a field: `stream` tells the fields of one seed apart."""
    x = np.array([(seed * 0x85EBCA6B + stream * 0xC2B2AE35 + 0x27D4EB2F) & _MASK], np.uint32)
    _mix(x)
    return int(x[0])


def hash_bits(seed: int, stream: int, shape: Tuple[int, int], first_row: int = 0) -> np.ndarray:
    """uint32 [rows, columns] of independent bits; `first_row` continues a field block by block."""
    rows, columns = shape
    start = (first_row * columns * _GOLDEN + _key(seed, stream)) & _MASK
    x = np.arange(rows * columns, dtype=np.uint32)
    x *= np.uint32(_GOLDEN)
    x += np.uint32(start)
    _mix(x)
    return x.reshape(rows, columns)


def normal_field(seed: int, stream: int, shape: Tuple[int, int], first_row: int = 0) -> np.ndarray:
    """float32 [rows, columns], mean 0, variance 1, near normal: the sum of a hash's four bytes."""
    x = hash_bits(seed, stream, shape, first_row)
    pairs = x & np.uint32(0x00FF00FF)
    x >>= np.uint32(8)
    x &= np.uint32(0x00FF00FF)
    pairs += x
    total = (pairs >> np.uint32(16)) + (pairs & np.uint32(0xFFFF))
    field = total.astype(np.float32)
    # Four uniform bytes: mean 4 * 127.5, variance 4 * (256^2 - 1) / 12.
    field -= np.float32(510.0)
    field *= np.float32(1.0 / 147.80054)
    return field


def stretch_columns(grid: np.ndarray, factor: int, columns: int) -> np.ndarray:
    """Linear interpolation along the second axis: knots `factor` apart, cut to `columns`.

    `grid` is float32 [rows, knots] with (knots - 1) * factor >= columns.
    """
    step = np.arange(factor, dtype=np.float32) / np.float32(factor)
    rise = grid[:, 1:] - grid[:, :-1]
    out = rise[:, :, None] * step
    out += grid[:, :-1, None]
    return out.reshape(grid.shape[0], -1)[:, :columns]


def stretch_rows(grid: np.ndarray, factor: int, rows: int) -> np.ndarray:
    """Linear interpolation along the first axis, as `stretch_columns`."""
    step = (np.arange(factor, dtype=np.float32) / np.float32(factor))[:, None]
    rise = grid[1:] - grid[:-1]
    out = rise[:, None, :] * step
    out += grid[:-1, None, :]
    return out.reshape(-1, grid.shape[1])[:rows]


def smooth_field(seed: int, stream: int, shape: Tuple[int, int], spacing: int) -> np.ndarray:
    """float32 [rows, columns]: normal values on knots `spacing` px apart, bilinear between."""
    rows, columns = shape
    knots = (-(-rows // spacing) + 1, -(-columns // spacing) + 1)
    grid = normal_field(seed, stream, knots)
    return stretch_rows(stretch_columns(grid, spacing, columns), spacing, rows)
