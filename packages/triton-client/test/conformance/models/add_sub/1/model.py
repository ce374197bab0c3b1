"""INT32 [batch, 16] twice; their sum and their difference."""

import numpy
import triton_python_backend_utils as pb_utils


NUMPY_2 = int(numpy.__version__.split(".")[0]) >= 2


# Under numpy 2 this backend's as_numpy() repeats the first element and its Tensor() is empty, both without an error;
# under numpy 1.26 its from_dlpack() ends the process.
def read(request, name):
    tensor = pb_utils.get_input_tensor_by_name(request, name)
    return numpy.from_dlpack(tensor) if NUMPY_2 else tensor.as_numpy()


def output_tensor(name, values):
    return pb_utils.Tensor.from_dlpack(name, values) if NUMPY_2 else pb_utils.Tensor(name, values)


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            first, second = read(request, "INPUT0"), read(request, "INPUT1")
            outputs = [output_tensor("OUTPUT0", first + second), output_tensor("OUTPUT1", first - second)]
            responses.append(pb_utils.InferenceResponse(outputs))
        return responses
