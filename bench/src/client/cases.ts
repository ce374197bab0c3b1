/** What the client's benchmark measures, and what each figure is held against. */

export type Transport = 'cuda' | 'system' | 'message';

/**
 * Ours: `lane` (a prepared request on gRPC), `socket` (the same over a unix socket), `grpc` (`infer`, encoded each time),
 * `http`. Peers: NVIDIA's C++ and Python clients, grpc-js with proto-loader, one stream of grpc-js or of node:http2 with
 * nothing around it, and node:http alone.
 */
export type ClientName =
  | 'lane'
  | 'socket'
  | 'grpc'
  | 'http'
  | 'perf_analyzer'
  | 'python'
  | 'python-http'
  | 'proto-loader'
  | 'bare-stream'
  | 'node-http2'
  | 'node-http';

export interface Work {
  readonly id: string;
  readonly title: string;
  readonly model: string;
  /** FP32, of INPUT0 and OUTPUT0. */
  readonly inputShape: readonly number[];
  readonly outputShape: readonly number[];
}

const FOUR_K = [1, 3, 2160, 3840];

export const WORKS = {
  small: {
    id: 'small',
    title: 'Small request, native backend: 256 bytes in, 24 KB out',
    model: 'reduce_small',
    inputShape: [64],
    outputShape: [1000, 6],
  },
  fourK: {
    id: '4k',
    title: '4K tensor, native backend: [1,3,2160,3840] FP32 in (99.5 MB), 24 KB out',
    model: 'reduce_4k',
    inputShape: FOUR_K,
    outputShape: [1000, 6],
  },
  python: {
    id: 'python-small',
    title: 'Small identity model, Python backend: 64 bytes in and out',
    model: 'py_identity_small',
    inputShape: [16],
    outputShape: [16],
  },
} as const satisfies Record<string, Work>;

export interface Case {
  readonly work: Work;
  readonly client: ClientName;
  readonly transport: Transport;
  readonly inFlight: number;
}

export const caseName = ({ work, client, transport, inFlight }: Case): string =>
  `${work.id}: ${client}, ${transport}, ${inFlight} in flight`;

export type Figure = 'p50Us' | 'requestsPerSecond' | 'clientCpuUs' | 'rssGrowthBytes';

/** One figure of ours against a peer's of the same round, or, without a peer, against a fixed number. */
export interface Comparison {
  readonly ours: Case;
  readonly peer?: Case;
  readonly figure: Figure;
  /** What was asked: a ratio with a peer, else the figure itself. Undefined where nothing was. */
  readonly atMost?: number;
  readonly atLeast?: number;
}

export interface Plan {
  readonly cases: readonly Case[];
  readonly comparisons: readonly Comparison[];
}

const compare = (ours: Case, client: ClientName, figure: Figure, asked: Partial<Comparison>): Comparison => ({
  ours,
  peer: { ...ours, client },
  figure,
  ...asked,
});

/** With CUDA memory on the native backend, else with system memory on the wheel's Python backend. */
export function sharedMemoryPlan(hasGpu: boolean): Plan {
  const transport = hasGpu ? 'cuda' : 'system';
  const small: Case = { work: hasGpu ? WORKS.small : WORKS.python, client: 'lane', transport, inFlight: 1 };
  const many: Case = { ...small, inFlight: 16 };
  const fourK: Case = { ...small, work: WORKS.fourK };
  const asked = hasGpu ? { cpp: 0.7, python: 0.35, many: 1.0 } : { cpp: 0.9, python: 0.65, many: 1.3 };
  const comparisons = [
    compare(small, 'perf_analyzer', 'p50Us', { atMost: asked.cpp }),
    compare(small, 'python', 'p50Us', { atMost: asked.python }),
    compare(many, 'perf_analyzer', 'requestsPerSecond', { atLeast: asked.many }),
    ...(hasGpu
      ? [
          { ours: many, figure: 'clientCpuUs', atMost: 50 } as const,
          compare(fourK, 'perf_analyzer', 'p50Us', { atMost: 0.85 }),
          compare(fourK, 'python', 'p50Us', { atMost: 0.4 }),
        ]
      : []),
    compare(small, 'bare-stream', 'p50Us', {}),
    compare(small, 'node-http2', 'p50Us', {}),
    compare({ ...small, client: 'bare-stream' }, 'perf_analyzer', 'p50Us', {}),
    compare({ ...small, client: 'node-http2' }, 'perf_analyzer', 'p50Us', {}),
    compare({ ...small, client: 'socket' }, 'lane', 'p50Us', {}),
    compare({ ...many, client: 'socket' }, 'lane', 'requestsPerSecond', {}),
  ];
  return { cases: casesIn(comparisons), comparisons };
}

/** The 4K tensor in the message. */
export function messagePlan(): Plan {
  const http: Case = { work: WORKS.fourK, client: 'http', transport: 'message', inFlight: 1 };
  const tensorBytes = byteLength(WORKS.fourK.inputShape);
  const comparisons = [
    compare(http, 'node-http', 'p50Us', { atMost: 1.05 }),
    compare(http, 'python-http', 'requestsPerSecond', { atLeast: 1.5 }),
    { ours: http, figure: 'rssGrowthBytes', atMost: 1.2 * tensorBytes } as const,
    compare({ ...http, client: 'grpc' }, 'proto-loader', 'p50Us', { atMost: 1 }),
  ];
  return { cases: casesIn(comparisons), comparisons };
}

export function byteLength(shape: readonly number[]): number {
  return shape.reduce((product, dimension) => product * dimension, Float32Array.BYTES_PER_ELEMENT);
}

/** Each case once, ours beside its peers. */
function casesIn(comparisons: readonly Comparison[]): Case[] {
  const cases = new Map<string, Case>();
  for (const { ours, peer } of comparisons) {
    for (const c of peer === undefined ? [ours] : [ours, peer]) cases.set(caseName(c), c);
  }
  return [...cases.values()];
}
