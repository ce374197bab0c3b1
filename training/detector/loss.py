"""What the network is trained on: task-aligned assignment, soft binary cross-entropy, GIoU.

Assignment after Feng et al., "TOOD: Task-aligned One-stage Object Detection" (ICCV 2021), section
3.2; box loss after Rezatofighi et al., "Generalized Intersection over Union" (CVPR 2019).
"""

from __future__ import annotations

from typing import List, NamedTuple, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor

from .network import STRIDES, cell_centres

TOP = 10
SCORE_POWER, IOU_POWER = 1.0, 6.0
BOX_WEIGHT = 2.5
TRACE_STRIDE = 8
TRACE_WEIGHT = 2.0


class Targets(NamedTuple):
    """A batch's truth, padded to M boxes a picture.

    boxes float32 [B, M, 4] x1 y1 x2 y2 in pixels, classes int64 [B, M], real bool [B, M]: whether
    the row holds a defect, ignored bool [B, M]: whether it holds a remnant to learn nothing from,
    traces float32 [B, H / 8, W / 8]: 1 where a scratch passes through the cell.
    """

    boxes: Tensor
    classes: Tensor
    real: Tensor
    ignored: Tensor
    traces: Tensor


def pairwise_iou(a: Tensor, b: Tensor) -> Tensor:
    """[B, M, 4] with [B, A, 4]: IoU [B, M, A]."""
    low = torch.maximum(a[:, :, None, :2], b[:, None, :, :2])
    high = torch.minimum(a[:, :, None, 2:], b[:, None, :, 2:])
    inside = (high - low).clamp(min=0).prod(-1)
    area_a = (a[..., 2:] - a[..., :2]).clamp(min=0).prod(-1)[:, :, None]
    area_b = (b[..., 2:] - b[..., :2]).clamp(min=0).prod(-1)[:, None, :]
    return inside / (area_a + area_b - inside + 1e-7)


def generalized_iou(a: Tensor, b: Tensor) -> Tensor:
    """Row by row [N, 4] with [N, 4]: GIoU [N], in (-1, 1]."""
    low, high = torch.maximum(a[:, :2], b[:, :2]), torch.minimum(a[:, 2:], b[:, 2:])
    inside = (high - low).clamp(min=0).prod(-1)
    union = (a[:, 2:] - a[:, :2]).prod(-1) + (b[:, 2:] - b[:, :2]).prod(-1) - inside + 1e-7
    hull_low, hull_high = torch.minimum(a[:, :2], b[:, :2]), torch.maximum(a[:, 2:], b[:, 2:])
    hull = (hull_high - hull_low).prod(-1) + 1e-7
    return inside / union - (hull - union) / hull


def flatten(maps: List[Tuple[Tensor, Tensor]]) -> Tuple[Tensor, Tensor, Tensor]:
    """Raw maps to boxes [B, A, 4] in pixels, class logits [B, A, classes] and centres [A, 2]."""
    boxes, logits, centres = [], [], []
    for stride, (box, score) in zip(STRIDES, maps):
        height, width = box.shape[2:]
        centre = cell_centres(height, width, stride, box.device)
        sides = box.float().flatten(2).transpose(1, 2).clamp(-6.0, 6.0).exp() * stride
        boxes.append(torch.cat([centre - sides[..., :2], centre + sides[..., 2:]], dim=2))
        logits.append(score.float().flatten(2).transpose(1, 2))
        centres.append(centre)
    return torch.cat(boxes, 1), torch.cat(logits, 1), torch.cat(centres, 0)


