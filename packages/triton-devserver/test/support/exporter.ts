import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const FIXTURE = fileURLToPath(new URL('../fixtures/exporter.mjs', import.meta.url));

export interface Exported {
  readonly rawHandle: Uint8Array;
  /** The first bytes of the memory, as the client sees them. */
  read(byteLength: number): Promise<Uint8Array>;
}

/** Device memory of another process, which ends with the test. */
export async function exported(ordinal: number, byteLength: number, fill = 0): Promise<Exported> {
  const child = fork(FIXTURE, { serialization: 'advanced', execArgv: [] });
  onTestFinished(async () => {
    const exit = once(child, 'exit');
    child.disconnect();
    await exit;
  });
  const ask = async (message: object): Promise<Uint8Array> => {
    const reply = once(child, 'message') as Promise<[{ value?: Uint8Array; error?: string }]>;
    child.send(message);
    const [{ value, error }] = await reply;
    if (value === undefined) throw new Error(error);
    return value;
  };
  const rawHandle = await ask({ operation: 'alloc', ordinal, byteLength, fill });
  return { rawHandle, read: (length) => ask({ operation: 'read', byteLength: length }) };
}
