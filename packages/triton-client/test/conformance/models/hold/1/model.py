"""Answers one request at a time with how many it has answered, and how many of those were cancelled while it worked.

The request parameter `hold` names a file: it is made when work begins, and work goes on until somebody removes it, until
the request is cancelled, or for 30 s.
"""

import json
import os
import time

import numpy
import triton_python_backend_utils as pb_utils


def hold(path, request):
    with open(path, "w"):
        pass
    deadline = time.monotonic() + 30
    while os.path.exists(path) and not request.is_cancelled() and time.monotonic() < deadline:
        time.sleep(0.005)


class TritonPythonModel:
    def initialize(self, args):
        self.answered = 0
        self.cancelled = 0

    def execute(self, requests):
        responses = []
        for request in requests:
            path = json.loads(request.parameters() or "{}").get("hold")
            if path is not None:
                hold(path, request)
                self.cancelled += int(request.is_cancelled())
            self.answered += 1
            counts = numpy.array([[self.answered, self.cancelled]], numpy.int32)
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", counts)]))
        return responses
