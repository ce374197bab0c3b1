"""Answers a text any number of times, as a language model does: the text, a large number, a score that is no number.

Request parameters: `n`, how many answers (default 1); `fail_at`, which of them, from 0, is an error instead; `ms`, the wait
before each.
"""

import json
import time

import numpy
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            text = pb_utils.get_input_tensor_by_name(request, "text_input").as_numpy()
            parameters = json.loads(request.parameters() or "{}")
            sender = request.get_response_sender()
            for index in range(int(parameters.get("n", 1))):
                time.sleep(float(parameters.get("ms", 0)) / 1000)
                if index == parameters.get("fail_at"):
                    error = pb_utils.TritonError("This text always fails")
                    sender.send(pb_utils.InferenceResponse(error=error))
                    continue
                outputs = [
                    pb_utils.Tensor("text_output", text),
                    pb_utils.Tensor("number", numpy.array([2**62 + index], numpy.int64)),
                    pb_utils.Tensor("score", numpy.array([numpy.nan], numpy.float32)),
                ]
                sender.send(pb_utils.InferenceResponse(outputs))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
