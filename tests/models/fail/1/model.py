"""Refuses every request. The request parameter `how` says how: `response` (default, an error for this request) or `raise`."""

import json

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            if json.loads(request.parameters() or "{}").get("how") == "raise":
                raise ValueError("This model always fails")
            error = pb_utils.TritonError("This model always fails")
            responses.append(pb_utils.InferenceResponse(error=error))
        return responses
