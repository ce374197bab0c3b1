"""What numpy and OpenCV make of raw pictures: reads JSON cases from stdin, writes the RGB samples of each, resized, in base64.

Nothing here comes from the package's own table of formats: OpenCV's conversions are named after the order of the bytes, and
what it has no conversion for is put in order by hand.
"""

import base64
import json
import sys

import cv2
import numpy as np

# OpenCV names a mosaic after the second and third pixel of its second row, GenICam after the first two of its first.
BAYER = {
    "BAYER_RG": cv2.COLOR_BayerBG2RGB,
    "BAYER_GR": cv2.COLOR_BayerGB2RGB,
    "BAYER_GB": cv2.COLOR_BayerGR2RGB,
    "BAYER_BG": cv2.COLOR_BayerRG2RGB,
}
INTERLEAVED = {
    "RGB8": lambda p: p,
    "BGR8": lambda p: cv2.cvtColor(p, cv2.COLOR_BGR2RGB),
    "RGBA8": lambda p: cv2.cvtColor(p, cv2.COLOR_RGBA2RGB),
    "BGRA8": lambda p: cv2.cvtColor(p, cv2.COLOR_BGRA2RGB),
    "ARGB8": lambda p: np.dstack([p[..., 1], p[..., 2], p[..., 3]]),
    "ABGR8": lambda p: np.dstack([p[..., 3], p[..., 2], p[..., 1]]),
    "RGB16": lambda p: p,
}
CHANNELS = {"RGB8": 3, "BGR8": 3, "RGBA8": 4, "BGRA8": 4, "ARGB8": 4, "ABGR8": 4, "RGB16": 3}
INTERPOLATION = {"linear": cv2.INTER_LINEAR, "nearest": cv2.INTER_NEAREST, "area": cv2.INTER_AREA}


def plane(case, rows, channels=1, index=0):
    """A plane without what lies between its rows."""
    form = case["format"]
    kind = np.dtype("<u2") if form != "NV12" and form.endswith(("12", "16")) else np.dtype("u1")
    data = base64.b64decode(case["data"])
    start = case["byteOffset"] + index * case["planePitch"]
    count = case["width"] * channels
    lines = [np.frombuffer(data, kind, count, start + y * case["pitch"]) for y in range(rows)]
    return np.stack(lines).reshape(rows, case["width"], channels)


def rgb(case):
    height, form = case["height"], case["format"]
    if form == "NV12":
        both = np.concatenate([plane(case, height), plane(case, height // 2, index=1)])
        return cv2.cvtColor(both, cv2.COLOR_YUV2RGB_NV12)
    if form.startswith("BAYER"):
        return cv2.cvtColor(plane(case, height), BAYER[form[:8]])
    if form.startswith("GRAY"):
        return cv2.cvtColor(plane(case, height), cv2.COLOR_GRAY2RGB)
    if form in ("RGB8P", "BGR8P"):
        first, second, third = (plane(case, height, index=i) for i in range(3))
        return cv2.merge([first, second, third] if form == "RGB8P" else [third, second, first])
    return INTERLEAVED[form](plane(case, height, CHANNELS[form]))


def convert(case):
    size = (case["toWidth"], case["toHeight"])
    return cv2.resize(rgb(case), size, interpolation=INTERPOLATION[case["interpolation"]])


def encoded(picture):
    return base64.b64encode(np.ascontiguousarray(picture).tobytes()).decode()


json.dump([encoded(convert(case)) for case in json.load(sys.stdin)], sys.stdout)
