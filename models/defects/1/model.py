"""Triton Python backend for the defect detector.

On a GPU instance the tensor is read where it lies, by TorchScript; on a CPU instance by ONNX
Runtime. Both return the same [1, 8, 162000]: cx, cy, w, h in input pixels, then four scores.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List

import numpy as np
import triton_python_backend_utils as pb_utils


_NUMPY_2 = int(np.__version__.split(".")[0]) >= 2


def _read(tensor: Any) -> np.ndarray:
    """The array of an input tensor in host memory, by whichever of two ways works with this numpy.

    Under numpy 2 the backend's as_numpy() gives an array that repeats its first element, without an
    error: it was built for the other layout of numpy's type objects.
    """
    return np.from_dlpack(tensor) if _NUMPY_2 else tensor.as_numpy()


def _wrap(array: np.ndarray) -> Any:
    """The output tensor of an array, likewise.

    Under numpy 2 the backend's own wrapping yields an empty output without an error. Under numpy 1
    DLPack ends the process: the backend renames a capsule it has consumed to "used_dlpack", numpy's
    destructor knows only "used_dltensor" and reports the stranger by a path that destroys it again.
    """
    if _NUMPY_2:
        return pb_utils.Tensor.from_dlpack("output0", array)
    return pb_utils.Tensor("output0", array)


class _CpuNetwork:
    """model.onnx on the CPU."""

    def __init__(self, folder: str) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise pb_utils.TritonModelException(
                "The model defects runs on the CPU here and needs onnxruntime in the Python of"
                f" Triton's Python backend: pip install onnxruntime 'numpy>=1.26,<2' ({error})"
            ) from error
        options = onnxruntime.SessionOptions()
        # The arena would keep the peak of every 4K activation for good.
        options.enable_cpu_mem_arena = False
        self._session = onnxruntime.InferenceSession(
            os.path.join(folder, "model.onnx"), options, providers=["CPUExecutionProvider"]
        )

    def run(self, images: Any) -> Any:
        if not images.is_cpu():
            raise pb_utils.TritonModelException(
                "its instance is on the CPU and the tensor is in GPU memory:"
                " send it by system shared memory or in the message"
            )
        return _wrap(self._session.run(["output0"], {"images": _read(images)})[0])


class _GpuNetwork:
    """model.pt on one GPU, in single precision proper."""

    def __init__(self, folder: str, device_id: int) -> None:
        otherwise = "or give the model instance_group [ { kind: KIND_CPU } ]"
        try:
            import torch
        except ImportError as error:
            raise pb_utils.TritonModelException(
                f"The model defects has an instance on GPU {device_id} and needs a torch with CUDA in"
                f" the Python of Triton's Python backend ({error}): install one, {otherwise}"
            ) from error
        if not torch.cuda.is_available() or device_id >= torch.cuda.device_count():
            raise pb_utils.TritonModelException(
                f"The model defects has an instance on GPU {device_id}, which torch {torch.__version__}"
                " cannot use (built without CUDA, or for a newer driver): install a torch for this"
                f" driver, {otherwise}"
            )
        self._torch = torch
        self._device = torch.device("cuda", device_id)
        # TF32 keeps 10 bits of each factor: scores would differ from the CPU's in the third digit. A traced
        # convolution has a flag of its own, which export.py clears.
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        self._network = torch.jit.load(
            os.path.join(folder, "model.pt"), map_location=self._device
        ).eval()
        # TorchScript profiles its first runs and compiles in the next: not at a client's expense.
        with torch.cuda.device(self._device):
            for _ in range(3):
                self._call(torch.zeros(1, 3, 2160, 3840, device=self._device))

    def _call(self, images: Any) -> Any:
        torch = self._torch
        with torch.inference_mode():
            output = self._network(images).contiguous()
            # Triton reads the result on its own stream as soon as execute returns.
            torch.cuda.current_stream(self._device).synchronize()
        return output

    def run(self, images: Any) -> Any:
        torch = self._torch
        # torch hands out tensors of its current device only.
        with torch.cuda.device(self._device):
            tensor = torch.from_dlpack(images.to_dlpack()).to(self._device)
            return pb_utils.Tensor.from_dlpack("output0", self._call(tensor))


class TritonPythonModel:
    """The entry points that the Python backend calls."""

    def initialize(self, args: Dict[str, str]) -> None:
        folder = os.path.join(args["model_repository"], args["model_version"])
        if args["model_instance_kind"] == "GPU":
            self._network: Any = _GpuNetwork(folder, int(args["model_instance_device_id"]))
        else:
            self._network = _CpuNetwork(folder)

    def execute(self, requests: List[Any]) -> List[Any]:
        responses = []
        for request in requests:
            try:
                images = pb_utils.get_input_tensor_by_name(request, "images")
                responses.append(pb_utils.InferenceResponse([self._network.run(images)]))
            except Exception as error:  # one request's failure must not fail the others
                responses.append(
                    pb_utils.InferenceResponse([], pb_utils.TritonError(f"defects: {error}"))
                )
        return responses
