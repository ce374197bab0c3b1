import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { FakeError, type OpenHandle } from './fake-triton.js';

const fixture = fileURLToPath(new URL('../fixtures/device-peer.mjs', import.meta.url));

interface Answer {
  readonly id: number;
  readonly value?: Uint8Array;
  readonly error?: string;
}

export interface DevicePeer {
  readonly openHandle: OpenHandle;
  end(): Promise<void>;
}

/** Starts a process that opens CUDA IPC handles, since no driver opens a handle of its own process. */
export function startDevicePeer(): DevicePeer {
  const child = fork(fixture, { serialization: 'advanced', execArgv: [] });
  const waiting = new Map<number, (answer: Answer) => void>();
  let last = 0;
  child.on('message', (answer: Answer) => {
    waiting.get(answer.id)?.(answer);
    waiting.delete(answer.id);
  });
  child.once('exit', () => {
    for (const answer of waiting.values()) answer({ id: 0, error: 'the peer has ended' });
    waiting.clear();
  });
  const ask = async (operation: string, parameters: object): Promise<Uint8Array | undefined> => {
    last += 1;
    const id = last;
    const answered = new Promise<Answer>((resolve) => waiting.set(id, resolve));
    child.send({ id, operation, ...parameters });
    const { value, error } = await answered;
    if (error !== undefined) throw new FakeError('TRITON_INVALID_ARGUMENT', `invalid args: ${error}`);
    return value;
  };
  return {
    openHandle: async (rawHandle, byteLength, deviceId) => {
      last += 1;
      const region = last;
      await ask('open', { region, rawHandle, byteLength, deviceId });
      return {
        read: async (byteOffset, size) =>
          (await ask('read', { region, byteOffset, byteLength: size })) ?? new Uint8Array(0),
        write: async (byteOffset, bytes) => void (await ask('write', { region, byteOffset, bytes })),
        // A peer that ends meanwhile closes all it opened.
        close: () => void ask('close', { region }).catch(() => undefined),
      };
    },
    end: async () => {
      const exit = once(child, 'exit');
      child.disconnect();
      await exit;
    },
  };
}
