import { seeded } from '@zerohop/test-support';
import type { Datatype } from '../../src/datatype.js';
import type { OnnxConstant, OnnxGraph, OnnxNode, OnnxValue } from './onnx-file.js';

type Random = ReturnType<typeof seeded>;

/** How far an output may be from what another build of ONNX Runtime computes: of its size, or in itself. 0 is bit for bit. */
type Tolerance = number;

export interface GalleryModel {
  readonly graph: OnnxGraph;
  readonly tolerance: Tolerance;
  /** The sizes of the free dimensions by their names; each is drawn anew for each request. */
  readonly sizes: Readonly<Record<string, readonly [low: number, high: number]>>;
}

const fixed = seeded(20_24);
const weights = (name: string, ...dims: number[]): OnnxConstant => {
  const count = dims.reduce((product, dim) => product * dim, 1);
  const data = new Uint8Array(Float32Array.from({ length: count }, () => fixed.next() - 0.5).buffer);
  return { name, type: 'FP32', dims, data };
};
const integers = (name: string, ...values: number[]): OnnxConstant => ({
  name,
  type: 'INT64',
  dims: [values.length],
  data: new Uint8Array(BigInt64Array.from(values.map(BigInt)).buffer),
});
const value = (name: string, type: Datatype, ...dims: (number | string)[]): OnnxValue => ({ name, type, dims });
const node = (op: string, input: string, output: string, attributes: OnnxNode['attributes'] = {}): OnnxNode => ({
  op,
  in: input.split(' '),
  out: output.split(' '),
  attributes,
});

/** One that moves elements and computes nothing: every datatype goes through it. */
const moving = (type: Datatype): GalleryModel => ({
  tolerance: 0,
  sizes: { n: [1, 4], m: [1, 9] },
  graph: {
    inputs: [value('X', type, 'n', 'm'), value('Z', type, 'n', 'm')],
    outputs: [value('Y', type, 'n', 'k'), value('FIRST', type, 'n', 1)],
    nodes: [
      node('Concat', 'X Z', 'C', { axis: 1 }),
      node('Unsqueeze', 'C ONE', 'U'),
      node('Transpose', 'U', 'T', { perm: [0, 2, 1] }),
      node('Squeeze', 'T TWO', 'S'),
      node('Concat', 'S Z', 'Y', { axis: 1 }),
      node('Gather', 'Z ZERO', 'FIRST', { axis: 1 }),
    ],
    constants: [integers('ZERO', 0), integers('ONE', 1), integers('TWO', 2)],
  },
});

const MOVED: readonly Datatype[] = ['BOOL', 'UINT8', 'UINT16', 'UINT32', 'UINT64', 'INT8', 'INT16', 'FP16', 'BYTES'];

