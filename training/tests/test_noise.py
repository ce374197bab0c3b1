"""Random fields: independent of how they are cut into blocks, and of the right size."""

import unittest

import numpy as np

from sheets.noise import hash_bits, normal_field, smooth_field, stretch_columns


class NoiseTest(unittest.TestCase):
    def test_known_bits(self) -> None:
        bits = hash_bits(1, 2, (1, 3))
        self.assertEqual(bits[0].tolist(), [625548008, 2829185907, 3581102471])

    def test_blocks_continue_the_field(self) -> None:
        whole = normal_field(5, 1, (40, 33))
        np.testing.assert_array_equal(whole[16:], normal_field(5, 1, (24, 33), first_row=16))

    def test_moments(self) -> None:
        field = normal_field(9, 4, (400, 500))
        self.assertAlmostEqual(float(field.mean()), 0.0, delta=0.01)
        self.assertAlmostEqual(float(field.var()), 1.0, delta=0.02)

    def test_streams_and_seeds_differ(self) -> None:
        fields = [normal_field(s, k, (50, 50)).ravel() for s, k in ((1, 1), (1, 2), (2, 1))]
        for i, j in ((0, 1), (0, 2), (1, 2)):
            self.assertLess(abs(float(np.corrcoef(fields[i], fields[j])[0, 1])), 0.1)

    def test_interpolation_is_linear(self) -> None:
        out = stretch_columns(np.array([[0.0, 4.0, 2.0]], np.float32), 4, 7)
        self.assertEqual(out.tolist(), [[0.0, 1.0, 2.0, 3.0, 4.0, 3.5, 3.0]])

    def test_smooth_field_keeps_its_knots(self) -> None:
        field = smooth_field(3, 6, (20, 30), 10)
        self.assertEqual(field.shape, (20, 30))
        np.testing.assert_array_equal(field[::10, ::10], normal_field(3, 6, (3, 4))[:2, :3])


if __name__ == "__main__":
    unittest.main()
