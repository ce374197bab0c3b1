"""Returns its input: FP32 [64, 64] in, the same values out."""

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
            output = output_tensor("OUTPUT0", values)
            responses.append(pb_utils.InferenceResponse([output]))
        return responses
