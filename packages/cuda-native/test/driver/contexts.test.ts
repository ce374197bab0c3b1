import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeTier } from '@zerohop/test-support';
import { expect, it, onTestFinished } from 'vitest';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { CallLog } from '../faults/call-log.mjs';
import { dist, run } from '../support/child.js';

const ZEROHOP_LIBCUDA = buildFakeLibcuda();

/** Uses both devices in turns, so that each call finds another context current than the one before; gives what it read. */
const INTERLEAVED = `
  const [a, b] = [await zerohop.Device.open(0), await zerohop.Device.open(1)];
  const seen = [];
  for (let round = 0; round < 20; round += 1) {
    const [one, two] = await Promise.all([a.alloc(64), b.alloc(64)]);
    const [first, second] = [a.createStream(), b.createStream()];
    const event = a.createEvent();
    first.fill(one, round);
    first.record(event);
    second.fill(two, 0);
    second.wait(event);
    second.copy(two, one);
    first.query();
    second.query();
    const bytes = new Uint8Array(64);
    await Promise.all([second.copyToHost(bytes, two), first.done(), a.memoryInfo(), b.memoryInfo()]);
    seen.push(bytes[63]);
    await Promise.all([one, two, first, second, event].map((each) => each.close()));
  }
`;

describeTier('driver', 'contexts', () => {
  it('are right for every call of several threads on several devices, and none is left current', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'zerohop-contexts-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const log = join(folder, 'log');
    writeFileSync(log, '');
    const worker = `(async () => {
      const zerohop = await import(${JSON.stringify(dist)});
      ${INTERLEAVED}
      (await import('node:worker_threads')).parentPort.postMessage(seen);
    })();`;
    // The fake driver refuses whatever is used with another context than its own.
    const { stdout, stderr, code } = await run(
      `
        import { Worker } from 'node:worker_threads';
        import { once } from 'node:events';
        const workers = Array.from({ length: 2 }, () => new Worker(${JSON.stringify(worker)}, { eval: true }));
        const answers = Promise.all(workers.map((each) => once(each, 'message')));
        ${INTERLEAVED}
        console.log(JSON.stringify([seen, ...(await answers).flat()]));
      `,
      { ZEROHOP_LIBCUDA, ZEROHOP_FAKE_LOG: log },
    );
    expect(stderr).toBe('');
    expect(code).toBe(0);
    const rounds = Array.from({ length: 20 }, (_, i) => i);
    expect(JSON.parse(stdout)).toEqual([rounds, rounds, rounds]);
    const calls = new CallLog(log);
    const { names } = calls.read();
    expect(names.filter((name) => name === 'cuCtxSetCurrent').length).toBeGreaterThan(100);
    expect(calls.threadsWithContext).toBe(0);
    calls.close();
  });
});
