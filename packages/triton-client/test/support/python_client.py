"""Prints what PyPI's tritonclient offers: its public classes, functions and their parameters, as JSON by module."""

import importlib
import inspect
import json
import sys
from unittest import mock

MODULES = [
    "tritonclient.grpc",
    "tritonclient.grpc.aio",
    "tritonclient.grpc.auth",
    "tritonclient.grpc.aio.auth",
    "tritonclient.http",
    "tritonclient.http.aio",
    "tritonclient.http.auth",
    "tritonclient.http.aio.auth",
    "tritonclient.utils",
    "tritonclient.utils.shared_memory",
    "tritonclient.utils.cuda_shared_memory",
]


def parameters(call):
    return [name for name in inspect.signature(call).parameters if name not in ("self", "args", "kwargs")]


def own_members(kind):
    """Public methods, and the constructor; not what every exception has."""
    for name, member in inspect.getmembers(kind, callable):
        if name == "__init__":
            if member is not object.__init__ and not isinstance(member, type(object.__init__)):
                yield name, parameters(member)
        elif not name.startswith("_") and not hasattr(BaseException, name):
            yield name, parameters(member)


def public_names(module):
    listed = getattr(module, "__all__", None)
    for name in listed or dir(module):
        member = getattr(module, name)
        theirs = getattr(member, "__module__", module.__name__).startswith("tritonclient")
        if not name.startswith("_") and theirs and not inspect.ismodule(member) and "_pb2" not in str(member):
            yield name, member


def main():
    # The CUDA module is only looked at: the packages that it needs are not there.
    for name in ("cuda", "cuda.bindings", "cuda.bindings.driver", "cuda.bindings.runtime", "cuda.cudart", "cuda.core"):
        sys.modules.setdefault(name, mock.MagicMock())
    out = {}
    for name in MODULES:
        entry = out[name] = {"classes": {}, "functions": {}, "constants": []}
        for member_name, member in public_names(importlib.import_module(name)):
            if inspect.isclass(member):
                entry["classes"][member_name] = dict(own_members(member))
            elif callable(member):
                entry["functions"][member_name] = parameters(member)
            else:
                entry["constants"].append(member_name)
    print(json.dumps(out))


main()
