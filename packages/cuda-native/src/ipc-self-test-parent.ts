import { fork } from 'node:child_process';
import type { PeerFailure, PeerMessage, PeerRequest } from './ipc-self-test-peer.js';

/**
 * What the rest of the package gives. Handed over, because what this module and the rest both import would be a file of
 * its own, which every import of the package loads.
 */
export interface Peer {
  /** The file with the child's program. */
  readonly program: string;
  /** Makes the error that a failure in the child stands for. */
  error(failure: PeerFailure): Error;
}

/** What the test is at; the stage of its report when it fails now. */
export interface SelfTestProgress {
  stage: 'export' | 'spawn' | 'open' | 'compare';
}

/** A failure that this test itself found: there is no error behind it. */
export class SelfTestFinding extends Error {}

/** How much of what the child prints is kept for the message. */
const KEPT_OUTPUT = 2000;

/**
 * Starts the child process, lets it do its part and waits for its end. Gives the time that it took to open the handle, in
 * ms. When `stop` is aborted the child is killed.
 */
export async function askPeer(
  request: PeerRequest,
  progress: SelfTestProgress,
  stop: AbortSignal,
  peer: Peer,
): Promise<number> {
  progress.stage = 'spawn';
  if (stop.aborted) throw new SelfTestFinding('The test was ended before the child process was started');
  return new Promise((resolve, reject) => {
    const child = fork(peer.program, [], {
      execArgv: [],
      env: { ...process.env, ZEROHOP_IPC_SELF_TEST: '1' },
      serialization: 'advanced',
      // What libraries print in the child is no output of this process.
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    let openMs = 0;
    let written = false;
    let failure: Error | undefined;
    let printed = '';

    const kill = (): void => {
      child.kill('SIGKILL');
      // Should the system be unable to end it, it does not hold this process.
      child.unref();
      child.channel?.unref();
    };
    stop.addEventListener('abort', kill);
    if (stop.aborted) kill();

    child.stderr?.on('data', (chunk: Buffer) => {
      printed = (printed + chunk.toString()).slice(-KEPT_OUTPUT);
    });
    child.on('message', (received) => {
      const message = received as PeerMessage;
      if (message.step === 'ready') {
        progress.stage = 'open';
        child.send(request);
      } else if (message.step === 'opened') {
        progress.stage = 'compare';
        openMs = message.openMs;
      } else if (message.step === 'written') {
        written = true;
      } else if (message.step === 'different') {
        failure = new SelfTestFinding(
          `The child process read other bytes than were written here: ${message.difference}`,
        );
      } else {
        failure = peer.error(message.failure);
      }
    });
    const end = (error?: Error): void => {
      stop.removeEventListener('abort', kill);
      if (error === undefined) resolve(openMs);
      else reject(error);
    };
    child.on('error', (error) => {
      // Without a process there is no end of it to wait for.
      if (child.pid === undefined) end(error);
      else failure ??= error;
    });
    child.on('close', (code, signal) => {
      if (failure !== undefined) end(failure);
      else if (written) end();
      else {
        const how = signal === null ? `ended with ${code}` : `was ended by ${signal}`;
        const words = printed.trim() === '' ? '' : `: ${printed.trim()}`;
        end(new SelfTestFinding(`The child process ${how} before it was done${words}`));
      }
    });
  });
}
