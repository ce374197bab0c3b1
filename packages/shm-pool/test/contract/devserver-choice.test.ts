/** The choice against a server of each version's ways, through the real client, over gRPC and HTTP. */
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TritonClient } from '@zerohop/triton-client';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { DevServer } from '../../../triton-devserver/src/index.js';
import { type PoolOptions, TensorPool } from '../../src/index.js';
import { removeOurEntries } from '../support/names.js';
import { code } from '../support/pool-suite.js';

process.env.ZEROHOP_LIBCUDA = '/nonexistent/libcuda.so.1';

const FLOATS = { data_type: 'TYPE_FP32', dims: [16] } as const;
const TENSORS = { input: [{ name: 'X', ...FLOATS }], output: [{ name: 'Y', ...FLOATS }] };

interface Floats {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

const doubled = ({ inputs }: { inputs: Readonly<Record<string, unknown>> }) => {
  const { shape, data } = inputs.X as Floats;
  return { Y: { shape, data: data.map((value) => value * 2) } };
};

const models = {
  double: { config: TENSORS, execute: doubled },
  batched: {
    config: { ...TENSORS, max_batch_size: 4, dynamic_batching: {}, response_cache: { enable: true } },
    execute: doubled,
  },
  steps: {
    config: {
      ...TENSORS,
      sequence_batching: {
        control_input: [{ name: 'START', control: [{ kind: 'CONTROL_SEQUENCE_START', int32_false_true: [0, 1] }] }],
      },
    },
    execute: doubled,
  },
  parts: {
    config: { ...TENSORS, model_transaction_policy: { decoupled: true } },
    executeDecoupled: async function* (request: Parameters<typeof doubled>[0]) {
      yield doubled(request);
    },
  },
} as const;

const header = { apis: ['shared-memory'], header: 'Key', value: 'secret' } as const;

async function started(options: Partial<Parameters<typeof DevServer.start>[0]> = {}): Promise<DevServer> {
  const server = await DevServer.start({ models: models as never, ...options });
  onTestFinished(() => server.stop());
  return server;
}

function clientOf(url: string, options: ConstructorParameters<typeof TritonClient>[1] = {}): TritonClient {
  const client = new TritonClient(url, options);
  onTestFinished(() => client.close());
  return client;
}

async function open(client: TritonClient, options: Partial<PoolOptions> = {}): Promise<TensorPool> {
  const pool = await TensorPool.open(client, { model: 'double', slots: 1, ...options });
  onTestFinished(async () => {
    await pool.close();
  });
  return pool;
}

async function answers(pool: TensorPool): Promise<void> {
  await pool.run(async (lease) => {
    await lease.input('X').write(new Float32Array(16).fill(3));
    expect(await (await lease.infer()).output<'FP32'>('Y').read()).toEqual(new Float32Array(16).fill(6));
  });
}

afterAll(removeOurEntries);

describe.for(['grpcUrl', 'httpUrl'] as const)('%s', (url) => {
  test('2.68 as it starts by default: disabled, and no region is ever made', async () => {
    const server = await started({ version: '2.68' });
    const client = clientOf(server[url]);
    const refused = open(client, { transport: 'system' });
    await expect(refused).rejects.toThrow(code('ERR_SHM_DISABLED'));
    await expect(refused).rejects.toThrow('--allow-client-shm=true');
    const pool = await open(client);
    expect(pool.reason).toMatch(/^bytes: .*; not system: The server refuses client shared memory: start it with/);
    await answers(pool);
  });

  test('2.68 with --allow-client-shm=true', async () => {
    const server = await started({ version: '2.68', allowClientShm: true });
    const pool = await open(clientOf(server[url]), { verify: true });
    expect(pool.transport).toBe('system');
    expect(pool.verified).toBe(true);
    await answers(pool);
  });

  test('shared memory behind a header: refused without it, and taken with it', async () => {
    const server = await started({ restricted: [header] });
    await expect(open(clientOf(server[url]), { transport: 'system' })).rejects.toThrow(code('ERR_SHM_RESTRICTED'));
    const without = await open(clientOf(server[url]));
    expect(without.reason).toMatch(/^bytes: .*; not system: The server restricts its shared-memory calls/);
    await answers(without);
    const name = url === 'grpcUrl' ? 'triton-grpc-protocol-Key' : 'Key';
    const pool = await open(clientOf(server[url], { headers: { [name]: 'secret' } }));
    expect(pool.transport).toBe('system');
    await answers(pool);
  });

  test('the configuration says what is copied, and what is not verified', async () => {
    const server = await started();
    const client = clientOf(server[url]);
    const batched = await open(client, { model: 'batched' });
    expect(batched.explain().text).toMatch(/dynamic_batching is on.*\n.*response_cache is on/);
    expect((await open(client)).explain().text).not.toMatch(/is on|not known/);
    const steps = await open(client, { model: 'steps', verify: true });
    expect(steps.transport).toBe('system');
    expect(steps.reason).toContain('; not verified: the model keeps sequences');
    expect(server.requests).toEqual([]);
    await answers(batched);
    expect(server.requests.map(({ model }) => model)).toEqual(['batched']);
  });

  test('a decoupled model', async () => {
    const server = await started();
    await expect(open(clientOf(server[url]), { model: 'parts' })).rejects.toThrow(code('ERR_DECOUPLED_OUTPUTS'));
  });
});

describe('two servers behind one address', () => {
  let servers: DevServer[];
  let url: string;
  let close: () => void;

  /** A load balancer that gives each call to the next server. */
  beforeAll(async () => {
    servers = await Promise.all([1, 2].map(() => DevServer.start({ models: models as never })));
    let turn = 0;
    const balancer = createServer((incoming, outgoing) => {
      turn += 1;
      const { hostname, port } = new URL(servers[turn % 2]?.httpUrl ?? '');
      const { method, url: path, headers } = incoming;
      const passed = httpRequest({ hostname, port, method, path, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(outgoing);
      });
      incoming.pipe(passed);
    });
    await new Promise<void>((resolve) => balancer.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(balancer.address() as AddressInfo).port}`;
    close = () => balancer.close().closeAllConnections();
  });

  afterAll(async () => {
    close();
    await Promise.all(servers.map((server) => server.stop()));
  });

  test('are found out by the first region, and auto uses messages', async () => {
    const client = clientOf(url);
    const refused = open(client, { transport: 'system' });
    await expect(refused).rejects.toThrow(code('ERR_SEVERAL_SERVERS'));
    await expect(refused).rejects.toThrow(/Give the client the address of one server/);
    const pool = await open(client);
    expect(pool.reason).toMatch(/^bytes: .*; not system: Region .* several servers behind this address/);
    await answers(pool);
  });
});
