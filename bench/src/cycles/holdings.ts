/** What a process holds, and whether it grew. */
import { readdirSync, readFileSync } from 'node:fs';
import { setImmediate as afterTasks } from 'node:timers/promises';
import type { Device } from '@zerohop/cuda-native';

export interface Holdings {
  readonly cycles: number;
  readonly residentBytes: number;
  /** What JavaScript holds: objects, ArrayBuffers and what is accounted to them. */
  readonly heldBytes: number;
  readonly files: number;
  /** Mappings of files, of shared memory and of devices; anonymous ones come and go with the heap. */
  readonly namedMaps: number;
  readonly maps: number;
  readonly threads: number;
  readonly deviceFreeBytes: number;
}

/** The program must run with --expose-gc. Finalizers and what they post run between the collections. */
async function collectGarbage(): Promise<void> {
  for (let i = 0; i < 4; i += 1) {
    globalThis.gc?.();
    await afterTasks();
  }
}

export async function holdings(device: Device, cycles: number): Promise<Holdings> {
  await collectGarbage();
  const { rss, heapUsed, external } = process.memoryUsage();
  const maps = readFileSync('/proc/self/maps', 'utf8').trimEnd().split('\n');
  return {
    cycles,
    residentBytes: rss,
    heldBytes: heapUsed + external,
    files: readdirSync('/proc/self/fd').length,
    namedMaps: maps.filter((line) => line.includes('/')).length,
    maps: maps.length,
    threads: readdirSync('/proc/self/task').length,
    deviceFreeBytes: device.memoryInfo().free,
  };
}

const GROWTH = 0.02;
/** The heaps of V8 and malloc take and return some pieces of memory at any time. */
const HEAP_MAPS = 16;

/** What grew from the first reading, which is after the warm-up, to the last; empty when nothing did. */
export function growth(readings: readonly Holdings[]): string[] {
  const first = readings[0] as Holdings;
  const last = readings.at(-1) as Holdings;
  const problems: string[] = [];
  const exact = (what: string, from: number, to: number) => {
    if (to > from) problems.push(`${what} grew from ${from} to ${to}`);
  };
  const share = (what: string, from: number, to: number) => {
    if (to > from * (1 + GROWTH))
      problems.push(`${what} grew from ${from} to ${to} (${(100 * (to / from - 1)).toFixed(1)} %)`);
  };
  share('resident bytes', first.residentBytes, last.residentBytes);
  if (last.maps > first.maps + HEAP_MAPS) problems.push(`mappings grew from ${first.maps} to ${last.maps}`);
  exact('open files', first.files, last.files);
  exact('mappings of files and devices', first.namedMaps, last.namedMaps);
  exact('threads', first.threads, last.threads);
  const used = first.deviceFreeBytes - last.deviceFreeBytes;
  if (used > 0) problems.push(`used device memory grew by ${used} bytes`);
  return problems;
}

/** Resident bytes of each cycle, by least squares. */
export function slope(readings: readonly Holdings[]): number {
  const n = readings.length;
  const mean = (of: (reading: Holdings) => number) => readings.reduce((sum, reading) => sum + of(reading), 0) / n;
  const x = mean(({ cycles }) => cycles);
  const y = mean(({ residentBytes }) => residentBytes);
  let up = 0;
  let down = 0;
  for (const { cycles, residentBytes } of readings) {
    up += (cycles - x) * (residentBytes - y);
    down += (cycles - x) ** 2;
  }
  return down === 0 ? 0 : up / down;
}
