import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { CudaError, type IpcMemHandle } from '../../src/index.js';
import { MIB, onDevice, pattern } from './on-device.js';

interface PeerReply {
  byteLength?: number;
  first?: number;
  last?: number;
  error?: string;
  code?: string;
}

async function askPeer(handle: IpcMemHandle, fill: number): Promise<PeerReply> {
  const peer = fork(fileURLToPath(new URL('../fixtures/ipc-peer.mjs', import.meta.url)), {
    serialization: 'advanced',
    execArgv: [],
  });
  const reply = once(peer, 'message') as Promise<[PeerReply]>;
  const exit = once(peer, 'exit');
  peer.send({ handle, fill });
  const [message] = await reply;
  await exit;
  return message;
}

export function ipcSuite(): void {
  const on = onDevice();

  it('shows another process the same bytes, and this one what the other wrote', async () => {
    await using memory = await on.device.alloc(2 * MIB, { exportable: true });
    const bytes = pattern(memory.byteLength);
    await on.stream.copyToDevice(memory, bytes);
    const half = memory.slice(MIB, MIB);
    const reply = await askPeer(half.exportIpc(), 77);
    expect(reply).toEqual({ byteLength: MIB, first: bytes[MIB], last: bytes[2 * MIB - 1] });
    const after = new Uint8Array(memory.byteLength);
    await on.stream.copyToHost(after, memory);
    expect(Buffer.compare(after.subarray(0, MIB), bytes.subarray(0, MIB))).toBe(0);
    expect(after.subarray(MIB).every((byte) => byte === 77)).toBe(true);
  });

  it('refuses a handle that says more than it stands for', async () => {
    await using memory = await on.device.alloc(2 * MIB, { exportable: true });
    const reply = await askPeer({ ...memory.exportIpc(), allocationByteLength: 64 * MIB }, 0);
    expect(reply.code).toBe('CUDA_ERROR_INVALID_VALUE');
    expect(reply.error).toContain('stands for 2097152 bytes');
  });

  it('refuses a forged handle, and works afterwards', async () => {
    await using memory = await on.device.alloc(2 * MIB, { exportable: true });
    const handle = memory.exportIpc();
    await expect(on.device.openIpc({ ...handle, rawHandle: new Uint8Array(64).fill(0x5a) })).rejects.toBeInstanceOf(
      CudaError,
    );
    on.stream.fill(memory, 3);
    await on.stream.done();
  });
}
