import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { descendants, describeTier, repositoryRoot } from '../../src/index.js';

const setup = join(repositoryRoot, 'scripts', 'setup');

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'zerohop-setup-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A shell script that stays, and whose child, in a session of its own, stays too. */
function stayingScript(folder: string): string {
  return `setsid sh -c 'echo $$ >> "${folder}/pids"; exec sleep 300' & echo $$ >> '${folder}/pids'; sleep 300`;
}

/** The processes of `stayingScript`, once they are there. */
async function staying(folder: string): Promise<number[]> {
  const read = () => (existsSync(join(folder, 'pids')) ? readFileSync(join(folder, 'pids'), 'utf8').trim() : '');
  await expect.poll(() => read().split('\n').length, { timeout: 15_000 }).toBe(2);
  const pids = read().split('\n').map(Number);
  onTestFinished(() => {
    for (const pid of pids.filter(isRunning)) process.kill(pid, 'SIGKILL');
  });
  return pids;
}

function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** A process that runs a script as set-up runs the programs of a step. */
function step(folder: string, script: string): ChildProcess {
  const code = `
    import { lock } from ${JSON.stringify(join(setup, 'lock.mjs'))};
    import { StepLog } from ${JSON.stringify(join(setup, 'run.mjs'))};
    const folder = ${JSON.stringify(folder)};
    const { descriptor } = await lock(folder);
    const log = new StepLog('step', { descriptor, signal: new AbortController().signal, folder });
    await log.run('sh', ['-c', ${JSON.stringify(script)}]);
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

/** A clone with nothing in it but set-up, and an npm that is the script given. */
function startSetUp(folder: string, npm: string): { child: ChildProcess; said: () => string } {
  cpSync(join(repositoryRoot, 'scripts'), join(folder, 'scripts'), { recursive: true });
  cpSync(join(repositoryRoot, 'package.json'), join(folder, 'package.json'));
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin', 'npm'), `#!/bin/sh\n${npm}\n`, { mode: 0o755 });
  const { npm_execpath: _, ...env } = process.env;
  const child = spawn(process.execPath, [join(folder, 'scripts', 'bootstrap.cjs'), 'setup'], {
    env: { ...env, PATH: [join(folder, 'bin'), process.env.PATH].join(delimiter) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  return { child, said: () => text };
}

describe('an interrupted set-up', () => {
  test('that is killed holds its lock until its programs are gone', async () => {
    const folder = temporaryFolder();
    const { lock } = (await import(join(setup, 'lock.mjs'))) as { lock(path: string): Promise<{ release(): void }> };
    const child = step(folder, stayingScript(folder));
    const pids = await staying(folder);
    child.kill('SIGKILL');
    const { release } = await lock(folder);
    expect(pids.filter(isRunning)).toEqual([]);
    release();
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('%s ends its programs before itself, with status %i', async (signal, status) => {
    const folder = temporaryFolder();
    const { child, said } = startSetUp(folder, stayingScript(folder));
    const pids = await staying(folder);
    child.kill(signal);
    const end = await once(child, 'exit');
    expect(pids.filter(isRunning)).toEqual([]);
    expect(end).toEqual([status, null]);
    await expect.poll(said).toContain(`Set-up was interrupted (${signal}).`);
    expect(said()).not.toMatch(/^\s+at /m);
  });
});

describe('set-up', () => {
  test('says what a program of a step said before it failed', async () => {
    const { child, said } = startSetUp(temporaryFolder(), 'echo no such registry; exit 7');
    expect(await once(child, 'close')).toEqual([3, null]);
    expect(said()).toMatch(/no such registry\n\nSet-up stopped at "pnpm": npm failed \(it ended with code 7\)/);
  });

  test('where nothing can be written ends in a sentence', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, '.zerohop'), '');
    const { child, said } = startSetUp(folder, 'true');
    expect(await once(child, 'close')).toEqual([3, null]);
    expect(said()).toMatch(/^Set-up can't work in .*\.zerohop.*\n$/);
  });
});

describeTier(
  'unit',
  'what is run in the place of the bootstrap',
  () => {
    test('gets SIGTERM when the bootstrap is killed', async () => {
      const folder = temporaryFolder();
      const code = `
        import { handOver } from ${JSON.stringify(join(setup, 'hand-over.mjs'))};
        handOver('sh', ['-c', 'trap "echo ended > ${folder}/word; exit" TERM; echo on > ${folder}/on; while :; do sleep 0.05; done']);
      `;
      const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'ignore' });
      onTestFinished(() => void child.kill('SIGKILL'));
      await expect.poll(() => existsSync(join(folder, 'on')), { timeout: 15_000 }).toBe(true);
      const [program = 0] = descendants(child.pid ?? 0);
      onTestFinished(() => void (isRunning(program) && process.kill(program, 'SIGKILL')));
      child.kill('SIGKILL');
      await expect.poll(() => existsSync(join(folder, 'word')), { timeout: 5000 }).toBe(true);
    });
  },
  { needs: ['setpriv'] },
);
