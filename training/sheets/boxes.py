"""Boxes [x1, y1, x2, y2] in pixels: overlap, greedy suppression, reading the network's output."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Detections(NamedTuple):
    """Of one picture, by falling score: boxes float32 [n, 4], scores float32 [n], classes int64 [n]."""

    boxes: np.ndarray
    scores: np.ndarray
    classes: np.ndarray


def iou(box: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Intersection over union of one box [4] with each of others [n, 4]: [n]."""
    wide = np.minimum(box[2], others[:, 2]) - np.maximum(box[0], others[:, 0])
    tall = np.minimum(box[3], others[:, 3]) - np.maximum(box[1], others[:, 1])
    inside = np.clip(wide, 0, None) * np.clip(tall, 0, None)
    area = (box[2] - box[0]) * (box[3] - box[1])
    areas = (others[:, 2] - others[:, 0]) * (others[:, 3] - others[:, 1])
    union = area + areas - inside
    return np.divide(inside, union, out=np.zeros_like(inside), where=union > 0)


def suppress(found: Detections, threshold: float, most: int) -> Detections:
    """Greedy class-aware non-maximum suppression: drops a box whose overlap with a kept one of its
    own class exceeds `threshold`; stops at `most` kept."""
    order = np.argsort(-found.scores, kind="stable")
    boxes, classes = found.boxes[order], found.classes[order]
    alive = np.ones(len(order), bool)
    kept = []
    for i in range(len(order)):
        if not alive[i]:
            continue
        kept.append(i)
        if len(kept) == most:
            break
        rest = np.flatnonzero(alive[i + 1 :] & (classes[i + 1 :] == classes[i])) + i + 1
        alive[rest[iou(boxes[i], boxes[rest]) > threshold]] = False
    keep = order[np.array(kept, np.int64)]
    return Detections(found.boxes[keep], found.scores[keep], found.classes[keep])


def read_output(
    output: np.ndarray,
    least: float = 0.01,
    threshold: float = 0.6,
    most: int = 300,
    before: int = 3000,
) -> Detections:
    """Decodes output0 [4 + classes, A] (cx, cy, w, h in input pixels, then scores) and suppresses.

    Each anchor gives its best class only, if that score is above `least`; of those the `before`
    best go through suppression.
    """
    scores = output[4:].max(axis=0)
    chosen = np.flatnonzero(scores > least)
    if chosen.size > before:
        chosen = chosen[np.argsort(-scores[chosen], kind="stable")[:before]]
    cx, cy, w, h = output[:4, chosen]
    boxes = np.stack([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], axis=1)
    return suppress(
        Detections(boxes, scores[chosen], output[4:, chosen].argmax(axis=0)), threshold, most
    )
