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

/**
 * The rows of one table for the transports this machine has. perf_analyzer has no message rows: its interest here is
 * shared memory. A tensor in the message is measured with one request in flight only.
 */
export function casesOf(table: Table, transports: readonly Transport[]): Case[] {
  const cases: Case[] = [];
  const add = (client: ClientName, transport: Transport, inFlight: number, work: Work = 'infer') =>
    cases.push({ table, client, transport, inFlight, work });
  for (const transport of transports) {
    add('pool', transport, 1);
    if (transport !== 'bytes') {
      add('perf_analyzer', transport, 1);
      add('pool', transport, 1, 'write+infer+read');
    }
    add('unary', transport, 1);
    add('python', transport, 1);
    // One host-to-device copy of the 4K tensor at a time is all that the server can do: more in flight only queues.
    const large = byteLength(table.inputShape) > 2 ** 20;
    if (transport === 'cuda' || (transport === 'system' && !large)) {
      add('pool', transport, table.manyInFlight);
      add('perf_analyzer', transport, table.manyInFlight);
    }
  }
  return cases;
}
