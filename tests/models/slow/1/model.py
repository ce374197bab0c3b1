"""Waits, then returns its input: FP32 [rows, columns] in, the same values out, written at the very end.

Waits for the request parameter `ms` (whole milliseconds); without it for as many as the input's first value says.
"""

import json
import time

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            values = pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy()
            parameters = json.loads(request.parameters() or "{}")
            time.sleep(float(parameters.get("ms", values.flat[0])) / 1000)
            output = pb_utils.Tensor("OUTPUT0", values)
            responses.append(pb_utils.InferenceResponse([output]))
        return responses
