"""Checks the committed ONNX model on a few unseen sheets, with numpy and onnxruntime alone."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import onnxruntime

from sheets import make_sheet
from sheets.boxes import read_output
from sheets.metrics import mean_average_precision

FIRST_SEED = 3_000_000
MODEL = Path(__file__).resolve().parent.parent / "models" / "defects" / "1" / "model.onnx"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=5)
    parser.add_argument("--least", type=float, default=0.75, help="mAP50 below which the check fails")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    session = onnxruntime.InferenceSession(str(MODEL), settings, providers=["CPUExecutionProvider"])
    found, truths = [], []
    for seed in range(FIRST_SEED, FIRST_SEED + options.images):
        sheet = make_sheet(seed)
        images = np.ascontiguousarray(sheet.pixels.transpose(2, 0, 1)[None], np.float32) / np.float32(
            255
        )
        begin = time.monotonic()
        output = session.run(["output0"], {"images": images})[0][0]
        seconds = time.monotonic() - begin
        found.append(read_output(output))
        boxes = np.array([d.box for d in sheet.defects], np.float32).reshape(-1, 4)
        truths.append((boxes, np.array([d.class_id for d in sheet.defects], np.int64)))
        shown = int((found[-1].scores >= 0.3).sum())
        print(f"sheet {seed}: {len(sheet.defects)} defects, {shown} found, inference {seconds:.2f} s")
    result = mean_average_precision(found, truths)
    print(", ".join(f"{name} {value:.3f}" for name, value in result.items()))
    if not result["mAP50"] >= options.least:
        raise SystemExit(f"mAP50 {result['mAP50']:.3f} is below the floor of {options.least}")


if __name__ == "__main__":
    main()
