import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { Datatype } from '../../src/datatype.js';

/** TensorProto.DataType, of onnx.proto. */
const TYPES: Readonly<Record<Datatype, number>> = {
  FP32: 1,
  UINT8: 2,
  INT8: 3,
  UINT16: 4,
  INT16: 5,
  INT32: 6,
  INT64: 7,
  BYTES: 8,
  BOOL: 9,
  FP16: 10,
  FP64: 11,
  UINT32: 12,
  UINT64: 13,
  BF16: 16,
};

export function onnxTypeNumber(type: Datatype): number {
  return TYPES[type];
}

/** An input or output; a text is a dimension that is free. */
export interface OnnxValue {
  readonly name: string;
  readonly type: Datatype;
  readonly dims: readonly (number | string)[];
  /** A sequence of such tensors in place of one. */
  readonly sequence?: true;
}

export interface OnnxConstant {
  readonly name: string;
  readonly type: Datatype;
  readonly dims: readonly number[];
  /** Its bytes, or where a file beside the model has them. */
  readonly data: Uint8Array | { readonly file: string };
}

type Attribute = number | string | readonly number[] | readonly string[] | { readonly float: number };

export interface OnnxNode {
  readonly op: string;
  readonly in: readonly string[];
  readonly out: readonly string[];
  readonly attributes?: Readonly<Record<string, Attribute>>;
  readonly domain?: string;
}

export interface OnnxGraph {
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
  readonly nodes: readonly OnnxNode[];
  readonly constants?: readonly OnnxConstant[];
}

type Write = (writer: BinaryWriter) => void;

const message = (writer: BinaryWriter, field: number, write: Write) => {
  writer.tag(field, WireType.LengthDelimited).fork();
  write(writer);
  writer.join();
};
const text = (writer: BinaryWriter, field: number, value: string) =>
  writer.tag(field, WireType.LengthDelimited).string(value);
const integer = (writer: BinaryWriter, field: number, value: number) => writer.tag(field, WireType.Varint).int64(value);

function value(writer: BinaryWriter, field: number, { name, type, dims, sequence }: OnnxValue): void {
  const tensor: Write = (own) =>
    message(own, 1, (inner) => {
      integer(inner, 1, TYPES[type]);
      message(inner, 2, (shape) => {
        for (const dim of dims) {
          message(shape, 1, (each) => (typeof dim === 'number' ? integer(each, 1, dim) : text(each, 2, dim)));
        }
      });
    });
  message(writer, field, (info) => {
    text(info, 1, name);
    message(info, 2, sequence ? (own) => message(own, 4, (inner) => message(inner, 1, tensor)) : tensor);
  });
}

function attribute(writer: BinaryWriter, name: string, given: Attribute): void {
  text(writer, 1, name);
  if (typeof given === 'number') integer(writer, 3, given) && integer(writer, 20, 2);
  else if (typeof given === 'string') text(writer, 4, given) && integer(writer, 20, 3);
  else if ('float' in given) writer.tag(2, WireType.Bit32).float(given.float) && integer(writer, 20, 1);
  else {
    for (const each of given) typeof each === 'number' ? integer(writer, 8, each) : text(writer, 9, each);
    integer(writer, 20, typeof given[0] === 'string' ? 8 : 7);
  }
}

function constant(writer: BinaryWriter, { name, type, dims, data }: OnnxConstant): void {
  for (const dim of dims) integer(writer, 1, dim);
  integer(writer, 2, TYPES[type]);
  text(writer, 8, name);
  if (data instanceof Uint8Array) {
    writer.tag(9, WireType.LengthDelimited).bytes(data);
    return;
  }
  message(writer, 13, (entry) => {
    text(entry, 1, 'location');
    text(entry, 2, data.file);
  });
  integer(writer, 14, 1);
}

/** An ONNX file: onnx.proto's ModelProto, of IR version 8 with opset 17 and the first of ai.onnx.ml. */
export function onnxFile({ inputs, outputs, nodes, constants = [] }: OnnxGraph): Uint8Array {
  const writer = new BinaryWriter();
  integer(writer, 1, 8);
  message(writer, 7, (graph) => {
    for (const node of nodes) {
      message(graph, 1, (own) => {
        for (const name of node.in) text(own, 1, name);
        for (const name of node.out) text(own, 2, name);
        text(own, 4, node.op);
        for (const [name, given] of Object.entries(node.attributes ?? {})) {
          message(own, 5, (each) => attribute(each, name, given));
        }
        if (node.domain !== undefined) text(own, 7, node.domain);
      });
    }
    text(graph, 2, 'graph');
    for (const each of constants) message(graph, 5, (own) => constant(own, each));
    for (const each of inputs) value(graph, 11, each);
    for (const each of outputs) value(graph, 12, each);
  });
  for (const [domain, version] of [
    ['', 17],
    ['ai.onnx.ml', 1],
  ] as const) {
    message(writer, 8, (opset) => {
      text(opset, 1, domain);
      integer(opset, 2, version);
    });
  }
  return writer.finish();
}

/** A file whose output `Y` is its input `X`. */
export function identityFile(type: Datatype, dims: readonly (number | string)[] = ['n', 'm']): Uint8Array {
  return onnxFile({
    inputs: [{ name: 'X', type, dims }],
    outputs: [{ name: 'Y', type, dims }],
    nodes: [{ op: 'Identity', in: ['X'], out: ['Y'] }],
  });
}

/**
 * Multiplies a square matrix of zeros, whose shape its input `N` is (two INT64), with itself, `times` times: as much work as
 * one likes for a short message. Its output is one zero.
 */
export function heavyGraph(times: number, output: string): OnnxGraph {
  const product = (index: number) => `M${index}`;
  return {
    inputs: [{ name: 'N', type: 'INT64', dims: [2] }],
    outputs: [{ name: output, type: 'FP32', dims: [1, 1] }],
    nodes: [
      { op: 'ConstantOfShape', in: ['N'], out: [product(0)] },
      ...Array.from({ length: times }, (_, index) => ({
        op: 'MatMul',
        in: [product(index), product(0)],
        out: [product(index + 1)],
      })),
      { op: 'ReduceMax', in: [product(times)], out: [output] },
    ],
  };
}

/** A file of nothing but that, with the output `Y`. */
export function heavyFile(times: number): Uint8Array {
  return onnxFile(heavyGraph(times, 'Y'));
}
