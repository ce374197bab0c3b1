"""The network: strides 8 and 16 out of a stride-32 backbone, four distances and a score per class.

Layout of the output: [B, 4 + classes, A], rows cx, cy, w, h in input pixels and one sigmoided score
per class; columns are the cells of stride 8 row by row, then those of stride 16.
"""

from __future__ import annotations

from typing import List, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

STRIDES = (8, 16)


class ConvBnRelu(nn.Module):
    """Convolution without bias, batch norm, ReLU; "same" padding for its dilation."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        size: int = 3,
        stride: int = 1,
        dilation: int = 1,
        groups: int = 1,
    ):
        super().__init__()
        pad = dilation * (size // 2)
        self.conv = nn.Conv2d(inputs, outputs, size, stride, pad, dilation, groups, bias=False)
        self.norm = nn.BatchNorm2d(outputs, eps=1e-3, momentum=0.03)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.norm(self.conv(x)))


class Residual(nn.Module):
    """Bottleneck with a shortcut: 1x1 to half the channels, 3x3 back (He et al., 2016, in short)."""

    def __init__(self, channels: int, dilation: int = 1):
        super().__init__()
        self.narrow = ConvBnRelu(channels, channels // 2, 1)
        self.widen = ConvBnRelu(channels // 2, channels, 3, dilation=dilation)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.widen(self.narrow(x))


class Head(nn.Module):
    """Two separable branches on one stride: distances to the box's sides, and class logits."""

    def __init__(self, channels: int, classes: int):
        super().__init__()
        self.box = nn.Sequential(
            ConvBnRelu(channels, channels, 3, groups=channels),
            ConvBnRelu(channels, 48, 1),
            nn.Conv2d(48, 4, 1),
        )
        self.score = nn.Sequential(
            ConvBnRelu(channels, channels, 3, groups=channels),
            ConvBnRelu(channels, 48, 1),
            nn.Conv2d(48, classes, 1),
        )
        nn.init.constant_(self.box[-1].bias, 1.0)
        # A prior of 1 in 500 cells: focal-loss style start (Lin et al., 2017, section 3.3).
        nn.init.constant_(self.score[-1].bias, -6.2)

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        return self.box(x), self.score(x)


class Detector(nn.Module):
    """RGB / 255, float [B, 3, H, W] with H and W multiples of 16, to raw maps per stride."""

    def __init__(self, classes: int = 4):
        super().__init__()
        self.to4 = nn.Sequential(ConvBnRelu(3, 16, 3, 2), ConvBnRelu(16, 32, 3, 2), Residual(32))
        self.to8 = nn.Sequential(ConvBnRelu(32, 64, 3, 2), Residual(64), Residual(64))
        self.to16 = nn.Sequential(ConvBnRelu(64, 96, 3, 2), Residual(96), Residual(96))
        # Dilated, so that a cell sees both ends of a scratch several hundred pixels long.
        self.to32 = nn.Sequential(
            ConvBnRelu(96, 160, 3, 2),
            Residual(160),
            Residual(160, 2),
            Residual(160, 3),
            Residual(160, 4),
        )
        self.down_to16 = ConvBnRelu(160, 96, 1)
        self.merge16 = Residual(96)
        self.down_to8 = ConvBnRelu(96, 64, 1)
        self.merge8 = Residual(64)
        self.heads = nn.ModuleList([Head(64, classes), Head(96, classes)])

    def forward(self, x: Tensor) -> List[Tuple[Tensor, Tensor]]:
        """Per stride: log distances [B, 4, h, w] in strides, class logits [B, classes, h, w]."""
        return self.traced(x)[0]

    def traced(self, x: Tensor) -> Tuple[List[Tuple[Tensor, Tensor]], Tensor]:
        """The same, and the features of stride 8 [B, 64, h, w] that scratches are traced from."""
        c8 = self.to8(self.to4(x))
        c16 = self.to16(c8)
        p16 = self.merge16(c16 + _double(self.down_to16(self.to32(c16)), c16))
        p8 = self.merge8(c8 + _double(self.down_to8(p16), c8))
        return [self.heads[0](p8), self.heads[1](p16)], c8


def _double(x: Tensor, like: Tensor) -> Tensor:
    """Twice the size by repetition, cut to `like`: an odd map was rounded up on the way down."""
    x = F.interpolate(x, scale_factor=2.0, mode="nearest")
    return x[:, :, : like.shape[2], : like.shape[3]]


def cell_centres(height: int, width: int, stride: int, device: torch.device) -> Tensor:
    """Centres (x, y) of a map's cells in input pixels: float32 [height * width, 2]."""
    y = (torch.arange(height, device=device, dtype=torch.float32) + 0.5) * stride
    x = (torch.arange(width, device=device, dtype=torch.float32) + 0.5) * stride
    return torch.stack([x.repeat(height), y.repeat_interleave(width)], dim=1)


class DecodedDetector(nn.Module):
    """What is exported: the network and its decoding, for one input size.

    The cells' centres are buffers, so that they follow the module to whichever device it is on.
    """

    def __init__(self, network: Detector, height: int, width: int):
        super().__init__()
        self.network = network
        for stride in STRIDES:
            rows, columns = height // stride, width // stride
            x = (torch.arange(columns, dtype=torch.float32) + 0.5) * stride
            y = (torch.arange(rows, dtype=torch.float32) + 0.5) * stride
            self.register_buffer(f"x{stride}", x.reshape(1, 1, 1, columns))
            self.register_buffer(f"y{stride}", y.reshape(1, 1, rows, 1))

    def forward(self, images: Tensor) -> Tensor:
        parts = []
        for stride, (box, score) in zip(STRIDES, self.network(images)):
            sides = box.clamp(-6.0, 6.0).exp() * float(stride)
            left, top, right, bottom = sides[:, 0:1], sides[:, 1:2], sides[:, 2:3], sides[:, 3:4]
            cx = getattr(self, f"x{stride}") + (right - left) * 0.5
            cy = getattr(self, f"y{stride}") + (bottom - top) * 0.5
            level = torch.cat([cx, cy, left + right, top + bottom, score.sigmoid()], dim=1)
            parts.append(level.flatten(2))
        return torch.cat(parts, dim=2)
