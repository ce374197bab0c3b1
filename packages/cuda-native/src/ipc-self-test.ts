import { packageRoot, partsOf } from './abi.js';
import { path } from './builtins.js';
import { checkInteger, checkOptions, invalid } from './check.js';
import type { Device } from './device.js';
import { wslGeneration } from './diagnosis/machine-facts.js';
import { CudaError } from './errors.js';
import type { SelfTestProgress } from './ipc-self-test-parent.js';
import type { PeerFailure } from './ipc-self-test-peer.js';

/** How to test. */
export interface IpcSelfTestOptions {
  /**
   * The longest time for the whole test, in ms, at most 2^31 - 1. The child process initialises the driver, which takes
   * seconds on a machine with many GPUs.
   *
   * @defaultValue `30_000`
   */
  readonly timeoutMs?: number | undefined;
  /** Ends the test: the child process is killed, and the promise rejects with `signal.reason`. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * How far the test came: the device can't share memory (`device.supportsIpc`); the memory could not be made, filled or
 * exported; the child process did not start; it could not open the handle; it, or this process, read wrong bytes; the
 * time was over.
 */
export type IpcSelfTestStage = 'unsupported' | 'export' | 'spawn' | 'open' | 'compare' | 'timeout';

/** What the test found. */
export type IpcSelfTestReport =
  | {
      readonly ok: true;
      /** How many bytes went each way. */
      readonly byteLength: number;
      /** How long the child process took to open the handle, in ms. */
      readonly openMs: number;
      /** The whole test, in ms; most of it is the start of the child process and of its driver. */
      readonly totalMs: number;
      /** What this test can't see, and what may stop other peers; sentences. Empty as a rule. */
      readonly hints: readonly string[];
    }
  | {
      readonly ok: false;
      readonly stage: IpcSelfTestStage;
      readonly message: string;
      /** The error behind it, if there is one: a CudaError when the driver refused, here or in the child process. */
      readonly cause?: Error;
      readonly hints: readonly string[];
    };

const TIMEOUT_MS = 30_000;
const LONGEST_MS = 2 ** 31 - 1;
/** How long a killed child, or a call that the driver does not return from, may keep the report waiting. */
const GRACE_MS = 2000;

/** What no test inside one PID namespace can find. */
function ipcHints(pid: number): string[] {
  if (pid !== 1) return [];
  return [
    'This process has the PID 1, and CUDA opens no handle of a process with the same PID: a peer that is PID 1 of ' +
      'another container will be refused. Start one of the two with docker run --init, or both with --pid=host',
  ];
}

/**
 * Whether this process was started by a test. A single executable, whose process.execPath is the program itself, would
 * start itself again and again.
 */
function isPeer(): boolean {
  return process.env.ZEROHOP_IPC_SELF_TEST !== undefined;
}

function peerError({ message, cuda }: PeerFailure): Error {
  return cuda === undefined ? new Error(message) : new CudaError(message, cuda);
}

/** Why the device is not even tried; undefined when it is. */
function unsupported(device: Device): string | undefined {
  if (device.supportsIpc) return undefined;
  const why = device.integrated
    ? 'it is an integrated GPU'
    : wslGeneration() === undefined
      ? 'it has no unified addressing'
      : 'CUDA IPC does not work under WSL';
  return `${device.name} can't share memory with other processes: ${why}. Use SharedMemory, on the host, instead`;
}

/**
 * Tests whether memory of this device can be handed to another process: a child process opens a small allocation, compares
 * every byte and writes others, which are compared here. The only proof where the driver opens handles and then shows
 * zeros. A test that fails is a report, not an error. Does not block; afterwards nothing is left of it, no process, no
 * memory, and nothing that holds the event loop.
 *
 * It says nothing of other users, containers and namespaces: `hints` names what is known to stop them.
 *
 * @throws TypeError | RangeError for wrong arguments.
 */
export async function ipcSelfTest(device: Device, options: IpcSelfTestOptions = {}): Promise<IpcSelfTestReport> {
  partsOf('device', 'Device', device);
  checkOptions(options);
  const { timeoutMs = TIMEOUT_MS, signal } = options;
  checkInteger('timeoutMs', timeoutMs, 1, LONGEST_MS);
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw invalid('signal', 'AbortSignal', signal);
  signal?.throwIfAborted();

  const hints = ipcHints(process.pid);
  const why = unsupported(device);
  if (why !== undefined) return { ok: false, stage: 'unsupported', message: why, hints };
  if (isPeer()) {
    const message =
      'This process is the child of a self-test already: process.execPath does not run the script it is given';
    return { ok: false, stage: 'spawn', message, hints };
  }

  const progress: SelfTestProgress = { stage: 'export' };
  const stop = new AbortController();
  let grace: NodeJS.Timeout | undefined;
  const givenUp = new Promise<undefined>((resolve) => {
    stop.signal.addEventListener('abort', () => {
      grace = setTimeout(resolve, GRACE_MS, undefined);
    });
  });
  const abort = (): void => stop.abort();
  const timer = setTimeout(abort, timeoutMs);
  signal?.addEventListener('abort', abort);
  try {
    // Loaded here: who only imports the package has no use for it.
    const { attempt } = await import('./ipc-self-test-attempt.js');
    const peer = { program: path.join(packageRoot(), 'dist', 'ipc-self-test-peer.js'), error: peerError };
    const report = await Promise.race([attempt(device, progress, stop.signal, hints, peer), givenUp]);
    signal?.throwIfAborted();
    if (report !== undefined && !stop.signal.aborted) return report;
    const message = `The test was not over after ${timeoutMs} ms; it had come to: ${progress.stage}`;
    return { ok: false, stage: 'timeout', message, hints };
  } finally {
    clearTimeout(timer);
    clearTimeout(grace);
    signal?.removeEventListener('abort', abort);
  }
}
