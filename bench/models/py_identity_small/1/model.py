"""Copies INPUT0 (FP32, any shape) to OUTPUT0, on the device where the input lies."""
import numpy
import triton_python_backend_utils as pb_utils


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
                result = values.clone()
                # The backend copies the result on its own stream.
                self.torch.cuda.synchronize(self.device)
                output = pb_utils.Tensor.from_dlpack("OUTPUT0", result)
            else:
                output = output_tensor("OUTPUT0", input_array(tensor).copy())
            responses.append(pb_utils.InferenceResponse([output]))
        return responses
