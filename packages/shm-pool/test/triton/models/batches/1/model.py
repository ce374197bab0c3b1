"""Copies its input, and says with how many requests in all it was executed. Slow enough for the next ones to gather."""

import time

import numpy
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        time.sleep(0.005)
        responses = []
        for request in requests:
            values = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()
            together = numpy.full((values.shape[0], 1), len(requests), numpy.int32)
            tensors = [pb_utils.Tensor("OUT", values.copy()), pb_utils.Tensor("TOGETHER", together)]
            responses.append(pb_utils.InferenceResponse(tensors))
        return responses
