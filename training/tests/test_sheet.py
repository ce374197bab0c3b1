"""The same number gives the same sheet: pixels, boxes, and the committed ground truth."""

import hashlib
import json
import unittest
from pathlib import Path

import numpy as np

from sheets import CLASS_NAMES, make_sheet

SAMPLES = Path(__file__).resolve().parents[2] / "samples"


class SheetTest(unittest.TestCase):
    def test_pixels_are_pinned(self) -> None:
        sheet = make_sheet(7, 960, 640)
        self.assertEqual(sheet.pixels.shape, (640, 960, 3))
        self.assertEqual(sheet.pixels.dtype, np.uint8)
        digest = hashlib.sha256(sheet.pixels.tobytes()).hexdigest()
        self.assertEqual(digest, "9aaf026267b8fd3f7b3547a91e0c2a401af6319310780f49bc382274bb2e37e1")

    def test_boxes_lie_inside_and_apart(self) -> None:
        for seed in range(20, 26):
            boxes = [d.box for d in make_sheet(seed, 1280, 960).defects]
            for i, (x1, y1, x2, y2) in enumerate(boxes):
                self.assertTrue(0 <= x1 < x2 <= 1280 and 0 <= y1 < y2 <= 960)
                for o in boxes[:i]:
                    self.assertTrue(x1 >= o[2] or o[0] >= x2 or y1 >= o[3] or o[1] >= y2)

    def test_scratch_path_fits_its_box(self) -> None:
        scratches = [
            d for s in range(20, 26) for d in make_sheet(s, 1280, 960).defects if d.path is not None
        ]
        self.assertGreater(len(scratches), 0)
        for defect in scratches:
            points = np.array(defect.path)
            low = (points[:, :2] - points[:, 2:]).min(axis=0)
            high = (points[:, :2] + points[:, 2:]).max(axis=0)
            np.testing.assert_allclose([*low, *high], defect.box, atol=4.0)

    def test_samples_match_their_numbers(self) -> None:
        truth = json.loads((SAMPLES / "ground-truth.json").read_text())
        seen = set()
        for image in truth["images"]:
            self.assertTrue((SAMPLES / image["file"]).is_file())
            seen.update(o["label"] for o in image["objects"])
        self.assertEqual(seen, set(CLASS_NAMES))
        first = truth["images"][0]
        drawn = make_sheet(first["seed"], first["width"], first["height"]).defects
        self.assertEqual(
            [(o["classId"], o["box"]) for o in first["objects"]],
            [(d.class_id, list(d.box)) for d in drawn],
        )


if __name__ == "__main__":
    unittest.main()
