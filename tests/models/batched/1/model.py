"""Batches of FP16 [3, 2] with a label each: the same, its sum, and the label or "none"."""

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            image = pb_utils.get_input_tensor_by_name(request, "IMAGE").as_numpy()
            label = pb_utils.get_input_tensor_by_name(request, "LABEL")
            batch = image.shape[0]
            text = np.array([["none"]] * batch, dtype=np.object_) if label is None else label.as_numpy()
            total = image.astype(np.float32).sum(axis=(1, 2)).reshape(batch, 1)
            outputs = [("COPY", image), ("SUM", total), ("TEXT", text)]
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor(name, array) for name, array in outputs]))
        return responses
