import { expect, it } from 'vitest';
import { DisposedError } from '../../src/index.js';
import { move } from '../support/move.js';
import { MIB, onDevice } from './on-device.js';

export function pinnedMemorySuite(): void {
  const on = onDevice();

  it('detaches its buffer and is freed by close', async () => {
    const pinned = await on.device.allocPinned(4096);
    const view = new Uint8Array(pinned.buffer);
    expect(pinned.buffer).toBe(pinned.buffer);
    expect(view.byteLength).toBe(4096);
    view.fill(1);
    await Promise.all([pinned.close(), pinned.close()]);
    expect(view.byteLength).toBe(0);
    expect(() => pinned.buffer).toThrow(DisposedError);
  });

  it('is not freed under a buffer whose memory was moved by a transfer', async () => {
    const pinned = await on.device.allocPinned(4096);
    new Uint8Array(pinned.buffer)[5] = 5;
    const moved = move(pinned.buffer);
    await pinned.close();
    expect(new Uint8Array(moved)[5]).toBe(5);
  });

  it('counts as memory of the process until it is closed', async () => {
    const external = () => process.memoryUsage().external / MIB;
    const before = external();
    // Much, since garbage of other tests goes meanwhile.
    const pinned = await on.device.allocPinned(400 * MIB);
    const during = external();
    expect(during - before).toBeGreaterThan(100);
    await pinned.close();
    expect(external() - during).toBeLessThan(-100);
  });
}
