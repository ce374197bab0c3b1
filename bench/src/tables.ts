/** What is measured: models, clients, transports, and how many requests are in flight. */

export type Transport = 'cuda' | 'system' | 'bytes';

/** `pool`: ours, through pool and lease. `unary`: plain grpc-js and proto-loader. */
export type ClientName = 'pool' | 'unary' | 'perf_analyzer' | 'python';

/**
 * `infer`: inputs are written once before the measurement and outputs are never read, which is what perf_analyzer
 * measures. `write+infer+read`: every request also writes its whole input from host memory and reads its whole output.
 */
export type Work = 'infer' | 'write+infer+read';

export interface Table {
  readonly id: string;
  readonly title: string;
  readonly model: string;
  readonly backend: 'native' | 'python';
  /** FP32, of INPUT0 and OUTPUT0. */
  readonly inputShape: readonly number[];
  readonly outputShape: readonly number[];
  /** Requests in flight for the rows that show throughput. */
  readonly manyInFlight: number;
}

export interface Case {
  readonly table: Table;
  readonly client: ClientName;
  readonly transport: Transport;
  readonly inFlight: number;
  readonly work: Work;
}

const FOUR_K = [1, 3, 2160, 3840];
const BOXES = [1000, 6];

export const TABLES: readonly Table[] = [
  {
    id: 'native-4k',
    title: '4K tensor on the native backend: [1,3,2160,3840] FP32 in (99.5 MB), [1000,6] FP32 out',
    model: 'reduce_4k',
    backend: 'native',
    inputShape: FOUR_K,
    outputShape: BOXES,
    manyInFlight: 4,
  },
  {
    id: 'native-small',
    title: 'Small request on the native backend (256 bytes in, 24 KB out): what the client itself costs',
    model: 'reduce_small',
    backend: 'native',
    inputShape: [64],
    outputShape: BOXES,
    manyInFlight: 16,
  },
  {
    id: 'python-4k',
    title: 'The 4K tensor on the Python backend',
    model: 'py_reduce_4k',
    backend: 'python',
    inputShape: FOUR_K,
    outputShape: BOXES,
    manyInFlight: 4,
  },
  {
    id: 'python-small',
    title: 'Small identity model on the Python backend (64 bytes in and out)',
    model: 'py_identity_small',
    backend: 'python',
    inputShape: [16],
    outputShape: [16],
    manyInFlight: 16,
  },
];

export function byteLength(shape: readonly number[]): number {
  return shape.reduce((product, dimension) => product * dimension, Float32Array.BYTES_PER_ELEMENT);
}

/** More than a megabyte: copying it is what a request by message or system memory costs. */
const isLarge = (table: Table): boolean => byteLength(table.inputShape) > 2 ** 20;

/**
 * The rows of one table for the transports this machine has, the fastest first. The slower peers stand beside ours on
 * that one, and on the message where the tensor is large; perf_analyzer on every shared-memory row of ours.
 */
export function casesOf(table: Table, transports: readonly Transport[]): Case[] {
  const cases: Case[] = [];
  const add = (client: ClientName, transport: Transport, inFlight: number, work: Work = 'infer') =>
    cases.push({ table, client, transport, inFlight, work });
  for (const transport of transports) {
    const shared = transport !== 'bytes';
    add('pool', transport, 1);
    if (shared) add('perf_analyzer', transport, 1);
    if (transport === transports[0] || (!shared && isLarge(table))) {
      add('unary', transport, 1);
      add('python', transport, 1);
    }
    // One host-to-device copy of a large tensor at a time is all that the server can do: more in flight only queue.
    if (transport === 'cuda' || (shared && !isLarge(table))) {
      add('pool', transport, table.manyInFlight);
      add('perf_analyzer', transport, table.manyInFlight);
    }
    if (shared && isLarge(table) && table.backend === 'native') add('pool', transport, 1, 'write+infer+read');
  }
  return cases;
}

/** The rows that a goal is set for: ours and perf_analyzer, 4K tensor, native backend, CUDA memory, one in flight. */
export function isGoal(c: Case): boolean {
  const compared = c.client === 'pool' || c.client === 'perf_analyzer';
  return c.table.id === 'native-4k' && compared && c.transport === 'cuda' && c.inFlight === 1 && c.work === 'infer';
}
