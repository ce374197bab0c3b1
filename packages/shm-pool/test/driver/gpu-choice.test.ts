/**
 * Which GPU holds the slots, and by which ordinal the server knows it: the rules of the design as a table, on a fake
 * driver with two GPUs, or one, in a process of their own for each set of GPUs that is seen here.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describeTier } from '@zerohop/test-support';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { buildFakeLibcuda } from '../../../cuda-native/test/fake-libcuda/build.mjs';

const program = fileURLToPath(new URL('../fixtures/gpu-choice.mjs', import.meta.url));

/** The fake driver's devices, by their place in the machine. */
const GPU_0 = 'GPU-f0efeeed-eceb-eae9-e8e7-e6e5e4e3e200';
const GPU_1 = 'GPU-f0efeeed-eceb-eae9-e8e7-e6e5e4e3e201';
const MIG_0 = 'MIG-e0dfdedd-dcdb-dad9-d8d7-d6d5d4d3d200';
const ELSEWHERE = 'GPU-00000000-0000-0000-0000-000000000000';

interface Case {
  /** What the server's metrics list; null without metrics, a text when they can't be read. */
  readonly metrics: readonly string[] | null | string;
  readonly local?: boolean;
  readonly device?: number;
  readonly serverDeviceId?: number;
  /** The server can't open the memory. */
  readonly refuses?: boolean;
  /** The server's ordinals of the GPUs that the model runs on. */
  readonly instances?: readonly number[];
}

interface Outcome {
  readonly uuid?: string;
  readonly serverDeviceId?: number;
  readonly evidence?: string;
  readonly code?: string;
  readonly message?: string;
}

async function choose(
  env: Readonly<Record<string, string>>,
  cases: readonly Case[],
  before: readonly string[] = [],
): Promise<Outcome[]> {
  const [file = '', ...args] = [...before, process.execPath, program, JSON.stringify(cases)];
  const { stdout } = await promisify(execFile)(file, args, {
    env: { ...process.env, ...env, ZEROHOP_LIBCUDA: buildFakeLibcuda() },
  });
  return JSON.parse(stdout) as Outcome[];
}

type Expected =
  | readonly [uuid: string, serverDeviceId: number, evidence: string]
  | readonly [code: string, why: string];
type Row = readonly [name: string, given: Case, expected: Expected];

const NOT_SETTLED = 'ERR_GPU_MISMATCH';

/** One process for the rows of a table, since a driver reads its environment once. */
function describeRows(name: string, env: Readonly<Record<string, string>>, rows: readonly Row[]): void {
  describe(name, () => {
    let outcomes: Outcome[] = [];

    beforeAll(async () => {
      outcomes = await choose(
        env,
        rows.map(([, given]) => given),
      );
    });

    test.for(rows.map(([row, , expected], index) => ({ row, expected, index })))('$row', ({ expected, index }) => {
      const outcome = outcomes[index];
      if (expected.length === 3) {
        const [uuid, serverDeviceId, evidence] = expected;
        expect(outcome).toEqual({ uuid, serverDeviceId, evidence });
        return;
      }
      const [code, why] = expected;
      expect(outcome).toMatchObject({ code, message: expect.stringContaining(why) as string });
      if (code === NOT_SETTLED) expect(outcome?.message).toMatch(/: pass serverDeviceId, .*metricsUrl$/);
    });
  });
}

