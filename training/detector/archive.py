"""TorchScript archives without what they say of the machine that made them."""

from __future__ import annotations

import zipfile
from pathlib import Path

# torch aligns each record, so that a file can be mapped; the padding is an extra field that readers skip.
_ALIGNMENT = 64
_LOCAL_HEADER = 30
_PADDING_ID = b"FB"
_EPOCH = (1980, 1, 1, 0, 0, 0)


def strip_debug_records(path: Path) -> None:
    """Rewrites a TorchScript file without its debug records: absolute paths of sources, used in tracebacks only."""
    with zipfile.ZipFile(path) as archive:
        records = [
            (info.filename, archive.read(info))
            for info in archive.infolist()
            if not info.filename.endswith(".debug_pkl")
        ]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, content in records:
            info = zipfile.ZipInfo(name, _EPOCH)
            begin = archive.start_dir + _LOCAL_HEADER + len(name.encode())
            padding = -(begin + 4) % _ALIGNMENT
            info.extra = _PADDING_ID + padding.to_bytes(2, "little") + b"Z" * padding
            archive.writestr(info, content)
