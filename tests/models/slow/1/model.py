"""Waits, then returns its input: FP32 [rows, columns] in, the same values out, written at the very end.

Waits for the request parameter `ms` (whole milliseconds); without it for as many as the input's first value says.
"""

import json
import time

import numpy
import triton_python_backend_utils as pb_utils


def output_tensor(name, values):
    """numpy 2 makes Tensor() silently empty outputs; numpy 1.26's arrays end the process in from_dlpack()."""
    if int(numpy.__version__.split(".")[0]) >= 2:
        return pb_utils.Tensor.from_dlpack(name, values.copy())
    return pb_utils.Tensor(name, values)


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            values = pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy()
            parameters = json.loads(request.parameters() or "{}")
            time.sleep(float(parameters.get("ms", values.flat[0])) / 1000)
            output = output_tensor("OUTPUT0", values)
            responses.append(pb_utils.InferenceResponse([output]))
        return responses
