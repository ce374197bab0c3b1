"""An independent answer to what the detector computes: numpy from the definition, and OpenCV's NMS where it is the same.

Reads a JSON list of cases from stdin and writes a JSON list of results to stdout. Arrays travel as base64 of their
little-endian bytes.

- "nms": greedy NMS in fp32; indices by score descending.
- "opencv": cv2.dnn.NMSBoxes, which computes in fp64: comparable when areas are small integers.
- "detect": a YOLOv8 head's tensor to kept anchors and their boxes, scores, classes.
"""

import base64
import json
import sys

import cv2
import numpy as np


def array(text, dtype):
    return np.frombuffer(base64.b64decode(text), dtype=dtype)


def greedy(boxes, scores, classes, threshold, limit):
    """Keeps the best box left, drops all that overlap it too much, repeats."""
    threshold = np.float32(threshold)
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    order = np.argsort(-scores, kind="stable")
    order = order[~np.isnan(scores[order])]
    kept = []
    while len(order) and len(kept) < limit:
        best, rest = order[0], order[1:]
        kept.append(int(best))
        width = np.minimum(boxes[best, 2], boxes[rest, 2]) - np.maximum(boxes[best, 0], boxes[rest, 0])
        height = np.minimum(boxes[best, 3], boxes[rest, 3]) - np.maximum(boxes[best, 1], boxes[rest, 1])
        shared = np.maximum(width, np.float32(0)) * np.maximum(height, np.float32(0))
        iou = shared / (areas[best] + areas[rest] - shared)
        assert iou.dtype == np.float32
        order = rest[~((iou > threshold) & (classes[rest] == classes[best]))]
    return kept


def nms(case):
    boxes = array(case["boxes"], "<f4").reshape(-1, 4)
    classes = array(case["classIds"], "<i4")
    limit = case.get("maxDetections", len(boxes))
    return greedy(boxes, array(case["scores"], "<f4"), classes, case["iouThreshold"], limit)


def opencv(case):
    corners = array(case["boxes"], "<f4").reshape(-1, 4).astype(np.float64)
    boxes = np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1)
    scores = array(case["scores"], "<f4")
    return [int(i) for i in cv2.dnn.NMSBoxes(boxes.tolist(), scores.tolist(), 0.0, case["iouThreshold"])]


def detect(case):
    rows = array(case["data"], "<f4").reshape(case["shape"])[0]
    scores, classes = rows[4:].max(axis=0), rows[4:].argmax(axis=0)
    anchors = np.flatnonzero(scores > np.float32(case["scoreThreshold"]))
    centre, half = rows[:2, anchors].T, rows[2:4, anchors].T / np.float32(2)
    boxes = np.concatenate([centre - half, centre + half], axis=1)
    kept = greedy(boxes, scores[anchors], classes[anchors], case["iouThreshold"], case["maxDetections"])
    return {
        "boxes": base64.b64encode(boxes[kept].tobytes()).decode(),
        "scores": base64.b64encode(scores[anchors][kept].tobytes()).decode(),
        "classIds": classes[anchors][kept].tolist(),
    }


np.seterr(all="ignore")
kinds = {"nms": nms, "opencv": opencv, "detect": detect}
json.dump([kinds[case["kind"]](case) for case in json.load(sys.stdin)], sys.stdout)
