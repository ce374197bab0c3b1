"""Tells what parameters a request has: as JSON, and its input FP32 [n] as it came, which may be empty."""

import numpy
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            values = pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy()
            text = numpy.array([(request.parameters() or "{}").encode()], numpy.object_)
            outputs = [pb_utils.Tensor("PARAMETERS", text), pb_utils.Tensor("OUTPUT0", values)]
            responses.append(pb_utils.InferenceResponse(outputs))
        return responses
