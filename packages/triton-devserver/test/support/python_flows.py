"""Runs the example flows of NVIDIA's Python client against a server and prints what each gave, as JSON.

Usage: python_flows.py GRPC_HOST:PORT HTTP_HOST:PORT
"""

import json
import queue
import sys
import time
import uuid

import numpy as np
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
import tritonclient.utils.shared_memory as shm
from tritonclient.utils import InferenceServerException

GRPC, HTTP = sys.argv[1:]
FLOATS = np.arange(12, dtype=np.float32).reshape(3, 4)
WORDS = np.array(["plain", "süß", "", "x" * 300], dtype=np.object_)


def shown(value):
    """A value as JSON has it; arrays with their type and shape."""
    if isinstance(value, np.ndarray):
        if value.dtype == np.object_:
            return ["object", list(value.shape), [element.decode() for element in value.ravel()]]
        return [str(value.dtype), list(value.shape), value.ravel().tolist()]
    if isinstance(value, dict):
        return {str(key): shown(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [shown(inner) for inner in value]
    return value


def told(error):
    return {"error": error.message(), "status": error.status()}


def attempt(call):
    """What a call gives, or the exception that the client makes of the server's answer."""
    try:
        return shown(call())
    except InferenceServerException as error:
        return told(error)


def tensor(module, name, array, datatype):
    given = module.InferInput(name, list(array.shape), datatype)
    given.set_data_from_numpy(array)
    return given


def as_dict(client, call, *args, **kwargs):
    """Over gRPC the client gives messages unless it is asked for JSON."""
    if isinstance(client, grpcclient.InferenceServerClient):
        kwargs["as_json"] = True
    return getattr(client, call)(*args, **kwargs)


def describe(client):
    return {
        "live": client.is_server_live(),
        "ready": client.is_server_ready(),
        "model": client.is_model_ready("identity"),
        "version": client.is_model_ready("identity", "1"),
        "no model": attempt(lambda: client.is_model_ready("nope")),
        "server": as_dict(client, "get_server_metadata"),
        "metadata": [as_dict(client, "get_model_metadata", name) for name in ("identity", "echo_bytes", "sequence")],
        "config": [as_dict(client, "get_model_config", name) for name in ("identity", "repeat", "sequence")],
        "unknown": [
            attempt(lambda: as_dict(client, "get_model_metadata", "nope")),
            attempt(lambda: as_dict(client, "get_model_config", "identity", "7")),
        ],
    }


def infer(module, client):
    outputs = [module.InferRequestedOutput("OUTPUT0")]
    floats = [tensor(module, "INPUT0", FLOATS, "FP32")]
    result = client.infer("identity", floats, outputs=outputs, request_id="a", parameters={"x": 1})
    answer = result.get_response()
    words = client.infer("echo_bytes", [tensor(module, "INPUT0", WORDS, "BYTES")], model_version="1")
    given = {
        "floats": shown(result.as_numpy("OUTPUT0")),
        "id": answer["id"] if isinstance(answer, dict) else answer.id,
        "no such output": result.as_numpy("nope"),
        "words": shown(words.as_numpy("OUTPUT0")),
        "class": shown(
            client.infer(
                "identity", floats, outputs=[module.InferRequestedOutput("OUTPUT0", class_count=2)]
            ).as_numpy("OUTPUT0")
        ),
    }
    if module is httpclient:
        text = httpclient.InferInput("INPUT0", list(FLOATS.shape), "FP32")
        text.set_data_from_numpy(FLOATS, binary_data=False)
        plain = [httpclient.InferRequestedOutput("OUTPUT0", binary_data=False)]
        given["JSON"] = shown(client.infer("identity", [text], outputs=plain).as_numpy("OUTPUT0"))
        for kind in ("gzip", "deflate"):
            packed = client.infer(
                "identity", floats, request_compression_algorithm=kind, response_compression_algorithm=kind
            )
            given[kind] = shown(packed.as_numpy("OUTPUT0"))
        given["async"] = shown(client.async_infer("identity", floats).get_result().as_numpy("OUTPUT0"))
        return given
    for kind in ("gzip", "deflate"):
        packed = client.infer("identity", floats, compression_algorithm=kind)
        given[kind] = shown(packed.as_numpy("OUTPUT0"))
    answers = queue.Queue()
    client.async_infer("identity", floats, lambda result, error: answers.put((result, error)))
    result, error = answers.get(timeout=20)
    given["async"] = shown(result.as_numpy("OUTPUT0"))
    return given


def errors(module, client):
    floats = tensor(module, "INPUT0", FLOATS, "FP32")
    flat = tensor(module, "INPUT0", FLOATS.ravel(), "FP32")
    integers = tensor(module, "INPUT0", FLOATS.astype(np.int32), "INT32")
    misnamed = tensor(module, "INPUT7", FLOATS, "FP32")
    unknown = [module.InferRequestedOutput("OUTPUT7")]
    calls = {
        "model": lambda: client.infer("nope", [floats]),
        "version": lambda: client.infer("identity", [floats], model_version="7"),
        "shape": lambda: client.infer("identity", [flat]),
        "datatype": lambda: client.infer("identity", [integers]),
        "name": lambda: client.infer("identity", [misnamed]),
        "count": lambda: client.infer("identity", [floats, misnamed]),
        "output": lambda: client.infer("identity", [floats], outputs=unknown),
        "fails": lambda: client.infer("fail", [floats]),
        "decoupled": lambda: client.infer("repeat", [tensor(module, "INPUT0", np.int32([1]), "INT32")]),
        "no sequence": lambda: client.infer("sequence", [tensor(module, "INPUT0", np.int32([1]), "INT32")]),
    }
    return {name: attempt(call) for name, call in calls.items()}


def shared_memory(module, client):
    size = FLOATS.nbytes
    name = "flow"
    key = "/zerohop-python-" + uuid.uuid4().hex[:12]
    region = shm.create_shared_memory_region(name, key, 2 * size)
    try:
        shm.set_shared_memory_region(region, [FLOATS])
        client.register_system_shared_memory(name, key, 2 * size)

        def status():
            listed = as_dict(client, "get_system_shared_memory_status")
            return json.loads(json.dumps(listed).replace(key, "KEY"))

        given = {"registered": status()}
        source = module.InferInput("INPUT0", list(FLOATS.shape), "FP32")
        source.set_shared_memory(name, size)
        target = module.InferRequestedOutput("OUTPUT0")
        target.set_shared_memory(name, size, offset=size)
        result = client.infer("identity", [source], outputs=[target])
        output = result.get_output("OUTPUT0")
        shape = output["shape"] if isinstance(output, dict) else list(output.shape)
        given["shape"] = [int(dimension) for dimension in shape]
        given["written"] = shown(shm.get_contents_as_numpy(region, np.float32, FLOATS.shape, offset=size))
        given["to the message"] = shown(client.infer("identity", [source]).as_numpy("OUTPUT0"))
        small = module.InferRequestedOutput("OUTPUT0")
        small.set_shared_memory(name, size - 4, offset=size)
        outside = module.InferInput("INPUT0", list(FLOATS.shape), "FP32")
        outside.set_shared_memory(name, size, offset=2 * size)
        absent = module.InferInput("INPUT0", list(FLOATS.shape), "FP32")
        absent.set_shared_memory("nope", size)
        given["errors"] = [
            attempt(lambda: client.infer("identity", [source], outputs=[small])),
            attempt(lambda: client.infer("identity", [outside])),
            attempt(lambda: client.infer("identity", [absent])),
            attempt(lambda: client.register_system_shared_memory(name, key, size)),
            attempt(lambda: client.register_system_shared_memory("other", "/zerohop-not-there", size)),
            attempt(lambda: as_dict(client, "get_system_shared_memory_status", "nope")),
            attempt(lambda: client.register_cuda_shared_memory("cuda", b"AAAA", 0, size)),
        ]
        client.unregister_system_shared_memory(name)
        client.unregister_system_shared_memory()
        client.unregister_cuda_shared_memory()
        given["unregistered"] = status()
        given["cuda"] = as_dict(client, "get_cuda_shared_memory_status")
        given["afterwards"] = attempt(lambda: client.infer("identity", [source]))
        return given
    finally:
        shm.destroy_shared_memory_region(region)


def streaming(client):
    def collect(send):
        """Sends on a stream of its own; all answers until the stream has ended."""
        answers = queue.Queue()
        client.start_stream(lambda result, error: answers.put((result, error)))
        send()
        client.stop_stream()
        collected = []
        while not answers.empty():
            result, error = answers.get()
            if error is not None:
                collected.append(told(error))
                continue
            message = result.get_response()
            flag = message.parameters["triton_final_response"].bool_param
            collected.append([message.id, shown(result.as_numpy("OUTPUT0")), flag])
        return collected

    values = [tensor(grpcclient, "INPUT0", np.int32([7, 8]), "INT32")]

    def repeat(**parameters):
        return lambda: client.async_stream_infer(
            "repeat", values, request_id="r", enable_empty_final_response=True, parameters=parameters
        )

    def sequences():
        for index in range(3):
            for sequence in (11, 12):
                client.async_stream_infer(
                    "sequence",
                    [tensor(grpcclient, "INPUT0", np.int32([index * sequence]), "INT32")],
                    request_id=f"{sequence}-{index}",
                    sequence_id=sequence,
                    sequence_start=index == 0,
                    sequence_end=index == 2,
                )

    def wrong():
        client.async_stream_infer("nope", values, request_id="n")
        client.async_stream_infer("fail", [tensor(grpcclient, "INPUT0", FLOATS, "FP32")], request_id="f")
        client.async_stream_infer("identity", [tensor(grpcclient, "INPUT0", FLOATS, "FP32")], request_id="i")

    return {
        "repeat": collect(repeat(answers=4)),
        "own final": collect(repeat(answers=2, own_final=True)),
        "no answer": collect(repeat(answers=0)),
        "one fails": collect(repeat(answers=3, fail_at=1)),
        "sequences": sorted(collect(sequences)),
        "wrong": collect(wrong),
    }


def sequence(module, client):
    """A sequence by single requests, and a request of one that never began."""
    values = []
    for index in range(3):
        given = [tensor(module, "INPUT0", np.int32([5 + index]), "INT32")]
        result = client.infer(
            "sequence", given, sequence_id=21, sequence_start=index == 0, sequence_end=index == 2
        )
        values.append(shown(result.as_numpy("OUTPUT0")))
    lost = attempt(
        lambda: client.infer("sequence", [tensor(module, "INPUT0", np.int32([5]), "INT32")], sequence_id=22)
    )
    return [values, lost]


def repository(client):
    def index():
        entries = as_dict(client, "get_model_repository_index")
        return sorted(
            (entries["models"] if isinstance(entries, dict) else entries), key=lambda entry: entry["name"]
        )

    given = {"before": index()}
    client.unload_model("echo_bytes")
    given["unloading"] = client.is_model_ready("echo_bytes")
    given["refused"] = attempt(lambda: as_dict(client, "get_model_metadata", "echo_bytes"))
    client.load_model("echo_bytes")
    given["loaded"] = client.is_model_ready("echo_bytes")
    config = json.dumps(
        {
            "backend": "python",
            "max_batch_size": 3,
            "input": [{"name": "INPUT0", "data_type": "TYPE_FP32", "dims": [-1]}],
            "output": [{"name": "OUTPUT0", "data_type": "TYPE_FP32", "dims": [-1]}],
            "instance_group": [{"kind": "KIND_CPU"}],
        }
    )
    client.load_model("identity", config=config)
    overridden = as_dict(client, "get_model_config", "identity")
    given["overridden"] = overridden.get("config", overridden)["max_batch_size"]
    client.unload_model("identity")
    client.load_model("identity")
    restored = as_dict(client, "get_model_config", "identity")
    given["restored"] = restored.get("config", restored).get("max_batch_size", 0)
    given["errors"] = [
        attempt(lambda: client.load_model("nope")),
        attempt(lambda: client.load_model("identity", config="{")),
        attempt(lambda: client.unload_model("nope")),
    ]
    given["after"] = index()
    return given


def statistics(module, client):
    """How the counts of a model change by three requests, one of which is refused; times are the server's own."""

    def counts():
        found = as_dict(client, "get_inference_statistics", "identity")["model_stats"][0]
        sums = {kind: int(times.get("count", 0)) for kind, times in found["inference_stats"].items()}
        return {key: found[key] for key in ("name", "version")}, [int(found.get("inference_count", 0))], sums

    def settled():
        """A server counts a request after it has answered it: the counts once they have been the same for 0.3 s."""
        known = counts()
        same = 0
        while same < 3:
            time.sleep(0.1)
            found = counts()
            same = same + 1 if found == known else 0
            known = found
        return known

    before = settled()
    floats = [tensor(module, "INPUT0", FLOATS, "FP32")]
    client.infer("identity", floats)
    client.infer("identity", floats)
    attempt(lambda: client.infer("identity", [tensor(module, "INPUT0", FLOATS.ravel(), "FP32")]))
    after = settled()
    everything = as_dict(client, "get_inference_statistics")["model_stats"]
    return {
        "model": after[0],
        "inferences": after[1][0] - before[1][0],
        "durations": {kind: after[2][kind] - before[2][kind] for kind in after[2]},
        "fields": sorted(everything[0]),
        "models": sorted(entry["name"] for entry in everything),
        "unknown": attempt(lambda: as_dict(client, "get_inference_statistics", "nope")),
    }


def settings(client):
    given = {
        "trace": as_dict(client, "get_trace_settings"),
        "traced": as_dict(
            client, "update_trace_settings", settings={"trace_level": ["TIMESTAMPS"], "trace_rate": "500"}
        ),
        "of a model": as_dict(
            client, "update_trace_settings", model_name="identity", settings={"trace_count": "5", "trace_rate": "10"}
        ),
        "by model": as_dict(client, "get_trace_settings", model_name="identity"),
        "cleared": as_dict(
            client, "update_trace_settings", model_name="identity", settings={"trace_count": None, "trace_rate": None}
        ),
        "all cleared": as_dict(
            client, "update_trace_settings", settings={"trace_level": ["OFF"], "trace_rate": None}
        ),
        "log": as_dict(client, "get_log_settings"),
        "verbose": as_dict(
            client, "update_log_settings", {"log_verbose_level": 1, "log_warning": False, "log_format": "ISO8601"}
        ),
        "quiet": as_dict(
            client, "update_log_settings", {"log_verbose_level": 0, "log_warning": True, "log_format": "default"}
        ),
        "errors": [
            attempt(lambda: as_dict(client, "update_trace_settings", settings={"trace_rate": "x"})),
            attempt(lambda: as_dict(client, "update_trace_settings", model_name="nope", settings={"trace_rate": "1"})),
            attempt(lambda: as_dict(client, "update_trace_settings", settings={"trace_level": ["SOME"]})),
            attempt(lambda: as_dict(client, "update_log_settings", {"log_format": "odd"})),
        ],
    }
    return given


def main():
    given = {}
    for module, url in ((grpcclient, GRPC), (httpclient, HTTP)):
        client = module.InferenceServerClient(url)
        given[module.__name__] = {
            "describe": describe(client),
            "infer": infer(module, client),
            "errors": errors(module, client),
            "shared memory": shared_memory(module, client),
            "sequence": sequence(module, client),
            "statistics": statistics(module, client),
            "settings": settings(client),
            "repository": repository(client),
        }
        if module is grpcclient:
            given[module.__name__]["streaming"] = streaming(client)
        client.close()
    print(json.dumps(given))


main()
