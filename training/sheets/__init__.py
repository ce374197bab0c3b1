"""Synthetic metal sheets with known defects, and the measures a detector is judged by.

Nothing in this package needs more than numpy: continuous integration runs it beside onnxruntime.
"""

from .classes import CLASS_NAMES
from .sheet import HEIGHT, WIDTH, Defect, Sheet, make_sheet

__all__ = ["CLASS_NAMES", "HEIGHT", "WIDTH", "Defect", "Sheet", "make_sheet"]
