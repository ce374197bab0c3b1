"""What OpenCV makes of raw pictures: reads JSON cases from stdin, writes the values of each, in base64, to stdout."""

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


def convert(case):
    width, height, form = case["width"], case["height"], case["format"]
    deep = form != "NV12" and form.endswith(("12", "16"))
    samples = np.frombuffer(base64.b64decode(case["data"]), np.uint16 if deep else np.uint8)
    if form == "NV12":
        return cv2.cvtColor(samples.reshape(height * 3 // 2, width), cv2.COLOR_YUV2RGB_NV12)
    if form.startswith("BAYER"):
        return cv2.cvtColor(samples.reshape(height, width), BAYER[form[:8]])
    picture = samples.reshape(height, width, -1)
    picture = cv2.resize(picture, (case["toWidth"], case["toHeight"]), interpolation=cv2.INTER_LINEAR)
    return np.repeat(picture[:, :, None], 3, axis=2) if picture.ndim == 2 else picture


def encoded(picture):
    return base64.b64encode(np.ascontiguousarray(picture).tobytes()).decode()


json.dump([encoded(convert(case)) for case in json.load(sys.stdin)], sys.stdout)
