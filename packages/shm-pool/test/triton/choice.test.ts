/** The choice of transport, and what is said when it fails, on a real server. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describeTier, privateTriton, sharedTriton, testModels, tied } from '@zerohop/test-support';
import { TritonClient } from '@zerohop/triton-client';
import { expect, onTestFinished, test } from 'vitest';
import { type PoolOptions, TensorPool } from '../../src/index.js';
import { code } from '../support/pool-suite.js';

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
const shapes = { INPUT0: [2, 100], OUTPUT0: [2, 100] };

function clientOf(url: string, headers: Readonly<Record<string, string>> = {}): TritonClient {
  const client = new TritonClient(url, { headers });
  onTestFinished(() => client.close());
  return client;
}

async function open(client: TritonClient, options: Partial<PoolOptions> = {}): Promise<TensorPool> {
  const pool = await TensorPool.open(client, { model: 'identity_64', slots: 1, ...options });
  onTestFinished(async () => {
    await pool.close();
  });
  return pool;
}

interface Outcome {
  readonly transport?: string;
  readonly reason?: string;
  readonly verified?: boolean;
  readonly code?: string;
  readonly message?: string;
}

/** Opens a pool in a process of its own. */
async function openBy(command: readonly string[], url: string, options: object, user?: number): Promise<Outcome> {
  const [program = '', ...before] = [...command, process.execPath];
  const args = [...before, fixture('opener.mjs'), url, JSON.stringify(options)];
  const { stdout } = await promisify(execFile)(program, user === undefined ? args : [...args, `${user}`]);
  return JSON.parse(stdout) as Outcome;
}

describeTier('triton', 'the choice on a real server', () => {
  test('an answer is verified, also of a model whose shapes are open', async () => {
    const client = clientOf(sharedTriton().grpcUrl);
    for (const options of [{}, { model: 'identity', shapes }] as const) {
      const pool = await open(client, { ...options, verify: true });
      expect(pool.transport).toBe('system');
      expect(pool.verified).toBe(true);
      expect(pool.reason).toContain('an answer was verified (equal bytes)');
    }
  });

  test.for<[string, Partial<PoolOptions>, string]>([
    ['sequence', {}, 'the model keeps sequences'],
    ['fail', { shapes }, 'the model does not answer generated inputs ('],
  ])('the model %s is not verified, and says so', async ([model, options, why]) => {
    const pool = await open(clientOf(sharedTriton().grpcUrl), { model, ...options, verify: true });
    expect(pool.verified).toBe(false);
    expect(pool.reason).toContain(`not verified: ${why}`);
  });

  test('a decoupled model is refused', async () => {
    const refused = open(clientOf(sharedTriton().grpcUrl), { model: 'repeat', shapes: { INPUT0: [4], OUTPUT0: [5] } });
    await expect(refused).rejects.toThrow(code('ERR_DECOUPLED_OUTPUTS'));
  });

  test("explain() knows the Python backend and the model's device", async () => {
    const pool = await open(clientOf(sharedTriton().grpcUrl));
    const { copies, text } = pool.explain();
    expect(copies.map(({ where }) => where)).toEqual(['client', 'backend']);
    expect(text).toMatch(/the Python backend runs the model in a process of its own/);
  });

  test('shared memory behind a header: refused without it, and taken with it', async () => {
    const args = ['--grpc-restricted-protocol=shared-memory:key=secret'];
    const triton = await privateTriton({ models: ['identity_64'], args });
    onTestFinished(() => triton.stop());
    await expect(open(clientOf(triton.grpcUrl), { transport: 'system' })).rejects.toThrow(code('ERR_SHM_RESTRICTED'));
    const without = await open(clientOf(triton.grpcUrl));
    expect(without.reason).toMatch(/^bytes: .*; not system: The server restricts its shared-memory calls/);
    const pool = await open(clientOf(triton.grpcUrl, { 'triton-grpc-protocol-key': 'secret' }), { verify: true });
    expect(pool.transport).toBe('system');
    expect(pool.verified).toBe(true);
  });
});

describeTier(
  'triton',
  'a kernel of WSL2, by what it says of itself',
  () => {
    test('answers are verified by default', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'zerohop-wsl-'));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      const version = join(folder, 'version');
      writeFileSync(version, 'Linux version 5.15.153.1-microsoft-standard-WSL2 (root@host)\n');
      const script = 'mount --bind "$0" /proc/version && exec "$@"';
      const unshare = ['unshare', process.getuid?.() === 0 ? '-m' : '-rm', 'sh', '-c', script, version];
      const { grpcUrl } = sharedTriton();
      const outcome = await openBy(unshare, grpcUrl, { model: 'identity_64', slots: 1 });
      expect(outcome).toMatchObject({ transport: 'system', verified: true });
      const off = await openBy(unshare, grpcUrl, { model: 'identity_64', slots: 1, verify: false });
      expect(off).toMatchObject({ transport: 'system', verified: false });
    });
  },
  { needs: ['mount'] },
);

describeTier(
  'triton',
  'a process without /proc',
  () => {
    test('is told as such, and auto uses messages', async () => {
      const script = 'umount -l /proc && exec "$@"';
      const without = ['unshare', process.getuid?.() === 0 ? '-m' : '-rm', 'sh', '-c', script, 'sh'];
      const { grpcUrl } = sharedTriton();
      const refused = await openBy(without, grpcUrl, { model: 'identity_64', slots: 1, transport: 'system' });
      expect(refused).toMatchObject({ code: 'ERR_NATIVE_UNAVAILABLE' });
      const auto = await openBy(without, grpcUrl, { model: 'identity_64', slots: 1 });
      expect(auto.reason).toMatch(/^bytes: .*; not system: Shared memory needs Linux with \/proc mounted$/);
    });
  },
  { needs: ['mount'] },
);

describeTier(
  'triton',
  'a server that may not open what another user keeps in /dev/shm',
  () => {
    /** Root without the right to open every file, as an unprivileged user has none. */
    async function confinedTriton(): Promise<string> {
      const without = ['--bounding-set=-dac_override,-dac_read_search', '--inh-caps=-all'];
      const args = [...without, process.execPath, fixture('confined-triton.mjs'), testModels, 'identity_64'];
      const server = spawn(...tied('setpriv', args), { stdio: ['pipe', 'pipe', 'inherit'] });
      const ended = once(server, 'exit');
      onTestFinished(async () => {
        server.stdin.end();
        await ended;
      });
      const [url] = (await once(createInterface({ input: server.stdout }), 'line')) as [string];
      return url;
    }

    test('is told apart from one with another /dev/shm', async () => {
      const url = await confinedTriton();
      const nobody = 65534;
      const refused = await openBy([], url, { model: 'identity_64', slots: 1, transport: 'system' }, nobody);
      expect(refused).toMatchObject({ code: 'ERR_SHM_PERMISSION' });
      expect(refused.message).toMatch(/may not open what user 65534 keeps there .*as the same user/);
      const auto = await openBy([], url, { model: 'identity_64', slots: 1 }, nobody);
      expect(auto.reason).toMatch(/^bytes: .*; not system: The server sees our \/dev\/shm, but may not open/);
      const same = await openBy([], url, { model: 'identity_64', slots: 1, transport: 'system' });
      expect(same).toMatchObject({ transport: 'system' });
    });
  },
  { needs: ['setpriv', 'root'] },
);
