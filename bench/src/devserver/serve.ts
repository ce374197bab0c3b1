/**
 * A devserver with the model `identity` in a process of its own, run with `--expose-gc` by devserver.ts. Sends its address,
 * and answers `memory` and `peak-from-here` with what the process holds; ends when its parent disconnects.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { setImmediate as afterTasks } from 'node:timers/promises';
import { DevServer } from '@zerohop/triton-devserver';

/** Bytes. */
export interface ServerMemory {
  /** What JavaScript holds after full collections, buffers included. */
  readonly held: number;
  readonly resident: number;
  /** Resident, and neither a file's nor shared memory's. */
  readonly anonymous: number;
  readonly shared: number;
  /** The greatest `resident` since `peak-from-here`. */
  readonly peak: number;
  /** User and system time so far, in microseconds. */
  readonly cpuUs: number;
}

export type Question = 'memory' | 'peak-from-here';

async function memory(): Promise<ServerMemory> {
  for (let round = 0; round < 3; round++) {
    globalThis.gc?.();
    await afterTasks();
  }
  const status = readFileSync('/proc/self/status', 'utf8');
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) * 1024;
  const { heapUsed, external } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return {
    held: heapUsed + external,
    resident: field('VmRSS'),
    anonymous: field('RssAnon'),
    shared: field('RssShmem'),
    peak: field('VmHWM'),
    cpuUs: user + system,
  };
}

const server = await DevServer.start({
  models: {
    identity: {
      config: {
        input: [{ name: 'INPUT0', data_type: 'TYPE_FP32', dims: [-1, -1] }],
        output: [{ name: 'OUTPUT0', data_type: 'TYPE_FP32', dims: [-1, -1] }],
        instance_group: [{ count: 1, kind: 'KIND_CPU' }],
      },
      execute: ({ inputs }) => ({ OUTPUT0: inputs.INPUT0 as NonNullable<typeof inputs.INPUT0> }),
    },
  },
});

process.on('message', (question: Question) => {
  // Makes the highest so far the present one (proc_pid_clear_refs(5)).
  if (question === 'peak-from-here') writeFileSync('/proc/self/clear_refs', '5');
  void memory().then((answer) => process.send?.(answer));
});
process.on('disconnect', () => void server.kill());
process.send?.(server.grpcUrl);
