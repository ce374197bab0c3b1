import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  descendants,
  describeTier,
  expectNothingLeft,
  takeSnapshot,
  testModels,
  tied,
  withSmallSharedMemory,
} from '@zerohop/test-support';
import { expect, onTestFinished, test, vi } from 'vitest';
import { checkSharedMemory, findTriton, LocalTritonError, startTriton } from '../../src/index.js';

const models = ['identity'];

/** Files of servers that this process started; others may start theirs at the same time. */
function isOurs(name: string): boolean {
  return name.startsWith(`zerohop-triton-${process.pid}-`);
}

/** Folders that servers' Python backends have made, always in /tmp; other servers than ours may come and go. */
function backendFolders(): string[] {
  return readdirSync('/tmp').filter((name) => name.startsWith('python_env_'));
}

/** Those of `made` that are still there. */
function remaining(made: readonly string[]): number {
  return backendFolders().filter((name) => made.includes(name)).length;
}

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.fail('It did not fail'),
    (error: unknown) => error,
  );
}

function temporaryFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'zerohop-test-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A process that starts a server, and the server's pid; it goes on, or ends by itself. */
async function startInChild(ends: boolean): Promise<{ child: ChildProcess; pid: number }> {
  const script = `
    import { startTriton } from ${JSON.stringify(join(import.meta.dirname, '../../dist/index.js'))};
    const server = await startTriton({ modelRepository: ${JSON.stringify(testModels)}, models: ['identity'] });
    console.log(server.pid);
    ${ends ? '' : 'setInterval(() => undefined, 1000);'}
  `;
  const [program, args] = tied(process.execPath, ['--input-type=module', '-e', script]);
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const pid = Number(
    await new Promise<string>((resolve, reject) => {
      child.stdout.once('data', (line: Buffer) => resolve(line.toString()));
      child.once('error', reject);
      child.once('exit', () => reject(new Error('The child ended without a word')));
    }),
  );
  expect(pid).toBeGreaterThan(0);
  return { child, pid };
}

