"""What OpenCV makes of raw pictures, resized: reads JSON cases from stdin, writes the RGB samples of each, in base64."""

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
INTERPOLATION = {"linear": cv2.INTER_LINEAR, "nearest": cv2.INTER_NEAREST, "area": cv2.INTER_AREA}


def rgb(case):
    width, height, form = case["width"], case["height"], case["format"]
    deep = form != "NV12" and form.endswith(("12", "16"))
    samples = np.frombuffer(base64.b64decode(case["data"]), np.uint16 if deep else np.uint8)
    area = width * height
    if form == "NV12":
        return cv2.cvtColor(samples[: area * 3 // 2].reshape(height * 3 // 2, width), cv2.COLOR_YUV2RGB_NV12)
    if form.startswith("BAYER"):
        return cv2.cvtColor(samples[:area].reshape(height, width), BAYER[form[:8]])
    if form.startswith("GRAY"):
        return np.repeat(samples[:area].reshape(height, width, 1), 3, axis=2)
    if form.endswith("P"):
        planes = samples[: 3 * area].reshape(3, height, width)
        return np.ascontiguousarray((planes if form == "RGB8P" else planes[::-1]).transpose(1, 2, 0))
    return samples[: 3 * area].reshape(height, width, 3)


def convert(case):
    size = (case["toWidth"], case["toHeight"])
    return cv2.resize(rgb(case), size, interpolation=INTERPOLATION[case["interpolation"]])


def encoded(picture):
    return base64.b64encode(np.ascontiguousarray(picture).tobytes()).decode()


json.dump([encoded(convert(case)) for case in json.load(sys.stdin)], sys.stdout)
