"""Writes the trained network as ONNX and as TorchScript and compares both with PyTorch."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from detector.archive import strip_debug_records
from detector.fusing import fuse
from detector.network import DecodedDetector, Detector
from sheets import HEIGHT, WIDTH, make_sheet

_MOST_BYTES = 8_000_000


def compare(name: str, expected: np.ndarray, output: np.ndarray) -> None:
    """Scores within 1e-4 relative, boxes within 1e-4 of their coordinates.

    A score below 0.01, which no detection comes from, is held to 1e-6 absolute instead: ONNX
    Runtime's sigmoid is a rational approximation whose relative error grows there.
    """
    scores = np.abs(output[:, 4:] - expected[:, 4:]) / np.maximum(expected[:, 4:], 1e-2)
    boxes = np.abs(output[:, :4] - expected[:, :4]) / np.maximum(np.abs(expected[:, :4]), 1.0)
    print(f"{name}: scores differ by {scores.max():.1e} relative at most, boxes by {boxes.max():.1e}")
    if not (scores.max() <= 1e-4 and boxes.max() <= 1e-4):
        raise SystemExit(f"{name} differs from PyTorch")


def allows_tf32(script: torch.jit.ScriptModule) -> bool:
    """Whether any traced convolution has `allow_tf32`, its last argument, set."""
    convolutions = [n for n in script.inlined_graph.nodes() if n.kind() == "aten::_convolution"]
    return any(list(node.inputs())[-1].toIValue() for node in convolutions)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder for model.onnx and model.pt")
    options = parser.parse_args()
    import onnxruntime

    network = Detector()
    network.load_state_dict(torch.load(options.weights, map_location="cpu"))
    network.eval()
    pixels = make_sheet(2_000_000).pixels
    images = (torch.from_numpy(pixels).permute(2, 0, 1)[None].float() / 255.0).contiguous()
    with torch.no_grad():
        expected = DecodedDetector(network, HEIGHT, WIDTH)(images).numpy()
        model = DecodedDetector(fuse(network), HEIGHT, WIDTH).eval()
        for parameter in model.parameters():
            parameter.requires_grad_(False)
        onnx_path, script_path = options.out / "model.onnx", options.out / "model.pt"
        legacy = {"dynamo": False} if int(torch.__version__.split(".")[0]) >= 2 else {}
        torch.onnx.export(
            model,
            (images,),
            str(onnx_path),
            opset_version=16,
            input_names=["images"],
            output_names=["output0"],
            **legacy,
        )
        # A trace keeps the flag of the moment for every convolution; the user's own would come too late.
        torch.backends.cudnn.allow_tf32 = False
        script = torch.jit.trace(model, images, check_trace=False)
        if allows_tf32(script):
            raise SystemExit("the trace would round products to TF32's 10 bits on a GPU")
        script.save(str(script_path))
        strip_debug_records(script_path)
        compare(
            "TorchScript",
            expected,
            torch.jit.load(str(script_path), map_location="cpu")(images).numpy(),
        )
    session = onnxruntime.InferenceSession(str(onnx_path), providers=["CPUExecutionProvider"])
    compare("ONNX", expected, session.run(["output0"], {"images": images.numpy()})[0])
    for path in (onnx_path, script_path):
        size = path.stat().st_size
        print(f"{path}: {size} bytes")
        if size > _MOST_BYTES:
            raise SystemExit(f"{path} is larger than {_MOST_BYTES} bytes")


if __name__ == "__main__":
    main()