describeTier('driver', 'which GPU', () => {
  describeRows('two GPUs here', {}, [
    [
      'the ordinal is given, and no metrics',
      { metrics: null, serverDeviceId: 1 },
      [GPU_0, 1, 'serverDeviceId 1 was given'],
    ],
    [
      'the ordinal and the device are given',
      { metrics: null, device: 1, serverDeviceId: 0 },
      [GPU_1, 0, 'serverDeviceId 0 was given'],
    ],
    [
      'the ordinal is given, and the server is elsewhere',
      { metrics: null, local: false, serverDeviceId: 0 },
      [GPU_0, 0, 'serverDeviceId 0 was given'],
    ],
    [
      'the ordinal is given, below the number of GPUs',
      { metrics: [GPU_0, GPU_1], serverDeviceId: 1 },
      [GPU_0, 1, 'serverDeviceId 1 was given'],
    ],
    [
      'the ordinal is given, at the number of GPUs',
      { metrics: [GPU_0, GPU_1], serverDeviceId: 2 },
      [NOT_SETTLED, 'the server has 2 GPUs, so serverDeviceId 2 does not exist there'],
    ],
    [
      'the ordinal is given, at the number of different GPUs',
      { metrics: [GPU_0, GPU_0], serverDeviceId: 1 },
      [NOT_SETTLED, 'the server has 1 GPU, so serverDeviceId 1 does not exist there'],
    ],
    [
      'the ordinal is given, and the metrics cannot be read',
      { metrics: 'HTTP 503', serverDeviceId: 1 },
      [GPU_0, 1, 'serverDeviceId 1 was given'],
    ],
    ['metrics of one GPU, our first', { metrics: [GPU_0] }, [GPU_0, 0, `the server's only GPU is ours (${GPU_0})`]],
    ['metrics of one GPU, our second', { metrics: [GPU_1] }, [GPU_1, 0, `the server's only GPU is ours (${GPU_1})`]],
    [
      'metrics of one GPU, named by several gauges',
      { metrics: [GPU_1, GPU_1, GPU_1] },
      [GPU_1, 0, `the server's only GPU is ours (${GPU_1})`],
    ],
    [
      'metrics of one GPU of ours, at an address elsewhere',
      { metrics: [GPU_0], local: false },
      [GPU_0, 0, `the server's only GPU is ours (${GPU_0})`],
    ],
    [
      'metrics of one GPU of ours, but another device asked for',
      { metrics: [GPU_1], device: 0 },
      [NOT_SETTLED, `ours is ${GPU_0}, the server's metrics list ${GPU_1}`],
    ],
    [
      'metrics of one GPU, not ours',
      { metrics: [ELSEWHERE] },
      [NOT_SETTLED, `ours is ${GPU_0}, the server's metrics list ${ELSEWHERE}`],
    ],
    ['metrics of several', { metrics: [GPU_1, GPU_0] }, [NOT_SETTLED, 'the server has 2 GPUs']],
    ['metrics without a GPU', { metrics: [] }, [NOT_SETTLED, 'this host has 2 GPUs']],
    ['no metrics', { metrics: null }, [NOT_SETTLED, 'this host has 2 GPUs']],
    [
      'metrics that cannot be read',
      { metrics: 'HTTP 503' },
      [NOT_SETTLED, "this host has 2 GPUs, and the server's metrics cannot be read: HTTP 503"],
    ],
    [
      'the model runs there',
      { metrics: null, serverDeviceId: 1, instances: [0, 1] },
      [GPU_0, 1, 'serverDeviceId 1 was given'],
    ],
    [
      'the model runs on another GPU of the server',
      { metrics: null, serverDeviceId: 1, instances: [0, 2] },
      [GPU_0, 1, 'serverDeviceId 1 was given, though the model runs on GPU 0 and 2 there'],
    ],
    ['a device that is not there', { metrics: null, device: 2, serverDeviceId: 0 }, ['ERR_CUDA_UNAVAILABLE', '2']],
  ]);

  describeRows('one GPU here', { ZEROHOP_FAKE_DEVICES: '1' }, [
    [
      'no metrics, and the server is on this host',
      { metrics: null },
      [GPU_0, 0, 'this host has one GPU and the server is on it'],
    ],
    [
      'metrics without a GPU, and the server is on this host',
      { metrics: [] },
      [GPU_0, 0, 'this host has one GPU and the server is on it'],
    ],
    [
      'metrics that cannot be read, and the server is on this host',
      { metrics: 'HTTP 503' },
      [GPU_0, 0, 'this host has one GPU and the server is on it'],
    ],
    [
      'no metrics, and the server is elsewhere',
      { metrics: null, local: false },
      [NOT_SETTLED, 'the server is not known to be on this host'],
    ],
    [
      'metrics that cannot be read, and the server is elsewhere',
      { metrics: 'HTTP 503', local: false },
      [NOT_SETTLED, "not known to be on this host, and the server's metrics cannot be read: HTTP 503"],
    ],
    [
      "metrics of another machine's GPU, behind a local address",
      { metrics: [ELSEWHERE] },
      [NOT_SETTLED, `ours is ${GPU_0}, the server's metrics list ${ELSEWHERE}`],
    ],
  ]);

  // The server sees one GPU, or both in another order; its metrics name them by UUID, in no order.
  describeRows('CUDA_VISIBLE_DEVICES=1,0 here', { CUDA_VISIBLE_DEVICES: '1,0' }, [
    [
      "the server's only GPU is this process's second",
      { metrics: [GPU_0] },
      [GPU_0, 0, `the server's only GPU is ours (${GPU_0})`],
    ],
    [
      "the server's only GPU is this process's first",
      { metrics: [GPU_1] },
      [GPU_1, 0, `the server's only GPU is ours (${GPU_1})`],
    ],
    ['both are there', { metrics: [GPU_0, GPU_1] }, [NOT_SETTLED, 'the server has 2 GPUs']],
    [
      'the device is given by its ordinal here',
      { metrics: null, device: 0, serverDeviceId: 1 },
      [GPU_1, 1, 'serverDeviceId 1 was given'],
    ],
  ]);

  describeRows('CUDA_VISIBLE_DEVICES=1 here', { CUDA_VISIBLE_DEVICES: '1' }, [
    ['the server sees the same one', { metrics: [GPU_1] }, [GPU_1, 0, `the server's only GPU is ours (${GPU_1})`]],
    [
      'the server sees the other one',
      { metrics: [GPU_0] },
      [NOT_SETTLED, `ours is ${GPU_1}, the server's metrics list ${GPU_0}`],
    ],
    ['the server sees both', { metrics: [GPU_0, GPU_1] }, [NOT_SETTLED, 'the server has 2 GPUs']],
  ]);

  describeRows('a MIG device here', { ZEROHOP_FAKE_MIG: '1', ZEROHOP_FAKE_DEVICES: '1' }, [
    ['metrics name whole GPUs', { metrics: [GPU_0] }, [NOT_SETTLED, `ours is the MIG device ${MIG_0}`]],
    [
      'no metrics, and the server is on this host',
      { metrics: null },
      [NOT_SETTLED, 'a MIG device shares memory only within its own GPU instance'],
    ],
    ['metrics that name MIG devices', { metrics: [MIG_0] }, [MIG_0, 0, `the server's only GPU is ours (${MIG_0})`]],
    [
      'the server cannot open its memory',
      { metrics: null, serverDeviceId: 0, refuses: true },
      ['ERR_IPC_REFUSED', `Here: ${MIG_0} is a MIG device, which shares memory within its own GPU instance only`],
    ],
    ['the ordinal is given', { metrics: [GPU_0], serverDeviceId: 0 }, [MIG_0, 0, 'serverDeviceId 0 was given']],
  ]);

  describeRows('an integrated GPU', { ZEROHOP_FAKE_INTEGRATED: '1', ZEROHOP_FAKE_DEVICES: '1' }, [
    [
      'its memory has no handle',
      { metrics: null },
      ['ERR_IPC_UNSUPPORTED', 'cannot be handed to another process here (an integrated GPU'],
    ],
    [
      'also when the ordinal is given',
      { metrics: null, serverDeviceId: 0 },
      ['ERR_IPC_UNSUPPORTED', "use transport 'system'"],
    ],
  ]);

  describeRows('no GPU', { ZEROHOP_FAKE_DEVICES: '0' }, [
    ['is told as such', { metrics: null, serverDeviceId: 0 }, ['ERR_CUDA_UNAVAILABLE', 'CUDA is not available']],
  ]);
});

