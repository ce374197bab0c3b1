import { takeSnapshot } from '@zerohop/test-support';
import { beforeAll, expect, it } from 'vitest';
import { Device, ipcSelfTest } from '../../src/index.js';
import { expectNoProcessLeft } from '../support/processes.js';

/** What holds where memory can be shared: on the fake driver, and on a GPU whose `supportsIpc` is true. */
export function ipcSelfTestSuite(): void {
  let device: Device;

  beforeAll(async () => {
    device = await Device.open(0);
  });

  it('finds that every byte goes both ways, and leaves nothing', async () => {
    // The first use makes what stays: the driver's own threads and buffers.
    await ipcSelfTest(device);
    const before = takeSnapshot();
    const { free } = device.memoryInfo();
    const report = await ipcSelfTest(device);
    expect(report).toEqual({
      ok: true,
      byteLength: 262_144,
      openMs: expect.any(Number),
      totalMs: expect.any(Number),
      hints: [],
    });
    expect(device.memoryInfo().free).toBeGreaterThanOrEqual(free);
    await expectNoProcessLeft(before);
  });

  it('runs several tests at once', async () => {
    const reports = await Promise.all([ipcSelfTest(device), ipcSelfTest(device), ipcSelfTest(device)]);
    expect(reports.map(({ ok }) => ok)).toEqual([true, true, true]);
  });

  it('rejects with the signal’s reason, also while the child process runs, and leaves nothing', async () => {
    const before = takeSnapshot();
    const reason = new Error('no longer needed');
    await expect(ipcSelfTest(device, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controller = new AbortController();
    const test = ipcSelfTest(device, { signal: controller.signal });
    setTimeout(() => controller.abort(reason), 20);
    await expect(test).rejects.toBe(reason);
    await expectNoProcessLeft(before);
  });
}
