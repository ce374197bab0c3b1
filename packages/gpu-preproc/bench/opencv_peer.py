"""OpenCV and numpy for bench/opencv.mjs: for each line on stdin (a row's name) how long it took, in ms."""

import sys
import time

import cv2
import numpy as np

WIDTH, HEIGHT = 3840, 2160
image = (np.arange(3 * WIDTH * HEIGHT, dtype=np.uint64) * 0x9E3779B1 >> 24).astype(np.uint8).reshape(HEIGHT, WIDTH, 3)
planes = np.empty((1, 3, HEIGHT, WIDTH), dtype=np.float32)


def identity():
    np.divide(image.transpose(2, 0, 1)[None], np.float32(255), out=planes, casting="unsafe")


def letterbox():
    small = cv2.resize(image, (640, 360), interpolation=cv2.INTER_LINEAR)
    padded = cv2.copyMakeBorder(small, 140, 140, 0, 0, cv2.BORDER_CONSTANT, value=(114, 114, 114))
    return np.ascontiguousarray(padded.transpose(2, 0, 1)).astype(np.float32) / np.float32(255)


ROWS = {"identity": identity, "letterbox": letterbox}
print(f"OpenCV {cv2.__version__} ({cv2.getNumThreads()} threads), numpy {np.__version__}", flush=True)
for line in sys.stdin:
    began = time.perf_counter()
    ROWS[line.strip()]()
    print(1000 * (time.perf_counter() - began), flush=True)