describeTier('triton', 'startTriton', () => {
  test('serves the models named, and leaves nothing after stop', async () => {
    const before = takeSnapshot();
    const folders = backendFolders();
    const server = await startTriton({ modelRepository: testModels, models });
    const made = backendFolders().filter((name) => !folders.includes(name));
    try {
      const reply = await fetch(`${server.httpUrl}/v2/models/identity/infer`, {
        method: 'POST',
        body: JSON.stringify({ inputs: [{ name: 'INPUT0', shape: [1, 3], datatype: 'FP32', data: [1, 2.5, -3] }] }),
      });
      expect(await reply.json()).toMatchObject({ outputs: [{ name: 'OUTPUT0', shape: [1, 3], data: [1, 2.5, -3] }] });
      expect((await fetch(`${server.httpUrl}/v2/models/slow/ready`)).ok).toBe(false);
      expect(await (await fetch(server.metricsUrl)).text()).toContain('nv_inference_count');
      expect(server.running).toBe(true);
    } finally {
      await server.stop();
    }
    expect(server.running).toBe(false);
    expect(server.logTail()).toContain('identity');
    await server.stop();
    await expectNothingLeft(before, { belongs: isOurs, timeoutMs: 0 });
    expect(remaining(made)).toBeLessThan(made.length);
  });

  test('works where names have spaces, quotes and letters beyond ASCII', async () => {
    const folder = join(temporaryFolder(), 'it\'s "ä" & (é)');
    mkdirSync(folder);
    cpSync(testModels, join(folder, 'models'), { recursive: true });
    const before = takeSnapshot();
    vi.stubEnv('TMPDIR', folder);
    onTestFinished(() => void vi.unstubAllEnvs());
    const server = await startTriton({ modelRepository: join(folder, 'models'), models, timeoutMs: 30_000 });
    await server.stop();
    expect(readdirSync(folder)).toEqual(['models']);
    await expectNothingLeft(before, { belongs: isOurs, timeoutMs: 0 });
  });

  test('cleans up after a server killed with SIGKILL', async () => {
    const before = takeSnapshot();
    const folders = backendFolders();
    const runs = temporaryFolder();
    vi.stubEnv('TMPDIR', runs);
    onTestFinished(() => void vi.unstubAllEnvs());
    const server = await startTriton({ modelRepository: testModels, models });
    expect(readdirSync(runs)).toHaveLength(1);
    const made = backendFolders().filter((name) => !folders.includes(name));
    server.kill('SIGKILL');
    await server.whenEnded();
    expect(server.running).toBe(false);
    await expectNothingLeft(before, { belongs: isOurs, timeoutMs: 0 });
    expect(remaining(made)).toBeLessThan(made.length);
    expect(readdirSync(runs)).toEqual([]);
    expect(server.logTail()).toContain('identity');
    await server.stop();
  });

  test('a signal for a server that has just ended is none', async () => {
    const server = await startTriton({ modelRepository: testModels, models });
    server.kill('SIGKILL');
    // The supervisor has yet to see it, to end the stubs and to say so.
    while (server.running) {
      server.kill('SIGTERM');
      await new Promise((resolve) => setImmediate(resolve));
    }
    server.kill('SIGTERM');
    await server.stop();
  });

  test.each([
    { how: 'ends', program: '/bin/false', message: /supervisor ended with 1/ },
    { how: 'does not start', program: '/nowhere/node', message: /supervisor: .*ENOENT/ },
  ])('a supervisor that $how is an error with a code', async ({ program, message }) => {
    const node = process.execPath;
    process.execPath = program;
    try {
      const error = await rejection(startTriton({ modelRepository: testModels, models }));
      expect(error).toBeInstanceOf(LocalTritonError);
      expect(error).toMatchObject({ code: 'ERR_TRITON_START', message: expect.stringMatching(message) });
    } finally {
      process.execPath = node;
    }
  });

  test.each(['SIGKILL', 'SIGTERM', 'exit'] as const)('does not outlive its process: %s', async (end) => {
    const before = takeSnapshot();
    const { child, pid } = await startInChild(end === 'exit');
    if (end !== 'exit') child.kill(end);
    await expectNothingLeft(before, { belongs: (name) => name.startsWith(`zerohop-triton-${child.pid}-`) });
    await expect.poll(() => existsSync(`/proc/${pid}/exe`), { timeout: 5000 }).toBe(false);
  });

  test('tells in one sentence which model did not load and why', async () => {
    const before = takeSnapshot();
    const repository = temporaryFolder();
    mkdirSync(join(repository, 'broken', '1'), { recursive: true });
    writeFileSync(
      join(repository, 'broken', 'config.pbtxt'),
      'backend: "python"\ninput [ { name: "A" data_type: TYPE_FP32 dims: [ 1 ] } ]\noutput [ { name: "B" data_type: TYPE_FP32 dims: [ 1 ] } ]\n',
    );
    writeFileSync(join(repository, 'broken', '1', 'model.py'), 'import no_such_module\n');
    const error = await rejection(startTriton({ modelRepository: repository }));
    expect(error).toBeInstanceOf(LocalTritonError);
    expect(error).toMatchObject({ code: 'ERR_TRITON_START' });
    const { message, log } = error as LocalTritonError;
    expect(message).toMatch(/failed to load 'broken' version 1: .*No module named 'no_such_module'/);
    expect(message).not.toContain('\n');
    expect(log).toContain('broken');
    await expectNothingLeft(before, { belongs: isOurs, timeoutMs: 0 });
  });

  test('a demanded port that is taken is named', async () => {
    const occupant = createServer();
    await new Promise<void>((resolve) => occupant.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void occupant.close());
    const address = occupant.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const error = await rejection(startTriton({ modelRepository: testModels, models, ports: { http: port } }));
    expect(error).toMatchObject({ code: 'ERR_TRITON_START', message: expect.stringContaining(`${port}`) });
  });

  test('an abort ends the start with the reason of the signal', async () => {
    const before = takeSnapshot();
    const controller = new AbortController();
    const reason = new Error('changed my mind');
    const started = startTriton({
      modelRepository: testModels,
      models,
      signal: controller.signal,
      onProgress: () => controller.abort(reason),
    });
    expect(await rejection(started)).toBe(reason);
    await expectNothingLeft(before, { belongs: isOurs, timeoutMs: 0 });
  });

  test('the embedded Python is that of the environment, with numpy below 2', async () => {
    const { python } = await findTriton();
    const { stdout } = await promisify(execFile)(python, ['-c', 'import numpy; print(numpy.__version__)']);
    expect(stdout.trim()).toMatch(/^1\.26\./);
  });
});

