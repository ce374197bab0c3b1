"""Counts and adds up within a sequence: INT32 [1] in; INT32 [2] out: the requests so far, and the sum of their inputs."""

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
    def initialize(self, args):
        self.sequences = {}

    def execute(self, requests):
        responses = []
        for request in requests:
            value, start, end, corrid = (
                int(read(pb_utils.get_input_tensor_by_name(request, name)).flat[0])
                for name in ("INPUT0", "START", "END", "CORRID")
            )
            count, total = (0, 0) if start else self.sequences.get(corrid, (0, 0))
            count, total = count + 1, total + value
            self.sequences[corrid] = (count, total)
            if end:
                del self.sequences[corrid]
            output = output_tensor("OUTPUT0", numpy.array([count, total], numpy.int32))
            responses.append(pb_utils.InferenceResponse([output]))
        return responses
