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
    test('the program is killed when the process that started it is', async () => {
      const forever = 'setInterval(() => undefined, 1000)';
      const [program, args] = tied(process.execPath, ['-e', forever]);
      const script = `
        const { spawn } = require('node:child_process');
        console.log(spawn(${JSON.stringify(program)}, ${JSON.stringify(args)}).pid);
        ${forever};
      `;
      const parent = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
      onTestFinished(() => void parent.kill('SIGKILL'));
      const pid = Number(await new Promise((resolve) => parent.stdout.once('data', resolve)));
      expect(existsSync(`/proc/${pid}`)).toBe(true);
      parent.kill('SIGKILL');
      await expect.poll(() => existsSync(`/proc/${pid}`), { timeout: 10_000 }).toBe(false);
    });
  },
  { needs: ['setpriv'] },
);
