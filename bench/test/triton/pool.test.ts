import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describeTier, expectNothingLeft, takeSnapshot, tied } from '@zerohop/test-support';
import { expect, onTestFinished, test } from 'vitest';
import { program } from '../support/paths.js';

/** The short form of what runs for minutes: the same code, no assertion on speed. */
describeTier(
  'triton',
  'the benchmark of the pool',
  () => {
    test('every figure, and the Python client beside it', async ({ signal }) => {
      const folder = mkdtempSync(join(tmpdir(), 'zerohop-bench-test-'));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      const out = join(folder, 'pool.json');
      const before = takeSnapshot();
      const options = ['--rounds', '2', '--block', '100', '--requests', '2000', '--restarts', '1', '--duration', '200'];
      const args = [program('pool'), '--transport', 'system', ...options, '--out', out];
      // A figure that is not what was asked, on a machine with other work, is status 1.
      await promisify(execFile)(...tied(process.execPath, args), { signal, killSignal: 'SIGKILL' }).catch(
        (error: { code?: unknown }) => expect(error.code).toBe(1),
      );
      const results = JSON.parse(readFileSync(out, 'utf8'));
      const { figures, fromReadyMs, comparisons, flat, asked } = results;
      expect(figures).toMatchObject({ registerCalls: 0, servedInOrder: { callers: 32, outOfOrder: 0 } });
      for (const name of ['requestUs', 'bareRequestUs', 'acquireReleaseUs', 'tryAcquireReleaseUs']) {
        expect(figures[name].median).toBeGreaterThan(0);
      }
      expect(figures.garbageBytes.request.median).toBeGreaterThan(figures.garbageBytes.acquireRelease.median);
      expect(fromReadyMs).toMatchObject([{ opened: expect.any(Number), survived: expect.any(Number) }]);
      expect(comparisons).toMatchObject([{ model: 'identity_small', notRun: [], ours: [{}, {}], python: [{}, {}] }]);
      expect(comparisons[0].ratioP50.median).toBeGreaterThan(0);
      expect(flat).toMatchObject({
        ...{ requests: 2000, registerCalls: 8, wrongAnswers: 0, problems: [] },
        closed: { sharedMemoryFiles: 0, regions: 0 },
      });
      expect(asked).toHaveLength(6);
      await expectNothingLeft(before, { belongs: (name) => name.startsWith('bench-') });
    });
  },
  { needs: ['g++', 'addon', 'peers'] },
);
