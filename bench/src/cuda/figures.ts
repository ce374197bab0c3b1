/** What is measured in the C++ program and in ours, and what our figures must reach. */
import type { Spread } from '../statistics.js';

export type Program = 'peer' | 'ours' | 'oursNoSpin';

/** One measurement by several programs in turn, round by round. */
export interface Figure {
  readonly id: string;
  readonly says: string;
  /** What one sample moves, for a rate. */
  readonly bytes?: number;
  readonly requests: Readonly<Partial<Record<Program, string>>>;
  readonly limit?: Limit;
}

/** Of our p50; of each round, the median counts. */
export type Limit =
  | { readonly kind: 'milliseconds'; readonly atMost: number }
  /** Of the peer's time divided by ours: our share of its rate. */
  | { readonly kind: 'share'; readonly atLeast: number }
  | { readonly kind: 'more-us'; readonly atMost: number };

/** Nanoseconds, each the p50 of a round. */
export interface ProgramFigure {
  readonly p50Ns: Spread & { readonly perRound: readonly number[] };
  readonly p99Ns: Spread;
}

export interface MeasuredFigure {
  readonly id: string;
  readonly says: string;
  readonly bytes?: number;
  readonly programs: Readonly<Partial<Record<Program, ProgramFigure>>>;
  /** Against the peer, within each round: our p50 less its p50, and its divided by ours. */
  readonly against: Readonly<Partial<Record<Program, { readonly moreNs: Spread; readonly share: Spread }>>>;
  readonly limit?: Limit;
  readonly met?: boolean;
}

const TENSOR = 3 * 2160 * 3840 * 4;
const UPLOADS = [1_000_000, 4_000_000, 16_000_000, 64_000_000, TENSOR];
const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(bytes % 1e6 === 0 ? 0 : 1)} MB`;

const same = (request: string) => ({ peer: request, ours: request });
const all = (request: string) => ({ peer: request, ours: request, oursNoSpin: request });

/** @param work how much of each; 1 on a GPU, less in a rehearsal */
export function figures(work: number): Figure[] {
  const times = (count: number) => Math.max(2, Math.round(count * work));
  const launches: Figure[] = [];
  for (const [pauseUs, when] of [
    [0, 'in a loop'],
    [2000, 'after a pause of 2 ms'],
  ] as const) {
    for (const how of ['sync', 'query']) {
      const request = (completion: string) => `launch ${times(pauseUs === 0 ? 500 : 100)} ${pauseUs} ${completion}`;
      launches.push({
        id: `launch-${pauseUs === 0 ? 'loop' : 'pause'}-${how}`,
        says: `launch of a tiny kernel and its completion, ${when}; C++: ${how === 'sync' ? 'cuStreamSynchronize' : 'cuEventQuery in a loop'}`,
        requests: { peer: request(how), ours: request('done'), oursNoSpin: request('done') },
        limit: { kind: 'more-us', atMost: 25 },
      });
    }
  }
  const enqueues = [
    ['copy', 'a copy of 4 KB from pinned memory'],
    ['fill', 'a fill of 4 KB'],
    ['launch', 'a launch with 7 arguments'],
    ['record', 'the record of an event'],
    ['wait', 'a wait for an event'],
  ].map(
    ([kind, what]): Figure => ({
      id: `enqueue-${kind}`,
      says: `enqueue of ${what}, share of a batch of 500 calls`,
      requests: same(`enqueue ${kind} ${times(40)} 500`),
      ...(kind === 'copy' && { limit: { kind: 'more-us', atMost: 1.5 } }),
    }),
  );
  return [
    {
      id: 'alloc-export',
      says: `allocate ${megabytes(TENSOR)} exportable (2 MiB-rounded, zeroed) and export`,
      requests: all(`alloc-export ${TENSOR} ${times(10)}`),
      limit: { kind: 'milliseconds', atMost: 3 },
    },
    ...UPLOADS.map((bytes): Figure => {
      const batch = Math.max(1, Math.round(128e6 / bytes));
      return {
        id: `upload-batch-${bytes}`,
        says: `host to device from pinned memory, ${megabytes(bytes)}, ${batch} copies enqueued, then awaited`,
        bytes,
        requests: same(`upload ${bytes} ${times(10)} ${batch}`),
        limit: { kind: 'share', atLeast: 0.9 },
      };
    }),
    ...UPLOADS.map(
      (bytes): Figure => ({
        id: `upload-single-${bytes}`,
        says: `host to device from pinned memory, ${megabytes(bytes)}, each awaited`,
        bytes,
        requests: all(`upload ${bytes} ${times(20)} 1`),
        // For small copies the wait is what the launch figures show.
        ...(bytes >= 16e6 && { limit: { kind: 'share', atLeast: 0.9 } }),
      }),
    ),
    ...launches,
    ...enqueues,
    {
      id: 'enqueue-copy-scoped',
      says: 'the copy again, against C++ that also fetches, sets and restores the context around each call, as ours does',
      requests: { peer: `enqueue copy-scoped ${times(40)} 500`, ours: `enqueue copy ${times(40)} 500` },
    },
    {
      id: 'call-memory-info',
      says: 'cuMemGetInfo; device.memoryInfo()',
      requests: same(`call memory-info ${times(500)}`),
    },
    {
      id: 'call-stream',
      says: 'cuStreamCreateWithPriority; device.createStream()',
      requests: same(`call stream ${times(200)}`),
    },
    { id: 'call-event', says: 'cuEventCreate; device.createEvent()', requests: same(`call event ${times(500)}`) },
    {
      id: 'call-capture',
      says: 'cuStreamBeginCapture and EndCapture of nothing; stream.capture(), which also instantiates off the JS thread',
      requests: same(`call capture ${times(200)}`),
    },
  ];
}
