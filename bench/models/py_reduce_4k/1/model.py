"""Sums INPUT0 (FP32, n elements) over 6,000 adaptive windows: OUTPUT0[k] = sum of x[floor(k n/6000) : ceil((k+1) n/6000)].

The same definition as the native backend's `reduce`, so that one check of the answer serves both.
"""
from math import gcd

import numpy
import triton_python_backend_utils as pb_utils

ROWS, COLUMNS = 1000, 6
WINDOWS = ROWS * COLUMNS


NUMPY_2 = int(numpy.__version__.split(".")[0]) >= 2


def input_array(tensor):
    """The array of an input in host memory; under numpy 2 the backend's as_numpy() silently repeats its first element."""
    return numpy.from_dlpack(tensor) if NUMPY_2 else tensor.as_numpy()


def output_tensor(name, array):
    """A response tensor of a numpy array, right under numpy 1 and 2.

    Under numpy 2 the backend's Tensor(name, array) gives silently empty outputs; under numpy 1.26 its from_dlpack
    ends the process (numpy's capsule is renamed, and its destructor fails without end).
    """
    return pb_utils.Tensor.from_dlpack(name, array) if NUMPY_2 else pb_utils.Tensor(name, array)


def window_sums(flat, out):
    """flat: [n]; out: [WINDOWS], overwritten. Both numpy arrays or both torch tensors.

    The windows' pattern repeats `groups` times, so each place in the pattern is one strided sum over all groups.
    """
    n = flat.shape[0]
    groups = gcd(n, WINDOWS)
    places = WINDOWS // groups
    rows = flat.reshape(groups, n // groups)
    sums = out.reshape(groups, places)
    for place in range(places):
        begin = place * n // WINDOWS
        end = -(-(place + 1) * n // WINDOWS)
        sums[:, place] = rows[:, begin:end].sum(1)


class TritonPythonModel:
    def initialize(self, args):
        """On a GPU instance torch must be importable by the backend's Python; a CPU instance needs numpy alone."""
        self.on_gpu = args["model_instance_kind"] == "GPU"
        if self.on_gpu:
            import torch

            self.torch = torch
            self.device = torch.device("cuda", int(args["model_instance_device_id"]))

    def execute(self, requests):
        responses = []
        for request in requests:
            tensor = pb_utils.get_input_tensor_by_name(request, "INPUT0")
            if self.on_gpu:
                values = self.torch.from_dlpack(tensor.to_dlpack()).to(self.device)
                result = self.torch.empty(WINDOWS, dtype=self.torch.float32, device=self.device)
                window_sums(values.reshape(-1), result)
                # The backend copies the result on its own stream.
                self.torch.cuda.synchronize(self.device)
                output = pb_utils.Tensor.from_dlpack("OUTPUT0", result.reshape(ROWS, COLUMNS))
            else:
                result = numpy.empty(WINDOWS, dtype=numpy.float32)
                window_sums(input_array(tensor).reshape(-1), result)
                output = output_tensor("OUTPUT0", result.reshape(ROWS, COLUMNS))
            responses.append(pb_utils.InferenceResponse([output]))
        return responses
