/** A handle of device memory that another process exports: what tells a refused memory from a refused process. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const FOREIGN_BYTES = 4096;

/** Prints the handle, and keeps the memory until its standard input ends. */
const CHILD = `
import { Device } from '@zerohop/cuda-native';
const [, uuid] = process.argv;
const device = await Device.open({ uuid });
const memory = await device.alloc(${FOREIGN_BYTES}, { exportable: true });
console.log(Buffer.from(memory.exportIpc().rawHandle).toString('hex'));
process.stdin.on('end', () => process.exit()).resume();
`;

export interface ForeignHandle {
  readonly pid: number;
  readonly rawHandle: Uint8Array;
  /** Ends the process, and with it the memory. */
  close(): Promise<void>;
}

/** Undefined when a process with its own memory of that device can't be had before the signal is aborted. */
export async function exportFromChild(uuid: string, signal: AbortSignal): Promise<ForeignHandle | undefined> {
  // An abort that came before tells nobody.
  if (signal.aborted) return undefined;
  // A single executable, whose execPath is the program itself, must not start itself again and again.
  if (process.env.ZEROHOP_FOREIGN_HANDLE !== undefined) return undefined;
  const child = spawn(process.execPath, ['--input-type=module', '-e', CHILD, uuid], {
    // From where it finds the addon's package.
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { ...process.env, ZEROHOP_FOREIGN_HANDLE: '1', ELECTRON_RUN_AS_NODE: '1' },
  });
  const ended = once(child, 'exit').catch(() => undefined);
  const close = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  const rawHandle = await handleOf(child, signal);
  if (rawHandle !== undefined && child.pid !== undefined) return { pid: child.pid, rawHandle, close };
  await close();
  return undefined;
}

/** Its first line, unless the child ends or fails before. */
async function handleOf(child: ChildProcess, signal: AbortSignal): Promise<Uint8Array | undefined> {
  if (child.stdout === null) return undefined;
  const lines = createInterface({ input: child.stdout });
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  try {
    for await (const line of lines) return Buffer.from(line, 'hex');
    return undefined;
  } finally {
    signal.removeEventListener('abort', kill);
    lines.close();
  }
}
