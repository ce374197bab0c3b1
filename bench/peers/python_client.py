"""One measurement of NVIDIA's Python client: python_client.py SPEC, a JSON object; prints a JSON object.

SPEC has grpcUrl, model, transport ("cuda", "system" or "bytes"), inputShape, inputByteLength, outputByteLength,
warmUpMs, durationMs, minRequests. The input is written once; the output is never read, unless "look" is true: then its
name, shape and datatype are, and its first bytes where it lies in host memory. With "protocol" "http" the client is the
HTTP one, at httpUrl. One request in flight.
"""
import json
import math
import sys
import time
import uuid
from urllib.parse import urlparse

import numpy as np
import tritonclient.grpc as grpcclient


class SystemRegion:
    """A POSIX shared-memory object, registered under its own name. Sizes in bytes."""

    def __init__(self, client, byte_length):
        import tritonclient.utils.shared_memory as shm

        self.shm, self.client = shm, client
        self.name = "bench-python-" + uuid.uuid4().hex
        self.handle = shm.create_shared_memory_region(self.name, "/" + self.name, byte_length)
        client.register_system_shared_memory(self.name, "/" + self.name, byte_length)

    def write(self, values):
        self.shm.set_shared_memory_region(self.handle, [values])

    def first(self):
        return self.shm.get_contents_as_numpy(self.handle, np.float32, [1])

    def close(self):
        self.client.unregister_system_shared_memory(self.name)
        self.shm.destroy_shared_memory_region(self.handle)


class CudaRegion:
    """A device allocation on GPU 0, registered under its own name. Sizes in bytes."""

    def __init__(self, client, byte_length):
        import tritonclient.utils.cuda_shared_memory as cudashm

        self.shm, self.client = cudashm, client
        self.name = "bench-python-" + uuid.uuid4().hex
        self.handle = cudashm.create_shared_memory_region(self.name, byte_length, 0)
        client.register_cuda_shared_memory(self.name, cudashm.get_raw_handle(self.handle), 0, byte_length)

    def write(self, values):
        self.shm.set_shared_memory_region(self.handle, [values])

    def close(self):
        self.client.unregister_cuda_shared_memory(self.name)
        self.shm.destroy_shared_memory_region(self.handle)


def http_client():
    # A part of the package of its own, with dependencies that not every machine has.
    import tritonclient.http

    return tritonclient.http


def percentile(ordered, share):
    """By nearest rank, as in src/statistics.ts."""
    return ordered[min(len(ordered), max(1, math.ceil(share * len(ordered)))) - 1]


def run(request, duration, least):
    """Latencies in seconds of requests made one after the other."""
    latencies = []
    now = time.perf_counter()
    end = now + duration
    while len(latencies) < least or now < end:
        request()
        then, now = now, time.perf_counter()
        latencies.append(now - then)
    return latencies


def measure(request, spec):
    """Warms up, then times requests for as long as SPEC says; CPU is this process's."""
    run(request, spec["warmUpMs"] / 1000, 1)
    cpu, started = time.process_time(), time.perf_counter()
    latencies = run(request, spec["durationMs"] / 1000, spec["minRequests"])
    elapsed, cpu = time.perf_counter() - started, time.process_time() - cpu
    ordered = sorted(latencies)
    return {
        "requests": len(ordered),
        "p50Us": percentile(ordered, 0.5) * 1e6,
        "p99Us": percentile(ordered, 0.99) * 1e6,
        "requestsPerSecond": len(ordered) / elapsed,
        "clientCpuUs": cpu / len(ordered) * 1e6,
    }


def main():
    spec = json.loads(sys.argv[1])
    is_http = spec.get("protocol") == "http"
    api = http_client() if is_http else grpcclient
    client = api.InferenceServerClient(urlparse(spec["httpUrl" if is_http else "grpcUrl"]).netloc)
    values = np.ones(spec["inputShape"], np.float32)
    infer_input = api.InferInput("INPUT0", spec["inputShape"], "FP32")
    infer_output = api.InferRequestedOutput("OUTPUT0")
    regions = []
    try:
        if spec["transport"] == "bytes":
            infer_input.set_data_from_numpy(values)
        else:
            kind = CudaRegion if spec["transport"] == "cuda" else SystemRegion
            for byte_length in (spec["inputByteLength"], spec["outputByteLength"]):
                regions.append(kind(client, byte_length))
            regions[0].write(values)
            infer_input.set_shared_memory(regions[0].name, spec["inputByteLength"])
            infer_output.set_shared_memory(regions[1].name, spec["outputByteLength"])

        def look(result):
            output = result.get_output("OUTPUT0")
            if is_http:
                name, datatype, shape = output["name"], output["datatype"], output["shape"]
            else:
                name, datatype, shape = output.name, output.datatype, list(output.shape)
            if (name, datatype) != ("OUTPUT0", "FP32") or not shape:
                raise ValueError(f"the answer is {name} {datatype} {shape}")
            if spec["transport"] == "bytes":
                first = result.as_numpy("OUTPUT0").reshape(-1)[:1]
            elif spec["transport"] == "system":
                first = regions[1].first()
            else:
                return
            if not first.any():
                raise ValueError("the output holds zeros")

        def request():
            result = client.infer(spec["model"], [infer_input], outputs=[infer_output])
            if spec.get("look"):
                look(result)

        measured = measure(request, spec)
    finally:
        for region in regions:
            region.close()
        client.close()
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
