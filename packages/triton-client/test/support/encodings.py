"""What NVIDIA's Python client puts on the wire, and numpy's and ml_dtypes' roundings, for a TypeScript test.

In: a JSON object on stdin. Out: JSON; bytes as base64.
"""

import base64
import json
import sys

import ml_dtypes
import numpy as np
from tritonclient.grpc import InferInput
from tritonclient.utils import deserialize_bytes_tensor, serialize_byte_tensor, triton_to_np_dtype


def text(data):
    return base64.b64encode(bytes(data)).decode()


def raw(datatype, shape, values):
    """The bytes that the client sends for a tensor of these values."""
    if datatype == "BYTES":
        array = np.array([base64.b64decode(value) for value in values], dtype=np.object_)
    elif datatype == "BF16":
        array = np.array([float(value) for value in values], dtype=ml_dtypes.bfloat16)
    elif "FP" in datatype:
        array = np.array([float(value) for value in values], dtype=triton_to_np_dtype(datatype))
    else:
        array = np.array([int(value) for value in values], dtype=triton_to_np_dtype(datatype))
    tensor = InferInput("x", shape, datatype)
    tensor.set_data_from_numpy(array.reshape(shape))
    return text(tensor._get_content())


request = json.load(sys.stdin)
bits = np.frombuffer(base64.b64decode(request["float32"]), dtype=np.uint32)
doubles = np.frombuffer(base64.b64decode(request["float64"]), dtype=np.float64)
floats = bits.view(np.float32)
patterns = np.arange(65536, dtype=np.uint16)
with np.errstate(all="ignore"):
    answer = {
        "tensors": [raw(*tensor) for tensor in request["tensors"]],
        "elements": [text(element) for element in deserialize_bytes_tensor(base64.b64decode(request["bytes"]))],
        "serialized": text(serialize_byte_tensor(np.array([b"a", b"", b"\xff\x00"], dtype=np.object_)).item()),
        "float16": text(floats.astype(np.float16).tobytes()),
        "float16OfDoubles": text(doubles.astype(np.float16).tobytes()),
        "bfloat16": text(floats.astype(ml_dtypes.bfloat16).tobytes()),
        "fromFloat16": text(patterns.view(np.float16).astype(np.float32).tobytes()),
        "fromBfloat16": text(patterns.view(ml_dtypes.bfloat16).astype(np.float32).tobytes()),
    }
json.dump(answer, sys.stdout)
