/**
 * The event loop's delay on the fake driver with each driver call that may wait made 200 ms late, one after the other and
 * then all together. The calls come from the addon's table; one that is never reached is an error.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Device } from '@zerohop/cuda-native';
import { runProgram } from '../child.js';
import { ROOT } from '../server.js';
import type { LoopDelay } from './loop-delay.js';

export interface CallDelay {
  /** The calls that were late. */
  readonly late: readonly string[];
  /** How often they were made. */
  readonly calls: number;
  readonly tookMs: number;
  /** Less what the JS thread waited for a core. */
  readonly worstMs: number;
  readonly worstPhase: string;
  /** With that. */
  readonly rawMs: number;
  readonly met: boolean;
}

const LATE_US = 200_000;
const LIMIT_MS = 5;
const program = join(ROOT, 'bench/dist/cuda/loop-delay.js');

/** The calls of the table that have this class. */
export function callsOf(table: string, callClass: 'kPrompt' | 'kEnqueues' | 'kWaits'): string[] {
  return Array.from(table.matchAll(/X\((cu\w+), "\w+", (k\w+),/g)).flatMap(([, name = '', found]) =>
    found === callClass ? [name] : [],
  );
}

/** Runs the program once and reads what it printed. */
export async function measureLoop(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<LoopDelay> {
  const flags = ['--expose-gc', '--no-warnings'];
  return JSON.parse(await runProgram(process.execPath, [...flags, program, ...args], { timeoutMs: 120_000, env }));
}

/**
 * Runs the program with the calls made late.
 *
 * @param image the kernels' file
 */
export async function measureLate(image: string, handle: string, late: readonly string[]): Promise<CallDelay> {
  const folder = mkdtempSync(join(tmpdir(), 'zerohop-delays-'));
  const log = join(folder, 'calls');
  try {
    const { phases, worstMs } = await measureLoop([image, handle], {
      ZEROHOP_FAKE_CALL_DELAY_US: late.map((call) => `${call}=${LATE_US}`).join(','),
      ZEROHOP_FAKE_LOG: log,
    });
    const made = existsSync(log)
      ? readFileSync(log, 'utf8')
          .split('\n')
          .map((line) => line.split(' ')[0])
      : [];
    const calls = made.filter((name) => name !== undefined && late.includes(name)).length;
    const working = phases.filter(({ phase }) => phase !== 'idle');
    const worst = working.find(({ worstOwnMs }) => worstOwnMs === worstMs);
    return {
      late,
      calls,
      tookMs: working.reduce((total, { tookMs }) => total + tookMs, 0),
      worstMs,
      worstPhase: worst?.phase ?? '',
      rawMs: Math.max(...working.map(({ worstTickMs }) => worstTickMs)),
      met: worstMs < LIMIT_MS && calls > 0,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs `work` with the IPC handle, as JSON, of memory that this process exports meanwhile. */
export async function withExported<T>(work: (handle: string) => Promise<T>): Promise<T> {
  const device = await Device.open(0);
  const memory = await device.alloc(1 << 21, { exportable: true });
  try {
    const { rawHandle, ...rest } = memory.exportIpc();
    return await work(JSON.stringify({ ...rest, rawHandle: Buffer.from(rawHandle).toString('hex') }));
  } finally {
    await memory.close();
  }
}

/**
 * Each call that may wait, late alone, and all of them; before that none.
 *
 * @param table the text of driver_functions.h
 */
export function measureDelays(table: string, image: string, progress: (text: string) => void): Promise<CallDelay[]> {
  const waits = callsOf(table, 'kWaits');
  return withExported(async (handle) => {
    const measured: CallDelay[] = [];
    for (const late of [[], ...waits.map((call) => [call]), waits]) {
      const delay = await measureLate(image, handle, late);
      measured.push(delay);
      const what = late.length > 1 ? 'all' : (late[0] ?? 'none');
      progress(`${what}: ${delay.worstMs.toFixed(1)} ms in "${delay.worstPhase}", ${delay.calls} calls`);
    }
    return measured;
  });
}
