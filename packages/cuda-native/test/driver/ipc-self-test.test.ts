import { getEventListeners } from 'node:events';
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { descendants, describeTier, type Snapshot, takeSnapshot } from '@zerohop/test-support';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { CudaError, Device, type IpcSelfTestReport, ipcSelfTest } from '../../src/index.js';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { ipcSelfTestSuite } from '../suites/ipc-self-test-suite.js';
import { dist, outcome, run, start } from '../support/child.js';
import { expectNoProcessLeft } from '../support/processes.js';

const ZEROHOP_LIBCUDA = buildFakeLibcuda();
process.env.ZEROHOP_LIBCUDA = ZEROHOP_LIBCUDA;

/** The child process of a test, as soon as there is one. */
async function childOf(pid: number, known: ReadonlySet<number>): Promise<number> {
  for (;;) {
    const child = descendants(pid).find((one) => !known.has(one));
    if (child !== undefined) return child;
    await delay(2);
  }
}

describeTier('driver', 'ipcSelfTest', () => {
  ipcSelfTestSuite();

  describe('where something is wrong', () => {
    let device: Device;
    let before: Snapshot;
    let free: number;

    beforeAll(async () => {
      device = await Device.open(0);
      await ipcSelfTest(device);
    });

    beforeEach(() => {
      before = takeSnapshot();
      free = device.memoryInfo().free;
    });

    afterEach(async () => {
      vi.unstubAllEnvs();
      await expectNoProcessLeft(before);
      expect(device.memoryInfo().free).toBe(free);
    });

    it.each([
      [
        'zeros',
        /^The child process read other bytes than .* bytes are wrong, the first at \d.*; what was read is all zeros$/,
      ],
      [
        'copy',
        /^What the child process wrote did not arrive here: 26\d{4} of 262144 bytes are wrong, the first at \d+$/,
      ],
    ])('finds a driver that shows %s', async (kind, message) => {
      vi.stubEnv('ZEROHOP_FAKE_IPC', kind);
      const report = await ipcSelfTest(device);
      expect(report).toEqual({ ok: false, stage: 'compare', message: expect.stringMatching(message), hints: [] });
    });

    it.each([
      ['cuMemAlloc', 2, 'export'],
      ['cuIpcGetMemHandle', 801, 'export'],
      ['cuIpcOpenMemHandle', 400, 'open'],
    ])('reports that %s fails', async (call, status, stage) => {
      vi.stubEnv('ZEROHOP_FAKE_FAIL', `${call}=${status}`);
      const report = await ipcSelfTest(device);
      expect(report).toMatchObject({ ok: false, stage, cause: { call, status, device: 0, sticky: false } });
      const { message, cause } = report as Extract<IpcSelfTestReport, { ok: false }>;
      expect(cause).toBeInstanceOf(CudaError);
      expect(message).toContain(`${call} failed`);
    });

    it('reports that the child process has no CUDA', async () => {
      vi.stubEnv('ZEROHOP_LIBCUDA', '/nowhere/libcuda.so.1');
      expect(await ipcSelfTest(device)).toMatchObject({
        ok: false,
        stage: 'open',
        message: expect.stringContaining('CUDA is not available'),
      });
    });

    it('reports that the child process was killed', async () => {
      const test = ipcSelfTest(device);
      process.kill(await childOf(process.pid, before.processes), 'SIGKILL');
      const report = await test;
      expect(report).toMatchObject({ ok: false, message: 'The child process was ended by SIGKILL before it was done' });
    });

    it('reports what a child process says that does not start', async () => {
      vi.stubEnv('NODE_OPTIONS', '--require=/nowhere/module.cjs');
      const report = await ipcSelfTest(device);
      expect(report).toMatchObject({
        ok: false,
        stage: 'spawn',
        message: expect.stringContaining('/nowhere/module.cjs'),
      });
    });

    it('reports that there is no program to start', async () => {
      const { execPath } = process;
      process.execPath = '/nowhere/node';
      try {
        expect(await ipcSelfTest(device)).toMatchObject({ ok: false, stage: 'spawn', cause: { code: 'ENOENT' } });
      } finally {
        process.execPath = execPath;
      }
    });

    it('ends a child process that hangs when the time is over', async () => {
      const controller = new AbortController();
      const test = ipcSelfTest(device, { timeoutMs: 1500, signal: controller.signal });
      const child = await childOf(process.pid, before.processes);
      process.kill(child, 'SIGSTOP');
      expect(await test).toEqual({
        ok: false,
        stage: 'timeout',
        message: expect.stringMatching(/^The test was not over after 1500 ms; it had come to: (spawn|open|compare)$/),
        hints: [],
      });
      expect(existsSync(`/proc/${child}/cmdline`)).toBe(false);
      expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    });

    it('does not start a child process from one', async () => {
      vi.stubEnv('ZEROHOP_IPC_SELF_TEST', '1');
      expect(await ipcSelfTest(device)).toMatchObject({ ok: false, stage: 'spawn' });
    });

    it.each([
      [undefined, undefined, TypeError, 'Expected Device for device but received undefined of type undefined'],
      ['device', null, TypeError, 'Expected object for options but received null of type object'],
      [
        'device',
        { timeoutMs: 0 },
        RangeError,
        'Expected integer between 1 and 2147483647 for timeoutMs but received 0',
      ],
      ['device', { timeoutMs: 2 ** 31 }, RangeError, 'for timeoutMs'],
      ['device', { timeoutMs: Number.NaN }, RangeError, 'for timeoutMs'],
      ['device', { timeoutMs: '1' }, TypeError, 'for timeoutMs but received 1 of type string'],
      ['device', { signal: {} }, TypeError, 'Expected AbortSignal for signal but received Object of type object'],
    ])('refuses %s, %o', async (which, options, ErrorClass, message) => {
      const test = ipcSelfTest((which === undefined ? which : device) as Device, options as object);
      await expect(test).rejects.toBeInstanceOf(ErrorClass);
      await expect(test).rejects.toThrow(message);
    });
  });

  it('reports a call that the driver does not return from', async () => {
    const { stdout, stderr } = await run(
      `
      const device = await zerohop.Device.open(0);
      process.env.ZEROHOP_FAKE_CALL_DELAY_US = '4000000';
      const report = await zerohop.ipcSelfTest(device, { timeoutMs: 100 });
      console.log(JSON.stringify(report));
      process.env.ZEROHOP_FAKE_CALL_DELAY_US = '0';
    `,
      { ZEROHOP_LIBCUDA },
    );
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      stage: 'timeout',
      message: expect.stringContaining('export'),
    });
  });

  it('says why an integrated GPU is not tried', async () => {
    const { stdout } = await run(
      'const report = await zerohop.ipcSelfTest(await zerohop.Device.open(0)); console.log(JSON.stringify(report));',
      { ZEROHOP_LIBCUDA, ZEROHOP_FAKE_INTEGRATED: '1' },
    );
    expect(JSON.parse(stdout)).toEqual({
      ok: false,
      stage: 'unsupported',
      message:
        "Fake GPU 0 can't share memory with other processes: it is an integrated GPU. Use SharedMemory, on the host, instead",
      hints: [],
    });
  });

  it('does not hold the event loop, and works in a worker', async () => {
    const code = `
      const { Worker } = await import('node:worker_threads');
      const test = 'const { Device, ipcSelfTest } = await import(' + JSON.stringify(zerohopUrl) + ');' +
        'const report = await ipcSelfTest(await Device.open(0));' +
        'console.log(report.ok, process.getActiveResourcesInfo().filter((name) => /Process|Timeout/.test(name)).join());';
      const encoded = new URL('data:text/javascript,' + encodeURIComponent(test));
      await import(encoded);
      new Worker(encoded);
    `;
    const seen = await run(`const zerohopUrl = ${JSON.stringify(dist)};${code}`, { ZEROHOP_LIBCUDA });
    expect(seen).toMatchObject({ code: 0, stderr: '', stdout: 'true \ntrue \n' });
  });

  it('takes its child process along when it is killed', async () => {
    const before = takeSnapshot();
    const parent = start('const device = await zerohop.Device.open(0); for (;;) await zerohop.ipcSelfTest(device);', {
      ZEROHOP_LIBCUDA,
    });
    const ended = outcome(parent);
    const child = await childOf(parent.pid ?? 0, new Set());
    parent.kill('SIGKILL');
    await ended;
    await expect.poll(() => existsSync(`/proc/${child}/cmdline`), { timeout: 10_000 }).toBe(false);
    await expectNoProcessLeft(before);
  });
});

describeTier(
  'driver',
  'ipcSelfTest in a container',
  () => {
    it('warns a process that is PID 1', async () => {
      const namespace = ['unshare', process.getuid?.() === 0 ? '-pf' : '-rpf', '--mount-proc'];
      const { stdout, stderr } = await run(
        `
        const report = await zerohop.ipcSelfTest(await zerohop.Device.open(0));
        console.log(JSON.stringify({ pid: process.pid, ...report }));
      `,
        { ZEROHOP_LIBCUDA },
        [],
        namespace,
      );
      expect(stderr).toBe('');
      expect(JSON.parse(stdout)).toMatchObject({
        pid: 1,
        ok: true,
        hints: [expect.stringContaining('docker run --init')],
      });
    });
  },
  { needs: ['mount'] },
);
