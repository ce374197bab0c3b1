"""Overlap, suppression, reading the output, and average precision, against hand-worked values."""

import math
import unittest

import numpy as np

from sheets.boxes import Detections, iou, read_output, suppress
from sheets.metrics import average_precision, mean_average_precision


def detections(*rows: tuple) -> Detections:
    """Rows of x1, y1, x2, y2, score, class."""
    table = np.array(rows, np.float32).reshape(-1, 6)
    return Detections(table[:, :4], table[:, 4], table[:, 5].astype(np.int64))


class BoxesTest(unittest.TestCase):
    def test_iou(self) -> None:
        others = np.array([[0, 0, 10, 10], [5, 0, 15, 10], [20, 20, 30, 30], [3, 3, 3, 3]], float)
        np.testing.assert_allclose(iou(others[0], others), [1.0, 50 / 150, 0.0, 0.0])

    def test_suppression_is_greedy_and_class_aware(self) -> None:
        found = detections(
            (0, 0, 10, 10, 0.5, 0),
            (1, 0, 11, 10, 0.9, 0),
            (2, 0, 12, 10, 0.8, 1),
            (40, 0, 50, 10, 0.1, 0),
        )
        kept = suppress(found, 0.5, 300)
        np.testing.assert_allclose(kept.scores, np.array([0.9, 0.8, 0.1], np.float32))
        self.assertEqual(kept.classes.tolist(), [0, 1, 0])
        self.assertEqual(len(suppress(found, 0.5, 2).scores), 2)

    def test_read_output(self) -> None:
        output = np.zeros((8, 5), np.float32)
        output[:, 1] = [100, 50, 20, 10, 0.1, 0.7, 0, 0]
        output[:, 3] = [101, 50, 20, 10, 0, 0.6, 0, 0]
        found = read_output(output)
        np.testing.assert_allclose(found.boxes, [[90, 45, 110, 55]])
        self.assertEqual(found.classes.tolist(), [1])
        self.assertEqual(len(read_output(np.zeros((8, 5), np.float32)).scores), 0)


class PrecisionTest(unittest.TestCase):
    def test_all_points(self) -> None:
        # Hit, miss, hit of 4 true boxes: recall 1/4 at precision 1, then 2/4 at precision 2/3.
        value = average_precision(np.array([True, False, True]), np.array([0.9, 0.8, 0.7]), 4)
        self.assertAlmostEqual(value, 0.25 + 0.25 * 2 / 3)

    def test_no_positives(self) -> None:
        self.assertTrue(math.isnan(average_precision(np.zeros(0, bool), np.zeros(0), 0)))

    def test_second_hit_on_a_box_is_a_miss(self) -> None:
        truth = (np.array([[0, 0, 10, 10]], np.float32), np.array([2]))
        found = detections((0, 0, 10, 10, 0.4, 2), (0, 0, 10, 9, 0.9, 2))
        result = mean_average_precision([found], [truth])
        self.assertEqual(result["dent"], 1.0)
        self.assertEqual(result["mAP50"], 1.0)
        late = detections((50, 0, 60, 10, 0.95, 2), (0, 0, 10, 10, 0.4, 2), (0, 0, 10, 9, 0.9, 2))
        self.assertAlmostEqual(mean_average_precision([late], [truth])["dent"], 0.5)


if __name__ == "__main__":
    unittest.main()
