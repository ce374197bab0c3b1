import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describeTier, repositoryRoot } from '@zerohop/test-support';
import { expect, onTestFinished, test } from 'vitest';
import { buildFakeLibcuda } from '../../../packages/cuda-native/test/fake-libcuda/build.mjs';
import { buildPeer } from '../../cuda/build.mjs';
import { callsOf, withExported } from '../../src/cuda/delays.js';
import { figures } from '../../src/cuda/figures.js';
import type { CudaResults } from '../../src/cuda/results.js';

const run = promisify(execFile);
const ZEROHOP_LIBCUDA = buildFakeLibcuda();
process.env.ZEROHOP_LIBCUDA = ZEROHOP_LIBCUDA;
const image = join(repositoryRoot, 'packages/cuda-native/test/fixtures/kernels.fatbin');
const table = readFileSync(join(repositoryRoot, 'packages/cuda-native/native/src/core/driver_functions.h'), 'utf8');

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'zerohop-cuda-figures-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describeTier(
  'driver',
  'the figures of cuda-native',
  () => {
    test('are measured in both programs, in turn', { timeout: 120_000 }, async () => {
      buildPeer();
      const out = join(scratch(), 'cuda.json');
      const program = join(repositoryRoot, 'bench', 'dist', 'cuda.js');
      const options = ['--rounds', '1', '--work', '0.01', '--parts', 'figures', '--out', out];
      // Ends with 1 where a figure misses its limit, which on the fake driver they may.
      await run(process.execPath, [program, ...options]).catch((error: { stderr: string }) => {
        expect(error.stderr).toBe('round 1 of 1\n');
      });
      const results = JSON.parse(readFileSync(out, 'utf8')) as CudaResults;
      const expected = figures(1);
      expect(results.figures.map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
      for (const { id, programs, against, limit, met } of results.figures) {
        const { requests } = expected.find((figure) => figure.id === id) ?? { requests: {} };
        expect(Object.keys(programs).sort()).toEqual(Object.keys(requests).sort());
        for (const { p50Ns } of Object.values(programs)) {
          expect(p50Ns.perRound).toHaveLength(1);
          expect(p50Ns.min).toBeGreaterThan(0);
        }
        expect(against.ours?.share.median).toBeGreaterThan(0);
        expect(typeof met).toBe(limit === undefined ? 'undefined' : 'boolean');
      }
    });
  },
  { needs: ['g++'] },
);

describeTier('driver', "the measurement of the event loop's delay", () => {
  test('makes every call that may wait, none of them on the JS thread', async () => {
    const log = join(scratch(), 'calls');
    const waits = callsOf(table, 'kWaits');
    expect(waits.length).toBeGreaterThan(20);
    const program = join(repositoryRoot, 'bench', 'dist', 'cuda', 'loop-delay.js');
    const pid = await withExported(async (handle) => {
      const args = ['--expose-gc', '--no-warnings', program, image, handle];
      const running = run(process.execPath, args, { env: { ...process.env, ZEROHOP_FAKE_LOG: log } });
      await running;
      return running.child.pid;
    });
    const calls = readFileSync(log, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' '));
    expect(waits.filter((name) => !calls.some(([called]) => called === name))).toEqual([]);
    const onMain = calls.filter(([name = '', thread]) => waits.includes(name) && thread === String(pid));
    // Device.count() and availability() say that they load the driver on the calling thread; this program opens first.
    expect(onMain.map(([name]) => name)).toEqual([]);
  });
});
