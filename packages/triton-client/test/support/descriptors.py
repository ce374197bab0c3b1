"""Prints the protocol's descriptors out of PyPI's tritonclient as JSON, in the shape that protocol.test.ts compares."""

import json

from tritonclient.grpc import model_config_pb2, service_pb2

TYPES = {
    1: "TYPE_DOUBLE",
    2: "TYPE_FLOAT",
    3: "TYPE_INT64",
    4: "TYPE_UINT64",
    5: "TYPE_INT32",
    8: "TYPE_BOOL",
    9: "TYPE_STRING",
    11: "TYPE_MESSAGE",
    12: "TYPE_BYTES",
    13: "TYPE_UINT32",
    14: "TYPE_ENUM",
}


def field(descriptor):
    named = descriptor.message_type or descriptor.enum_type
    oneof = descriptor.containing_oneof
    return {
        "number": descriptor.number,
        "type": TYPES[descriptor.type],
        "repeated": getattr(descriptor, "is_repeated", None)
        if hasattr(descriptor, "is_repeated")
        else descriptor.label == 3,
        "of": named.full_name if named else None,
        "oneof": oneof.name if oneof else None,
    }


def add_enum(descriptor, out):
    out["enums"][descriptor.full_name] = {value.name: value.number for value in descriptor.values}


def add_message(descriptor, out):
    out["messages"][descriptor.full_name] = {item.name: field(item) for item in descriptor.fields}
    for nested in descriptor.nested_types:
        add_message(nested, out)
    for enum in descriptor.enum_types:
        add_enum(enum, out)


def main():
    out = {"messages": {}, "enums": {}, "methods": {}}
    for module in (model_config_pb2, service_pb2):
        file = module.DESCRIPTOR
        for message in file.message_types_by_name.values():
            add_message(message, out)
        for enum in file.enum_types_by_name.values():
            add_enum(enum, out)
        for service in file.services_by_name.values():
            for method in service.methods:
                out["methods"][f"{service.full_name}/{method.name}"] = {
                    "input": method.input_type.full_name,
                    "output": method.output_type.full_name,
                    "clientStreaming": bool(method.client_streaming),
                    "serverStreaming": bool(method.server_streaming),
                }
    print(json.dumps(out))


main()
