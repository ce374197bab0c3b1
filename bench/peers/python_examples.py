"""NVIDIA's Python client used as its shared-memory examples use it: python_examples.py SPEC, a JSON object; prints one.

As simple_grpc_shm_client.py and simple_grpc_cudashm_client.py do for one request, so here for each: create a region for the
input and one for the output, register both, write, infer, read the output, unregister both, destroy them. SPEC has grpcUrl,
model, transport ("cuda" or "system"), inputShape, inputByteLength, outputByteLength, warmUpMs, durationMs, minRequests.
"""
import json
import sys
import uuid
from urllib.parse import urlparse

import numpy as np
import tritonclient.grpc as grpcclient

from python_client import measure


def unregister(call, name):
    """Straight after the answer a server may still count the request: "in use"."""
    while True:
        try:
            return call(name)
        except grpcclient.InferenceServerException as error:
            if "currently in use" not in str(error):
                raise


def system_memory(client):
    import tritonclient.utils.shared_memory as shm

    def region(byte_length):
        name = "bench-example-" + uuid.uuid4().hex
        handle = shm.create_shared_memory_region(name, "/" + name, byte_length)
        client.register_system_shared_memory(name, "/" + name, byte_length)
        return name, handle

    def destroy(name, handle):
        unregister(client.unregister_system_shared_memory, name)
        shm.destroy_shared_memory_region(handle)

    return region, shm.set_shared_memory_region, shm.get_contents_as_numpy, destroy


def cuda_memory(client):
    import tritonclient.utils.cuda_shared_memory as cudashm

    def region(byte_length):
        name = "bench-example-" + uuid.uuid4().hex
        handle = cudashm.create_shared_memory_region(name, byte_length, 0)
        client.register_cuda_shared_memory(name, cudashm.get_raw_handle(handle), 0, byte_length)
        return name, handle

    def destroy(name, handle):
        unregister(client.unregister_cuda_shared_memory, name)
        cudashm.destroy_shared_memory_region(handle)

    return region, cudashm.set_shared_memory_region, cudashm.get_contents_as_numpy, destroy


def main():
    spec = json.loads(sys.argv[1])
    client = grpcclient.InferenceServerClient(urlparse(spec["grpcUrl"]).netloc)
    values = np.ones(spec["inputShape"], np.float32)
    memory = cuda_memory if spec["transport"] == "cuda" else system_memory
    region, write, read, destroy = memory(client)
    output_elements = spec["outputByteLength"] // 4

    def request():
        input_name, input_handle = region(spec["inputByteLength"])
        output_name, output_handle = region(spec["outputByteLength"])
        write(input_handle, [values])
        infer_input = grpcclient.InferInput("INPUT0", spec["inputShape"], "FP32")
        infer_input.set_shared_memory(input_name, spec["inputByteLength"])
        infer_output = grpcclient.InferRequestedOutput("OUTPUT0")
        infer_output.set_shared_memory(output_name, spec["outputByteLength"])
        client.infer(spec["model"], [infer_input], outputs=[infer_output])
        # A copy, as the regions go.
        output = np.array(read(output_handle, np.float32, [output_elements]))
        if not output[0] or not output[-1]:
            raise ValueError("the output holds zeros")
        destroy(input_name, input_handle)
        destroy(output_name, output_handle)

    try:
        measured = measure(request, spec)
    finally:
        client.close()
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
