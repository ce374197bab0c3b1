// The program of ipcSelfTest's child process: opens what its parent exported, compares, writes an answer, and ends.
import { byteDifference } from './byte-difference.js';
import { Device } from './device.js';
import { CudaError } from './errors.js';
import type { IpcMemHandle } from './ipc-handle.js';

/** What the parent sends once the child is ready. */
export interface PeerRequest {
  readonly handle: IpcMemHandle;
  /** What the memory holds. */
  readonly expected: Uint8Array;
  /** What to write over it. */
  readonly answer: Uint8Array;
}

/** A failure; `cuda` has the fields of a CudaError. */
export interface PeerFailure {
  readonly message: string;
  readonly cuda?: Pick<CudaError, 'code' | 'status' | 'call' | 'device' | 'sticky'>;
}

/** What the child sends, in this order; `different` and `failed` are the last when they come. */
export type PeerMessage =
  | { readonly step: 'ready' }
  | { readonly step: 'opened'; readonly openMs: number }
  | { readonly step: 'different'; readonly difference: string }
  | { readonly step: 'written' }
  | { readonly step: 'failed'; readonly failure: PeerFailure };

function send(message: PeerMessage): Promise<void> {
  // An error means that the parent is gone; this process ends with the channel.
  return new Promise((resolve) => process.send?.(message, undefined, undefined, () => resolve()));
}

async function answer({ handle, expected, answer }: PeerRequest): Promise<PeerMessage> {
  const device = await Device.open({ uuid: handle.deviceUuid });
  const started = performance.now();
  const opened = await device.openIpc(handle);
  await send({ step: 'opened', openMs: performance.now() - started });
  const memory = opened.slice(0, expected.byteLength);
  const stream = device.createStream();
  const seen = new Uint8Array(expected.byteLength);
  await stream.copyToHost(seen, memory);
  const difference = byteDifference(seen, expected);
  if (difference === undefined) await stream.copyToDevice(memory, answer);
  await stream.done();
  await stream.close();
  await opened.close();
  return difference === undefined ? { step: 'written' } : { step: 'different', difference };
}

function failed(error: unknown): PeerMessage {
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof CudaError)) return { step: 'failed', failure: { message } };
  const { code, status, call, device, sticky } = error;
  return { step: 'failed', failure: { message, cuda: { code, status, call, device, sticky } } };
}

process.once('disconnect', () => process.exit());
process.once('message', (request) => {
  void answer(request as PeerRequest)
    .catch(failed)
    .then(send)
    .then(() => process.disconnect());
});
await send({ step: 'ready' });
