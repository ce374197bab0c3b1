import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describeTier, expectNothingLeft, sharedTriton, takeSnapshot, tied } from '@zerohop/test-support';
import { expect, onTestFinished, test } from 'vitest';
import type { MeasureSpec } from '../../src/measure-spec.js';
import { preload, program } from '../support/paths.js';

/** Runs a program to its end; it does not outlive the test, whatever ends that. */
const run = (args: readonly string[], signal: AbortSignal) =>
  promisify(execFile)(...tied(process.execPath, args), { signal, killSignal: 'SIGKILL' });

function scratchFile(name: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'zerohop-bench-test-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return join(directory, name);
}

function longMeasurement(grpcUrl: string): MeasureSpec {
  return {
    ...{ client: 'pool', grpcUrl, model: 'identity_64', transport: 'system', work: 'infer', inFlight: 1 },
    ...{ inputShape: [64, 64], inputByteLength: 2 ** 14, outputByteLength: 2 ** 14 },
    ...{ warmUpMs: 0, durationMs: 600_000, minRequests: 1 },
  };
}

/** The short forms of what runs for minutes: the same code, the same assertions on what comes out, none on speed. */
describeTier(
  'triton',
  'the benchmark programs',
  () => {
    test('transports: every row of the small native table, each with its peers', async ({ signal }) => {
      const out = scratchFile('transports.json');
      const before = takeSnapshot();
      const { stdout } = await run(
        [
          ...[program('transports'), '--rounds', '1', '--duration', '300', '--tables', 'native-small'],
          ...['--transports', 'system,bytes', '--out', out],
        ],
        signal,
      );
      const results = JSON.parse(readFileSync(out, 'utf8'));
      const names = results.rows.map(
        (row: Record<string, unknown>) => `${row.client} ${row.transport} ${row.inFlight} ${row.work}`,
      );
      expect(results.skipped.filter(({ row }: { row: string }) => row !== 'every CUDA row')).toEqual([]);
      expect(names.sort()).toEqual(
        [
          'perf_analyzer system 1 infer',
          'perf_analyzer system 16 infer',
          'pool bytes 1 infer',
          'pool system 1 infer',
          'pool system 16 infer',
          'python system 1 infer',
          'unary system 1 infer',
        ].sort(),
      );
      for (const row of results.rows) {
        expect(row.backend).toBe('native');
        const [round] = row.rounds;
        expect(round.requests).toBeGreaterThanOrEqual(3);
        expect(round.p50Us).toBeGreaterThan(0);
        expect(round.p99Us).toBeGreaterThanOrEqual(round.p50Us);
        expect(round.server.inferUs).toBeGreaterThan(0);
      }
      expect(results.ratios.filter(({ peer }: { peer: string }) => peer === 'perf_analyzer')).toHaveLength(2);
      expect(results.versions).toMatchObject({ node: process.version, tritonserver: '2.51.0' });
      expect(results.parameters).toMatchObject({ durationMs: 300, complete: true });
      expect(stdout).toContain('| **zerohop, one lane** | system shm | 1 | native |');
      await expectNothingLeft(before, { belongs: (name) => name.startsWith('bench-') });
    });

    test('thousand: a thousand requests by shared memory and by message, all right and nothing grown', async ({
      signal,
    }) => {
      const out = scratchFile('thousand.json');
      const before = takeSnapshot();
      const running = run([program('thousand'), '--counts', 'system=1000,bytes=1000', '--out', out], signal);
      await running;
      const results = JSON.parse(readFileSync(out, 'utf8'));
      expect(results.runs).toMatchObject([
        { transport: 'system', requests: 1000, problems: [], closed: { sharedMemoryFiles: 0, regions: 0 } },
        { transport: 'bytes', requests: 1000, problems: [], closed: { sharedMemoryFiles: 0, regions: 0 } },
      ]);
      await expectNothingLeft(before, { belongs: (name) => name.includes(`.${running.child.pid}.`) });
    });

    test.each([
      ['requests', ['--count', '3000'], { answer: 2910, aborted: 30, TRITON_NOT_FOUND: 60 }],
      ['connections', ['--count', '60'], { answer: 60 }],
    ])('soak: %s, all answered as they must be, and nothing grown', async (kind, options, counts) => {
      const out = scratchFile('soak.json');
      await promisify(execFile)(
        ...tied(process.execPath, ['--expose-gc', program('soak'), '--kind', kind, '--out', out, ...options]),
      );
      const results = JSON.parse(readFileSync(out, 'utf8'));
      expect(results).toMatchObject({ kind: `soak-${kind}`, counts, problems: [] });
    });

    test('soak: a server killed and started again leaves no request without an end', async () => {
      const out = scratchFile('soak.json');
      await promisify(execFile)(
        ...tied(process.execPath, [
          ...['--expose-gc', program('soak'), '--kind', 'restarts', '--count', '1', '--every', '2000', '--out', out],
        ]),
      );
      const { counts, problems } = JSON.parse(readFileSync(out, 'utf8'));
      expect(problems).toEqual([]);
      expect(counts.answer).toBeGreaterThan(0);
      expect(Object.keys(counts).length).toBeGreaterThan(1);
    });

    test('thousand: 16 KiB kept in each request is growth', async ({ signal }) => {
      const running = run(['--import', preload('leak'), program('thousand'), '--counts', 'system=1000'], signal);
      await expect(running).rejects.toMatchObject({
        code: 1,
        stdout: expect.stringContaining("the client's memory grew: "),
        stderr: expect.stringContaining('problems: '),
      });
    });

    test('thousand: an interrupt while a pool opens or is open leaves nothing behind', async () => {
      const [node, args] = tied(process.execPath, [program('thousand'), '--counts', 'system=1000000']);
      const child = spawn(node, args, { stdio: ['ignore', 'ignore', 'pipe'] });
      onTestFinished(() => void child.kill('SIGKILL'));
      let said = '';
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        said += text;
      });
      const ended = new Promise<number | null>((resolve) => {
        child.once('exit', (code) => resolve(code));
      });
      const ours = () => readdirSync('/dev/shm').filter((name) => name.includes(`.${child.pid}.`));
      // Interrupted as early as can be: while it opens.
      await expect.poll(ours, { timeout: 60_000, interval: 1 }).not.toEqual([]);
      child.kill('SIGINT');
      expect(await ended).toBe(130);
      expect(ours()).toEqual([]);
      const server = /Triton server \(pid (\d+)\)/.exec(said)?.[1];
      expect(server).toBeDefined();
      await expect.poll(() => existsSync(`/proc/${server}/exe`), { timeout: 15_000 }).toBe(false);
    });

    test.each([
      ['thousand', () => ['--counts', 'system=1000000']],
      ['measure', () => [JSON.stringify(longMeasurement(sharedTriton().grpcUrl))]],
    ] as const)('%s: an interrupt just when a pool has opened is not lost', async (name, options) => {
      const [node, args] = tied(process.execPath, [
        ...['--import', preload('interrupt-at-open')],
        ...[program(name), ...options()],
      ]);
      const child = spawn(node, args, { stdio: 'ignore' });
      onTestFinished(() => void child.kill('SIGKILL'));
      expect(await once(child, 'exit')).toEqual([130, null]);
      expect(readdirSync('/dev/shm').filter((entry) => entry.includes(`.${child.pid}.`))).toEqual([]);
    });
  },
  { needs: ['g++', 'addon', 'peers'] },
);
