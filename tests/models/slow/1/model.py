"""Waits, then returns its input: FP32 [rows, columns] in, the same values out, written at the very end.

Waits for the request parameter `ms` (whole milliseconds); without it for as many as the input's first value says.
"""

import json
import time

import numpy
import triton_python_backend_utils as pb_utils


NUMPY_2 = int(numpy.__version__.split(".")[0]) >= 2


# Under numpy 2 this backend's as_numpy() repeats the first element and its Tensor() is empty, both without an error;
# under numpy 1.26 its from_dlpack() ends the process.
def read(tensor):
    return numpy.from_dlpack(tensor) if NUMPY_2 else tensor.as_numpy()


def output_tensor(name, values):
    return pb_utils.Tensor.from_dlpack(name, values.copy()) if NUMPY_2 else pb_utils.Tensor(name, values)


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            values = read(pb_utils.get_input_tensor_by_name(request, "INPUT0"))
            parameters = json.loads(request.parameters() or "{}")
            time.sleep(float(parameters.get("ms", values.flat[0])) / 1000)
            output = output_tensor("OUTPUT0", values)
            responses.append(pb_utils.InferenceResponse([output]))
        return responses
