"""The network out of a committed export, so that what ships can be judged and run at another size."""

from __future__ import annotations

from pathlib import Path

import torch

from detector.fusing import fuse
from detector.network import Detector

_PREFIX = "network."


def load_exported(path: Path) -> Detector:
    """The network in a TorchScript file written by export.py, its batch norms folded; in evaluation mode."""
    state = torch.jit.load(str(path), map_location="cpu").state_dict()
    network = fuse(Detector().eval())
    # The rest of the state are the cells' coordinates, which belong to the size of the export.
    network.load_state_dict(
        {key[len(_PREFIX) :]: value for key, value in state.items() if key.startswith(_PREFIX)}
    )
    return network
