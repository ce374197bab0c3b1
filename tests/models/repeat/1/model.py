"""Decoupled: answers a request any number of times. INT32 [n] in; answer k is INT32 [n + 1]: k, then the input.

Request parameters: `answers` (default 1), `ms` before each of them (default 0), `fail_at` (the answer that is an error,
after which the others follow), `own_final` (true: the last answer says that it is the last; else that is said by an
answer without outputs). Requests run side by side.
"""

import json
import threading
import time

import numpy
import triton_python_backend_utils as pb_utils


NUMPY_2 = int(numpy.__version__.split(".")[0]) >= 2
FINAL = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL


# Under numpy 2 this backend's as_numpy() repeats the first element and its Tensor() is empty, both without an error;
# under numpy 1.26 its from_dlpack() ends the process.
def read(tensor):
    return numpy.from_dlpack(tensor) if NUMPY_2 else tensor.as_numpy()


def output_tensor(name, values):
    return pb_utils.Tensor.from_dlpack(name, values.copy()) if NUMPY_2 else pb_utils.Tensor(name, values)


def answer(sender, values, parameters):
    answers = int(parameters.get("answers", 1))
    own_final = bool(parameters.get("own_final", False)) and answers > 0
    for k in range(answers):
        time.sleep(float(parameters.get("ms", 0)) / 1000)
        if k == int(parameters.get("fail_at", -1)):
            response = pb_utils.InferenceResponse(error=pb_utils.TritonError("This answer fails"))
        else:
            output = numpy.concatenate([numpy.array([k], numpy.int32), values])
            response = pb_utils.InferenceResponse([output_tensor("OUTPUT0", output)])
        sender.send(response, flags=FINAL if own_final and k == answers - 1 else 0)
    if not own_final:
        sender.send(flags=FINAL)


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            values = read(pb_utils.get_input_tensor_by_name(request, "INPUT0")).copy()
            parameters = json.loads(request.parameters() or "{}")
            sender = request.get_response_sender()
            threading.Thread(target=answer, args=(sender, values, parameters), daemon=True).start()
