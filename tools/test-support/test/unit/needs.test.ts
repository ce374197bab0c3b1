import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { describeTier, tied } from '../../src/index.js';

/** needs.ts looks once; each test asks a fresh copy. */
async function freshNeeds(): Promise<typeof import('../../src/needs.js')> {
  vi.resetModules();
  return import('../../src/needs.js');
}

describe('verdict', () => {
  beforeEach(() => {
    vi.stubEnv('CI', '');
    vi.stubEnv('REQUIRE_GPU', '');
  });
  afterEach(() => vi.unstubAllEnvs());

  test('a missing need is skipped on a developer’s machine', async () => {
    vi.stubEnv('ZEROHOP_PEERS_PYTHON', '/nowhere/python');
    const { verdict } = await freshNeeds();
    expect(verdict('peers')).toEqual({ run: false, reason: expect.stringContaining('npm test'), fail: false });
  });

  test('it fails in CI', async () => {
    vi.stubEnv('ZEROHOP_PEERS_PYTHON', '/nowhere/python');
    vi.stubEnv('CI', 'true');
    const { verdict } = await freshNeeds();
    expect(verdict('peers')).toMatchObject({ run: false, fail: true });
  });

  test('a need that is there runs, in CI too', async () => {
    vi.stubEnv('ZEROHOP_PEERS_PYTHON', process.execPath);
    vi.stubEnv('CI', 'true');
    const { verdict, peersPython } = await freshNeeds();
    expect(verdict('peers')).toEqual({ run: true });
    expect(peersPython()).toBe(process.execPath);
  });

  test('the gpu may be missing in CI, unless REQUIRE_GPU=1', async () => {
    const { missing, verdict } = await freshNeeds();
    vi.stubEnv('CI', 'true');
    if (missing('gpu') === undefined) {
      expect(verdict('gpu')).toEqual({ run: true });
      return;
    }
    expect(verdict('gpu')).toMatchObject({ run: false, fail: false });
    vi.stubEnv('REQUIRE_GPU', '1');
    expect(verdict('gpu')).toMatchObject({ run: false, fail: true });
  });
});

describe('leftovers', () => {
  test('a child process that is left is named, and one that ended is not', async () => {
    const { expectNothingLeft, takeSnapshot } = await import('../../src/leftovers.js');
    const before = takeSnapshot();
    const child = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1000)']);
    await expect(expectNothingLeft(before, { timeoutMs: 0 })).rejects.toThrow(`process ${child.pid}`);
    child.kill('SIGKILL');
    await expectNothingLeft(before);
  });
});

describeTier(
  'unit',
  'tied',
  () => {
    const forever = 'setInterval(() => undefined, 1000)';

    test('the program is killed when the process that started it is', async () => {
      const [program, args] = tied(process.execPath, ['-e', forever], 'PARENT');
      const script = `
        const { spawn } = require('node:child_process');
        const args = ${JSON.stringify(args)}.map((arg) => (arg === 'PARENT' ? String(process.pid) : arg));
        console.log(spawn(${JSON.stringify(program)}, args).pid);
        ${forever};
      `;
      const parent = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
      onTestFinished(() => void parent.kill('SIGKILL'));
      const pid = Number(await new Promise((resolve) => parent.stdout.once('data', resolve)));
      // What was killed stays as a zombie until the first process of the machine has noticed.
      const runs = () => existsSync(`/proc/${pid}/exe`);
      expect(runs()).toBe(true);
      parent.kill('SIGKILL');
      await expect.poll(runs, { timeout: 10_000 }).toBe(false);
    });

    test('the program does not start when that process is gone before it is tied to it', async () => {
      const child = spawn(...tied(process.execPath, ['-e', forever], process.ppid));
      onTestFinished(() => void child.kill('SIGKILL'));
      expect(await new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)))).toBe('SIGKILL');
    });

    test('the program gets its arguments as they are and gives its own exit code', async () => {
      const args = ['-e', 'process.exit(process.argv[1] === "a  $b \'" ? 7 : 1)', "a  $b '"];
      const child = spawn(...tied(process.execPath, args));
      expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(7);
    });
  },
  { needs: ['setpriv'] },
);
