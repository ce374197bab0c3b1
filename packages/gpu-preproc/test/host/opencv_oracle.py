"""An independent answer to what the preprocessor computes: OpenCV's resize and border, numpy's arithmetic.

Reads a JSON list of cases from stdin and writes a JSON list of results to stdout: the SHA-256 of the bytes, and for
tensors where the picture was put. Pictures are noise made from a seed by the same integer hash as in the test.
"""

import hashlib
import json
import sys

import cv2
import numpy as np

CHANNELS = {"RGB8": 3, "BGR8": 3, "RGBA8": 4, "GRAY8": 1}
INTERPOLATION = {"linear": cv2.INTER_LINEAR, "nearest": cv2.INTER_NEAREST}


def noise(seed, count):
    x = (np.arange(count, dtype=np.uint32) + np.uint32(seed)) * np.uint32(0x9E3779B1)
    x ^= x >> np.uint32(15)
    x *= np.uint32(0x85EBCA77)
    x ^= x >> np.uint32(13)
    return (x >> np.uint32(24)).astype(np.uint8)


def rgb(case):
    channels = CHANNELS[case["format"]]
    rows = noise(case["seed"], case["pitch"] * case["height"]).reshape(case["height"], case["pitch"])
    image = rows[:, : case["width"] * channels].reshape(case["height"], case["width"], channels)
    if case["format"] == "BGR8":
        image = image[:, :, ::-1]
    elif case["format"] == "RGBA8":
        image = image[:, :, :3]
    elif case["format"] == "GRAY8":
        image = np.repeat(image, 3, axis=2)
    return np.ascontiguousarray(image)


def scaled(image, width, height, interpolation):
    out = cv2.resize(image, (width, height), interpolation=INTERPOLATION[interpolation])
    return out.reshape(height, width, 3)


def tensor(case):
    image = rgb(case)
    h, w = image.shape[:2]
    height, width = case["targetHeight"], case["targetWidth"]
    pad = np.array(case["pad"], dtype=np.uint8)
    if case["colorOrder"] == "BGR":
        pad = pad[::-1]
    left = top = 0
    if case["resize"] == "letterbox":
        ratio = min(height / h, width / w)
        new_w, new_h = max(1, round(w * ratio)), max(1, round(h * ratio))
        rest_x, rest_y = (width - new_w) / 2, (height - new_h) / 2
        left, right = round(rest_x - 0.1), round(rest_x + 0.1)
        top, bottom = round(rest_y - 0.1), round(rest_y + 0.1)
        image = scaled(image, new_w, new_h, case["interpolation"])
        image = cv2.copyMakeBorder(image, top, bottom, left, right, cv2.BORDER_CONSTANT, value=[int(v) for v in pad])
        image = image.reshape(height, width, 3)
    else:
        new_w, new_h = width, height
        image = scaled(image, width, height, case["interpolation"])
    if case["colorOrder"] == "BGR":
        image = image[:, :, ::-1]
    values = image.transpose(2, 0, 1).astype(np.float32)
    whole = case["datatype"] in ("UINT8", "INT8")
    if case["scale"] is not None:
        values *= np.float32(case["scale"])
    elif not whole:
        values /= np.float32(255)
    values -= np.array(case["mean"], dtype=np.float32).reshape(3, 1, 1)
    values /= np.array(case["std"], dtype=np.float32).reshape(3, 1, 1)
    if whole:
        low, high = (0, 255) if case["datatype"] == "UINT8" else (-128, 127)
        values = np.clip(np.rint(values), low, high).astype(np.uint8 if low == 0 else np.int8)
    elif case["datatype"] == "FP16":
        values = values.astype(np.float16)
    placement = {"left": left, "top": top, "width": new_w, "height": new_h}
    return {"sha256": hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest(), "placement": placement}


def resize(case):
    out = scaled(rgb(case), case["targetWidth"], case["targetHeight"], case["interpolation"])
    return {"sha256": hashlib.sha256(out.tobytes()).hexdigest()}


cases = json.load(sys.stdin)
json.dump([tensor(case) if case["kind"] == "tensor" else resize(case) for case in cases], sys.stdout)