/** Models of many kinds, small enough to be run a few hundred times. */
export const GALLERY: Readonly<Record<string, GalleryModel>> = {
  ...Object.fromEntries(MOVED.map((type) => [`moving_${type.toLowerCase()}`, moving(type)])),
  perceptron: {
    tolerance: 1e-5,
    sizes: { n: [1, 4] },
    graph: {
      inputs: [value('X', 'FP32', 'n', 16)],
      outputs: [value('Y', 'FP32', 'n', 4)],
      nodes: [
        node('Gemm', 'X W B', 'H'),
        node('Relu', 'H', 'R'),
        node('MatMul', 'R V', 'L'),
        node('Softmax', 'L', 'Y', { axis: 1 }),
      ],
      constants: [weights('W', 16, 32), weights('B', 32), weights('V', 32, 4)],
    },
  },
  convolution: {
    tolerance: 1e-5,
    sizes: { n: [1, 4], h: [5, 40], w: [5, 40] },
    graph: {
      inputs: [value('X', 'FP32', 'n', 3, 'h', 'w')],
      outputs: [value('Y', 'FP32', 'n', 8), value('MAP', 'FP32', 'n', 8, 'p', 'q')],
      nodes: [
        node('Conv', 'X W B', 'C', { pads: [1, 1, 1, 1], strides: [2, 2] }),
        node('Sigmoid', 'C', 'S'),
        node('Mul', 'C S', 'A'),
        node('MaxPool', 'A', 'MAP', { kernel_shape: [2, 2], strides: [1, 1] }),
        node('ReduceMean', 'MAP', 'Y', { axes: [2, 3], keepdims: 0 }),
      ],
      constants: [weights('W', 8, 3, 3, 3), weights('B', 8)],
    },
  },
  integers: {
    tolerance: 0,
    sizes: { n: [1, 4], m: [1, 12] },
    graph: {
      inputs: [value('X', 'INT32', 'n', 'm'), value('Z', 'INT32', 'n', 'm'), value('L', 'INT64', 'n', 'm')],
      outputs: [value('SUM', 'INT32', 'n', 'm'), value('PRODUCT', 'INT64', 'n', 'm'), value('LESS', 'BOOL', 'n', 'm')],
      nodes: [node('Add', 'X Z', 'SUM'), node('Mul', 'L L', 'PRODUCT'), node('Less', 'X Z', 'LESS')],
    },
  },
  logic: {
    tolerance: 0,
    sizes: { n: [1, 4], m: [1, 20] },
    graph: {
      inputs: [value('X', 'BOOL', 'n', 'm'), value('Z', 'BOOL', 'n', 'm')],
      outputs: [value('Y', 'BOOL', 'n', 'm'), value('BYTE', 'UINT8', 'n', 'm')],
      nodes: [node('Not', 'X', 'N'), node('Or', 'N Z', 'Y'), { ...node('Cast', 'Y', 'BYTE', { to: 2 }) }],
    },
  },
  doubles: {
    tolerance: 1e-12,
    sizes: { n: [1, 4], m: [1, 9] },
    graph: {
      inputs: [value('X', 'FP64', 'n', 'm')],
      outputs: [value('Y', 'FP64', 'n', 'm')],
      nodes: [node('Exp', 'X', 'E'), node('Div', 'E X', 'D'), node('Sub', 'D X', 'Y')],
    },
  },
  halves: {
    tolerance: 2e-3,
    sizes: { n: [1, 4] },
    graph: {
      inputs: [value('X', 'FP16', 'n', 8)],
      outputs: [value('Y', 'FP16', 'n', 3)],
      nodes: [node('Cast', 'X', 'F', { to: 1 }), node('MatMul', 'F W', 'M'), node('Cast', 'M', 'Y', { to: 10 })],
      constants: [weights('W', 8, 3)],
    },
  },
  best: {
    tolerance: 0,
    sizes: { n: [1, 4], m: [3, 30] },
    graph: {
      inputs: [value('X', 'FP32', 'n', 'm')],
      outputs: [value('VALUES', 'FP32', 'n', 3), value('PLACES', 'INT64', 'n', 3), value('BEST', 'INT64', 'n', 1)],
      nodes: [node('TopK', 'X K', 'VALUES PLACES'), node('ArgMax', 'X', 'BEST', { axis: 1, keepdims: 1 })],
      constants: [integers('K', 3)],
    },
  },
  suppression: {
    tolerance: 0,
    sizes: { m: [1, 60] },
    graph: {
      inputs: [value('BOXES', 'FP32', 1, 'm', 4), value('SCORES', 'FP32', 1, 2, 'm')],
      outputs: [value('KEPT', 'INT64', 'k', 3)],
      nodes: [node('NonMaxSuppression', 'BOXES SCORES MOST', 'KEPT')],
      constants: [integers('MOST', 5)],
    },
  },
  labels: {
    tolerance: 0,
    sizes: { n: [1, 4] },
    graph: {
      inputs: [value('X', 'INT64', 'n', 2)],
      outputs: [value('Y', 'BYTES', 'n', 2)],
      nodes: [
        {
          op: 'LabelEncoder',
          domain: 'ai.onnx.ml',
          in: ['X'],
          out: ['Y'],
          attributes: { classes_strings: ['kratzer', 'Delle', 'øl', '点'] },
        },
      ],
    },
  },
};

const BYTES_PER_ELEMENT: Readonly<Record<string, number>> = { 8: 1, 16: 2, 32: 4, 64: 8, BOOL: 1 };
const WORDS = ['', 'a', 'Blech', 'größer', '漢字', '😀😀', 'two words', 'x'.repeat(300)];

/** A drawn input: texts, or bytes. */
export interface Drawn {
  readonly type: Datatype;
  readonly shape: readonly number[];
  readonly data: Uint8Array | readonly Uint8Array[];
}

/** Inputs for one request: any integers and halves, and floating-point numbers of ordinary size. */
export function draw({ graph, sizes }: GalleryModel, random: Random): Readonly<Record<string, Drawn>> {
  const drawn: Record<string, number> = {};
  for (const [name, [low, high]] of Object.entries(sizes)) drawn[name] = random.integer(low, high);
  const inputs = graph.inputs.map(({ name, type, dims }): [string, Drawn] => {
    const shape = dims.map((dim) => (typeof dim === 'number' ? dim : (drawn[dim] ?? 0)));
    const length = shape.reduce((product, dim) => product * dim, 1);
    return [name, { type, shape, data: elements(type, length, random) }];
  });
  return Object.fromEntries(inputs);
}

function elements(type: Datatype, length: number, random: Random): Uint8Array | readonly Uint8Array[] {
  const each = <T>(make: () => T) => Array.from({ length }, make);
  const real = () => (random.next() - 0.5) * 10;
  if (type === 'BYTES') return each(() => Buffer.from(WORDS[random.integer(0, WORDS.length - 1)] ?? ''));
  if (type === 'BOOL') return Uint8Array.from(each(() => random.integer(0, 1)));
  if (type === 'FP32') return new Uint8Array(Float32Array.from(each(real)).buffer);
  if (type === 'FP64') return new Uint8Array(Float64Array.from(each(real)).buffer);
  // Halves of ordinary size: any sign and mantissa, exponents from 2^-8 to 2^4.
  if (type === 'FP16') {
    const half = () => (random.integer(0, 1) << 15) | (random.integer(7, 19) << 10) | random.integer(0, 1023);
    return new Uint8Array(Uint16Array.from(each(half)).buffer);
  }
  // Labels that exist, and one that does not.
  if (type === 'INT64') return new Uint8Array(BigInt64Array.from(each(() => BigInt(random.integer(0, 4)))).buffer);
  const size = BYTES_PER_ELEMENT[/\d+$/.exec(type)?.[0] ?? type] ?? 1;
  return Uint8Array.from({ length: length * size }, () => random.integer(0, 255));
}
