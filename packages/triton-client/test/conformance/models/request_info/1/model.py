"""Answers with what the model is told of the request, as JSON."""

import json

import numpy
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            told = {
                "id": request.request_id(),
                "sequence": request.correlation_id(),
                "start": bool(request.flags() & pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_START),
                "end": bool(request.flags() & pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_END),
                "timeout": request.timeout(),
                "parameters": json.loads(request.parameters() or "{}"),
            }
            text = numpy.array([json.dumps(told).encode()], numpy.object_)
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", text)]))
        return responses
