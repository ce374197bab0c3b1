"""Writes the sample pictures and their ground truth from seeds no network was trained on."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, Dict, List

from sheets import CLASS_NAMES, make_sheet

FIRST_SEED = 4_000_000
QUALITY = 88


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", required=True)
    options = parser.parse_args()
    from PIL import Image

    options.out.mkdir(parents=True, exist_ok=True)
    images: List[Dict[str, Any]] = []
    for seed in options.seeds:
        sheet = make_sheet(seed)
        name = f"sheet-{seed}.jpg"
        path = options.out / name
        Image.fromarray(sheet.pixels).save(path, "JPEG", quality=QUALITY, subsampling=2, optimize=True)
        height, width = sheet.pixels.shape[:2]
        objects = [
            {"label": CLASS_NAMES[d.class_id], "classId": d.class_id, "box": list(d.box)}
            for d in sheet.defects
        ]
        images.append({"file": name, "seed": seed, "width": width, "height": height, "objects": objects})
        print(f"{name}: {path.stat().st_size} bytes, {len(objects)} defects")
    (options.out / "ground-truth.json").write_text(json.dumps({"images": images}, indent=1) + "\n")


if __name__ == "__main__":
    main()
