"""Judges the trained network, the baseline, and the network on shrunken pictures: 300 unseen sheets."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import time
from pathlib import Path
from typing import Any, Dict, List, Tuple

import numpy as np
import torch

import baseline
from detector.cost import count_cost
from detector.exported import load_exported
from detector.network import DecodedDetector, Detector
from generate import EVALUATION_SEEDS, TRAINING_SEEDS, load
from sheets import HEIGHT, WIDTH
from sheets.boxes import Detections, read_output
from sheets.metrics import Truth, mean_average_precision

SHRINK = 3


def truth_of(folder: Path, seed: int) -> Tuple[np.ndarray, Truth]:
    """Pixels uint8 [H, W, 3] and (boxes, classes) of a generated sheet."""
    pixels, defects = load(folder, seed)
    boxes = np.array([d.box for d in defects], np.float32).reshape(-1, 4)
    return pixels, (boxes, np.array([d.class_id for d in defects], np.int64))


def _baseline(job: Tuple[str, int]) -> Detections:
    import cv2

    cv2.setNumThreads(1)
    return baseline.detect(load(Path(job[0]), job[1])[0])


def run_network(
    network: Detector, folder: Path, seeds: List[int], shrink: int
) -> Tuple[List[Detections], List[Truth]]:
    """Detections in 4K pixels, from the picture or from every `shrink`-th pixel of it.

    Taking the middle pixel of each 3 x 3 is what bilinear letterboxing to 1280 x 720 does without
    anti-aliasing: with half-pixel centres its weights fall on that pixel alone.
    """
    device = next(network.parameters()).device
    model = DecodedDetector(network, HEIGHT // shrink, WIDTH // shrink).to(device).eval()
    found, truths = [], []
    with torch.inference_mode():
        for seed in seeds:
            pixels, truth = truth_of(folder, seed)
            small = np.ascontiguousarray(pixels[shrink // 2 :: shrink, shrink // 2 :: shrink])
            tensor = torch.from_numpy(small).to(device).permute(2, 0, 1)[None].float() / 255.0
            output = model(tensor.contiguous())[0].cpu().numpy()
            output[:4] *= shrink
            found.append(read_output(output))
            truths.append(truth)
    return found, truths


def rounded(values: Dict[str, float]) -> Dict[str, float]:
    return {key: round(value, 4) for key, value in values.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where generate.py put the sheets")
    parser.add_argument(
        "--model",
        type=Path,
        default=Path(__file__).resolve().parent.parent / "models/defects/1/model.pt",
        help="TorchScript written by export.py; default: the committed one",
    )
    parser.add_argument("--sheets", type=int, default=len(EVALUATION_SEEDS))
    parser.add_argument("--results", type=Path, required=True, help="JSON to write")
    options = parser.parse_args()

    seeds = list(EVALUATION_SEEDS[: options.sheets])
    jobs = [(str(options.folder), seed) for seed in seeds]
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with multiprocessing.get_context("spawn").Pool(max(1, (os.cpu_count() or 2) - 2)) as pool:
        without = pool.map_async(_baseline, jobs, chunksize=4)
        # Single precision throughout: TF32 would round the products to 10 bits.
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        parameters, flop = count_cost(Detector(), HEIGHT, WIDTH)
        network = load_exported(options.model).to(device)
        begin = time.monotonic()
        full, truths = run_network(network, options.folder, seeds, 1)
        print(f"{len(seeds)} sheets in {time.monotonic() - begin:.1f} s", flush=True)
        shrunken, _ = run_network(network, options.folder, seeds, SHRINK)
        plain = without.get()
    result: Dict[str, Any] = {
        "measure": "AP at IoU 0.5, all-point interpolation (VOC 2010); mAP50 is the mean over classes",
        "date": time.strftime("%Y-%m-%d"),
        "images": len(seeds),
        "objects": int(sum(len(t[1]) for t in truths)),
        "seeds": {
            "training": [TRAINING_SEEDS[0], TRAINING_SEEDS[-1]],
            "evaluation": [seeds[0], seeds[-1]],
        },
        "input": f"full {WIDTH} x {HEIGHT} FP32 tensor of raw pixels, TF32 off",
        "network": rounded(mean_average_precision(full, truths)),
        "networkOnImagesShrunkTo1280x720": rounded(mean_average_precision(shrunken, truths)),
        "baseline": rounded(mean_average_precision(plain, truths)),
        "parameters": parameters,
        "gflop": round(flop / 1e9, 2),
        "machine": {
            "device": torch.cuda.get_device_name(0) if device.type == "cuda" else platform.processor(),
            "system": f"{platform.system()} {platform.machine()}",
        },
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
        },
    }
    options.results.parent.mkdir(parents=True, exist_ok=True)
    options.results.write_text(json.dumps(result, indent=2) + "\n")
    print(
        json.dumps(
            {k: result[k] for k in ("network", "networkOnImagesShrunkTo1280x720", "baseline")},
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