describeTier(
  'driver',
  'a kernel of WSL2, by what it says of itself',
  () => {
    test('WSL has no IPC', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'zerohop-wsl-'));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      const version = join(folder, 'version');
      writeFileSync(version, 'Linux version 5.15.153.1-microsoft-standard-WSL2 (root@host)\n');
      const script = 'mount --bind "$0" /proc/version && exec "$@"';
      const wsl = ['unshare', process.getuid?.() === 0 ? '-m' : '-rm', 'sh', '-c', script, version];
      const [outcome] = await choose({}, [{ metrics: null, serverDeviceId: 0 }], wsl);
      expect(outcome).toMatchObject({ code: 'ERR_IPC_UNSUPPORTED', message: expect.stringContaining('WSL') as string });
    });
  },
  { needs: ['mount'] },
);

describeTier(
  'driver',
  'a PID namespace of its own',
  () => {
    test('is named where the server cannot open our memory', async () => {
      const inside = ['unshare', process.getuid?.() === 0 ? '-p' : '-rp', '--fork'];
      const [outcome] = await choose({}, [{ metrics: null, serverDeviceId: 0, refuses: true }], inside);
      expect(outcome).toMatchObject({ code: 'ERR_IPC_REFUSED' });
      expect(outcome?.message).toMatch(
        /Here: this process has a PID namespace of its own \(containers: --pid=host on both\)$/,
      );
    });
  },
  { needs: ['mount'] },
);
