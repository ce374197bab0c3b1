"""strip_debug_records: what is kept, what goes, and where records begin."""

from __future__ import annotations

import tempfile
import unittest
import zipfile
from pathlib import Path

from detector.archive import strip_debug_records


class StripDebugRecordsTest(unittest.TestCase):
    def test_keeps_all_but_the_debug_records_aligned(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.pt"
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("model/data.pkl", b"abc")
                archive.writestr("model/code/x.py.debug_pkl", b"/home/somebody/x.py")
                archive.writestr("model/constants/0", bytes(range(200)))
            strip_debug_records(path)
            with zipfile.ZipFile(path) as archive:
                self.assertIsNone(archive.testzip())
                self.assertEqual(archive.namelist(), ["model/data.pkl", "model/constants/0"])
                self.assertEqual(archive.read("model/constants/0"), bytes(range(200)))
            content = path.read_bytes()
            self.assertNotIn(b"somebody", content)
            self.assertEqual(content.index(bytes(range(200))) % 64, 0)

    def test_the_committed_model_names_no_path(self) -> None:
        committed = Path(__file__).resolve().parent.parent.parent / "models/defects/1/model.pt"
        with zipfile.ZipFile(committed) as archive:
            self.assertEqual([n for n in archive.namelist() if n.endswith(".debug_pkl")], [])
            for name in archive.namelist():
                self.assertNotIn(b"training/detector", archive.read(name))


if __name__ == "__main__":
    unittest.main()
