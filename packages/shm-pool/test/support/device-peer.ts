import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { FakeError, type OpenHandle } from './fake-triton.js';

const fixture = fileURLToPath(new URL('../fixtures/device-peer.mjs', import.meta.url));

/** The shell, which has the PID 1 of the namespace, asks for the next process id, and starts the peer with it. */
const AS_PID = 'echo "$1" > /proc/sys/kernel/ns_last_pid && shift && { "$@" & wait; }';

interface Answer {
  readonly id: number;
  readonly value?: Uint8Array;
  readonly error?: string;
}

export interface DevicePeer {
  readonly openHandle: OpenHandle;
  end(): Promise<void>;
}

/**
 * Starts a process that opens CUDA IPC handles, since no driver opens a handle of its own process. `env`: further
 * variables, such as switches of the fake driver. `pid`: its process id, in a PID namespace of its own (needs `mount` and `root`).
 */
export function startDevicePeer({ env = {}, pid }: { env?: NodeJS.ProcessEnv; pid?: number } = {}): DevicePeer {
  const options = { serialization: 'advanced', env: { ...process.env, ...env } } as const;
  const child =
    pid === undefined
      ? fork(fixture, { ...options, execArgv: [] })
      : spawn('unshare', ['-p', '--fork', 'sh', '-c', AS_PID, 'sh', `${pid - 1}`, process.execPath, fixture], {
          ...options,
          stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
        });
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
