/**
 * A client and a server that see two GPUs each in an order of its own, or one of them: in environments of their own, since a
 * driver reads CUDA_VISIBLE_DEVICES once in a process.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';

const program = fileURLToPath(new URL('../fixtures/visible-gpus.mjs', import.meta.url));
const tensors = { model: 'identity_64', input: 'INPUT0', output: 'OUTPUT0' };

/** A server with the model `identity_64`. */
export interface VisibleServer {
  readonly grpcUrl: string;
  readonly metricsUrl: string;
  end(): Promise<void>;
}

export interface TwoGpusOptions {
  /** @param visible - CUDA_VISIBLE_DEVICES of the server */
  readonly startServer: (visible: string) => Promise<VisibleServer>;
  /** Further variables of the clients. */
  readonly env?: NodeJS.ProcessEnv;
  /** Whether the host shows its GPUs also to processes that may not use them. */
  readonly hostShowsGpus: boolean;
}

/** Ordinals are of the side that they are named for. */
interface Case {
  readonly device?: number;
  readonly serverDeviceId?: number;
  /** Whether the client knows the server's metrics; true unless told. */
  readonly metrics?: boolean;
}

interface Report {
  readonly uuids: readonly string[];
  readonly outcomes: readonly object[];
}

/** Which GPU of the machine holds the slots, by which ordinal of the server's, and why; or the refusal. */
type Expected = readonly [gpu: 0 | 1, ordinal: 0 | 1, why: 'given' | 'only'] | readonly [code: string, why: string];
type Row = readonly [client: string, given: Case, expected: Expected];

const NOT_SETTLED = 'ERR_GPU_MISMATCH';
const TWO = 'the server has 2 GPUs';

/** By what the server sees. `{0}` and `{1}` stand for the UUIDs of the machine's GPUs. */
const TABLE: Readonly<Record<string, readonly Row[]>> = {
  '0,1': [
    ['1,0', { device: 0, serverDeviceId: 1 }, [1, 1, 'given']],
    ['1,0', { device: 1, serverDeviceId: 0 }, [0, 0, 'given']],
    ['1,0', {}, [NOT_SETTLED, TWO]],
    ['1,0', { device: 1 }, [NOT_SETTLED, TWO]],
    ['1,0', { device: 0, serverDeviceId: 2 }, [NOT_SETTLED, 'serverDeviceId 2 does not exist there']],
    ['1', { serverDeviceId: 1 }, [1, 1, 'given']],
    ['1', { device: 0, serverDeviceId: 1 }, [1, 1, 'given']],
    ['1', {}, [NOT_SETTLED, TWO]],
    ['1', { device: 1, serverDeviceId: 1 }, ['ERR_CUDA_UNAVAILABLE', '1']],
  ],
  '1,0': [
    ['0,1', { device: 0, serverDeviceId: 1 }, [0, 1, 'given']],
    ['0,1', { device: 1, serverDeviceId: 0 }, [1, 0, 'given']],
    ['0,1', {}, [NOT_SETTLED, TWO]],
    ['1,0', { device: 1, serverDeviceId: 1 }, [0, 1, 'given']],
    ['1', { serverDeviceId: 0 }, [1, 0, 'given']],
    ['0', { serverDeviceId: 1 }, [0, 1, 'given']],
  ],
  '1': [
    ['0,1', {}, [1, 0, 'only']],
    ['1,0', {}, [1, 0, 'only']],
    ['1', {}, [1, 0, 'only']],
    ['0,1', { device: 1 }, [1, 0, 'only']],
    ['1,0', { device: 0, serverDeviceId: 0 }, [1, 0, 'given']],
    ['0,1', { device: 0 }, [NOT_SETTLED, "ours is {0}, the server's metrics list {1}"]],
    ['1,0', { device: 1 }, [NOT_SETTLED, "ours is {0}, the server's metrics list {1}"]],
    ['0', {}, [NOT_SETTLED, "ours is {0}, the server's metrics list {1}"]],
    ['1', { serverDeviceId: 1 }, [NOT_SETTLED, 'the server has 1 GPU, so serverDeviceId 1 does not exist there']],
    ['0,1', { metrics: false }, [NOT_SETTLED, 'this host has ']],
  ],
  '0': [
    ['1,0', {}, [0, 0, 'only']],
    ['1', {}, [NOT_SETTLED, "ours is {1}, the server's metrics list {0}"]],
  ],
};

/** Of a host with two GPUs, of which the client sees one: the server's first may be the other. */
const HIDDEN: Row = ['1', { metrics: false }, [NOT_SETTLED, 'this host has ']];

export function describeTwoGpus({ startServer, env = {}, hostShowsGpus }: TwoGpusOptions): void {
  let gpus: readonly string[] = [];

  async function look(about: object, visible: string | undefined): Promise<Report> {
    const { CUDA_VISIBLE_DEVICES: _, ...others } = process.env;
    const { stdout } = await promisify(execFile)(process.execPath, [program, JSON.stringify(about)], {
      timeout: 120_000,
      env: { ...others, ...env, ...(visible !== undefined && { CUDA_VISIBLE_DEVICES: visible }) },
    });
    return JSON.parse(stdout) as Report;
  }

  const text = (why: string) => why.replace(/\{(\d)\}/g, (_, gpu: string) => gpus[Number(gpu)] ?? '');

  function expectedOf(expected: Expected): object {
    if (expected.length === 2) {
      const [code, why] = expected;
      // What is refused was never registered.
      return { code, message: expect.stringContaining(text(why)) as string, registered: 0 };
    }
    const [gpu, ordinal, why] = expected;
    const evidence =
      why === 'given' ? `serverDeviceId ${ordinal} was given` : `the server's only GPU is ours ({${gpu}})`;
    return {
      uuid: gpus[gpu],
      ordinals: [ordinal],
      reason: expect.stringContaining(text(evidence)) as string,
      wrong: 0,
      unproven: [],
    };
  }

  beforeAll(async () => {
    ({ uuids: gpus } = await look({}, undefined));
    expect(new Set(gpus).size).toBeGreaterThanOrEqual(2);
  });

  describe.for(Object.entries(TABLE))('the server sees %s', ([visible, always]) => {
    const rows = hostShowsGpus ? [...always, HIDDEN] : always;
    const clients = [...new Set(rows.map(([client]) => client))];
    let server: VisibleServer;

    beforeAll(async () => {
      server = await startServer(visible);
      return () => server.end();
    });

    test.for(clients)('and the client %s', async (client) => {
      const its = rows.filter(([each]) => each === client);
      const { grpcUrl, metricsUrl } = server;
      const cases = its.map(([, given]) => given);
      const { uuids, outcomes } = await look({ grpcUrl, metricsUrl, ...tensors, cases }, client);
      expect(uuids).toEqual(client.split(',').map((gpu) => gpus[Number(gpu)]));
      expect(outcomes).toEqual(its.map(([, , expected]) => expect.objectContaining(expectedOf(expected)) as object));
    });
  });
}
