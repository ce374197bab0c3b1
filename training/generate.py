"""Makes sheets in parallel and keeps them as .npy files, so that training can read them fast."""

from __future__ import annotations

import argparse
import io
import json
import multiprocessing
import os
from pathlib import Path
from typing import Iterable, List, Optional, Tuple

import numpy as np

from sheets import Defect, make_sheet

TRAINING_SEEDS = range(1_000_000, 1_000_520)
# Not 2,000,000 and up: those judged two training runs, of which the better one ships.
EVALUATION_SEEDS = range(5_000_000, 5_000_300)


def through_jpeg(pixels: np.ndarray, quality: int) -> np.ndarray:
    """The picture after JPEG compression with halved chroma, as cameras and the demo have it."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=quality, subsampling=2)
    return np.asarray(Image.open(buffer).convert("RGB"))


def _make(job: Tuple[int, str, bool]) -> int:
    seed, folder, mixed = job
    sheet = make_sheet(seed)
    pixels = sheet.pixels
    # Half the training sheets stay raw; the others pass through a JPEG of one of four qualities.
    if mixed and seed % 2:
        pixels = through_jpeg(pixels, (84, 88, 92, 96)[seed // 2 % 4])
    np.save(Path(folder) / f"{seed}.npy", pixels)
    truth = [[d.class_id, list(d.box), d.path] for d in sheet.defects]
    (Path(folder) / f"{seed}.json").write_text(json.dumps(truth))
    return seed


def generate(seeds: Iterable[int], folder: Path, mixed: bool, workers: Optional[int] = None) -> None:
    """Writes SEED.npy (uint8 [2160, 3840, 3], 25 MB) and SEED.json for each seed not yet there.

    `mixed` sends every second sheet through JPEG: for training.
    """
    folder.mkdir(parents=True, exist_ok=True)
    jobs = [(s, str(folder), mixed) for s in seeds if not (folder / f"{s}.json").exists()]
    with multiprocessing.get_context("fork").Pool(workers or os.cpu_count()) as pool:
        for _ in pool.imap_unordered(_make, jobs):
            pass


def load(folder: Path, seed: int) -> Tuple[np.ndarray, List[Defect]]:
    """What `generate` wrote for a seed."""
    rows = json.loads((folder / f"{seed}.json").read_text())
    defects = [
        Defect(c, (b[0], b[1], b[2], b[3]), None if p is None else [(q[0], q[1], q[2]) for q in p])
        for c, b, p in rows
    ]
    return np.load(folder / f"{seed}.npy"), defects


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="about 20 GB for everything")
    parser.add_argument("--training", type=int, default=len(TRAINING_SEEDS), help="number of sheets")
    parser.add_argument("--evaluation", type=int, default=len(EVALUATION_SEEDS), help="number of sheets")
    options = parser.parse_args()
    generate(TRAINING_SEEDS[: options.training], options.folder, mixed=True)
    generate(EVALUATION_SEEDS[: options.evaluation], options.folder, mixed=False)


if __name__ == "__main__":
    main()
