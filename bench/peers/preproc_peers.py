"""The rows of `preproc.js` with torch and torchvision on the GPU and OpenCV on the CPU: prints JSON, microseconds.

Method "event" of bench/src/preproc/timing.ts: a write of 512 MB, then events round the calls; OpenCV and the decoding of
the JPEG named on the command line by the wall clock.
"""

import json
import statistics
import sys
import time

REPEATS = 20


def summary(samples):
    ordered = sorted(samples)
    return {
        "medianUs": statistics.median(ordered),
        "p95Us": ordered[min(len(ordered), -(-95 * len(ordered) // 100)) - 1],
        "minUs": ordered[0],
    }


def torch_rows(torch):
    flush = torch.empty(512 * 2**20, dtype=torch.uint8, device="cuda")

    def event(call):
        samples = []
        for i in range(-3, REPEATS):
            start = torch.cuda.Event(enable_timing=True)
            end = torch.cuda.Event(enable_timing=True)
            flush.fill_(i & 255)
            start.record()
            call()
            end.record()
            torch.cuda.synchronize()
            if i >= 0:
                samples.append(1000 * start.elapsed_time(end))
        return summary(samples)

    image = torch.randint(0, 256, (2160, 3840, 3), dtype=torch.uint8, device="cuda")
    gray = torch.randint(0, 2**15, (2160, 3840), dtype=torch.int16, device="cuda")
    large = torch.randint(0, 256, (4320, 7680, 3), dtype=torch.uint8, device="cuda")

    def identity(dtype):
        return lambda: image.permute(2, 0, 1).contiguous().to(dtype).div_(255)

    def letterbox():
        planes = image.permute(2, 0, 1)[None].float()
        small = torch.nn.functional.interpolate(planes, size=(360, 640), mode="bilinear", align_corners=False)
        return torch.nn.functional.pad(small, (0, 0, 140, 140), value=114).div_(255)

    def tiles():
        tops = [0, 1280, 2560, 4320 - 1280]
        parts = [large[y : y + 1280, x : x + 1280] for y in tops for x in range(0, 7680, 1280)]
        return torch.stack(parts).permute(0, 3, 1, 2).contiguous().to(torch.float16).div_(255)

    rows = {
        "letterbox-fp32": letterbox,
        "identity-fp32": identity(torch.float32),
        "identity-fp16": identity(torch.float16),
        "gray16": lambda: gray.float().div_(65535).expand(3, -1, -1).contiguous(),
        "tiles": tiles,
    }
    return {name: event(call) for name, call in rows.items()}


def jpeg_row(torch, torchvision, path):
    data = torchvision.io.read_file(path)
    samples = []
    for i in range(-10, 100):
        torch.cuda.synchronize()
        began = time.perf_counter()
        torchvision.io.decode_jpeg(data, device="cuda")
        torch.cuda.synchronize()
        if i >= 0:
            samples.append(1e6 * (time.perf_counter() - began))
    return summary(samples)


def opencv_rows(cv2, numpy):
    image = numpy.random.default_rng(1).integers(0, 256, (2160, 3840, 3), dtype=numpy.uint8)

    def letterbox():
        small = cv2.resize(image, (640, 360), interpolation=cv2.INTER_LINEAR)
        padded = cv2.copyMakeBorder(small, 140, 140, 0, 0, cv2.BORDER_CONSTANT, value=(114, 114, 114))
        return numpy.ascontiguousarray(padded.transpose(2, 0, 1)).astype(numpy.float32) / 255

    def identity():
        return numpy.ascontiguousarray(image.transpose(2, 0, 1)).astype(numpy.float32) / 255

    rows = {}
    for name, call in {"letterbox-fp32": letterbox, "identity-fp32": identity}.items():
        samples = []
        for i in range(-1, 10):
            began = time.perf_counter()
            call()
            if i >= 0:
                samples.append(1e6 * (time.perf_counter() - began))
        rows[name] = summary(samples)
    return rows


def main():
    found = {}
    try:
        import torch

        found["torch"] = {"version": torch.__version__, "rows": torch_rows(torch)}
    except ImportError as error:
        found["torch"] = {"notMeasured": str(error)}
    try:
        import torch
        import torchvision

        row = jpeg_row(torch, torchvision, sys.argv[1])
        found["torchvision"] = {"version": torchvision.__version__, "decodeJpeg": row}
    except (ImportError, RuntimeError) as error:
        found["torchvision"] = {"notMeasured": str(error)}
    try:
        import cv2
        import numpy

        found["opencv"] = {"version": cv2.__version__, "rows": opencv_rows(cv2, numpy)}
    except ImportError as error:
        found["opencv"] = {"notMeasured": str(error)}
    print(json.dumps(found))


main()
