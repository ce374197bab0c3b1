"""Copies its input after as many milliseconds as its first value says."""

import time

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            values = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()
            time.sleep(float(values[0, 0]) / 1000)
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", values.copy())]))
        return responses
