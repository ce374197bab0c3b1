"""Batch norms folded into the convolutions before them."""

from __future__ import annotations

from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from detector.network import ConvBnRelu, Detector


def fuse(network: Detector) -> Detector:
    """Folds each batch norm into the convolution before it (evaluation only), in place."""
    for block in [m for m in network.modules() if isinstance(m, ConvBnRelu)]:
        block.conv = fuse_conv_bn_eval(block.conv, block.norm)
        block.norm = nn.Identity()
    return network
