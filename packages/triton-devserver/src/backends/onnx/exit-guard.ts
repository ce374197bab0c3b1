/**
 * What a thread shares with the one that started it: STOP tells it to begin nothing more, BUSY tells that it is in ONNX
 * Runtime. A thread that Node ends meanwhile takes the process with it by SIGABRT, as onnxruntime-node's addon then throws
 * where nobody catches.
 */
export const STOP = 0;
export const BUSY = 1;

/** How long the end of the process waits for a thread, in milliseconds: it is blocked for so long. */
const PATIENCE_MS = 30_000;

const guarded = new Set<Int32Array>();

export function newControl(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(8));
}

/** Makes the end of the process, such as by `process.exit`, wait for what the thread is at. */
export function guardExit(control: Int32Array): void {
  if (guarded.size === 0) process.on('exit', waitForAll);
  guarded.add(control);
}

/** For a thread that has ended. */
export function unguardExit(control: Int32Array): void {
  guarded.delete(control);
  if (guarded.size === 0) process.off('exit', waitForAll);
}

function waitForAll(): void {
  for (const control of guarded) Atomics.store(control, STOP, 1);
  for (const control of guarded) Atomics.wait(control, BUSY, 1, PATIENCE_MS);
}
