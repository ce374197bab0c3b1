import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { repositoryRoot } from '../../src/index.js';

const module = join(repositoryRoot, 'scripts', 'setup', 'lock.mjs');

type Lock = (folder: string) => Promise<{ release(): void }>;

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'zerohop-lock-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A process that has called `lock(folder)` and then does `then`. */
function locker(folder: string, then: string): ChildProcess & { said: () => string } {
  const script = `
    import { appendFileSync } from 'node:fs';
    import { lock } from ${JSON.stringify(module)};
    const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    const { release } = await lock(${JSON.stringify(folder)});
    ${then}
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  child.stderr.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  return Object.assign(child, { said: () => text });
}

describe('the lock of set-up', () => {
  test('of many that wait for a holder that is killed, one at a time goes on', async () => {
    const folder = temporaryFolder();
    const log = join(folder, 'log');
    writeFileSync(log, '');
    const holder = locker(folder, 'console.log("locked"); setInterval(() => undefined, 1000);');
    await once(holder.stdout as NodeJS.ReadableStream, 'data');
    const waiters = Array.from({ length: 6 }, () =>
      locker(
        folder,
        `for (const word of ['in', 'out']) {
          appendFileSync(${JSON.stringify(log)}, word + ' ' + process.pid + '\\n');
          await pause(30);
        }
        release();`,
      ),
    );
    const ends = waiters.map((waiter) => once(waiter, 'exit'));
    for (const waiter of waiters) {
      await expect
        .poll(waiter.said, { timeout: 15_000 })
        .toBe(`Waiting for another set-up of this clone (pid ${holder.pid})\n`);
    }
    expect(readFileSync(log, 'utf8')).toBe('');
    holder.kill('SIGKILL');
    for (const end of ends) expect(await end).toEqual([0, null]);
    const lines = readFileSync(log, 'utf8').trim().split('\n');
    expect(lines).toHaveLength(12);
    for (let i = 0; i < lines.length; i += 2) {
      expect(lines[i + 1]).toBe(lines[i]?.replace('in', 'out'));
    }
  });

  test('to release it twice does not release what the next one holds', async () => {
    const folder = temporaryFolder();
    const { lock } = (await import(module)) as { lock: Lock };
    const first = await lock(folder);
    first.release();
    const second = await lock(folder);
    first.release();
    let third = false;
    const next = lock(folder).then((held) => {
      third = true;
      return held;
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(third).toBe(false);
    second.release();
    (await next).release();
  });

  test('two clones do not wait for each other', async () => {
    const { lock } = (await import(module)) as { lock: Lock };
    const locks = await Promise.all([lock(temporaryFolder()), lock(temporaryFolder())]);
    for (const { release } of locks) release();
  });
});