@torch.no_grad()
def assign(boxes: Tensor, scores: Tensor, centres: Tensor, targets: Targets) -> Tuple[Tensor, Tensor]:
    """Which defect each cell answers for, and how strongly.

    Returns owner int64 [B, A] (row of `targets`, -1 for background) and strength float32 [B, A].
    """
    count = targets.boxes.shape[1]
    gap = torch.cat(
        [
            centres[None, None] - targets.boxes[:, :, None, :2],
            targets.boxes[:, :, None, 2:] - centres[None, None],
        ],
        -1,
    )
    nearest = gap.amin(-1)
    # Only cells around the middle answer for a defect (centre sampling, Tian et al., "FCOS", 2019):
    # most of a scratch's box is far from the scratch, and a cell there has little to go by.
    middle = (targets.boxes[..., :2] + targets.boxes[..., 2:]) * 0.5
    extent = (targets.boxes[..., 2:] - targets.boxes[..., :2]) * 0.25 + 8.0
    central = ((centres[None, None] - middle[:, :, None]).abs() < extent[:, :, None]).all(-1)
    allowed = (nearest > 0) & central & targets.real[:, :, None]
    iou = pairwise_iou(targets.boxes, boxes)
    index = targets.classes[:, None, :].expand(-1, boxes.shape[1], -1)
    score = scores.gather(2, index).transpose(1, 2)
    # The last term decides only while the first ones are nil: cells deep inside the box first.
    depth = nearest / (targets.boxes[..., 2:] - targets.boxes[..., :2]).amin(-1).clamp(min=1)[:, :, None]
    metric = score.pow(SCORE_POWER) * iou.pow(IOU_POWER) + 1e-12 * depth
    metric = torch.where(allowed, metric, torch.zeros_like(metric))
    best = metric.topk(min(TOP, metric.shape[2]), dim=2)
    chosen = torch.zeros_like(allowed).scatter_(2, best.indices, best.values > 0)
    # A cell claimed by two defects answers for the one it overlaps more.
    claim = torch.where(chosen, iou + 1e-6, torch.zeros_like(iou))
    most, owner = claim.max(dim=1)
    owner = torch.where(most > 0, owner, torch.full_like(owner, -1))
    mine = chosen & (owner[:, None, :] == torch.arange(count, device=owner.device)[None, :, None])
    metric = torch.where(mine, metric, torch.zeros_like(metric))
    peak = metric.amax(2, keepdim=True)
    reach = torch.where(mine, iou, torch.zeros_like(iou)).amax(2, keepdim=True)
    # A defect found badly or not at all still asks for some score, or it would never be learned.
    strength = (metric / (peak + 1e-13) * reach.clamp(min=0.3)).amax(1)
    return owner, strength


def trace_loss(logits: Tensor, targets: Targets) -> Tensor:
    """Whether a scratch passes through each cell of stride 8, from logits [B, 1, H / 8, W / 8].

    A help in training only: a thin line of low contrast is learned from where it runs long before
    it can be learned from its box.
    """
    weight = 1.0 + 9.0 * targets.traces
    entropy = F.binary_cross_entropy_with_logits(
        logits[:, 0].float(), targets.traces, weight, reduction="sum"
    )
    return TRACE_WEIGHT * entropy / (10.0 * targets.traces.sum()).clamp(min=100.0)


def detection_loss(maps: List[Tuple[Tensor, Tensor]], targets: Targets) -> Tuple[Tensor, Tensor]:
    """(class loss, box loss) of a batch, both scaled by the sum of the target strengths."""
    boxes, logits, centres = flatten(maps)
    owner, strength = assign(boxes.detach(), logits.detach().sigmoid(), centres, targets)
    batch, cell = torch.nonzero(owner >= 0, as_tuple=True)
    row = owner[batch, cell]
    wanted = torch.zeros_like(logits)
    wanted[batch, cell, targets.classes[batch, row]] = strength[batch, cell]
    remnant = targets.boxes[:, :, None, :]
    inside = (centres[None, None] > remnant[..., :2]) & (centres[None, None] < remnant[..., 2:])
    skip = (inside.all(-1) & targets.ignored[:, :, None]).any(1) & (owner < 0)
    entropy = F.binary_cross_entropy_with_logits(logits, wanted, reduction="none").sum(-1)
    scale = strength.sum().clamp(min=1.0)
    class_loss = (entropy * (~skip)).sum() / scale
    overlap = generalized_iou(boxes[batch, cell], targets.boxes[batch, row])
    box_loss = ((1.0 - overlap) * strength[batch, cell]).sum() / scale
    return class_loss, BOX_WEIGHT * box_loss
