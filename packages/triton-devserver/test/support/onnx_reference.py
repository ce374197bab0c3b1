"""Runs ONNX models with Python's onnxruntime: one JSON line in, one out.

In: {"path", "inputs": {name: {"type", "shape", "data"}}}, data in base64, texts as a list of base64.
Out: {"version"} at the start, then for each line {name: {"type", "shape", "data"}}.
"""

import base64
import json
import sys

import numpy as np
import onnxruntime

sessions = {}


def read(tensor):
    if tensor["type"] == "BYTES":
        texts = [base64.b64decode(each).decode() for each in tensor["data"]]
        return np.array(texts, dtype=object).reshape(tensor["shape"])
    kind = np.dtype(tensor["type"])
    return np.frombuffer(base64.b64decode(tensor["data"]), dtype=kind).reshape(tensor["shape"])


def write(array):
    array = np.asarray(array)
    if array.dtype == object:
        data = [base64.b64encode(each.encode()).decode() for each in array.reshape(-1)]
        return {"type": "BYTES", "shape": array.shape, "data": data}
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"type": array.dtype.name, "shape": array.shape, "data": data}


print(json.dumps({"version": onnxruntime.__version__}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    path = request["path"]
    if path not in sessions:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        sessions[path] = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    session = sessions[path]
    outputs = session.run(None, {name: read(tensor) for name, tensor in request["inputs"].items()})
    names = [output.name for output in session.get_outputs()]
    print(json.dumps({name: write(array) for name, array in zip(names, outputs)}), flush=True)
