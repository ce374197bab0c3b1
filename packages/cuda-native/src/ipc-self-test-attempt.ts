import { randomBytes } from 'node:crypto';
import { byteDifference } from './byte-difference.js';
import type { Device } from './device.js';
import type { IpcSelfTestReport } from './ipc-self-test.js';
import { askPeer, type Peer, SelfTestFinding, type SelfTestProgress } from './ipc-self-test-parent.js';

const BYTES = 256 * 1024;

async function exchange(
  device: Device,
  progress: SelfTestProgress,
  stop: AbortSignal,
  peer: Peer,
): Promise<{ openMs: number; byteLength: number; totalMs: number }> {
  const started = performance.now();
  const expected = randomBytes(BYTES);
  const answer = randomBytes(BYTES);
  const memory = await device.alloc(BYTES, { exportable: true });
  try {
    const stream = device.createStream();
    try {
      await stream.copyToDevice(memory, expected);
      const openMs = await askPeer({ handle: memory.exportIpc(), expected, answer }, progress, stop, peer);
      const seen = new Uint8Array(BYTES);
      await stream.copyToHost(seen, memory);
      const difference = byteDifference(seen, answer);
      if (difference !== undefined) {
        throw new SelfTestFinding(`What the child process wrote did not arrive here: ${difference}`);
      }
      return { openMs, byteLength: BYTES, totalMs: performance.now() - started };
    } finally {
      await stream.close();
    }
  } finally {
    await memory.close();
  }
}

/** Shares memory with a child process, both ways; ends early, with whatever it found, when `stop` is aborted. */
export async function attempt(
  device: Device,
  progress: SelfTestProgress,
  stop: AbortSignal,
  hints: readonly string[],
  peer: Peer,
): Promise<IpcSelfTestReport> {
  try {
    return { ok: true, ...(await exchange(device, progress, stop, peer)), hints };
  } catch (error) {
    const { stage } = progress;
    const cause = error instanceof Error ? error : new Error(String(error));
    return { ok: false, stage, message: cause.message, ...(cause instanceof SelfTestFinding ? {} : { cause }), hints };
  }
}
