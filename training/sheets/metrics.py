"""Average precision at IoU 0.5, by the PASCAL VOC 2010 rule.

Detections of a class are taken over all pictures by falling score. Each is a hit when the true box
of its picture and class that it overlaps most has IoU >= 0.5 and is not taken yet (Everingham et
al., "The PASCAL Visual Object Classes Challenge", IJCV 2010, section 4.2). The area under the
precision-recall curve uses all points, precision made non-increasing from the right.
"""

from __future__ import annotations

from typing import Dict, Sequence, Tuple

import numpy as np

from .boxes import Detections, iou
from .classes import CLASS_NAMES

Truth = Tuple[np.ndarray, np.ndarray]


def average_precision(hits: np.ndarray, scores: np.ndarray, positives: int) -> float:
    """All-point AP of detections with hit flags bool [n] and scores [n]; NaN without positives."""
    if positives == 0:
        return float("nan")
    order = np.argsort(-scores, kind="stable")
    true = np.cumsum(hits[order])
    recall = true / positives
    precision = true / np.arange(1, len(order) + 1)
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    steps = np.diff(np.concatenate([[0.0], recall]))
    return float((steps * envelope).sum())


def _hits(found: Detections, truth: Truth, class_id: int, least: float) -> Tuple[np.ndarray, np.ndarray]:
    mine = found.classes == class_id
    boxes, scores = found.boxes[mine], found.scores[mine]
    order = np.argsort(-scores, kind="stable")
    targets = truth[0][truth[1] == class_id]
    taken = np.zeros(len(targets), bool)
    hits = np.zeros(len(order), bool)
    for rank, i in enumerate(order):
        if len(targets) == 0:
            break
        overlap = iou(boxes[i], targets)
        best = int(overlap.argmax())
        if overlap[best] >= least and not taken[best]:
            taken[best] = hits[rank] = True
    return hits, scores[order]


def mean_average_precision(
    found: Sequence[Detections], truths: Sequence[Truth], least: float = 0.5
) -> Dict[str, float]:
    """AP per class name and their mean under "mAP50" over the classes that occur.

    A truth is (boxes float [n, 4], classes int [n]) of the picture at the same index in `found`.
    """
    result: Dict[str, float] = {}
    for class_id, name in enumerate(CLASS_NAMES):
        pairs = [_hits(f, t, class_id, least) for f, t in zip(found, truths)]
        positives = sum(int((t[1] == class_id).sum()) for t in truths)
        hits = np.concatenate([p[0] for p in pairs])
        scores = np.concatenate([p[1] for p in pairs])
        result[name] = average_precision(hits, scores, positives)
    known = [value for value in result.values() if value == value]
    result["mAP50"] = sum(known) / len(known) if known else float("nan")
    return result
