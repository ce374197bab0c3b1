"""What 50 lines without learning reach: local mean subtracted, threshold, connected components."""

from __future__ import annotations

import numpy as np

from sheets.boxes import Detections, suppress
from sheets.classes import DENT, PIT, SCRATCH, STAIN


def _level(grey: np.ndarray, window: int, ground: int) -> np.ndarray:
    """Difference of two box means in units of its own robust deviation: float32 [H, W]."""
    import cv2

    near = cv2.blur(grey, (window, window)) if window > 1 else grey
    level = near - cv2.blur(grey, (ground, ground))
    return level / (1.4826 * float(np.median(np.abs(level[::4, ::4]))) + 1e-6)


def detect(pixels: np.ndarray) -> Detections:
    """Defects of uint8 [H, W, 3] at two scales: fine for scratches and pits, coarse for the rest.

    The class follows from shape and colour: thin or hollow is a scratch, small and full a pit,
    both brighter and darker than its surroundings a dent, anything else large a stain. The score
    is the mean deviation of the component's pixels.
    """
    import cv2

    grey = pixels.astype(np.float32).mean(axis=2)
    boxes, scores, classes = [], [], []
    for window, ground, least, close, smallest in ((3, 41, 2.6, 5, 40), (25, 401, 3.0, 25, 1500)):
        level = _level(grey, window, ground)
        mask = (np.abs(level) > least).astype(np.uint8)
        mask = cv2.morphologyEx(mask, cv2.MORPH_CLOSE, np.ones((close, close), np.uint8))
        count, labels, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
        for i in range(1, count):
            x, y, w, h, area = (int(v) for v in stats[i])
            if area < smallest or w > 700 or h > 700:
                continue
            part = level[y : y + h, x : x + w][labels[y : y + h, x : x + w] == i]
            full = area / (w * h)
            if window == 3:
                if max(w, h) > 60 and (full < 0.35 or max(w, h) > 5 * min(w, h)):
                    kind = SCRATCH
                elif min(w, h) >= 8 and max(w, h) <= 40 and full > 0.45:
                    kind = PIT
                else:
                    continue
            else:
                bright = float((part > 0).mean())
                kind = DENT if 0.15 < bright < 0.85 else STAIN
            boxes.append((x, y, x + w, y + h))
            scores.append(float(np.abs(part).mean()))
            classes.append(kind)
    found = Detections(
        np.array(boxes, np.float32).reshape(-1, 4),
        np.array(scores, np.float32),
        np.array(classes, np.int64),
    )
    order = np.argsort(-found.scores, kind="stable")[:3000]
    return suppress(Detections(found.boxes[order], found.scores[order], found.classes[order]), 0.5, 300)
