"""Outputs of as many elements as the request's parameters say, filled with the input's first value, and the run's number."""

import json

import numpy
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        self.runs = 0

    def execute(self, requests):
        responses = []
        for request in requests:
            self.runs += 1
            value = pb_utils.get_input_tensor_by_name(request, "IN").as_numpy()[0]
            sizes = json.loads(request.parameters() or "{}")
            outputs = {
                "A": numpy.full(sizes.get("a", 1), value, numpy.float32),
                "B": numpy.full(sizes.get("b", 1), value + 0.5, numpy.float32),
                "TEXT": numpy.array([b"x" * sizes.get("letters", 1)], numpy.object_),
                "RUN": numpy.array([self.runs], numpy.int32),
            }
            tensors = [
                pb_utils.Tensor(name, array)
                for name, array in outputs.items()
                if name in request.requested_output_names()
            ]
            responses.append(pb_utils.InferenceResponse(tensors))
        return responses