describeTier(
  'triton',
  'kill -9 of the process and of the supervisor',
  () => {
    test('ends the server, its stubs and their files', async () => {
      const before = takeSnapshot();
      const { child, pid } = await startInChild(false);
      const supervisor = Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
      const stubs = descendants(pid);
      expect(stubs).not.toEqual([]);
      const files = () => readdirSync('/dev/shm').filter((name) => name.startsWith(`zerohop-triton-${child.pid}-`));
      expect(files()).not.toEqual([]);
      // While it is stopped the process can't do what its supervisor no longer does.
      child.kill('SIGSTOP');
      process.kill(supervisor, 'SIGKILL');
      child.kill('SIGKILL');
      for (const process of [pid, ...stubs]) {
        await expect.poll(() => existsSync(`/proc/${process}/exe`), { timeout: 15_000 }).toBe(false);
      }
      await expect.poll(files).toEqual([]);
      await expectNothingLeft(before, { belongs: isOurs });
    });
  },
  { needs: ['setpriv'] },
);

describeTier(
  'triton',
  'a small /dev/shm',
  () => {
    test.each([
      {
        name: 'is seen before the start',
        options: '{}',
        message: /2 MiB free of 2 MiB, 32 MiB are needed.*--shm-size=/,
      },
      { name: 'is what the server met', options: '{ shmByteLength: 0 }', message: /\/dev\/shm is full.*--shm-size=/ },
    ])('$name', async ({ options, message }) => {
      const script = `
        import { startTriton } from ${JSON.stringify(join(import.meta.dirname, '../../dist/index.js'))};
        try {
          await startTriton({ modelRepository: ${JSON.stringify(testModels)}, ...${options} });
        } catch ({ code, message }) {
          console.log(JSON.stringify({ code, message }));
        }
      `;
      const [program = '', ...args] = withSmallSharedMemory(2);
      const { stdout } = await promisify(execFile)(program, [
        ...args,
        process.execPath,
        ...['--input-type=module', '-e', script],
      ]);
      expect(JSON.parse(stdout)).toEqual({ code: 'ERR_SHM_FULL', message: expect.stringMatching(message) });
    });
  },
  { needs: ['mount'] },
);

describeTier('triton', 'what a machine may lack', () => {
  test('no server there', async () => {
    const error = await rejection(startTriton({ modelRepository: testModels, home: temporaryFolder() }));
    expect(error).toMatchObject({
      code: 'ERR_TRITON_NOT_INSTALLED',
      message: expect.stringContaining('npm run setup'),
    });
  });

  test('a library of the server that is not found is named', async () => {
    const error = await rejection(startTriton({ modelRepository: testModels, models, env: { LD_LIBRARY_PATH: '' } }));
    expect(error).toMatchObject({
      code: 'ERR_TRITON_START',
      message: expect.stringContaining('error while loading shared libraries: lib'),
    });
  });

  test('an executable that does not start', async () => {
    const home = temporaryFolder();
    for (const folder of ['tritonserver/bin', 'tritonserver/backends/python', 'nvidia_pytriton.libs']) {
      mkdirSync(join(home, folder), { recursive: true });
    }
    writeFileSync(join(home, 'tritonserver/backends/python/triton_python_backend_stub'), '');
    const error = await rejection(startTriton({ modelRepository: testModels, home }));
    expect(error).toMatchObject({ code: 'ERR_TRITON_START', message: expect.stringContaining('ENOENT') });
  });

  test('too little shared memory', () => {
    expect(() => checkSharedMemory(2 ** 50)).toThrow(
      expect.objectContaining({
        code: 'ERR_SHM_FULL',
        message: expect.stringMatching(/\d+ MiB free of \d+ MiB.*--shm-size=/),
      }),
    );
    expect(() => checkSharedMemory(0)).not.toThrow();
  });
});
